"""A model that fails, anyhow and anywhere: the rest is made, what failed stays raw and told, and is made later."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from fine_replies import Answer, Changing, Shown, answering, chat_of, echoing, reply, shown, texts, twelve_rooms
from fine_replies import memory as memory_of
from memreader import Memory, MemReader, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT, ModelOptions
from memreader.ports import Reply, Usage
from memreader.testing import FunctionChatModel, HashEmbedder
from memreader.types import Failure

SMALL = ReadOptions(window_tokens=90, window_overlap=30, chunk_tokens=50, chunk_overlap=15)
PRESETS = {
    "default": SMALL,
    "simple_struct": replace(SIMPLE_STRUCT, window_tokens=90, window_overlap=30, chunk_tokens=50, chunk_overlap=15),
    "strategy_struct": replace(STRATEGY_STRUCT, content_length=200, chunk_tokens=50, chunk_overlap=15),
    "strategy_session": replace(
        STRATEGY_STRUCT, strategy="session", chunk_session=4, session_overlap=1, chunk_tokens=50, chunk_overlap=15
    ),
    "without_turns": replace(SMALL, keep_turns=False),
    "without_raw": replace(SMALL, keep_raw=False),
    "carry": replace(SMALL, carry=True),
    "gates": replace(SMALL, gates=("rewrite", "hallucination")),
}
ROOMS = twelve_rooms()
PLACES = {"first": ROOMS[0], "middle": ROOMS[5], "last": ROOMS[11], "everywhere": ""}
NEVER_TOLD = ("room", "house", "otter", "heron", "ferret", "weasel", "gecko", "remembering")


class ServerError(Exception):
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code
        super().__init__(f"{status_code}: My otter lives in room 1")


def quoting(seen: Shown) -> str:
    raise ValueError(f"bad request: {seen.prompt}")


def half_a_reply(_seen: Shown) -> Reply:
    return Reply('{"memory list": [{"key": "x", "val', truncated=True)


ANSWERS: dict[str, Answer] = {
    "rubbish": "%%$ }{ ][ ,,, \x00\x01",
    "prose": "Here is what I found remembering the house. Ana has [many] pets {and likes them}.",
    "a list of numbers": "[1, 2, 3]",
    "an empty text": "",
    "spaces": " \n\t ",
    "a number": "42",
    "a text in JSON": '"My otter lives in room 1"',
    "a refusal": "I'm sorry, but I can't help with that.",
    "a refusal in JSON": '{"error": "content_filter", "message": "My otter lives in a house"}',
    "only thoughts": "<think>My otter lives in room 1 of the old house",
    "a deep list": "[" * 50_000,
    "a deep object": '{"memory list": ' * 20_000,
    "messages": '[{"role": "user", "content": "My otter lives in room 1 of the old house."}]',
    "half a reply": half_a_reply,
    "a value error": ValueError("My otter lives in room 1"),
    "a timeout": TimeoutError("reading: My otter lives in room 1"),
    "a key error": KeyError("My otter lives in room 1"),
    "an assertion": AssertionError("My otter lives in room 1"),
    "the prompt as an error": quoting,
    "a server's error": ServerError(503),
    "a client's error": ServerError(400),
    "recursion": RecursionError("My otter"),
    "no memory left": MemoryError(),
}
PAIRS = (("prose", "a timeout"), ("the prompt as an error", "half a reply"))
presets = pytest.mark.parametrize("preset", PRESETS)
places = pytest.mark.parametrize("place", PLACES)
kinds = pytest.mark.parametrize("kind", ["chat", "doc"])
PATIENCE = ModelOptions(attempts=2, wait_s=0)


def model_failing(place: str, answer: Answer) -> tuple[FunctionChatModel, Changing]:
    script = Changing(answering((PLACES[place], answer)))
    return FunctionChatModel(script), script


def data_of(kind: str) -> Any:
    return " ".join(ROOMS) if kind == "doc" else chat_of(*ROOMS)


def how(kind: str) -> dict[str, Any]:
    return {"type": "doc", "as_text": True} if kind == "doc" else {}


def failed_lines(model: FunctionChatModel, place: str) -> tuple[int, list[str]]:
    """How many different windows were shown that hold the place, and all new lines of theirs."""
    windows = {}
    for prompt in model.prompts:
        seen = shown(prompt)
        if PLACES[place] in seen.new_words:
            windows[seen.new_words] = [line.words for line in seen.new]
    return len(windows), [line for lines in windows.values() for line in lines]


def assert_quiet(failures: list[Failure]) -> None:
    for failure in failures:
        assert not any(word in f"{failure.kind} {failure.reason}" for word in NEVER_TOLD), failure
        assert failure.locator


@contextmanager
def quiet_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing of the chat is said above DEBUG, in a message or in its traceback."""
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        yield
    loud = [record for record in caplog.records if record.levelno > logging.DEBUG]
    for record in loud:
        assert not any(word in f"{record.getMessage()} {record.exc_info}" for word in NEVER_TOLD), record


def said(lines: list[str]) -> list[str]:
    return sorted(f"It is said: {line}" for line in lines)


def fine_texts(memory: Memory) -> list[str]:
    return sorted(item.memory for item in memory.get_all(user_id="ana") if item.metadata.evolve_from)


def assert_a_failure_costs_only_its_window(preset: str, place: str, kind: str, answer: Answer) -> None:
    model, script = model_failing(place, answer)
    options: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": PRESETS[preset], "model_options": PATIENCE}
    with Memory.in_memory(llm=model, general_llm=FunctionChatModel(lambda _: "{}"), **options) as memory:
        report = memory.add(data_of(kind), user_id="ana", session_id="s", **how(kind))
        windows, lost = failed_lines(model, place)
        assert len(report.failures) == windows > 0
        assert_quiet(report.failures)
        assert fine_texts(memory) == said([line for line in ROOMS if line not in lost])
        left = memory.get_by_ids(report.left, user_id="ana")
        assert all(item is not None and item.metadata.is_fast for item in left)
        kept = "\n".join(item.memory for item in left if item is not None)
        assert all(line in kept for line in lost)
        assert not set(report.left) & set(report.refined)
        script.script = echoing
        again = memory.refine(user_id="ana")
        assert (again.left, again.failures) == ([], [])
        assert fine_texts(memory) == said(ROOMS)
        asked = len(model.prompts)
        assert memory.add(data_of(kind), user_id="ana", session_id="s", **how(kind)).usage.calls == 0
        assert memory.refine(user_id="ana").usage.calls == 0
        assert len(model.prompts) == asked


def assert_reading_keeps_it_raw(preset: str, place: str, kind: str, answer: Answer) -> None:
    model, script = model_failing(place, answer)
    reader = MemReader(
        llm=model,
        general_llm=FunctionChatModel(lambda _: "{}"),
        embedder=HashEmbedder(),
        options=PRESETS[preset],
        model_options=PATIENCE,
    )
    report = reader.read(data_of(kind), user_id="ana", session_id="s", **how(kind))
    windows, lost = failed_lines(model, place)
    assert len(report.failures) == windows > 0
    assert_quiet(report.failures)
    assert sorted(texts(report.items, fast=False)) == said([line for line in ROOMS if line not in lost])
    raw = [item for item in report.items if item.metadata.is_fast]
    assert len(raw) == windows
    assert all(line in "\n".join(texts(raw)) for line in lost)
    assert all("mode:fast" in item.metadata.tags and item.metadata.embedding for item in raw)
    assert sorted(texts(groups_of(reader, kind))) == sorted(texts(report.items))
    script.script = echoing
    assert sorted(texts(reader.fine_transfer_simple_mem(raw))) == said(lost)


def groups_of(reader: MemReader, kind: str) -> list[TextualMemoryItem]:
    """The same by the seed's entry."""
    (group,) = reader.get_memory(
        [data_of(kind)], type="doc" if kind == "doc" else "chat", info={"user_id": "ana", "session_id": "s"}
    )
    return group


@kinds
@places
@presets
def test_a_failure_costs_only_its_window(preset: str, place: str, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with quiet_logs(caplog):
        for answer in PAIRS[len(preset + place) % 2]:
            assert_a_failure_costs_only_its_window(preset, place, kind, ANSWERS[answer])


@kinds
@places
@presets
def test_reading_keeps_a_failed_window_as_one_raw_item(
    preset: str, place: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with quiet_logs(caplog):
        for answer in PAIRS[len(preset + place) % 2]:
            assert_reading_keeps_it_raw(preset, place, kind, ANSWERS[answer])


@pytest.mark.parametrize("answer", ANSWERS)
def test_whatever_a_model_answers_is_a_failure_of_its_window(answer: str, caplog: pytest.LogCaptureFixture) -> None:
    with quiet_logs(caplog):
        assert_a_failure_costs_only_its_window("default", "middle", "chat", ANSWERS[answer])
        assert_reading_keeps_it_raw("simple_struct", "middle", "doc", ANSWERS[answer])


@pytest.mark.long
@kinds
@places
@presets
@pytest.mark.parametrize("answer", ANSWERS)
def test_whatever_it_answers_whichever_window_however_read(answer: str, preset: str, place: str, kind: str) -> None:
    assert_a_failure_costs_only_its_window(preset, place, kind, ANSWERS[answer])
    assert_reading_keeps_it_raw(preset, place, kind, ANSWERS[answer])


@pytest.mark.parametrize("nothing", ['{"memory list": null}', '{"memory list": []}', "[]", '{"memories": "none"}'])
def test_a_window_without_memories_is_no_failure_and_not_asked_about_again(nothing: str) -> None:
    model = FunctionChatModel(lambda _: nothing)
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=SMALL) as memory:
        report = memory.add(chat_of(*ROOMS), user_id="ana")
        assert (report.failures, report.left, len(report.refined)) == ([], [], 12)
        assert len(memory.get_all(user_id="ana", filter={"status": "activated"})) == 12
        asked = len(model.prompts)
        memory.refine(user_id="ana")
        memory.add(chat_of(*ROOMS), user_id="ana")
        assert len(model.prompts) == asked
    read = MemReader(llm=model, embedder=HashEmbedder(), options=SMALL).read(chat_of(*ROOMS), user_id="ana")
    assert (read.items, read.failures) == ([], [])


@kinds
@presets
@pytest.mark.parametrize("limit", [{"max_calls": 2}, {"max_tokens": 250}, {"max_calls": 0}], ids=str)
def test_what_the_budget_does_not_reach_stays_raw_and_is_refined_later(
    preset: str, kind: str, limit: dict[str, int]
) -> None:
    def costly(messages: list[dict[str, Any]]) -> Reply:
        return Reply(echoing(messages), Usage(1, 100, 50))

    model = FunctionChatModel(costly)
    options: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": PRESETS[preset]}
    budget = ModelOptions(concurrency=1, **limit)
    with Memory.in_memory(llm=model, model_options=budget, **options) as memory:
        report = memory.add(data_of(kind), user_id="ana", session_id="s", **how(kind))
        (name,) = limit
        assert report.failures
        assert {failure.kind for failure in report.failures} <= {"BudgetExceededError", "NoVerdict"}
        assert all(name in failure.reason for failure in report.failures)
        assert report.usage.calls == len(model.prompts) == limit.get("max_calls", 1)
        assert report.left
        before = len(model.prompts)
        again = memory.refine(user_id="ana", max_calls=100, max_tokens=10**6)
        assert (again.left, again.failures) == ([], [])
        assert fine_texts(memory) == said(ROOMS)
        assert again.usage.calls == len(model.prompts) - before


def test_a_failure_names_its_session_and_lines_or_its_document() -> None:
    model = FunctionChatModel(answering((ROOMS[5], "no")))
    options: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": SMALL}
    with Memory.in_memory(llm=model, **options) as memory:
        (failure,) = memory.add(chat_of(*ROOMS), user_id="ana", session_id="trip").failures
        assert failure.locator is not None
        assert failure.locator.startswith("trip: messages ")
        first, last = map(int, failure.locator.removeprefix("trip: messages ").split(" to "))
        assert first <= 5 <= last
        (failure,) = memory.add(" ".join(ROOMS), type="doc", as_text=True, user_id="ana").failures
        assert failure.locator is not None
        start, end = map(int, failure.locator.rstrip("]").rsplit("[", 1)[1].split(":"))
        assert ROOMS[5] in " ".join(ROOMS)[start:end]


def test_a_cut_off_reply_keeps_what_was_complete_and_leaves_the_lines_from_the_last_one_on() -> None:
    def cut(seen: Shown) -> Reply:
        first, *_ = seen.new
        whole = reply(memory_of(f"It is said: {first.words}", [first.number]), memory_of("It is half said", [2]))
        return Reply(whole[: whole.index("half")], truncated=True)

    script = Changing(answering((ROOMS[5], cut)))
    model = FunctionChatModel(script)
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=SMALL) as memory:
        report = memory.add(chat_of(*ROOMS), user_id="ana", session_id="s")
        (failure,) = report.failures
        assert failure.kind == "TruncatedReply"
        (window,) = [shown(prompt) for prompt in model.prompts if ROOMS[5] in shown(prompt).new_words]
        lost = [line.words for line in window.new[1:]]
        assert fine_texts(memory) == said([line for line in ROOMS if line not in lost])
        assert texts(left_in(memory, report.left)) == [f"Ana: {line.words}" for line in window.new]
        script.script = echoing
        memory.refine(user_id="ana")
        assert fine_texts(memory) == said(ROOMS)


def left_in(memory: Memory, ids: list[str]) -> list[TextualMemoryItem]:
    return [item for item in memory.get_by_ids(ids, user_id="ana") if item is not None]


def test_a_whole_reply_is_whole_whatever_the_model_says() -> None:
    model = FunctionChatModel(lambda messages: Reply(echoing(messages), truncated=True))
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=SMALL) as memory:
        report = memory.add(chat_of(*ROOMS), user_id="ana")
        assert (report.failures, report.left) == ([], [])
        assert fine_texts(memory) == said(ROOMS)


@pytest.mark.parametrize("answer", ["", "no verdicts", "[]", "{}", '{"0": null, "1": {"keep": "maybe"}}', "raise"])
def test_a_gate_that_fails_changes_nothing(answer: str, caplog: pytest.LogCaptureFixture) -> None:
    def gate(messages: list[dict[str, Any]]) -> str:
        if answer == "raise":
            raise ValueError(str(messages))
        return answer

    options: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": PRESETS["gates"]}
    with (
        quiet_logs(caplog),
        Memory.in_memory(llm=FunctionChatModel(echoing), general_llm=FunctionChatModel(gate), **options) as memory,
    ):
        report = memory.add(chat_of(*ROOMS), user_id="ana")
        assert {failure.kind for failure in report.failures} <= {"NoVerdict"}
        assert report.left == []
        assert fine_texts(memory) == said(ROOMS)


def test_an_empty_or_useless_memory_is_dropped_with_a_reason_and_costs_no_other() -> None:
    bad = reply({"value": ""}, {"value": None}, memory_of("Ana keeps an otter.", [1]), {"value": "x" * 20_000})  # type: ignore[arg-type]
    with Memory.in_memory(llm=FunctionChatModel(lambda _: bad), embedder=HashEmbedder()) as memory:
        report = memory.add(chat_of(ROOMS[0]), user_id="ana")
        assert fine_texts(memory) == ["Ana keeps an otter."]
        assert len(report.dropped) == 3
        assert all(dropped.reason for dropped in report.dropped)
        assert report.failures == []


@pytest.mark.parametrize("calls", [1, 2])
def test_a_call_that_may_pass_is_tried_again_and_others_are_not(calls: int) -> None:
    error: Exception = TimeoutError() if calls == 2 else ValueError()
    answers = iter([error, echoing])

    def once(messages: list[dict[str, Any]]) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer(messages)

    model = FunctionChatModel(once)
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), model_options=PATIENCE) as memory:
        report = memory.add(chat_of(ROOMS[0]), user_id="ana")
        assert report.usage.calls == len(model.prompts) == calls
        assert (len(report.failures), len(report.left)) == ((0, 0) if calls == 2 else (1, 1))


def test_what_was_cut_off_about_the_last_line_is_not_lost_and_what_was_told_of_it_not_twice() -> None:
    first, second = "Ana keeps an otter called Olga in the old house.", "Ana has a rowing boat with a blue sail."
    whole = reply(memory_of(first, [1]), memory_of(second, [1]))
    cut = Reply(whole[: whole.index("rowing")], truncated=True)
    again = reply(memory_of("Ana keeps an otter named Olga in the old house.", [1]), memory_of(second, [1]))
    answers = iter([cut, again])
    model = FunctionChatModel(lambda _: next(answers))
    chat = chat_of("I keep an otter, Olga, in the old house, and have a rowing boat with a blue sail.")
    with Memory.in_memory(llm=model, embedder=HashEmbedder()) as memory:
        report = memory.add(chat, user_id="ana", session_id="s")
        assert [failure.kind for failure in report.failures] == ["TruncatedReply"]
        assert fine_texts(memory) == [first]
        again_report = memory.refine(user_id="ana")
        assert again_report.left == []
        assert fine_texts(memory) == sorted([first, second])


@pytest.mark.parametrize("preset", ["simple_struct", "strategy_struct", "without_turns"])
def test_a_line_that_was_read_in_another_window_is_not_told_twice_after_a_failure(preset: str) -> None:
    def reworded(seen: Shown) -> str:
        return reply(
            *(memory_of(f"It is said {line.words}".replace("lives", "stays"), [line.number]) for line in seen.new)
        )

    model, script = model_failing("middle", "no")
    options: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": PRESETS[preset]}
    with Memory.in_memory(llm=model, **options) as memory:
        memory.add(chat_of(*ROOMS), user_id="ana", session_id="s")
        script.script = answering(otherwise=reworded)
        memory.refine(user_id="ana")
        pets = [text.split("My ")[1].split()[0] for text in fine_texts(memory)]
        assert sorted(pets) == sorted(line.split()[1] for line in ROOMS)
