"""Roles, names, ids, times and flags of messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memreader.errors import InputError
from memreader.normalize import normalize
from memreader.types import Conversation, Message

NOW = datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
NOW_ISO = "2024-02-03T04:05:06+00:00"
MAY = "1:56 pm on 8 May, 2023"
MAY_ISO = "2023-05-08T13:56:00"


def messages(data: Any, **options: Any) -> tuple[Message, ...]:
    (chat,) = normalize(data, now=NOW, **options)
    assert isinstance(chat, Conversation)
    return chat.messages


def message(**fields: Any) -> Message:
    (one,) = messages([fields])
    return one


def times(*given: str | None, **options: Any) -> list[tuple[str | None, bool, bool]]:
    data = [{"role": "user", "content": "hi", "chat_time": when} for when in given]
    return [(m.chat_time, m.time_given, m.time_inferred) for m in messages(data, **options)]


@pytest.mark.parametrize(
    ("given", "role"),
    [
        ("user", "user"), ("User", "user"), ("human", "user"), ("ai", "assistant"), ("model", "assistant"),
        ("bot", "assistant"), ("developer", "developer"), ("function", "function"), ("participant", "participant"),
        ("助手", "assistant"),
    ],
)  # fmt: skip
def test_common_names_of_roles_are_known(given: str, role: str) -> None:
    assert message(role=given, content="hi").role == role


def test_a_speaker_without_a_role_is_a_participant() -> None:
    one = message(speaker="Ann", text="I moved to Lisbon")
    assert (one.role, one.name, one.content, one.speaker) == ("participant", "Ann", "I moved to Lisbon", "Ann")
    assert one.is_readable


@pytest.mark.parametrize("key", ["name", "speaker", "author", "sender", "from"])
def test_every_name_for_the_speaker_is_known(key: str) -> None:
    one = message(**{key: "Ann", "content": "hi"})
    assert (one.role, one.name) == ("participant", "Ann")


def test_a_person_called_like_a_model_stays_a_participant() -> None:
    one = message(speaker="Ai", text="I live in Kyoto")
    assert (one.role, one.name) == ("participant", "Ai")


def test_sharegpt_turns_have_roles() -> None:
    turns = messages([{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}])
    assert [(turn.role, turn.name, turn.content) for turn in turns] == [
        ("user", None, "hi"),
        ("assistant", None, "hello"),
    ]


def test_a_role_and_a_name_are_both_kept() -> None:
    one = message(role="user", name="Ann", content="hi")
    assert (one.role, one.name) == ("user", "Ann")


def test_a_name_is_one_clean_line() -> None:
    assert message(role="user", name=" Ann\n: [x]:\x00 B ", content="hi").name == "Ann : [x]: B"


@pytest.mark.parametrize(("key", "value"), [("message_id", "m1"), ("id", "m1")])
def test_a_message_id_is_kept(key: str, value: str) -> None:
    assert message(role="user", content="hi", **{key: value}).message_id == "m1"


def test_numbers_are_ids_too_and_parents_are_kept() -> None:
    one = message(role="user", content="hi", id=7, parent_id="m6")
    assert (one.message_id, one.parent_id) == ("7", "m6")


def test_content_none_is_a_message_without_words() -> None:
    one = message(role="assistant", content=None)
    assert (one.content, one.flags, one.is_readable) == ("", frozenset(), False)


def test_system_and_developer_prompts_are_kept_but_not_read_as_facts() -> None:
    for role in ("system", "developer"):
        one = message(role=role, content="You are a pirate.")
        assert one.flags == {"context"}
        assert one.content == "You are a pirate."
        assert not one.is_readable


@pytest.mark.parametrize("role", ["tool", "function"])
def test_a_tools_answer_is_flagged_and_kept_as_a_part(role: str) -> None:
    one = message(role=role, content="22 degrees", tool_call_id="c1", name="weather")
    assert one.flags == {"tool_result"}
    assert one.content == "22 degrees"
    (part,) = one.parts
    assert (part.kind, part.text, part.call, part.name) == ("tool_result", "22 degrees", "c1", "weather")


@pytest.mark.parametrize(
    ("answer", "text"), [({"t": 22}, '{"t": 22}'), ([1, {"t": 22}], '[1, {"t": 22}]'), (22, "22"), ([], ""), (None, "")]
)
def test_a_tool_may_answer_with_any_json(answer: Any, text: str) -> None:
    assert message(role="tool", content=answer, tool_call_id="c1").content == text


def test_a_tools_answer_may_have_parts() -> None:
    image = {"type": "image_url", "image_url": "https://example.com/a.png"}
    one = message(role="tool", content=[{"type": "text", "text": "a map"}, image], tool_call_id="c1")
    assert [part.kind for part in one.parts] == ["tool_result", "image"]
    assert one.content == "a map"


CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "北京"}'}}


@pytest.mark.parametrize("content", [None, "", [], "  "])
def test_a_message_of_tool_calls_alone_is_flagged(content: Any) -> None:
    one = message(role="assistant", content=content, tool_calls=[CALL])
    assert one.flags == {"tool_call"}
    (part,) = [part for part in one.parts if part.kind == "tool_call"]
    assert (part.name, part.call, part.reference) == ("weather", '{"city": "北京"}', "c1")


def test_tool_calls_need_no_content_key() -> None:
    assert message(role="assistant", tool_calls=[CALL]).flags == {"tool_call"}


def test_words_beside_tool_calls_are_read_and_the_calls_kept() -> None:
    one = message(role="assistant", content="Let me look.", tool_calls=[CALL])
    assert one.is_readable
    assert one.content == "Let me look."
    assert [part.kind for part in one.parts] == ["text", "tool_call"]


def test_old_function_calls_and_flat_ones_are_tool_calls() -> None:
    old = message(role="assistant", content=None, function_call={"name": "f", "arguments": "{}"})
    flat = message(role="assistant", content=None, tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c1"}])
    assert [(p.kind, p.name, p.call) for p in (*old.parts, *flat.parts)] == [
        ("tool_call", "f", "{}"),
        ("tool_call", "f", '{"a": 1}'),
    ]


@pytest.mark.parametrize("calls", ["f()", {"name": "f"}, [3], [{"function": "f"}]])
def test_unreadable_tool_calls_are_an_error(calls: Any) -> None:
    with pytest.raises(InputError) as caught:
        message(role="assistant", content="hi", tool_calls=calls)
    assert caught.value.locator == "[0]"


def test_items_of_the_responses_api_are_messages() -> None:
    call, output, thought = messages(
        [
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "22"},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hmm"}]},
        ]
    )
    assert (call.role, call.flags, call.parts[0].reference) == ("assistant", {"tool_call"}, "c1")
    assert (output.role, output.content, output.parts[0].call) == ("tool", "22", "c1")
    assert (thought.flags, thought.content, thought.parts[0].text) == ({"thinking"}, "", "hmm")


def test_reasoning_beside_the_answer_is_a_thought_and_not_said() -> None:
    one = message(role="assistant", content="42", reasoning_content="6 times 7")
    assert (one.content, one.flags) == ("42", frozenset())
    assert [(part.kind, part.text) for part in one.parts] == [("thinking", "6 times 7"), ("text", "42")]


def test_content_is_cleaned_and_emoji_stay() -> None:
    assert message(role="user", content="\ufeffa\x00\ud800\r\n👩‍👩‍👧 \ud83d\ude00\tb\x1b").content == "a\n👩‍👩‍👧 😀\tb"


def test_raw_is_the_message_as_json_in_its_own_letters() -> None:
    given = {"role": "user", "content": "你好\ud800", "extra": {"a": [1, None, 2.5]}, "when": datetime(2023, 5, 8)}
    one = message(**given)
    assert one.raw is not None
    assert "你好" in one.raw
    assert one.raw.encode()
    raw = json.loads(one.raw)
    assert raw["extra"] == given["extra"]
    assert raw["when"] == "2023-05-08 00:00:00"


def test_raw_is_valid_json_whatever_stands_in_it() -> None:
    one = message(role="user", content="hi", odd=[float("nan"), 10**400, {1: 2, None: 3}, b"x", (1, 2)])
    assert one.raw is not None
    json.loads(one.raw, parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize("key", ["chat_time", "timestamp", "created_at", "time", "date"])
def test_every_name_for_the_time_is_known(key: str) -> None:
    one = message(role="user", content="hi", **{key: MAY})
    assert (one.chat_time, one.time_given, one.time_inferred) == (MAY_ISO, True, False)


@pytest.mark.parametrize(
    "when", [MAY, MAY_ISO, datetime(2023, 5, 8, 13, 56), "2023/05/08 13:56", "2023年5月8日 下午1:56"]
)
def test_a_time_is_kept_as_iso_8601(when: Any) -> None:
    assert message(role="user", content="hi", chat_time=when).chat_time == MAY_ISO


def test_a_message_without_a_time_takes_the_one_before() -> None:
    assert times("2023-05-08T10:00:00", None, "2023-05-08T11:00:00", None) == [
        ("2023-05-08T10:00:00", True, False),
        ("2023-05-08T10:00:00", False, False),
        ("2023-05-08T11:00:00", True, False),
        ("2023-05-08T11:00:00", False, False),
    ]


def test_messages_before_the_first_time_take_that_one() -> None:
    assert times(None, "", "2023-05-08T10:00:00") == [
        ("2023-05-08T10:00:00", False, False),
        ("2023-05-08T10:00:00", False, False),
        ("2023-05-08T10:00:00", True, False),
    ]


def test_where_nobody_said_the_time_is_now_and_marked_as_inferred() -> None:
    assert times(None, None) == [(NOW_ISO, False, True)] * 2


def test_the_clock_is_now_by_default() -> None:
    (chat,) = normalize("hi")
    assert isinstance(chat, Conversation)
    at = datetime.fromisoformat(chat.messages[0].chat_time or "")
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)


def test_a_time_from_the_caller_is_not_inferred() -> None:
    assert times(None, None, at=MAY) == [(MAY_ISO, False, False)] * 2
    assert times(None, "2023-06-01", None, at=MAY) == [
        (MAY_ISO, False, False),
        ("2023-06-01", True, False),
        ("2023-06-01", False, False),
    ]


def test_a_conversations_own_time_goes_before_the_callers() -> None:
    (one,) = messages({"messages": ["hi"], "chat_time": "2022-01-01"}, at=MAY)
    assert (one.chat_time, one.time_given, one.time_inferred) == ("2022-01-01", False, False)


def test_conversations_dont_share_times() -> None:
    dated, undated = normalize([[{"role": "user", "content": "hi", "time": MAY}], ["hi"]], now=NOW)
    assert isinstance(dated, Conversation)
    assert isinstance(undated, Conversation)
    assert (dated.messages[0].chat_time, undated.messages[0].chat_time) == (MAY_ISO, NOW_ISO)


def test_the_timezone_is_only_for_times_without_one() -> None:
    assert [time for time, *_ in times(MAY, "2023-05-08T13:56:00+02:00", timezone="Asia/Shanghai")] == [
        "2023-05-08T13:56:00+08:00",
        "2023-05-08T13:56:00+02:00",
    ]
    assert times(MAY, timezone=timezone(timedelta(hours=-3)))[0][0] == "2023-05-08T13:56:00-03:00"


def test_seconds_since_1970_are_utc_or_in_the_given_zone() -> None:
    assert message(role="user", content="hi", timestamp=1683554160).chat_time == "2023-05-08T13:56:00+00:00"
    (shown,) = messages([{"role": "user", "content": "hi", "timestamp": 1683554160}], timezone="+08:00")
    assert shown.chat_time == "2023-05-08T21:56:00+08:00"


def test_an_unknown_timezone_is_an_error() -> None:
    with pytest.raises(InputError, match="Mars"):
        normalize("hi", timezone="Mars/Olympus")


def test_slashed_dates_of_one_conversation_are_read_in_one_order() -> None:
    assert [time for time, *_ in times("03/04/2023", "25/12/2023")] == ["2023-04-03", "2023-12-25"]
    assert [time for time, *_ in times("03/04/2023", "12/25/2023")] == ["2023-03-04", "2023-12-25"]


@pytest.mark.parametrize(
    "when", ["100,000 years ago", "0000-01-01", -(10**14 - 1), 10**30, [], True, "0001-01-01T00:00+14:00"]
)
def test_an_impossible_time_is_an_input_error(when: Any) -> None:
    with pytest.raises(InputError) as caught:
        message(role="user", content="hi", chat_time=when)
    assert caught.value.locator == "[0]"


def test_flags_are_counted_and_nothing_is_dropped() -> None:
    data = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "22", "tool_call_id": "c1"},
    ]
    (chat,) = normalize(data)
    assert isinstance(chat, Conversation)
    assert chat.flag_counts == {"context": 1, "tool_call": 1, "tool_result": 1}
    assert [m.index for m in chat.messages] == [0, 1, 2, 3]
