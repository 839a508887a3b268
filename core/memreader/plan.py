"""Logic that asks a language model, written once and driven in two worlds.

A plan is a generator that yields batches of prompts and gets their answers back: a `Reply`, or a `ModelFailure` where
the call failed. `run` drives it with threads, `arun` on the event loop; a plan can be tested without either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from memreader.ports import ChatModel, Reply

T = TypeVar("T")
Prompt: TypeAlias = Sequence[Mapping[str, Any]]
"""Messages for one call: dicts with role and content."""


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """A call that failed, as a value: the error's type and the error itself. Its text may quote a prompt."""

    kind: str
    error: Exception


Answer: TypeAlias = Reply | ModelFailure
Plan: TypeAlias = Generator[Sequence[Prompt], Sequence[Answer], T]


def ask(prompts: Sequence[Prompt]) -> Plan[list[Answer]]:
    """Return the answers to `prompts`, in order; to be used as `yield from ask(prompts)`. None asked, none yielded."""
    if not prompts:
        return []
    return list((yield prompts))


def run(plan: Plan[T], model: ChatModel, *, concurrency: int = 8) -> T:
    """Return what `plan` returns, its prompts answered by up to `concurrency` threads.

    A call that raises becomes a `ModelFailure`; KeyboardInterrupt and the like pass.
    """
    _check(concurrency)
    answers: Sequence[Answer] | None = None
    with ThreadPoolExecutor(concurrency, thread_name_prefix="memreader-model") as pool:
        while True:
            try:
                prompts = next(plan) if answers is None else plan.send(answers)
            except StopIteration as stop:
                result: T = stop.value
                return result
            answers = list(pool.map(lambda prompt: _call(model, prompt), prompts))


async def arun(plan: Plan[T], model: ChatModel, *, concurrency: int = 8) -> T:
    """Return the same as `run`, with up to `concurrency` calls under way on the event loop."""
    _check(concurrency)
    gate = asyncio.Semaphore(concurrency)

    async def one(prompt: Prompt) -> Answer:
        async with gate:
            try:
                return await model.acomplete(prompt)
            except Exception as error:  # noqa: BLE001 - DESIGN 3: one model call's failure is a value, whatever it is
                return ModelFailure(type(error).__name__, error)

    answers: Sequence[Answer] | None = None
    while True:
        try:
            prompts = next(plan) if answers is None else plan.send(answers)
        except StopIteration as stop:
            result: T = stop.value
            return result
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(prompt)) for prompt in prompts]
        answers = [task.result() for task in tasks]


def _call(model: ChatModel, prompt: Prompt) -> Answer:
    try:
        return model.complete(prompt)
    except Exception as error:  # noqa: BLE001 - DESIGN 3: one model call's failure is a value, whatever it is
        return ModelFailure(type(error).__name__, error)


def _check(concurrency: int) -> None:
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, got {concurrency}")
