"""Logic that asks a language model, written once and driven in two worlds.

A **plan** is a generator that yields batches of prompts and gets their answers back: a `Reply`, or a `ModelFailure`
where the call failed. It touches nothing else, and can be tested without a model: `run` drives it with threads, `arun`
on the event loop.

A **job** is a generator around many plans that are independent of each other: it yields a `Wave` of them, again and
again, and gets one finished plan each time. Between, it may do what blocks: read files, embed, write. `drive` runs a
job; `adrive` runs its steps in a thread and the calls on the event loop. A job that is ended early (Ctrl-C,
cancellation) is closed: what it has to finish stands in its `finally`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import queue
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, cast

from memreader.calling import Answer, Caller, ModelFailure, Models, Prompt
from memreader.options import ModelOptions
from memreader.ports import ChatModel

__all__ = [
    "Answer", "Caller", "Job", "ModelFailure", "Plan", "Prompt", "Wave",
    "adrive", "arun", "ask", "awaiting", "blocking", "drive", "run",
]  # fmt: skip

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")

Plan: TypeAlias = Generator[Sequence[Prompt], Sequence[Answer], T]
Job: TypeAlias = "Generator[Wave[Any], tuple[int, Any] | None, T]"


def ask(prompts: Sequence[Prompt]) -> Plan[list[Answer]]:
    """Return the answers to `prompts`, in order; to be used as `yield from ask(prompts)`. None asked, none yielded."""
    if not prompts:
        return []
    return list((yield prompts))


@dataclass(slots=True)
class _Running:
    """A plan that waits for answers."""

    place: int
    plan: Plan[Any]
    answers: list[Answer | None]
    missing: int


class Wave(Generic[T]):
    """Plans that are driven at the same time, begun in their order and as their calls find room.

    A job that yields it gets `(place of a plan, its result)` of one that has finished, in the order in which they do;
    None when all have. Plans run beside the job and must not touch what it changes.

    Args:
        plans: Made one by one, when there is room for their calls.
        caller: Answers their prompts.
    """

    def __init__(self, plans: Iterable[Plan[T]], caller: Caller) -> None:
        self.caller = caller
        self.stopped = False
        self.left: dict[int, T] = {}
        """Place -> result of the plans that have finished and that the job has not been given yet."""
        self._plans = enumerate(iter(plans))
        self._calls: deque[tuple[_Running, int, Prompt]] = deque()
        self._done: deque[tuple[int, T]] = deque()
        self._under_way = self._open = 0
        self._exhausted = False

    def starting(self) -> Iterator[tuple[_Running, int, Prompt]]:
        """Yield the calls that there is room for now, each to be made at once."""
        while not self.stopped and self._under_way < self.caller.options.concurrency:
            while not self._calls and not self._exhausted:
                place, plan = next(self._plans, (0, None))
                if plan is None:
                    self._exhausted = True
                else:
                    self._advance(place, plan, None)
            if not self._calls:
                return
            self._under_way += 1
            self._open += 1
            yield self._calls.popleft()

    def ended(self) -> None:
        """Make room for another call: one has ended. Its answer may be taken later, so that no call waits for that."""
        self._under_way -= 1

    def answered(self, running: _Running, number: int, answer: Answer) -> None:
        """Take an answer, and let the plan go on when it was the last one that it waits for."""
        self._open -= 1
        running.answers[number] = answer
        running.missing -= 1
        if not running.missing and not self.stopped:
            self._advance(running.place, running.plan, cast("list[Answer]", running.answers))

    def finished(self) -> Iterator[tuple[int, T] | None]:
        """Yield what has finished since; None when nothing more will."""
        while self._done:
            place, value = self._done.popleft()
            self.left[place] = value
            yield place, value
        if self._exhausted and not (self._calls or self._open):
            yield None

    def _advance(self, place: int, plan: Plan[T], answers: list[Answer] | None) -> None:
        try:
            prompts = next(plan) if answers is None else plan.send(answers)
            while not prompts:
                prompts = plan.send([])
        except StopIteration as stop:
            self._done.append((place, stop.value))
            return
        running = _Running(place, plan, [None] * len(prompts), len(prompts))
        self._calls.extend((running, number, prompt) for number, prompt in enumerate(prompts))


@dataclass(slots=True)
class _Threads:
    """Drives a wave with one thread per call under way."""

    wave: Wave[Any]
    out: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Make the first calls."""
        with self.lock:
            self._go_on()

    def next(self) -> tuple[int, Any] | None:
        """Return what has finished next, None when all has."""
        value = self.out.get()
        if isinstance(value, BaseException):
            raise value
        if value is not None:
            self.wave.left.pop(value[0], None)
        return cast("tuple[int, Any] | None", value)

    def _go_on(self) -> None:
        for call in self.wave.starting():
            work = threading.Thread(
                target=copy_context().run, args=(self._answer, *call), name="memreader-call", daemon=True
            )
            work.start()
        for done in self.wave.finished():
            self.out.put(done)

    def _answer(self, running: _Running, number: int, prompt: Prompt) -> None:
        with _HandedTo(self.out):
            answer = self.wave.caller.call(prompt)
            with self.lock:
                self.wave.ended()
                self._go_on()
            with self.lock:
                self.wave.answered(running, number, answer)
                self._go_on()


@dataclass(frozen=True, slots=True)
class _HandedTo:
    """Hands whatever ends a thread to the one that waits for its work, whose place it is to raise it."""

    out: queue.SimpleQueue[Any]

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        if error is not None:
            self.out.put(error)
        return True


class _Tasks:
    """Drives a wave with one task per call under way."""

    def __init__(self, wave: Wave[Any]) -> None:
        self.wave = wave
        self._out: asyncio.Queue[Any] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Make the first calls."""
        for call in self.wave.starting():
            task = asyncio.create_task(self._answer(*call))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        for done in self.wave.finished():
            self._out.put_nowait(done)

    async def next(self) -> tuple[int, Any] | None:
        """Return what has finished next, None when all has."""
        value = await self._out.get()
        if isinstance(value, BaseException):
            raise value
        if value is not None:
            self.wave.left.pop(value[0], None)
        return cast("tuple[int, Any] | None", value)

    async def stop(self) -> None:
        """Cancel the calls under way, and wait until they are."""
        self.wave.stopped = True
        for task in list(self._tasks):
            task.cancel()
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _answer(self, running: _Running, number: int, prompt: Prompt) -> None:
        answer = await self.wave.caller.acall(prompt)
        self.wave.ended()
        self.start()
        await asyncio.sleep(0)  # The calls that were begun get on their way before this answer is looked at.
        self.wave.answered(running, number, answer)
        self.start()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            if not self.wave.stopped:
                self._out.put_nowait(asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self._out.put_nowait(error)


def drive(job: Job[T]) -> T:
    """Return what `job` returns, its plans' prompts answered by threads.

    A call that raises becomes a `ModelFailure`; KeyboardInterrupt and the like pass, after the job was closed.
    """
    crews: dict[int, _Threads] = {}
    with closing(job):
        done, step = None, None
        try:
            while True:
                wave = next(job) if step is None else job.send(done)
                step = wave
                if id(wave) not in crews:
                    crews[id(wave)] = _Threads(wave)
                    crews[id(wave)].start()
                done = crews[id(wave)].next()
        except StopIteration as stop:
            return cast(T, stop.value)
        finally:
            for crew in crews.values():
                crew.wave.stopped = True


async def adrive(job: Job[T]) -> T:
    """Return the same as `drive`: the calls are made on the event loop, the job's own steps in a thread."""
    crews: dict[int, _Tasks] = {}
    done: tuple[int, Any] | None = None
    begun = False
    try:
        while True:
            step = functools.partial(job.send, done) if begun else functools.partial(next, job)
            begun = True
            over, value = await _in_thread(functools.partial(_stepped, step))
            if over:
                return cast(T, value)
            if id(value) not in crews:
                crews[id(value)] = _Tasks(value)
                crews[id(value)].start()
            done = await crews[id(value)].next()
    finally:
        for crew in crews.values():
            await crew.stop()
        await _in_thread(job.close)


def _stepped(step: Callable[[], Any]) -> tuple[bool, Any]:
    """Return whether a job is over with this step, and its result or its next wave."""
    try:
        return False, step()
    except StopIteration as stop:
        return True, stop.value


async def _in_thread(work: Callable[[], T]) -> T:
    """Return what `work` does in a thread; a cancellation waits until it has ended."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def run(plan: Plan[T], model: ChatModel, *, concurrency: int = 8, options: ModelOptions | None = None) -> T:
    """Return what `plan` returns, its prompts answered by up to `concurrency` threads.

    A call that raises becomes a `ModelFailure`; KeyboardInterrupt and the like pass.

    Args:
        plan: What to do.
        model: Answers, whatever the task.
        concurrency: Calls under way at once.
        options: Patience and budget; `concurrency` counts instead of theirs.
    """
    return drive(_alone(plan, model, concurrency, options))


async def arun(plan: Plan[T], model: ChatModel, *, concurrency: int = 8, options: ModelOptions | None = None) -> T:
    """Return the same as `run`, with up to `concurrency` calls under way on the event loop."""
    return await adrive(_alone(plan, model, concurrency, options))


def _alone(plan: Plan[T], model: ChatModel, concurrency: int, options: ModelOptions | None) -> Job[T]:
    caller = Caller(Models(model), replace(options or ModelOptions(), concurrency=concurrency))
    done = yield Wave([plan], caller)
    assert done is not None
    return cast(T, done[1])


def blocking(job: Callable[Concatenate[S, P], Job[T]], name: str) -> Callable[Concatenate[S, P], T]:
    """Return the method that does a job and blocks: same arguments, and docstring."""

    @functools.wraps(job)
    def verb(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return drive(job(self, *args, **kwargs))

    return cast("Callable[Concatenate[S, P], T]", _named(verb, job, name))


def awaiting(
    job: Callable[Concatenate[S, P], Job[T]], name: str
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the async twin of `blocking`."""

    @functools.wraps(job)
    async def verb(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await adrive(job(self, *args, **kwargs))

    verb.__doc__ = f"Async twin of `{name.removeprefix('a')}`, off the event loop.\n\n    {job.__doc__ or ''}"
    return cast("Callable[Concatenate[S, P], Coroutine[Any, Any, T]]", _named(verb, job, name))


def _named(verb: Callable[P, T], job: Callable[..., Any], name: str) -> Callable[P, T]:
    verb.__name__ = name
    verb.__qualname__ = job.__qualname__.replace(job.__name__, name)
    # What a job ends with is what the verb returns; whoever makes a tool of a verb reads that.
    returns = job.__annotations__["return"].removeprefix("Job[").removesuffix("]")
    verb.__annotations__ = job.__annotations__ | {"return": returns}
    verb.__signature__ = inspect.signature(job).replace(return_annotation=returns)  # type: ignore[attr-defined]
    return verb
