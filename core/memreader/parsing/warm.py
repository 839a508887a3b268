"""The one parsing process that this process keeps warm."""

from __future__ import annotations

import atexit
import os
import threading
from dataclasses import dataclass, field
from typing import Any

from memreader.errors import MissingExtraError, ParserCrashedError
from memreader.parsing.host import has_markitdown, resident_mb
from memreader.parsing.process import GoneError, Job, ParsingProcess


@dataclass(slots=True)
class _Place:
    lock: threading.Lock = field(default_factory=threading.Lock)
    process: ParsingProcess | None = None


_places: dict[int, _Place] = {}
"""By process id: a fork inherits its parent's place, and must neither use the pipes nor wait for the lock in it."""


def ask(job: Job) -> dict[str, Any]:
    """Return the parsing process's answer; one document at a time, other threads wait.

    Starts the process if there is none, and once more if the old one turns out to have ended while idle.

    Raises:
        MissingExtraError: markitdown is not installed.
        DocumentTimeoutError, DocumentMemoryError, ParserCrashedError: see `ParsingProcess.read`.
    """
    if not has_markitdown():
        raise MissingExtraError(package="markitdown", extra="documents")
    place = _own_place()
    with place.lock:
        for _ in range(2):
            process = _running(place, job.name)
            try:
                answer = process.read(job)
            except GoneError:
                continue
            used = resident_mb(process.pid)
            if used is not None and used > job.limits.max_memory_mb / 2:
                # What one document left behind must not count against the next.
                process.close()
            return answer
    raise ParserCrashedError(name=job.name, detail="the parser ended twice before it took the document")


def close_parser() -> None:
    """End the parsing process of this process, if there is one; the next document starts another. Runs at exit."""
    place = _places.get(os.getpid())
    if place is None:
        return
    with place.lock:
        if place.process is not None:
            place.process.close()
            place.process = None


def parser_pid() -> int | None:
    """Return the process id of the warm parsing process, None while there is none."""
    place = _places.get(os.getpid())
    process = place.process if place else None
    return process.pid if process is not None and process.is_alive else None


def _own_place() -> _Place:
    pid = os.getpid()
    place = _places.get(pid)
    if place is not None:
        return place
    for owner in [owner for owner in list(_places) if owner != pid]:
        inherited = _places.pop(owner, None)
        if inherited is not None and inherited.process is not None:
            inherited.process.disown()
    atexit.register(close_parser)
    return _places.setdefault(pid, _Place())


def _running(place: _Place, name: str) -> ParsingProcess:
    process = place.process
    if process is not None and process.is_alive:
        return process
    if process is not None:
        process.close()
        place.process = None
    process = ParsingProcess(name=name)
    if process.refusal is not None:
        raise MissingExtraError(package=process.refusal["detail"], extra="documents")
    place.process = process
    return process
