"""Locks that a fork waits for, and that a forked child finds free.

A child has no thread but the one that forked. What another thread held stays locked in it for ever; and so does what
that thread was about to import, since Python locks a module meanwhile. Hence models and the modules that they need are
loaded under these locks, and a fork waits until nobody does.
"""

from __future__ import annotations

import os
import threading
import time
import weakref

WAIT_S = 5.0
"""How long a fork waits for the holders. After that it goes ahead, and what they were importing may hang the child."""


class Guard:
    """Holds a lock: `with guard.lock: ...`. Reentrant, so that a thread which forks inside does not wait for itself.

    Take it from `guard` each time. In a child it is another one, free even if a thread of the parent held the old one;
    a block that forked leaves the old one. Don't wait inside for a thread that is about to fork.
    """

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _known.add(weakref.ref(self, _known.discard))


_known: set[weakref.ref[Guard]] = set()
_taken: dict[int, list[threading.RLock]] = {}
"""Thread that is forking -> the locks it keeps others out with."""


def _guards() -> list[Guard]:
    return [guard for reference in list(_known) if (guard := reference()) is not None]


def _before() -> None:
    taken = _taken[threading.get_ident()] = []
    locks = [guard.lock for guard in _guards()]
    until = time.monotonic() + WAIT_S
    while (busy := _take(locks, taken)) is not None:
        _release(taken)
        # With none held: its holder may need any of the others on its way.
        if not busy.acquire(timeout=max(0.0, until - time.monotonic())):
            return
        taken.append(busy)


def _take(locks: list[threading.RLock], taken: list[threading.RLock]) -> threading.RLock | None:
    """Take all, and return None; or those before one that another thread holds, and return that one."""
    for lock in locks:
        if not lock.acquire(blocking=False):
            return lock
        taken.append(lock)
    return None


def _release(taken: list[threading.RLock]) -> None:
    while taken:
        taken.pop().release()


def _after_in_parent() -> None:
    _release(_taken.pop(threading.get_ident(), []))


def _after_in_child() -> None:
    _taken.clear()
    for guard in _guards():
        guard.lock = threading.RLock()


# Locks of modules are made at import, so this is too; it changes nothing for a process that does not fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
