"""The SQLite file: opening it safely, one writer, one reader per thread."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

from memreader.errors import StoreBusyError, StoreClosedError, StoreCorruptError, StoreVersionError

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
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._write_lock = threading.RLock()
        self._closed = False
        new = not self.path.exists()
        if new:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            self._writer = self._connect()
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.close()
            if _is_busy(error):
                raise StoreBusyError(path=str(self.path), timeout_s=BUSY_TIMEOUT_S) from error
            raise StoreCorruptError(path=str(self.path), detail=str(error)) from error
        except BaseException:
            self.close()
            raise

    @property
    def reader(self) -> sqlite3.Connection:
        """This thread's connection for reading."""
        if self._closed:
            raise StoreClosedError
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
        return connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Give this thread's reader inside one read transaction: all its queries see the same state."""
        connection = self.reader
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
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    def close(self) -> None:
        """Close every connection; a second call does nothing."""
        with self._guard:
            self._closed = True
            connections, self._all = self._all, []
        for connection in connections:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        with self._guard:
            if self._closed:
                connection.close()
                raise StoreClosedError
            self._all.append(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL in WAL: survives kill -9; a power loss may drop the last commits, never damage the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        return connection

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
