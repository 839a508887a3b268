"""Refining what was saved in the background, so that no answer waits for a model: one thread per memory at most."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from memreader import Memory

WAITING = 1000
"""Items that may wait for a model; what is saved beyond them stays raw until `Memory.refine`."""


@dataclass(frozen=True, slots=True)
class Job:
    """Whose items, and what refines them: it takes the ids, and never raises."""

    user_id: str
    refine: Callable[[str, Sequence[str]], None]


class Refiner:
    """Refines what waits, one user after another, in a thread that is there only while something waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[Job, list[str]] = {}
        self._thread: threading.Thread | None = None

    def take(self, job: Job, ids: Sequence[str]) -> bool:
        """Have the items refined later; return False, and leave them, if too many wait already."""
        with self._changed:
            if sum(map(len, self._waiting.values())) + len(ids) > WAITING:
                return False
            # What one user said meanwhile is read together: fewer calls, more context.
            self._waiting.setdefault(job, []).extend(ids)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="memreader-langchain-refine", daemon=True)
                self._thread.start()
        return True

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing waits or is under way; return whether that is so.

        Args:
            timeout_s: At most so long; None until it is.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            while self._thread is not None and self._thread.is_alive():
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                job = next(iter(self._waiting), None)
                if job is None:
                    self._thread = None
                    self._changed.notify_all()
                    return
                ids = self._waiting.pop(job)
            job.refine(job.user_id, ids)


_of_memory: WeakKeyDictionary[Memory, Refiner] = WeakKeyDictionary()
_lock = threading.Lock()


def refiner_of(memory: Memory) -> Refiner:
    """Return the one refiner of a memory, however many adapters stand on it."""
    with _lock:
        return _of_memory.setdefault(memory, Refiner())
