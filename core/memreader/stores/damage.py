"""Looking for damage in a store's file, once something failed that can't fail in a whole one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from memreader.items import TextualMemoryMetadata
from memreader.stores import schema

UNEXPECTED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, sqlite3.Error)
"""What code that trusts the rows of a store may raise when they are not what was written: or a fault of the code."""

_TYPES = {"TEXT": "text", "INTEGER": "integer", "BLOB": "blob"}
_JSON = (("items", "metadata"), ("messages", "flags"), ("documents", "page_starts"))
_OF_CONTENT = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_TIMEOUT_S = 1.0


def damage(path: Path) -> str | None:
    """Return what is wrong with the store at `path`, without a word of its memories; None if nothing is, or may be.

    Reads everything, as it was last committed, by a connection of its own.
    """
    uri = f"{path.as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_TIMEOUT_S, isolation_level=None)) as db:
            return next(_problems(db), None)
    except sqlite3.DatabaseError as error:
        # Else it is locked, or gone, or the disk fails: that says nothing of what is in it. Our statements are right.
        told = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _OF_CONTENT
        return without_words(error) if told else None
    except UnicodeDecodeError:
        return "there is text in it that is no text"


def without_words(error: sqlite3.Error) -> str:
    """Return the message of an error without the words of a memory that it may cite."""
    return str(error).partition(" with text ")[0]


def _problems(db: sqlite3.Connection) -> Iterator[str]:
    for table, columns in _expected().items():
        # Not one by one: a table that is missing has no columns.
        found = {name: kind for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")}
        for name, kind in columns.items():
            if found.get(name) != kind:
                yield f"the column {name} of the table {table} is missing"
    verdict = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
    if verdict != "ok":
        yield " ".join(verdict.split())
    if db.execute("PRAGMA foreign_key_check").fetchone():
        yield "there are rows whose item is missing"
    for table, columns in _expected().items():
        wrong = " OR ".join(f"typeof({name}) NOT IN ('{_TYPES[kind]}', 'null')" for name, kind in columns.items())
        if db.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
            yield f"there are values of another type in the table {table}"
    yield from _wrong_values(db)


def _wrong_values(db: sqlite3.Connection) -> Iterator[str]:
    if not db.execute("SELECT 1 FROM counters WHERE id = 1").fetchone():
        yield "the table counters is empty"
    for table, column in _JSON:
        if db.execute(f"SELECT 1 FROM {table} WHERE NOT json_valid({column}) LIMIT 1").fetchone():
            yield f"there is broken JSON in the column {column} of the table {table}"
    query = "SELECT metadata FROM items UNION ALL SELECT metadata FROM history WHERE metadata IS NOT NULL"
    for (text,) in db.execute(query):
        try:
            TextualMemoryMetadata.model_validate_json(text)
        except ValidationError:
            yield "there are memories whose fields are not what was written"
    for table in ("evidence", "staged"):
        lengths = "length(embedding) % 4 OR length(term_ids) <> 4 * length(term_counts)"
        if db.execute(f"SELECT 1 FROM {table} WHERE {lengths} LIMIT 1").fetchone():
            yield f"there are vectors or terms of a wrong length in the table {table}"
    if db.execute("SELECT count(DISTINCT length(embedding)) > 1 FROM evidence").fetchone()[0]:
        yield "there are vectors of several lengths"
    # Read to the end: what is no UTF-8 raises.
    for table, columns in _expected().items():
        for _ in db.execute(
            f"SELECT {', '.join(name for name in columns if columns[name] == 'TEXT') or '1'} FROM {table}"
        ):
            pass


def _expected() -> dict[str, dict[str, str]]:
    """Return the tables of a store, each with its columns and their types."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        schema.make_tables(db)
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in tables if not name.startswith("sqlite_")]
        return {
            table: {name: kind for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")} for table in tables
        }
