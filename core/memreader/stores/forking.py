"""Forks: no thread is inside SQLite while this process forks, and the child inherits no open connection.

SQLite keeps a record of the locks that its process holds. A child that inherits it believes to hold locks which only
its parent has, and what it then writes is lost when the parent closes the file. So every connection is closed before a
fork, and opened again, by either side, when it is next used.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

WAIT_S = 5.0
"""How long a fork waits for reads and writes that are under way."""


class Forkable(Protocol):
    """What has connections to a file."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether there may be connections."""
        ...

    def before_fork(self, *, busy: bool) -> None:
        """Close the connections that are not in use; `busy`: other threads may be using some."""
        ...

    def after_fork(self, *, lost: bool) -> None:
        """Start anew in the child; `lost`: connections were in use, so it must not use the file at all."""
        ...

    def tell_forked(self) -> None:
        """Tell the owner, in the child, after everything of ours there has started anew."""
        ...


class Use:
    """One use of something by this thread: `try: use.begin() ... finally: use.end()`.

    Forks wait for its end, and its begin for a fork that is under way. A thread that is inside already never waits; so
    don't wait inside for another thread that may be about to begin.
    """

    __slots__ = ("_gate", "_outer", "_thread", "connection", "end", "one")

    def __init__(self, one: Forkable) -> None:
        self.one = one
        self.connection: object = None
        """What is in use, if a child must never close it."""
        self._gate = _gate
        self._thread = threading.get_ident()
        self._outer = outer = _gate.inside.get(self._thread, ())
        # It has no line of Python, at the begin of which Ctrl-C could still come. Harmless if it never began.
        self.end: Callable[[], object] = (
            partial(_gate.inside.__setitem__, self._thread, outer)
            if outer
            else partial(_gate.inside.pop, self._thread, None)
        )

    def begin(self) -> None:
        """Come in."""
        gate = self._gate
        gate.inside[self._thread] = (*self._outer, self)
        if gate.forker is not None and not self._outer:
            while gate.forker not in (None, self._thread):
                self.end()
                gate.opened.wait()
                # Said before it is looked: a fork that begins in between sees it.
                gate.inside[self._thread] = (self,)

    @property
    def is_mine(self) -> bool:
        """Whether it is this thread's."""
        return self._thread == threading.get_ident()

    @property
    def is_inside(self) -> bool:
        """Whether it began and did not end, in this process."""
        return self in _gate.inside.get(self._thread, ())

    @property
    def is_inherited(self) -> bool:
        """Whether it began before this process was forked."""
        return self._gate is not _gate


class _Gate:
    """Lets threads in and out, and keeps them out while one forks."""

    def __init__(self) -> None:
        self.inside: dict[int, tuple[Use, ...]] = {}
        """Thread -> its uses."""
        self.forker: int | None = None
        self.opened = threading.Event()
        self.forking = threading.Lock()
        self.known: list[weakref.ref[Forkable]] = []
        self.lost: set[tuple[int, int]] = set()
        """Files that must not be used in this process, by device and inode."""

    def alive(self) -> list[Forkable]:
        """Return all that may have connections."""
        return [one for reference in list(self.known) if (one := reference()) is not None]

    def used_by_others(self) -> set[Forkable]:
        """Return what threads other than this one are using."""
        me = threading.get_ident()
        return {use.one for thread, uses in list(self.inside.items()) if thread != me for use in uses}


_gate = _Gate()
_registering = threading.Lock()
_registered = False


def watch(one: Forkable) -> None:
    """From now on, close its connections before every fork, as long as it lives; call it before it has any."""
    global _registered
    with _registering:
        _gate.known = [reference for reference in _gate.known if reference() is not None]
        _gate.known.append(weakref.ref(one))
        if not _registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
            _registered = True


@contextmanager
def using(one: Forkable) -> Iterator[Use]:
    """Use something in a block; see `Use`."""
    use = Use(one)
    try:
        use.begin()
        yield use
    finally:
        use.end()


def is_lost(path: Path) -> bool:
    """Return whether the file was in use when this process was forked."""
    if not _gate.lost:
        return False
    status = path.stat()
    return (status.st_dev, status.st_ino) in _gate.lost


def has_connections(one: Forkable) -> bool:
    """Return whether a connection of its is in use, by any thread."""
    uses = [use for uses in list(_gate.inside.values()) for use in uses]
    return any(use.one is one and use.connection is not None for use in uses)


def same_file(one: Forkable) -> list[Forkable]:
    """Return who else in this process may have connections to the file of `one`."""
    return [other for other in _gate.alive() if other is not one and other.is_open and other.path == one.path]


def keep_forever(thing: object) -> None:
    """Let `thing` never be freed, not even when Python ends."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _before() -> None:
    gate = _gate
    gate.forking.acquire()
    gate.opened.clear()
    gate.forker = threading.get_ident()
    until = time.monotonic() + WAIT_S
    while gate.used_by_others() and time.monotonic() < until:
        time.sleep(0.0005)
    busy = gate.used_by_others()
    for one in gate.alive():
        one.before_fork(busy=one in busy)


def _after_in_parent() -> None:
    _gate.forker = None
    _gate.opened.set()
    _gate.forking.release()


def _after_in_child() -> None:
    global _gate, _registering
    old, _gate = _gate, _Gate()
    _registering = threading.Lock()
    _gate.known, _gate.lost = old.known, old.lost
    uses = [use for uses in old.inside.values() for use in uses]
    for use in uses:
        # Closing it would write to the file on behalf of the parent.
        keep_forever(use.connection)
    in_use = {use.one for use in uses}
    for one in old.alive():
        if one in in_use:
            _lose(one.path)
        one.after_fork(lost=one in in_use)
    for one in old.alive():
        one.tell_forked()


def _lose(path: Path) -> None:
    try:
        status = path.stat()
    except OSError:
        # Deleted: nobody can open it any more.
        return
    _gate.lost.add((status.st_dev, status.st_ino))
