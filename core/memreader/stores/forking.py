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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeAlias

WAIT_S = 5.0
"""How long a fork waits for reads and writes that are under way."""

FileId: TypeAlias = tuple[int, int]
"""Device and inode."""

not_sqlites: set[int] = set()
"""Numbers of open files that are databases, but were opened by us and not by SQLite."""


class Forkable(Protocol):
    """What has connections to a file."""

    file: FileId

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
    """One use of something by this thread: `try: use.begin() ... finally: use.inside.pop(use, None)`.

    That is the end as long as no line of Python runs for it, at which Ctrl-C could come. Forks wait for it; and `begin`
    for a fork that is under way, but not in a thread that is inside already. So don't wait inside for another thread
    that may be about to begin.
    """

    __slots__ = ("_thread", "connection", "inside", "one")

    def __init__(self, one: Forkable) -> None:
        self.one = one
        self.connection: object = None
        """What is in use, if a child must never close it."""
        self.inside = _gate.inside
        self._thread = threading.get_ident()

    def begin(self) -> None:
        """Come in."""
        gate = _gate
        self.inside[self] = self._thread
        if gate.forker is not None and list(self.inside.values()).count(self._thread) == 1:
            while gate.forker not in (None, self._thread):
                self.inside.pop(self, None)
                gate.opened.wait()
                # Said before it is looked: a fork that begins in between sees it.
                self.inside[self] = self._thread

    @property
    def is_mine(self) -> bool:
        """Whether it is this thread's, and did not end."""
        return self._thread == threading.get_ident() and self in self.inside

    @property
    def is_inherited(self) -> bool:
        """Whether it began before this process was forked."""
        return self.inside is not _gate.inside


class _Gate:
    """Lets threads in and out, and keeps them out while one forks."""

    def __init__(self) -> None:
        self.inside: dict[Use, int] = {}
        """Use -> its thread."""
        self.forker: int | None = None
        self.opened = threading.Event()
        self.forking = threading.Lock()
        self.known: list[weakref.ref[Forkable]] = []
        self.lost: set[FileId] = set()
        """Files that must not be used in this process."""
        self.left_open: set[FileId] = set()
        """Files that were open to SQLite, by whomever, in the moment of the last fork."""

    def alive(self) -> list[Forkable]:
        """Return all that may have connections."""
        return [one for reference in list(self.known) if (one := reference()) is not None]

    def used_by_others(self) -> set[Forkable]:
        """Return what threads other than this one are using."""
        me = threading.get_ident()
        return {use.one for use, thread in list(self.inside.items()) if thread != me}


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
        use.inside.pop(use, None)


def is_lost(file: FileId) -> bool:
    """Return whether the file was in use when this process was forked, and must not be used in it."""
    return file in _gate.lost


def has_connections(one: Forkable) -> bool:
    """Return whether a connection of its is in use, by any thread."""
    return any(use.one is one and use.connection is not None for use in list(_gate.inside))


def same_file(one: Forkable) -> list[Forkable]:
    """Return who else in this process may have connections to the file of `one`."""
    return [other for other in _gate.alive() if other is not one and other.is_open and other.file == one.file]


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
    gate.left_open = _open_files()


def _after_in_parent() -> None:
    _gate.forker = None
    _gate.opened.set()
    _gate.forking.release()


def _after_in_child() -> None:
    global _gate, _registering
    old, _gate = _gate, _Gate()
    _registering = threading.Lock()
    _gate.known = old.known
    in_use = {use.one.file for use in old.inside}
    _gate.lost = old.lost | {one.file for one in old.alive() if one.file in in_use | old.left_open}
    for use in old.inside:
        # Closing it would write to the file on behalf of the parent.
        keep_forever(use.connection)
    for one in old.alive():
        one.after_fork(lost=is_lost(one.file))
    for one in old.alive():
        one.tell_forked()


def _open_files() -> set[FileId]:
    """Return the files that this process has open, as far as the system tells, but for those of `not_sqlites`.

    A closed connection stays open as long as a cursor of it lives, in the frames of an exception for example.
    """
    folder = next((path for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), None)
    found: set[FileId] = set()
    for name in os.listdir(folder) if folder is not None else ():
        number = int(name)
        if number not in not_sqlites:
            with suppress(OSError):
                status = os.fstat(number)
                found.add((status.st_dev, status.st_ino))
    return found
