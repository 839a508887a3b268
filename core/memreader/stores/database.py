"""The SQLite file: opening it safely, one writer, and a reader for each that reads at the same time."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

from memreader.errors import StoreBusyError, StoreClosedError, StoreCorruptError, StoreError, StoreVersionError

SCHEMA_VERSION = 1
BUSY_TIMEOUT_S = 30.0


class Database:
    """`memory.db` in a folder of mode 0700, in WAL mode, file mode 0600.

    Args:
        folder: Created when absent.

    Raises:
        StoreVersionError: Another memreader wrote it.
        StoreCorruptError: It is not a database, or not one of ours.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "memory.db"
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "a memory is kept in a folder, this is a file", str(folder))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._write_lock = threading.RLock()
        self._closed = False
        if not self.path.exists():
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            self._writer = self._connect()
        except sqlite3.DatabaseError as error:
            raise self._refused(error) from error
        with ExitStack() as undo:
            undo.callback(self.close)
            try:
                self._prepare()
                self._use_wal()
            except sqlite3.DatabaseError as error:
                raise self._refused(error) from error
            undo.pop_all()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection for reading that nobody else uses meanwhile.

        They are kept for the next to read, so that there are as many as ever read at once, however many threads come
        and go. `close` leaves one that is in use to the end of its reading: closed under a running query it crashes.
        """
        with self._guard:
            if self._closed:
                raise StoreClosedError
            connection = self._idle.pop() if self._idle else self._connect()
        try:
            yield connection
        finally:
            with self._guard:
                keep = not self._closed
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside one read transaction: all its queries see the same state."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the writer inside one transaction, committed at the end, rolled back on any error.

        Raises:
            StoreBusyError: Another process held the lock for longer than 30 s.
        """
        with self._write_lock:
            if self._closed:
                raise StoreClosedError
            try:
                # IMMEDIATE: a reader that upgrades later would get "database is locked" at once, timeout or not.
                self._writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if _is_busy(error):
                    raise StoreBusyError(path=str(self.path), timeout_s=BUSY_TIMEOUT_S) from error
                raise
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                # After a commit there is nothing to roll back, nor after errors on which SQLite did so by itself, a
                # full disk among them.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def close(self) -> None:
        """Close every connection, after the write that is under way; a second call does nothing."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        with self._write_lock:
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        with ExitStack() as undo:
            undo.callback(connection.close)
            # NORMAL in WAL: survives kill -9; a power loss may drop the last commits, never damage the file.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            undo.pop_all()
        return connection

    def _use_wal(self) -> None:
        """Switch the file to WAL, which it remembers. Not before `_prepare`: a foreign file is refused untouched."""
        until = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            try:
                self._writer.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # The switch needs the file for itself, and SQLite does not wait for that as it does for a lock.
                if not _is_busy(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def _refused(self, error: sqlite3.DatabaseError) -> StoreError:
        if _is_busy(error):
            return StoreBusyError(path=str(self.path), timeout_s=BUSY_TIMEOUT_S)
        return StoreCorruptError(path=str(self.path), detail=str(error))

    def _prepare(self) -> None:
        with self.transaction() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if version == 0 and not tables:
                for statement in _statements():
                    db.execute(statement)
                db.execute("INSERT INTO meta VALUES ('store_id', ?)", (uuid4().hex,))
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            elif "meta" not in tables or "items" not in tables:
                raise StoreCorruptError(path=str(self.path), detail="it is a database of another program")
            elif version != SCHEMA_VERSION:
                raise StoreVersionError(path=str(self.path), found=version, known=SCHEMA_VERSION)


def _statements() -> list[str]:
    text = (files("memreader.stores") / "schema.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return [statement for statement in "\n".join(lines).split(";") if statement.strip()]


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
