"""Plans: the same logic under threads and on the event loop, failures as values."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.plan import Answer, ModelFailure, Plan, Prompt, arun, ask, run
from memreader.ports import ChatModel, Reply
from memreader.testing import ScriptedChatModel

Driver: TypeAlias = Callable[..., Any]


def drive_sync(plan: Plan[Any], model: ChatModel, **options: Any) -> Any:
    return run(plan, model, **options)


def drive_async(plan: Plan[Any], model: ChatModel, **options: Any) -> Any:
    return asyncio.run(arun(plan, model, **options))


both = pytest.mark.parametrize("drive", [drive_sync, drive_async], ids=["threads", "event loop"])


def prompt(text: str) -> Prompt:
    return Prompt(({"role": "user", "content": text},))


def asking(*batches: Sequence[str]) -> Plan[list[list[Answer]]]:
    answers: list[list[Answer]] = []
    for batch in batches:
        answers.append((yield from ask([prompt(text) for text in batch])))
    return answers


def texts(answers: Sequence[Answer]) -> list[str]:
    return [answer.text if isinstance(answer, Reply) else answer.kind for answer in answers]


class Echo:
    """Answers with the prompt, the earlier ones later; counts how many calls are under way."""

    def __init__(self, *, slow_s: float = 0.0) -> None:
        self.slow_s = slow_s
        self.under_way = self.most = 0
        self._lock = threading.Lock()

    def _step(self, by: int) -> None:
        with self._lock:
            self.under_way += by
            self.most = max(self.most, self.under_way)

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Any = None) -> Reply:
        self._step(1)
        time.sleep(self.slow_s)
        self._step(-1)
        return Reply(messages[0]["content"])

    async def acomplete(self, messages: Sequence[Mapping[str, Any]], *, schema: Any = None) -> Reply:
        self._step(1)
        await asyncio.sleep(self.slow_s)
        self._step(-1)
        return Reply(messages[0]["content"])


class Failing(Echo):
    """Raises what it is told for prompts that hold "bad"."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Any = None) -> Reply:
        if "bad" in messages[0]["content"]:
            raise self.error
        return super().complete(messages)

    async def acomplete(self, messages: Sequence[Mapping[str, Any]], *, schema: Any = None) -> Reply:
        if "bad" in messages[0]["content"]:
            raise self.error
        return await super().acomplete(messages)


@both
@given(st.lists(st.lists(st.text("abc", max_size=4), max_size=5), max_size=4), st.integers(1, 4))
def test_answers_come_in_the_order_of_the_prompts(drive: Driver, batches: list[list[str]], concurrency: int) -> None:
    answers = drive(asking(*batches), Echo(), concurrency=concurrency)
    assert [texts(batch) for batch in answers] == batches


@both
def test_a_later_prompt_that_is_answered_first_stays_in_its_place(drive: Driver) -> None:
    class Reversed(Echo):
        def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Any = None) -> Reply:
            time.sleep(0.05 if messages[0]["content"] == "0" else 0)
            return Reply(messages[0]["content"])

        async def acomplete(self, messages: Sequence[Mapping[str, Any]], *, schema: Any = None) -> Reply:
            await asyncio.sleep(0.05 if messages[0]["content"] == "0" else 0)
            return Reply(messages[0]["content"])

    (answers,) = drive(asking("0123"), Reversed(), concurrency=4)
    assert texts(answers) == ["0", "1", "2", "3"]


@both
@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_calls_than_allowed_are_under_way_and_as_many_are(drive: Driver, concurrency: int) -> None:
    model = Echo(slow_s=0.02)
    drive(asking([str(i) for i in range(9)]), model, concurrency=concurrency)
    assert model.most == concurrency


@both
def test_a_failed_call_is_a_value_and_the_others_are_answered(drive: Driver) -> None:
    error = TimeoutError("slow")
    (answers,) = drive(asking(["a", "bad", "c"]), Failing(error))
    assert texts(answers) == ["a", "TimeoutError", "c"]
    assert answers[1] == ModelFailure("TimeoutError", error)


@both
def test_the_plan_goes_on_after_a_failure(drive: Driver) -> None:
    answers = drive(asking(["bad"], ["again"]), Failing(ValueError("no")))
    assert [texts(batch) for batch in answers] == [["ValueError"], ["again"]]


@both
def test_keyboard_interrupt_passes(drive: Driver) -> None:
    with pytest.raises(KeyboardInterrupt):
        drive(asking(["a", "bad", "c"]), Failing(KeyboardInterrupt()))


def test_a_cancelled_call_passes_on_the_event_loop() -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(arun(asking(["bad"]), Failing(asyncio.CancelledError())))


async def test_cancelling_the_run_cancels_the_calls_under_way() -> None:
    model = Echo(slow_s=30)
    task = asyncio.create_task(arun(asking(["a", "b"]), model))
    while model.under_way < 2:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


@both
def test_asking_nothing_yields_nothing(drive: Driver) -> None:
    assert list(ask([])) == []
    model = ScriptedChatModel()
    assert drive(asking([]), model) == [[]]
    assert model.prompts == []


@both
def test_a_plan_that_asks_nothing_returns_its_value(drive: Driver) -> None:
    def silent() -> Plan[str]:
        yield from ()
        return "done"

    assert drive(silent(), ScriptedChatModel()) == "done"


@both
def test_an_error_of_the_plan_itself_passes(drive: Driver) -> None:
    def broken() -> Plan[str]:
        yield from ask([prompt("a")])
        raise LookupError("the plan's own")

    with pytest.raises(LookupError, match="own"):
        drive(broken(), Echo())


@both
@pytest.mark.parametrize("concurrency", [0, -1])
def test_at_least_one_call_must_be_allowed(drive: Driver, concurrency: int) -> None:
    with pytest.raises(ValueError, match="concurrency"):
        drive(asking(["a"]), Echo(), concurrency=concurrency)


@given(st.lists(st.lists(st.sampled_from(["a", "bad", "c"]), max_size=4), max_size=4))
def test_both_drivers_give_the_same(batches: list[list[str]]) -> None:
    def texts_of(drive: Driver) -> list[list[str]]:
        return [texts(batch) for batch in drive(asking(*batches), Failing(OSError("down")))]

    assert texts_of(drive_sync) == texts_of(drive_async)


@both
def test_usage_travels_with_the_reply(drive: Driver) -> None:
    (answers,) = drive(asking(["a"]), Echo())
    assert answers[0].usage.calls == 1


def test_the_event_loop_goes_on_while_calls_are_under_way() -> None:
    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        clock = asyncio.create_task(tick())
        await arun(asking(["a"]), Echo(slow_s=0.1))
        clock.cancel()
        return ticks

    started: Coroutine[Any, Any, int] = main()
    assert asyncio.run(started) > 5
