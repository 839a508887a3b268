"""The tables of a store: made in a new file, brought up to date in an old one, and none of a stranger's touched."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

from memreader.errors import StoreCorruptError, StoreVersionError

SCHEMA_VERSION = 6

OLDEST = 1
"""The oldest version that `migrations/` leads on from."""


def create(path: Path) -> None:
    """Make an empty store at `path`, which only its owner may read, unless something is there; at once or not at all.

    So a file without tables is never one that is being made, but one that was lost.
    """
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{uuid4().hex}.new")
    try:
        number = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.close(number)
        draft.chmod(0o600)
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.execute("BEGIN")
            make_tables(db)
            db.execute("INSERT INTO counters VALUES (1, 0, 0)")
            db.execute("INSERT INTO meta VALUES ('store_id', ?)", (uuid4().hex,))
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            db.execute("COMMIT")
        _name(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def make_tables(db: sqlite3.Connection) -> None:
    """Make the tables of this version, empty."""
    _run(db, "schema.sql")


def check_file(path: Path) -> None:
    """Refuse a file of a newer version, or one that was cut, without a trace in its folder.

    Raises:
        StoreVersionError: The main file, whatever its log holds, is of a newer version.
        StoreCorruptError: It ends in the middle of a page.
    """
    # Immutable: no lock, no log, no file made. And by SQLite, since closing the file by another way drops its locks.
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            version = _version(db)
            ours = _is_ours(db)
            page_size = db.execute("PRAGMA page_size").fetchone()[0]
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        # Damaged, or being written: whoever opens it properly sees it better.
        return
    if ours and version > SCHEMA_VERSION:
        raise StoreVersionError(path=str(path), found=version, known=SCHEMA_VERSION)
    # With a log, the end may be in there.
    if path.stat().st_size % page_size and log_is_empty(path):
        raise StoreCorruptError(path=str(path), detail="its end is missing")


def log_is_empty(path: Path) -> bool:
    """Return whether the write-ahead log of the database at `path` holds nothing."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size == 0
    except FileNotFoundError:
        return True


def prepare(db: sqlite3.Connection, path: Path) -> bool:
    """Bring a store of an older version up to date, in one transaction; return whether that was needed.

    Args:
        db: A connection outside of a transaction.
        path: For messages.

    Raises:
        StoreCorruptError: The file is another program's.
        StoreVersionError: It is of a newer version, or of one that was never released.
    """
    if _is_ours(db) and _version(db) == SCHEMA_VERSION:
        # Without waiting for the write lock.
        return False
    # Without effect inside a transaction. Off: else a table that is replaced takes away what refers to its rows.
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("PRAGMA legacy_alter_table = ON")
    try:
        db.execute("BEGIN IMMEDIATE")
        migrated = _prepare(db, path)
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    db.execute("PRAGMA legacy_alter_table = OFF")
    db.execute("PRAGMA foreign_keys = ON")
    return migrated


def _prepare(db: sqlite3.Connection, path: Path) -> bool:
    version = _version(db)
    if not _is_ours(db):
        if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreCorruptError(path=str(path), detail="it is empty, as if its content was lost")
        raise StoreCorruptError(path=str(path), detail="it is a database of another program")
    if not OLDEST <= version <= SCHEMA_VERSION:
        raise StoreVersionError(path=str(path), found=version, known=SCHEMA_VERSION)
    for step in range(version, SCHEMA_VERSION):
        _run(db, "migrations", f"{step}_to_{step + 1}.sql")
        db.execute(f"PRAGMA user_version = {step + 1}")
    return version < SCHEMA_VERSION


def _name(draft: Path, path: Path) -> None:
    """Give a finished file its name, unless another one has it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        # Another thread or process was faster.
        return
    except OSError:
        # The file system has no links. Who is faster in this moment is told that the file was replaced.
        if not path.exists():
            draft.rename(path)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _is_ours(db: sqlite3.Connection) -> bool:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {"meta", "items"} <= tables


def _run(db: sqlite3.Connection, *name: str) -> None:
    """Run the statements of one of our SQL files, each ended by ";" at the end of a line; not by `executescript`, which
    commits first.
    """
    text = files("memreader.stores").joinpath(*name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            db.execute(statement)
