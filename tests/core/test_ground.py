"""What a model found, tied to the text: which lines say it, who said them, and when it happened."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.calling import ModelFailure
from memreader.errors import BudgetExceededError
from memreader.extract.fine import PassageReading, reading_of
from memreader.extract.ground import cited_lines, dated, said_by
from memreader.extract.passage import Line, Passage
from memreader.extract.schema import FoundMemory
from memreader.items import SourceMessage
from memreader.ports import Reply

OTHER = "LongTermMemory"
DAY = "2023-05-08T10:00:00"


def line(words: str, index: int = 0, role: str | None = "user", time: str | None = DAY, **more: Any) -> Line:
    source = SourceMessage(role=role, content=words, index=index, start=0, end=len(words))
    return Line(words, (source,), (f"m:{index}",), "Ana", role, time, **more)


def passage(*words: str, **more: Any) -> Passage:
    return Passage(tuple(line(one, index, **more) for index, one in enumerate(words)))


def cited(value: str, lines: tuple[int, ...], where: Passage) -> list[int]:
    found = cited_lines(FoundMemory(value, lines=lines), where)
    return [where.lines.index(one) + 1 for one in found]


PETS = passage("I have a cat called Biscuit.", "It sleeps all day.", "My dog Rex barks.", "Goodbye.")


@pytest.mark.parametrize(
    ("value", "named", "lines"),
    [
        ("Ana has a cat called Biscuit.", (1,), [1]),
        ("Biscuit, Ana's cat, sleeps all day.", (2, 1), [1, 2]),
        ("Biscuit, Ana's cat, sleeps all day.", (1, 1, 2, 2), [1, 2]),
        ("Ana has a cat called Biscuit.", (1, 99, 0, -1), [1]),
        ("Ana has a cat called Biscuit.", (99, -5), [1]),
        ("Ana has a cat called Biscuit.", (), [1]),
        ("Rex barks.", (), [3]),
        ("Rex barks.", (1,), [3]),
        ("Something else altogether was said.", (), [1, 2, 3, 4]),
        ("Something else altogether was said.", (2,), [2]),
        ("她很累。", (2, 3), [2, 3]),
    ],
)
def test_a_memory_rests_on_the_lines_that_say_it(value: str, named: tuple[int, ...], lines: list[int]) -> None:
    assert cited(value, named, PETS) == lines


def test_without_a_sign_it_rests_on_all_that_was_to_be_read_and_not_on_what_was_shown() -> None:
    where = Passage((line("One two.", 0, state="context"), line("Three.", 1, state="carried"), line("Four.", 2)))
    assert cited("Nothing of that.", (), where) == [3]


words = st.text(st.sampled_from("cat dog 我们。1 "), max_size=12)


@given(words, st.lists(st.integers(-2, 9), max_size=4), st.lists(words, min_size=1, max_size=5))
def test_every_memory_rests_on_lines_of_its_passage_in_their_order(
    value: str, named: list[int], texts: list[str]
) -> None:
    where = passage(*texts)
    found = cited_lines(FoundMemory(value, lines=tuple(named)), where)
    places = [next(i for i, one in enumerate(where.lines) if one is mine) for mine in found]
    assert places
    assert places == sorted(set(places))


@pytest.mark.parametrize(
    ("roles", "value", "kind", "language", "expected"),
    [
        (["assistant"], "The user is ill.", "UserMemory", "en", ("The assistant said: The user is ill.", OTHER)),
        (["assistant"], "User is ill.", "UserMemory", "fr", ("The assistant said: User is ill.", "LongTermMemory")),
        (["assistant"], "用户病了。", "UserMemory", "zh", ("助手说：用户病了。", "LongTermMemory")),
        (["assistant"], "The assistant advised rest.", "UserMemory", "en", ("The assistant advised rest.", OTHER)),
        (["assistant"], "Lisbon is in Portugal.", "LongTermMemory", "en", ("Lisbon is in Portugal.", "LongTermMemory")),
        (["user"], "The user is ill.", "UserMemory", "en", ("The user is ill.", "UserMemory")),
        (["user", "assistant"], "The user is ill.", "UserMemory", "en", ("The user is ill.", "UserMemory")),
        ([None], "The user is ill.", "UserMemory", "en", ("The user is ill.", "UserMemory")),
        (["assistant"], "Users like it.", "UserMemory", "en", ("Users like it.", "LongTermMemory")),
    ],
)  # fmt: skip
def test_who_said_it_decides_whose_fact_it_is(
    roles: list[str | None], value: str, kind: str, language: str, expected: tuple[str, str]
) -> None:
    lines = [line("x", role=role) for role in roles]
    assert said_by(FoundMemory(value, memory_type=kind), lines, language) == expected


@pytest.mark.parametrize(
    ("text", "time", "said", "expected"),
    [
        ("Ana moved yesterday.", None, "x", ("Ana moved yesterday (2023-05-07).", "2023-05-07")),
        ("Ana moved.", None, "I moved yesterday.", ("Ana moved.", "2023-05-07")),
        ("Ana moved.", "2023-05-01", "I moved yesterday.", ("Ana moved.", "2023-05-01")),
        ("Ana moved.", "yesterday", "x", ("Ana moved.", "2023-05-07")),
        ("Ana moved.", "once upon a time", "x", ("Ana moved.", DAY)),
        ("Ana moved.", "", "x", ("Ana moved.", DAY)),
        ("Ana ran yesterday and rests tomorrow.", None, "x",
         ("Ana ran yesterday (2023-05-07) and rests tomorrow (2023-05-09).", DAY)),
        ("Ana was there last week.", None, "x", ("Ana was there last week (2023-05-01 to 2023-05-07).", DAY)),
        ("Ana moved 100000 years ago.", "100000 years ago", "x", ("Ana moved 100000 years ago.", DAY)),
        ("安娜前天到了。", None, "x", ("安娜前天（2023-05-06）到了。", "2023-05-06")),
    ],
)  # fmt: skip
def test_it_happened_on_the_day_that_is_told(text: str, time: str | None, said: str, expected: tuple[str, str]) -> None:
    lines = [line(said)]
    language = "zh" if "安" in text else "en"
    assert dated(text, time, lines, Passage(tuple(lines)), language) == (*expected, False)


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (None, "2026-01-01"),
        ("yesterday", "2026-01-01"),
        ("2023-04-01", "2023-04-01"),
        ("2023-04", "2026-01-01"),
        ("2023-99-99", "2026-01-01"),
    ],
)
def test_without_a_time_of_a_line_nothing_is_worked_out(time: str | None, expected: str | None) -> None:
    lines = [line("I moved yesterday.", time=None)]
    where = Passage(tuple(lines), time="2026-01-01", time_inferred=True)
    assert dated("Ana moved yesterday.", time, lines, where, "en")[:2] == ("Ana moved yesterday.", expected)


def test_a_day_that_the_text_itself_names_is_not_the_time_of_reading() -> None:
    lines = [line("I moved on 2023-04-01.", time=None)]
    where = Passage(tuple(lines), time="2026-01-01", time_inferred=True)
    assert dated("Ana moved.", "2023-04-01", lines, where, "en") == ("Ana moved.", "2023-04-01", False)


def test_two_lines_with_two_days_leave_the_day_open() -> None:
    lines = [line("I ran yesterday."), line("I swam yesterday.", 1, time="2023-06-20T10:00:00")]
    assert dated("Ana ran and swam.", None, lines, Passage(tuple(lines)), "en")[1] == DAY


def read(reply: Any, where: Passage = PETS, *, truncated: bool = False) -> PassageReading:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return reading_of(Reply(text, truncated=truncated), where, "en")


def test_a_reply_becomes_candidates_with_all_that_it_says() -> None:
    memory = {
        "key": "Cat", "value": "Ana has a cat.", "memory_type": "UserMemory", "tags": ["pets"], "lines": [1],
        "entities": ["Ana"], "relations": [["Ana", "has", "cat"]], "time": "2023-05-01", "lifetime": "long",
    }  # fmt: skip
    reading = read({"memory list": [memory], "summary": "Pets."})
    (found,) = reading.found
    one = found.candidate
    assert (one.text, one.key, one.memory_type, one.tags) == ("Ana has a cat.", "Cat", "UserMemory", ("pets",))
    assert (one.entities, one.relations) == (("Ana",), (("Ana", "has", "cat"),))
    assert (one.memory_time, one.background, one.source_keys) == ("2023-05-01", "Pets.", ("m:0",))
    assert not one.is_fast
    assert (reading.failure, reading.unread, reading.summary) == (None, (), "Pets.")


def test_what_is_of_short_use_has_no_entities_and_no_relations() -> None:
    memory = {"value": "Ana wants a table.", "lifetime": "short", "entities": ["Ana"], "relations": [["a", "b", "c"]]}
    (found,) = read({"memory list": [memory]}).found
    assert (found.candidate.lifetime, found.candidate.entities, found.candidate.relations) == ("short", (), ())


def test_a_memory_without_a_title_has_its_first_sentence() -> None:
    (found,) = read({"memory list": [{"value": "Ana has a cat. It sleeps."}]}).found
    assert found.candidate.key == "Ana has a cat"


def test_a_failed_call_is_told_without_its_text() -> None:
    for error, words in [
        (ValueError("secret words"), "ValueError"),
        (BudgetExceededError(limit="max_calls", allowed=3), "max_calls"),
    ]:
        reading = reading_of(ModelFailure(type(error).__name__, error), PETS, "en")
        assert reading.failure is not None
        assert words in reading.failure.reason
        assert "secret" not in reading.failure.reason
        assert reading.unread == PETS.fresh


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda of: (
        st.lists(of, max_size=3)
        | st.dictionaries(st.sampled_from(["memory list", "value", "lines", "x", "0"]), of, max_size=3)
    ),
)


@given(st.text(max_size=80) | values.map(json.dumps))
def test_any_answer_is_read_or_is_a_failure_that_keeps_the_lines(text: str) -> None:
    reading = read(text)
    assert (reading.failure is None) == (reading.unread == ())
    assert reading.failure is None or reading.unread == PETS.fresh or reading.found
    for found in reading.found:
        assert found.candidate.text.strip()
        assert found.candidate.sources
        assert set(found.lines) <= set(PETS.lines)


@pytest.mark.parametrize(("complete", "unread"), [(0, 4), (1, 4), (3, 2), (4, 1)])
def test_after_a_cut_off_answer_the_lines_from_the_last_memory_on_are_unread(complete: int, unread: int) -> None:
    memories = [{"value": one.text, "lines": [number]} for number, one in enumerate(PETS.lines[:complete], start=1)]
    text = json.dumps({"memory list": [*memories, {"value": "It is cut"}]})
    reading = read(text[: text.rindex("It is")], truncated=True)
    assert len(reading.found) == complete
    assert reading.unread == PETS.lines[4 - unread :]
    assert (reading.failure is not None) == bool(unread)
