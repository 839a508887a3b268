"""Keeping what was said, so that an answer is never lost for failing to keep it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args
from weakref import WeakKeyDictionary

from langchain_memreader.identity import labels
from langchain_memreader.refining import WAITING, Job, refiner_of
from memreader import AddReport, Memory
from memreader.reader import Mode
from memreader.refining import RefineReport
from memreader.types import Failure, Scope

logger = logging.getLogger(__name__)

WriteMode: TypeAlias = Literal["fast", "fine", "fast_then_refine"]
"""How it is kept: as it was said; read by a model before the call returns; or as it was said, and read afterwards."""
OnReport: TypeAlias = Callable[[AddReport | RefineReport], None]


@dataclass(frozen=True, slots=True)
class Said:
    """What is to be kept, and whose it is."""

    scope: Scope
    messages: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class _Attempt:
    """What came of trying to keep something."""

    said: Said | None = None
    report: AddReport = field(default_factory=AddReport)


class Saver:
    """Keeps what was said in a memory; whatever goes wrong is logged and reported, never raised.

    Args:
        memory: Where.
        write_mode: None for "fast_then_refine" where the memory has a language model, else "fast".
        on_report: Gets the report of each saving, and of each refining in the background, from its thread.

    Raises:
        ModelRequiredError: The mode needs a model, and there is none.
        ValueError: There is no such mode.
    """

    def __init__(
        self, memory: Memory, *, write_mode: WriteMode | None = None, on_report: OnReport | None = None
    ) -> None:
        if write_mode is None:
            write_mode = "fast" if memory.reader.default_mode == "fast" else "fast_then_refine"
        if write_mode not in get_args(WriteMode):
            raise ValueError(f"write_mode is one of {', '.join(get_args(WriteMode))}, got {write_mode!r}")
        self._mode: Mode = memory.reader.checked_mode("fine" if write_mode == "fine" else "fast")
        self._refines = write_mode == "fast_then_refine"
        if self._refines:
            memory.reader.checked_mode("fine")
        self._memory = memory
        self._on_report = on_report
        self._refiner = refiner_of(memory)

    @property
    def last_report(self) -> AddReport | None:
        """What the last saving of this context (thread or task) did; None before the first."""
        return _last.get().get(self)

    def save(self, say: Callable[[], Said]) -> AddReport:
        """Return what keeping that which `say` gives did."""
        attempt = _Attempt()
        with save_boundary(attempt.report, "a turn was not saved"):
            attempt.said = say()
            attempt.report = self._memory.add(attempt.said.messages, **self._how(attempt.said))
            _log_failures(attempt.report)
        return self._saved(attempt)

    async def asave(self, say: Callable[[], Said]) -> AddReport:
        """Return what keeping that which `say` gives did, off the event loop."""
        attempt = _Attempt()
        with save_boundary(attempt.report, "a turn was not saved"):
            attempt.said = say()
            attempt.report = await self._memory.aadd(attempt.said.messages, **self._how(attempt.said))
            _log_failures(attempt.report)
        return self._saved(attempt)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until what was saved is refined, at most so long; return whether it is, or nothing had to be."""
        return self._refiner.flush(timeout_s)

    async def aflush(self, timeout_s: float | None = None) -> bool:
        """Return the same as `flush`, without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout_s)

    def close(self, timeout_s: float | None = None) -> bool:
        """Flush; what is saved from now on stays as it was said until `Memory.refine`."""
        self._refines = False
        return self.flush(timeout_s)

    def _how(self, said: Said) -> dict[str, Any]:
        return {**labels(said.scope), "mode": self._mode, "at": datetime.now().astimezone()}

    def _saved(self, attempt: _Attempt) -> AddReport:
        report = attempt.report
        if attempt.said is not None and self._refines and report.added:
            job = Job(attempt.said.scope.user_id, self._refine)
            if not self._refiner.take(job, report.added):
                logger.warning("a turn stays raw until Memory.refine: %d items wait for a model already", WAITING)
        _last.set(WeakKeyDictionary({**_last.get(), self: report}))
        self._tell(report)
        return report

    def _refine(self, user_id: str, ids: Sequence[str]) -> None:
        """Refine in the background what was saved; what goes wrong becomes a report."""
        report = RefineReport()
        with save_boundary(report, "what was saved was not refined"):
            report = self._memory.refine(user_id=user_id, ids=ids)
        if report.failures and not report.refined and not report.left:
            report = RefineReport(left=list(ids), failures=report.failures)
        self._tell(report)

    def _tell(self, report: AddReport | RefineReport) -> None:
        if self._on_report is not None:
            with save_boundary(report, "on_report failed"):
                self._on_report(report)


def _log_failures(report: AddReport) -> None:
    if report.failures:
        kinds = ", ".join(sorted({failure.kind for failure in report.failures}))
        logger.warning("part of a turn was not %s (%s)", "refined" if report.left else "saved", kinds)


@contextmanager
def save_boundary(report: AddReport | RefineReport, what: str) -> Iterator[None]:
    """Make whatever goes wrong inside a failure in `report`, and a line in the log that quotes nothing."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the answer is there, and must not be lost for failing to keep it
        kind = type(error).__name__
        logger.warning("%s (%s); the run goes on", what, kind)
        logger.debug("why: %r", error)
        report.failures.append(Failure(kind, str(error)))


_last: ContextVar[WeakKeyDictionary[Saver, AddReport]] = ContextVar(
    "langchain_memreader_last_report",
    default=WeakKeyDictionary(),  # noqa: B039 - never changed: each saving sets a new one
)
