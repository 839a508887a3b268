"""What the demo reads and asks."""

from __future__ import annotations

from typing import Any

CHATS: dict[str, list[dict[str, Any]]] = {
    "allotment": [
        {
            "role": "user",
            "content": "I finally got an allotment! Plot 14 by the canal, and the key hangs at Mrs Oyelaran's.",
            "chat_time": "2025-03-02T18:04:00+00:00",
            "message_id": "a1",
        },
        {
            "role": "assistant",
            "content": "Congratulations! What will you grow first?",
            "chat_time": "2025-03-02T18:05:00+00:00",
            "message_id": "a2",
        },
        {
            "role": "user",
            "content": "Broad beans and garlic. No strawberries: my daughter Iris is allergic to them.",
            "chat_time": "2025-03-02T18:07:00+00:00",
            "message_id": "a3",
        },
        {
            "role": "user",
            "content": "The water is off until 20 April, so I carry two cans from the pump each evening.",
            "chat_time": "2025-03-16T19:30:00+00:00",
            "message_id": "a4",
        },
    ],
    "周末": [
        {
            "role": "user",
            "content": "我把后院的旧自行车修好了，换了新链条，一共花了八十五块。",
            "chat_time": "2025-05-10T20:15:00+08:00",
            "message_id": "b1",
        },
        {
            "role": "assistant",
            "content": "真不错！准备骑去哪里？",
            "chat_time": "2025-05-10T20:16:00+08:00",
            "message_id": "b2",
        },
        {
            "role": "user",
            "content": "下周六和表哥去千岛湖骑行，早上六点在东站集合。",
            "chat_time": "2025-05-10T20:18:00+08:00",
            "message_id": "b3",
        },
    ],
}
"""Session -> messages."""

DOCUMENT_NAME = "boiler.md"
DOCUMENT = """\
# The boiler

## Every autumn

Bleed the radiators from the ground floor upwards, then bring the pressure back to 1.4 bar. The key for the radiators is
in the blue tin above the sink.

## When it shows F4

F4 means that the flame went out. Wait ten minutes, hold the reset button for three seconds, and call Ferro & Daughters
if it comes back twice in a day.

## 停暖以后

四月底关掉暖气，把水泵留在夏季档，每个月让它转五分钟，免得卡住。
"""

QUESTIONS = (
    "Who has the key to the allotment?",
    "Which fruit must I not plant, and why?",
    "What should I do when the boiler shows F4?",
    "下周六几点在哪里集合？",
    "修自行车花了多少钱？",
    "How do glaciers carve a valley?",
)
"""The last is about something else: nothing is found."""
