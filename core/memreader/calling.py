"""One call of a language model: the right one for the task, with patience, within a budget; a failure is a value."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from memreader.errors import BudgetExceededError, ModelRequiredError
from memreader.forksafe import Guard
from memreader.models.retrying import policy, status_of
from memreader.options import ModelOptions
from memreader.ports import ChatModel, Reply, Usage

REFUSED = frozenset({401, 403, 404})
"""Statuses after which no other call of the same verb is made: a wrong key, or a wrong name."""
UNREACHABLE = 3
"""Calls that found nobody, each after all its tries, before anybody answered: then no other call is made either."""

Task = Literal["chat", "document", "general", "preference", "image"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one call asks."""

    messages: tuple[Mapping[str, Any], ...]
    """Dicts with role and content."""
    schema: Mapping[str, Any] | None = None
    """JSON schema of the answer that is wanted."""
    task: Task = "chat"


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """A call that failed, as a value: the error's type and the error itself. Its text may quote a prompt."""

    kind: str
    error: Exception


Answer: TypeAlias = Reply | ModelFailure


@dataclass(frozen=True, slots=True)
class Models:
    """The language models, each for its tasks; one that is None is stood in for by `llm`.

    Raises:
        TypeError: One of them is no `ports.ChatModel`.
    """

    llm: ChatModel | None = None
    """Reads conversations, and whatever no other is set for."""
    general_llm: ChatModel | None = None
    """Rewrites and checks memories (gates)."""
    preference_llm: ChatModel | None = None
    image_llm: ChatModel | None = None
    document_llm: ChatModel | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            model = getattr(self, name)
            if model is not None and not (callable(getattr(model, "complete", None)) and hasattr(model, "acomplete")):
                raise TypeError(
                    f"{name} must have the methods of memreader.ports.ChatModel, got {type(model).__name__}. For "
                    "another library's model use langchain_memreader.as_chat_model or "
                    "llamaindex_memreader.as_chat_model."
                )

    def of(self, task: Task) -> ChatModel:
        """Return the model for a task.

        Raises:
            ModelRequiredError: There is none.
        """
        model = self.llm if task == "chat" else getattr(self, f"{task}_llm") or self.llm
        if model is None:
            raise ModelRequiredError(mode="fine")
        return model


class Caller:
    """Answers prompts, as long as the budget lasts, and counts what that took. Thread-safe; one per call of a verb.

    Args:
        models: Who answers.
        options: Patience and budget.
    """

    def __init__(self, models: Models, options: ModelOptions | None = None) -> None:
        self.options = options or ModelOptions()
        self._models = models
        self._guard = Guard()
        self._tries = 0
        self._usage = Usage()
        self._used = self._expected = 0
        self._in_vain = 0
        self._hopeless: Exception | None = None

    @property
    def usage(self) -> Usage:
        """What the calls took; a try that failed counts as a call without tokens."""
        with self._guard.lock:
            return Usage(self._tries, self._usage.prompt_tokens, self._usage.completion_tokens)

    def call(self, prompt: Prompt) -> Answer:
        """Return the answer to a prompt, after as many tries as it takes and may have."""
        from tenacity import Retrying

        if self._hopeless is not None:
            return _answer(self._hopeless)
        return self._noted(_answer(Retrying(**policy(self.options))(self._attempt, prompt)))

    async def acall(self, prompt: Prompt) -> Answer:
        """Return the same as `call`, without blocking the event loop."""
        from tenacity import AsyncRetrying

        if self._hopeless is not None:
            return _answer(self._hopeless)
        return self._noted(_answer(await AsyncRetrying(**policy(self.options))(self._aattempt, prompt)))

    def _attempt(self, prompt: Prompt) -> Reply | Exception:
        expected = _tokens_of(prompt)
        if (spent := self._spend(expected)) is not None:
            return spent
        model, timeout_s = self._models.of(prompt.task), self.options.timeout_s
        out: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()
        context = copy_context()
        # In a thread of its own: a call that never ends can't be stopped, only left behind.
        work = threading.Thread(
            target=context.run, args=(_call, model, prompt, out), name="memreader-model", daemon=True
        )
        work.start()
        try:
            value = out.get(timeout=timeout_s)
        except queue.Empty:
            return self._counted(TimeoutError(f"no answer in {timeout_s:g} s"), expected)
        if isinstance(value, BaseException) and not isinstance(value, Exception):
            raise value
        return self._counted(value, expected)

    async def _aattempt(self, prompt: Prompt) -> Reply | Exception:
        expected = _tokens_of(prompt)
        if (spent := self._spend(expected)) is not None:
            return spent
        model = self._models.of(prompt.task)
        value: Reply | Exception
        try:
            async with asyncio.timeout(self.options.timeout_s):
                value = await model.acomplete(prompt.messages, schema=prompt.schema)
        except Exception as error:  # noqa: BLE001 - DESIGN 3: one model call's failure is a value, whatever it is
            value = error
        return self._counted(value, expected)

    def _spend(self, expected: int) -> BudgetExceededError | None:
        """Count a try whose prompt has about so many tokens, or return why there must be none."""
        limits = self.options
        with self._guard.lock:
            if limits.max_calls is not None and self._tries >= limits.max_calls:
                return BudgetExceededError(limit="max_calls", allowed=limits.max_calls)
            spent = self._used + self._expected
            # The first is always made: nobody knows how long its answer is.
            if limits.max_tokens is not None and spent and spent + expected > limits.max_tokens:
                return BudgetExceededError(limit="max_tokens", allowed=limits.max_tokens)
            self._tries += 1
            self._expected += expected
        return None

    def _noted(self, answer: Answer) -> Answer:
        """Note whether further calls are in vain: the endpoint refuses this client, or can't be reached at all."""
        with self._guard.lock:
            if isinstance(answer, Reply):
                self._in_vain = -1
            elif status_of(answer.error) in REFUSED:
                self._hopeless = answer.error
            elif isinstance(answer.error, ConnectionError) and self._in_vain >= 0:
                self._in_vain += 1
                if self._in_vain >= UNREACHABLE:
                    self._hopeless = answer.error
        return answer

    def _counted(self, value: Reply | Exception, expected: int) -> Reply | Exception:
        with self._guard.lock:
            self._expected -= expected
            if isinstance(value, Reply):
                self._usage += value.usage
                told = value.usage.prompt_tokens + value.usage.completion_tokens
                # Of a model that doesn't say, an estimate counts towards the budget.
                self._used += told or expected + _tokens_in(value.text)
        return value


def _tokens_of(prompt: Prompt) -> int:
    return sum(_tokens_in(str(message.get("content", ""))) for message in prompt.messages)


def _tokens_in(text: str) -> int:
    """Return about how many tokens a text has: four bytes of English are one, and so is a character of Chinese."""
    return len(text.encode("utf-8", "replace")) // 4


def _call(model: ChatModel, prompt: Prompt, out: queue.SimpleQueue[Reply | BaseException]) -> None:
    value: Reply | BaseException = SystemExit("the call was ended")
    try:
        value = model.complete(prompt.messages, schema=prompt.schema)
    except Exception as error:  # noqa: BLE001 - DESIGN 3: one model call's failure is a value, whatever it is
        value = error
    except (KeyboardInterrupt, SystemExit) as error:  # for whoever waits for the answer, not for this thread
        value = error
    finally:
        out.put(value)


def _answer(value: Any) -> Answer:
    if isinstance(value, Exception):
        return ModelFailure(type(value).__name__, value)
    if not isinstance(value, Reply):
        problem = TypeError(f"a chat model returned {type(value).__name__}; return a memreader.ports.Reply")
        return ModelFailure("TypeError", problem)
    return value
