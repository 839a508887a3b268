"""Answers that models really give: half dates, the prompt's own example, dates of their own, and gates that fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fine_replies import chat_of, memory, reply, shown
from memreader import Memory, ReadOptions
from memreader.prompts import Prompts
from memreader.testing import FunctionChatModel, HashEmbedder, ScriptedChatModel

SAID = [{"role": "user", "name": "Ana", "content": "I met Bob yesterday.", "chat_time": "2024-03-01T10:00:00"}]


def told(value: str, **fields: Any) -> str:
    return json.dumps({"memory list": [{"value": value, "lines": [1], **fields}]}, ensure_ascii=False)


def one(answer: str, chat: list[dict[str, Any]] = SAID) -> Any:
    with Memory.in_memory(llm=ScriptedChatModel([answer]), embedder=HashEmbedder()) as store:
        report = store.add(chat, user_id="ana")
        assert report.failures == []
        (made,) = [item for item in store.get_all(user_id="ana") if item.metadata.evolve_from]
        return made


@pytest.mark.parametrize(
    "time", ["March 2023", "2023-03", "2023", "2023年3月", "2023-03-01 to 2023-03-05", "next week", "soon", "", 7, None]
)
def test_half_a_date_costs_nothing(time: Any) -> None:
    assert one(told("Ana likes tea.", time=time)).metadata.memory_time in ("2024-02-29", "2024-03-01T10:00:00")


def test_the_day_that_the_words_name_is_the_one_that_counts() -> None:
    made = one(told("Ana met Bob yesterday.", time="2019-01-01"))
    assert (made.memory, made.metadata.memory_time) == ("Ana met Bob yesterday (2024-02-29).", "2024-02-29")


def test_a_date_that_the_model_puts_beside_the_words_is_the_event_s() -> None:
    made = one(told("Leo starts school next Monday (2024-03-18)."))
    assert (made.memory, made.metadata.memory_time) == ("Leo starts school next Monday (2024-03-18).", "2024-03-18")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_model_copies_from_the_prompt_is_no_memory(language: str) -> None:
    chat = chat_of("hi there") if language == "en" else chat_of("你好，今天天气不错。")
    prompt = Prompts().render("chat", language, conversation="")
    example = prompt.rpartition("```json")[2].partition("```")[0]
    with Memory.in_memory(llm=FunctionChatModel(lambda _: example), embedder=HashEmbedder()) as store:
        report = store.add(chat, user_id="ana")
        assert [failure.kind for failure in report.failures] == ["UnreadableReply"]
        assert "instructions" in report.failures[0].reason
        assert len(report.added) == len(report.left) == 1


def test_what_stands_in_the_text_too_is_a_memory() -> None:
    value = json.loads(Prompts().render("chat", "en", conversation="").rpartition("```json")[2].partition("```")[0])
    words = value["memory list"][0]["value"]
    chat = [{"role": "user", "content": words, "chat_time": "2024-03-12"}]
    assert words in one(told(words), chat).memory


@pytest.mark.parametrize("answer", ["nope", RuntimeError("no")], ids=["prose", "an error"])
def test_a_gate_that_fails_is_reported_and_the_memories_stay(answer: Any) -> None:
    model = ScriptedChatModel([told("Ana met Bob."), answer])
    options = ReadOptions(gates=("hallucination",))
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=options) as store:
        report = store.add(SAID, user_id="ana")
        assert [failure.kind for failure in report.failures] == ["NoVerdict"]
        assert report.left == []
        assert len(report.added) == 2


def test_what_one_call_makes_is_not_told_as_known_before() -> None:
    def twice(messages: list[dict[str, Any]]) -> str:
        seen = shown(messages)
        return reply(*[memory(f"It is said: {line.words}", [line.number]) for line in seen.lines])

    options = ReadOptions(window_tokens=90, window_overlap=40)
    rooms = [f"My pet number {number} lives in room {number} of the old house." for number in range(12)]
    with Memory.in_memory(llm=FunctionChatModel(twice), embedder=HashEmbedder(), read_options=options) as store:
        report = store.add(chat_of(*rooms), user_id="ana", session_id="s")
        assert report.usage.calls > 2
        assert report.existing == []
        assert len(report.added) == len(set(report.added)) == 24


def test_two_memories_of_one_turn_both_name_it() -> None:
    two = json.dumps({"memory list": [{"value": v, "lines": [1]} for v in ("Ana met Bob.", "Bob was met by Ana.")]})
    with Memory.in_memory(llm=ScriptedChatModel([two]), embedder=HashEmbedder()) as store:
        store.add(SAID, user_id="ana")
        hits = store.search("Who met Bob?", user_id="ana", threshold=0)
        assert [hit.raw for hit in hits] == [tuple(hit.item.metadata.evolve_from) for hit in hits]
        assert len(hits) == 2


@pytest.mark.parametrize(
    ("settings", "named"), [({"instructions": ["plants"]}, "instructions"), ({"llms": None}, "llms")]
)
def test_a_setting_of_another_kind_is_refused_at_once(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(TypeError, match=named):
        Memory.in_memory(embedder=HashEmbedder(), **settings)


def test_one_gate_alone_is_a_tuple_too() -> None:
    with pytest.raises(ValueError, match=r"\('rewrite',\)"):
        ReadOptions(gates="rewrite")  # type: ignore[arg-type]


def test_groups_of_items_are_not_taken_for_items() -> None:
    from memreader import MemReader

    reader = MemReader(llm=ScriptedChatModel([]), embedder=HashEmbedder())
    groups: Any = reader.get_memory([SAID], info={"user_id": "ana", "session_id": "s"}, mode="fast")
    with pytest.raises(TypeError, match="flat list"):
        reader.fine_transfer_simple_mem(groups)
