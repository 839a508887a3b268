"""Making connections to the one file of a store, each set up alike, and to no other file that takes its place."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from memreader.errors import NetworkFolderError, StoreCorruptError, StoreError, StoreForkedError, StoreIOError
from memreader.stores import folder as folders
from memreader.stores import forking, schema
from memreader.stores.failures import GONE, Translating, is_busy, of_system
from memreader.types import Durability

Register = Callable[[sqlite3.Connection], None]

# In WAL, NORMAL survives kill -9; a power cut may drop the last commits, but never damages the file.
_SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}


@dataclass(slots=True)
class Connector:
    """Opens the store's file."""

    path: Path
    file: forking.FileId
    durability: Durability
    register: Register | None
    timeout_s: float

    def connect(self) -> sqlite3.Connection:
        """Return a new connection, which any thread may use, one at a time."""
        # mode=rw: else one would be made where the file was deleted.
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=self.timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        with ExitStack() as undo:
            undo.callback(connection.close)
            self.check_file()
            self.set_durability(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            # Sorting and the like leaves no words in files elsewhere.
            connection.execute("PRAGMA temp_store = MEMORY")
            if self.register is not None:
                self.register(connection)
            undo.pop_all()
        return connection

    def set_durability(self, connection: sqlite3.Connection) -> None:
        """Have what this connection commits from now on survive what it should."""
        connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[self.durability]}")

    def check_file(self) -> None:
        """Refuse to go on when the file is no longer where it was opened: what is written to it would be lost.

        Raises:
            StoreIOError: It was deleted or moved; another one may be in its place.
        """
        try:
            same = identity(self.path) == self.file
        except FileNotFoundError:
            same = False
        if not same:
            raise StoreIOError(path=str(self.path), detail=GONE)


def check_durability(value: str) -> None:
    """Refuse what is no `Durability`.

    Raises:
        ValueError: It isn't one.
    """
    if value not in get_args(Durability):
        raise ValueError(f"durability is 'process' or 'power', not {value!r}")


def place(folder: Path) -> Path:
    """Return the real path of the database in a folder; both are there.

    Raises:
        StoreReadOnlyError, StoreFullError, NetworkFolderError, StoreCorruptError: See `Database`.
        OSError: The path makes no sense: a part of it is a file, or it is too long.
    """
    path = folder.absolute() / "memory.db"
    try:
        path = folders.prepare(folder) / path.name
        folders.check_files(path)
        with Translating(path, timeout_s=0):
            schema.create(path)
    except OSError as error:
        ours = None if isinstance(error, StoreError) else of_system(error, path)
        if ours is None:
            raise
        raise ours from error
    return path


def identity(path: Path) -> forking.FileId:
    """Return what tells a file from one that took its place."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def open_first(connector: Connector) -> tuple[sqlite3.Connection, str]:
    """Return a connection to a file that is made ready for use, and the store's id.

    Raises:
        StoreError: One of its children, see `Database`.
    """
    path = connector.path
    if forking.is_lost(connector.file):
        raise StoreForkedError(path=str(path))
    with ExitStack() as undo, Translating(path, timeout_s=connector.timeout_s, opening=True):
        schema.check_file(path)
        connection = connector.connect()
        undo.callback(connection.close)
        migrated = schema.prepare(connection, path)
        # Not before: a stranger's file is left as it is.
        folders.tighten(path)
        use_wal(connection, path, timeout_s=connector.timeout_s)
        if migrated:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        row = connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()
        if row is None:
            raise StoreCorruptError(path=str(path), detail="it has no store_id")
        undo.pop_all()
    return connection, str(row[0])


def use_wal(connection: sqlite3.Connection, path: Path, *, timeout_s: float) -> None:
    """Switch the file to WAL, which it remembers.

    Raises:
        NetworkFolderError: It can't be, since the file system shares no memory between processes.
    """
    until = time.monotonic() + timeout_s
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            # The switch needs the file for itself, and SQLite does not wait for that as it does for a lock.
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            break
    if mode != "wal":
        raise NetworkFolderError(path=str(path), filesystem="a file system without shared memory")
