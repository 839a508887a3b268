"""One call of a model: for which task, how often, for how long and how much; over HTTP, what servers do to it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import pytest

from memreader import OpenAIChatModel
from memreader.calling import Answer as Got
from memreader.calling import Caller, ModelFailure, Models, Prompt, Task
from memreader.errors import BudgetExceededError, ModelRequiredError
from memreader.models import EndpointError
from memreader.options import ModelOptions
from memreader.ports import Reply, Usage
from memreader.testing import ScriptedChatModel
from openai_server import Answer, OpenAIServer, refusal

PROMPT = Prompt(({"role": "user", "content": "a secret prompt"},), schema={"type": "object"})


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def call(caller: Caller, way: str = "sync", prompt: Prompt = PROMPT) -> Got:
    return asyncio.run(caller.acall(prompt)) if way == "async" else caller.call(prompt)


def caller_of(*replies: str | Reply | BaseException, **options: Any) -> Caller:
    return Caller(Models(ScriptedChatModel(replies)), ModelOptions(**{"wait_s": 0, **options}))


class Endless:
    """Never answers within a test."""

    name = "endless"

    def __init__(self) -> None:
        self.end = threading.Event()

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None) -> Reply:
        self.end.wait(20)
        return Reply("late")

    async def acomplete(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        await asyncio.sleep(20)
        return Reply("late")


class TestModels:
    def test_every_task_falls_back_to_llm(self) -> None:
        llm = ScriptedChatModel()
        assert all(Models(llm).of(task) is llm for task in get_args(Task))

    @pytest.mark.parametrize("task", [task for task in get_args(Task) if task != "chat"])
    def test_a_tasks_own_model_comes_first_and_reads_nothing_else(self, task: Any) -> None:
        llm, own = ScriptedChatModel(), ScriptedChatModel()
        models = Models(llm, **{f"{task}_llm": own})
        assert models.of(task) is own
        assert all(models.of(other) is llm for other in get_args(Task) if other != task)

    def test_none_at_all_is_an_error_that_says_what_to_pass(self) -> None:
        with pytest.raises(ModelRequiredError, match="llm="):
            Models().of("chat")
        with pytest.raises(ModelRequiredError):
            Models(general_llm=ScriptedChatModel()).of("chat")

    def test_what_is_no_model_is_refused_by_name(self) -> None:
        for name in ("llm", "general_llm", "image_llm"):
            with pytest.raises(TypeError, match=f"{name}.*as_chat_model"):
                Models(**{name: lambda prompt: "text"})  # type: ignore[arg-type]


class TestCalls:
    def test_the_answer_comes_back_and_its_usage_is_counted(self, way: str) -> None:
        caller = caller_of(Reply("yes", Usage(1, 10, 2)))
        assert call(caller, way) == Reply("yes", Usage(1, 10, 2))
        assert caller.usage == Usage(1, 10, 2)

    def test_the_model_is_handed_messages_and_schema(self, way: str) -> None:
        model = ScriptedChatModel(["yes"])
        call(Caller(Models(model)), way)
        assert (model.prompts, model.schemas) == ([list(PROMPT.messages)], [PROMPT.schema])

    def test_what_passes_by_itself_is_tried_again_and_every_try_counted(self, way: str) -> None:
        caller = caller_of(TimeoutError(), ConnectionError(), "yes")
        answer = call(caller, way)
        assert isinstance(answer, Reply)
        assert caller.usage.calls == 3

    def test_the_last_failure_is_a_value(self, way: str) -> None:
        caller = caller_of(TimeoutError("one"), TimeoutError("two"), attempts=2)
        answer = call(caller, way)
        assert isinstance(answer, ModelFailure)
        assert (answer.kind, str(answer.error)) == ("TimeoutError", "two")

    def test_what_stays_wrong_is_tried_once(self, way: str) -> None:
        caller = caller_of(ValueError("no"), "yes")
        assert isinstance(call(caller, way), ModelFailure)
        assert caller.usage == Usage(1)

    def test_a_model_that_returns_something_else_failed(self, way: str) -> None:
        caller = caller_of(*["x"])
        caller._models = Models(_Odd())
        answer = call(caller, way)
        assert isinstance(answer, ModelFailure)
        assert "Reply" in str(answer.error)

    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
    def test_an_end_of_the_program_is_no_failure(self, error: type[BaseException]) -> None:
        with pytest.raises(error):
            call(caller_of(error()))

    def test_a_call_that_never_ends_is_left_behind(self, way: str) -> None:
        model = Endless()
        caller = Caller(Models(model), ModelOptions(timeout_s=0.1, attempts=2, wait_s=0))
        started = time.monotonic()
        answer = call(caller, way)
        model.end.set()
        assert isinstance(answer, ModelFailure)
        assert answer.kind == "TimeoutError"
        assert caller.usage.calls == 2
        assert time.monotonic() - started < 3


class _Odd:
    name = "odd"

    def complete(self, messages: Any, *, schema: Any = None) -> Any:
        return "just text"

    async def acomplete(self, messages: Any, *, schema: Any = None) -> Any:
        return "just text"


class TestBudget:
    def test_calls_end_at_their_number_and_say_so(self, way: str) -> None:
        caller = caller_of("one", "two", "three", max_calls=2)
        answers = [call(caller, way) for _ in range(3)]
        assert [type(answer) for answer in answers] == [Reply, Reply, ModelFailure]
        assert isinstance(answers[2], ModelFailure)
        assert isinstance(answers[2].error, BudgetExceededError)
        assert answers[2].error.limit == "max_calls"
        assert caller.usage.calls == 2

    def test_tries_count_too(self, way: str) -> None:
        caller = caller_of(*[TimeoutError()] * 9, max_calls=3, attempts=9)
        answer = call(caller, way)
        assert isinstance(answer, ModelFailure)
        assert answer.kind == "BudgetExceededError"
        assert caller.usage.calls == 3

    def test_tokens_end_it_once_they_are_used(self, way: str) -> None:
        caller = caller_of(*[Reply("x", Usage(1, 60, 40))] * 9, max_tokens=150)
        kinds = [type(call(caller, way)) for _ in range(4)]
        assert kinds == [Reply, Reply, ModelFailure, ModelFailure]
        assert caller.usage == Usage(2, 120, 80)

    def test_none_at_all_makes_no_call(self, way: str) -> None:
        caller = caller_of("x", max_calls=0)
        assert isinstance(call(caller, way), ModelFailure)
        assert caller.usage == Usage()

    def test_prompts_under_way_count_before_they_are_answered(self, way: str) -> None:
        caller = caller_of("x", "y", max_tokens=1000)
        long = Prompt(({"role": "user", "content": "word " * 700},))
        assert isinstance(caller.call(long), Reply)
        assert isinstance(caller.call(long), ModelFailure)

    def test_threads_together_make_no_call_too_many(self) -> None:
        model = ScriptedChatModel(["x"] * 100)
        caller = Caller(Models(model), ModelOptions(max_calls=20))
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: caller.call(PROMPT), range(60)))
        assert sum(isinstance(answer, Reply) for answer in answers) == len(model.prompts) == caller.usage.calls == 20


class TestOverHttp:
    """A real client against a server on this machine."""

    @pytest.fixture
    def server(self) -> Iterator[OpenAIServer]:
        with OpenAIServer() as server:
            yield server

    @pytest.fixture
    def model(self, server: OpenAIServer) -> Iterator[OpenAIChatModel]:
        model = OpenAIChatModel("m", base_url=server.url)
        yield model
        model.close()

    def ask(self, model: OpenAIChatModel, way: str, **options: Any) -> tuple[Got, Usage]:
        caller = Caller(Models(model), ModelOptions(**{"wait_s": 0, "timeout_s": 5, **options}))
        return call(caller, way), caller.usage

    def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str
    ) -> None:
        server.script(Answer(status=429, body={}, headers={"Retry-After": "0.3"}), Answer("at last"))
        started = time.monotonic()
        answer, usage = self.ask(model, way)
        assert isinstance(answer, Reply)
        assert (answer.text, usage) == ("at last", Usage(2, 7, 3))
        assert time.monotonic() - started >= 0.3

    def test_errors_of_the_server_and_cut_connections_are_tried_again(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str
    ) -> None:
        server.script(refusal("down", status=500), Answer("x" * 999, cut=True), Answer(body=b"<html>"), Answer("fine"))
        answer, usage = self.ask(model, way)
        assert isinstance(answer, Reply)
        assert (answer.text, usage.calls) == ("fine", 4)

    def test_a_slow_answer_is_given_up_and_asked_for_again(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str
    ) -> None:
        server.script(Answer("late", delay_s=9), Answer("in time"))
        started = time.monotonic()
        answer, _ = self.ask(model, way, timeout_s=0.3)
        assert isinstance(answer, Reply)
        assert answer.text == "in time"
        assert time.monotonic() - started < 4

    @pytest.mark.parametrize("slow", [Answer("late", delay_s=9), Answer("drop by drop", drip_s=0.1)])
    def test_what_is_always_slow_fails_within_a_bound(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str, slow: Answer
    ) -> None:
        server.script(slow, slow)
        started = time.monotonic()
        answer, usage = self.ask(model, way, timeout_s=0.3, attempts=2)
        assert isinstance(answer, ModelFailure)
        assert (answer.kind, usage.calls) == ("TimeoutError", 2)
        assert 0.6 <= time.monotonic() - started < 4

    def test_a_server_that_sends_garbage_and_dies_is_a_failure_in_the_end(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str
    ) -> None:
        server.script(*[Answer(body=b"\x00garbage" * 99, cut=True)] * 3)
        answer, usage = self.ask(model, way, attempts=3)
        assert isinstance(answer, ModelFailure)
        assert (answer.kind, usage.calls) == ("ConnectionError", 3)

    def test_a_wrong_key_is_one_clear_failure(self, server: OpenAIServer, model: OpenAIChatModel, way: str) -> None:
        server.script(refusal("a secret prompt", status=401, code="invalid_api_key"))
        answer, usage = self.ask(model, way)
        assert isinstance(answer, ModelFailure)
        assert isinstance(answer.error, EndpointError)
        assert "api_key=" in str(answer.error)
        assert "secret" not in str(answer.error)
        assert usage == Usage(1)

    def test_an_answer_that_was_cut_short_says_so(self, server: OpenAIServer, model: OpenAIChatModel, way: str) -> None:
        server.script(Answer('{"memory list": [', finish_reason="length"))
        answer, _ = self.ask(model, way)
        assert answer == Reply('{"memory list": [', Usage(1, 7, 3), truncated=True)

    def test_a_refused_format_costs_no_try(self, server: OpenAIServer, model: OpenAIChatModel, way: str) -> None:
        server.script(*[refusal("response_format is unknown")] * 2, Answer("plain"))
        answer, usage = self.ask(model, way, attempts=1)
        assert isinstance(answer, Reply)
        assert (answer.text, answer.usage.calls, usage.calls) == ("plain", 3, 1)


class Refusing:
    """Raises the same error for every call, and counts them."""

    name = "refusing"

    def __init__(self, error: Exception, *, answers: int = 0) -> None:
        self.error, self.answers, self.calls = error, answers, 0

    def complete(self, messages: Any, *, schema: Any = None) -> Reply:
        self.calls += 1
        if self.calls <= self.answers:
            return Reply("yes")
        raise self.error

    async def acomplete(self, messages: Any, *, schema: Any = None) -> Reply:
        return self.complete(messages)


def asked_ten_times(model: Refusing) -> list[str]:
    caller = Caller(Models(model), ModelOptions(attempts=1))
    answers = [caller.call(Prompt(({"role": "user", "content": "?"},))) for _ in range(10)]
    return [answer.kind if isinstance(answer, ModelFailure) else answer.text for answer in answers]


def test_after_a_refused_key_no_other_call_is_made() -> None:
    error = ValueError("no")
    error.status_code = 401  # type: ignore[attr-defined]
    model = Refusing(error)
    assert asked_ten_times(model) == ["ValueError"] * 10
    assert model.calls == 1


def test_an_endpoint_that_nobody_can_reach_is_given_up_after_a_few_calls() -> None:
    model = Refusing(ConnectionError("nobody there"))
    assert asked_ten_times(model) == ["ConnectionError"] * 10
    assert model.calls == 3


def test_an_endpoint_that_has_answered_once_is_not_given_up() -> None:
    model = Refusing(ConnectionError("lost"), answers=1)
    assert asked_ten_times(model) == ["yes"] + ["ConnectionError"] * 9
    assert model.calls == 10
