"""The tables of a store: made in a new file, brought up to date in an old one, and none of a stranger's touched."""

from __future__ import annotations

import sqlite3
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

from memreader.errors import StoreCorruptError, StoreVersionError

SCHEMA_VERSION = 2

OLDEST = 1
"""The oldest version that `migrations/` leads on from."""


def check_newer(path: Path) -> None:
    """Refuse a store of a newer version without a trace in its folder.

    Raises:
        StoreVersionError: The main file, whatever its log holds, is of a newer version.
    """
    # Immutable: no lock, no log, no file made. And by SQLite, since closing the file by another way drops its locks.
    try:
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            version = _version(db)
            ours = _is_ours(db)
        finally:
            db.close()
    except sqlite3.DatabaseError:
        # Damaged, or being written: whoever opens it properly sees it better.
        return
    if ours and version > SCHEMA_VERSION:
        raise StoreVersionError(path=str(path), found=version, known=SCHEMA_VERSION)


def prepare(db: sqlite3.Connection, path: Path) -> bool:
    """Make the tables, or bring those of an older version up to date, in one transaction; return whether it did that.

    Args:
        db: A connection outside of a transaction.
        path: For messages.

    Raises:
        StoreCorruptError: The file is another program's.
        StoreVersionError: It is of a newer version, or of one that was never released.
    """
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
    if version == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        _run(db, "schema.sql")
        db.execute("INSERT INTO counters VALUES (1, 0, 0)")
        db.execute("INSERT INTO meta VALUES ('store_id', ?)", (uuid4().hex,))
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return False
    if not _is_ours(db):
        raise StoreCorruptError(path=str(path), detail="it is a database of another program")
    if not OLDEST <= version <= SCHEMA_VERSION:
        raise StoreVersionError(path=str(path), found=version, known=SCHEMA_VERSION)
    for step in range(version, SCHEMA_VERSION):
        _run(db, "migrations", f"{step}_to_{step + 1}.sql")
        db.execute(f"PRAGMA user_version = {step + 1}")
    return version < SCHEMA_VERSION


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
