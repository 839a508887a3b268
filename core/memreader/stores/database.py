"""The SQLite file: opened safely, one writer, and a reader for each that reads at the same time."""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from memreader.errors import StoreBusyError, StoreClosedError, StoreForkedError, StoreFullError
from memreader.stores import forking
from memreader.stores.connecting import Connector, Register, check_durability, identity, open_first, place
from memreader.stores.failures import Translating, is_busy
from memreader.stores.readers import Readers
from memreader.stores.schema import SCHEMA_VERSION as SCHEMA_VERSION
from memreader.stores.schema import log_is_empty
from memreader.stores.scrub import Wiper, empty_log
from memreader.types import Durability as Durability

BUSY_TIMEOUT_S = 30.0
POLL_S = 0.05
"""How long SQLite itself waits for the write lock. In between, Ctrl-C is heard and a fork gets its turn."""
READ_OR_WRITTEN = "another process, or a thread of this one, is reading or writing; purge again when it is done"


class Database:
    """`memory.db` in a folder, in WAL mode; private, see `folder`. Any thread may use it, and both sides of a fork.

    Args:
        folder: Created when absent.
        durability: What was written survives the end of this process, by kill -9 too ("process"); of the machine, by a
            power cut too ("power"). Neither ever leaves a damaged file.
        register: Called with every new connection, to give it functions.

    Raises:
        StoreVersionError: A newer memreader wrote it. An older version is brought up to date.
        StoreError: One of its other children, as their names say.
        NotADirectoryError: The folder is a file.
    """

    file: forking.FileId
    _writer: sqlite3.Connection | None
    _writing: forking.Use | None
    """The use whose transaction is open, or was when Ctrl-C came in its last moment."""

    def __init__(self, folder: Path, *, durability: Durability = "process", register: Register | None = None) -> None:
        check_durability(durability)
        self.file = (0, 0)
        self._on_fork: list[weakref.WeakMethod[Callable[[], None]]] = []
        self._closed = self._lost = False
        with forking.using(self):
            self.path = place(folder)
            self.file = identity(self.path)
            self._connector = Connector(self.path, self.file, durability, register, BUSY_TIMEOUT_S)
            self._translating = Translating(self.path, timeout_s=BUSY_TIMEOUT_S)
            self._wiper = Wiper(self.path)
            self._start_anew()
            forking.watch(self)
            self._writer, self.store_id = open_first(self._connector)
            self._writer.execute(f"PRAGMA busy_timeout = {POLL_S * 1000:.0f}")

    @property
    def durability(self) -> Durability:
        """What survives what; setting it holds for the writes to come."""
        return self._connector.durability

    @durability.setter
    def durability(self, value: Durability) -> None:
        check_durability(value)
        with self._write_lock, forking.using(self), self._translating:
            self._connector.durability = value
            if self._writer is not None:
                self._connector.set_durability(self._writer)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection for reading that nobody else uses meanwhile.

        `close` leaves one that is in use to the end of its reading: closed under a running query it crashes.
        """
        use = forking.Use(self)
        try:
            use.begin()
            with self._translating:
                self._check_usable()
                connection = use.connection = self._readers.lend()
                yield connection
                self._give_back(use, whole=True)
        finally:
            try:
                self._give_back(use, whole=False)
            finally:
                use.inside.pop(use, None)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside one read transaction: all its queries see the same state."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the writer inside one transaction, committed at the end, rolled back on any error.

        Inside a transaction of the same thread it is a part of that one: committed or rolled back with it. What a part
        did before an error stays if the error is caught inside the whole. Don't begin one inside a `reading`.

        Raises:
            StoreBusyError: Others held the lock for longer than 30 s.
        """
        with self._write_lock:
            if self._in_transaction() and self._writer is not None:
                with self._translating:
                    yield self._writer
                return
            until = time.monotonic() + BUSY_TIMEOUT_S
            while True:
                use = forking.Use(self)
                try:
                    use.begin()
                    with self._translating:
                        writer = self._usable_writer()
                        if self._began(writer, use):
                            yield writer
                            writer.execute("COMMIT")
                            return
                finally:
                    try:
                        self._end()
                    finally:
                        use.inside.pop(use, None)
                if time.monotonic() > until:
                    raise StoreBusyError(path=str(self.path), timeout_s=BUSY_TIMEOUT_S)

    def purge(self, timeout_s: float = 5.0) -> str:
        """Leave no byte of what was deleted in the folder's files that SQLite makes; return "", or what was in the way.

        The write-ahead log is emptied, which nobody may be reading for, and what SQLite leaves in the database wiped.
        """
        if self._in_transaction():
            return "it was asked for in the middle of a write"
        until = time.monotonic() + timeout_s
        while True:
            reason = "another thread of this process is writing"
            if self._write_lock.acquire(timeout=max(0.0, until - time.monotonic())):
                try:
                    with forking.using(self) as use, self._translating:
                        reason = self._purged(use)
                except StoreFullError:
                    return "the disk has no room to write the log back; free some space and purge again"
                finally:
                    self._write_lock.release()
            if not reason or time.monotonic() >= until:
                return reason
            time.sleep(0.01)

    def close(self) -> None:
        """Close every connection, after the write that is under way; a second call does nothing."""
        self._closed = True
        with forking.using(self):
            self._readers.close()
        with self._write_lock:
            # In a transaction of this thread, its end does it.
            if not self._in_transaction():
                with forking.using(self):
                    self._close_writer()

    def on_fork(self, callback: Callable[[], None]) -> None:
        """Have a bound method called in a forked child, before `fork` returns there, as long as its object lives.

        It makes new locks, since the old ones may be held by threads that are not there, and drops what these were
        changing. For the database itself there is nothing to be done.
        """
        self._on_fork.append(weakref.WeakMethod(callback))

    @property
    def is_open(self) -> bool:
        """Whether there may be connections."""
        return not self._closed or forking.has_connections(self)

    def before_fork(self, *, busy: bool) -> None:
        """Close what is not in use; see `forking`."""
        self._readers.close_idle()
        if not busy and not self._in_transaction():
            self._close_writer()

    def after_fork(self, *, lost: bool) -> None:
        """Start anew in the child; see `forking`."""
        self._lost = self._lost or lost
        if self._writer is not None:
            forking.keep_forever(self._writer)
            if self._in_transaction():
                # This thread is in the block of its transaction, and would go on to write and commit.
                self._writer.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
        # Its file is not closed either; and a daemon that closes all files must not find another one by its number.
        self._wiper = Wiper(self.path)
        self._start_anew()

    def tell_forked(self) -> None:
        """Tell the owner, in the child; see `forking`."""
        for reference in self._on_fork:
            callback = reference()
            if callback is not None:
                callback()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an open store can't be pickled: give the other process the folder, and open it there")

    def _start_anew(self) -> None:
        self._readers = Readers(self._connector)
        self._write_lock = threading.RLock()
        self._writer = None
        self._writing = None

    def _check_usable(self) -> None:
        if self._lost:
            raise StoreForkedError(path=str(self.path))
        if self._closed:
            raise StoreClosedError

    def _in_transaction(self) -> bool:
        """Return whether this thread is in a transaction, given that no other can be, or may be."""
        return self._writing is not None and self._writing.is_mine

    def _give_back(self, use: forking.Use, *, whole: bool) -> None:
        """Give a reader's connection back, unless that was done already."""
        connection = use.connection
        # One that a fork inherited stays as it is for good.
        if isinstance(connection, sqlite3.Connection) and not use.is_inherited:
            use.connection = None
            self._readers.take_back(connection, whole=whole)

    def _usable_writer(self) -> sqlite3.Connection:
        self._check_usable()
        if self._writer is None:
            writer = self._connector.connect()
            writer.execute(f"PRAGMA busy_timeout = {POLL_S * 1000:.0f}")
            self._writer = writer
        return self._writer

    def _began(self, writer: sqlite3.Connection, use: forking.Use) -> bool:
        """Begin a transaction, and return whether the lock was free."""
        self._connector.check_file()
        self._writing = use
        if writer.in_transaction:
            # What Ctrl-C left behind.
            writer.execute("ROLLBACK")
        try:
            # IMMEDIATE: a reader that upgrades later would get "database is locked" at once, timeout or not.
            writer.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return False
        return True

    def _end(self) -> None:
        """Roll back what was not committed."""
        # In a child that was forked meanwhile there is no writer, and it is the parent's to do.
        self._writing = None
        # After a commit there is nothing to roll back, nor after errors on which SQLite did so by itself.
        if self._writer is not None and self._writer.in_transaction:
            with self._translating:
                self._writer.execute("ROLLBACK")
        if self._closed:
            self._close_writer()

    def _purged(self, use: forking.Use) -> str:
        """Try to purge, and return "" or what was in the way; the caller has the write lock."""
        writer = self._usable_writer()
        try:
            empty_log(writer)
            if not self._began(writer, use) or not log_is_empty(self.path):
                return READ_OR_WRITTEN
            wiped = self._wiper.wipe()
        except ValueError as error:
            return str(error)
        finally:
            self._end()
        if wiped:
            # It has pages in memory as they were. The others forgot theirs when the log was emptied.
            self._writer = None
            writer.close()
        return ""

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        self._wiper.close(shared=forking.has_connections(self) or bool(forking.same_file(self)))
