"""Keys for the statements and entities of a store that was made before there were any, or when they were others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from memreader.items import TextualMemoryItem
from memreader.spelling import entity_key
from memreader.stores.database import Database
from memreader.stores.describing import for_every_item
from memreader.stores.settling import write_keys

FLAG = "unkeyed"
"""In the table meta, from the migration until every statement and entity has its keys."""


def give_keys(
    database: Database,
    keys_of: Callable[[TextualMemoryItem], Iterable[str]],
    *,
    progress: Callable[[int, int], None],
) -> None:
    """Give every statement the keys by which others find it, and every entity the one that its name has now.

    May be interrupted, and done by several processes at once.

    Args:
        database: Of the store.
        keys_of: Gives the keys of an item's statement.
        progress: Called with items done, and all items.
    """

    def give(db: sqlite3.Connection, key: int, user_id: str, item: TextualMemoryItem, _: str) -> None:
        write_keys(db, user_id, key, keys_of(item))

    for_every_item(database, FLAG, give, progress=progress, last=rename_entities)


def rename_entities(db: sqlite3.Connection) -> None:
    """Give every entity the key that its name has; of those that are one now the first stays, with all that is said."""
    rows = db.execute("SELECT id, user_id, key, name FROM entities ORDER BY id").fetchall()
    for number, user_id, old, name in rows:
        key = entity_key(name)
        if key == old or db.execute("SELECT 1 FROM entities WHERE id = ?", (number,)).fetchone() is None:
            continue
        query = "SELECT id FROM entities WHERE user_id = ? AND key = ?"
        other = db.execute(query, (user_id, key)).fetchone()
        stays = number
        if other is not None:
            stays, goes = sorted((number, other[0]))
            _move(db, goes, stays)
        db.execute("UPDATE entities SET key = ? WHERE id = ?", (key, stays))


def _move(db: sqlite3.Connection, goes: int, stays: int) -> None:
    for table, column in (("mentions", "entity"), ("relations", "head"), ("relations", "tail")):
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {column} = ?", (stays, goes))
    # What both had stays once: the rest goes with the entity.
    db.execute("DELETE FROM entities WHERE id = ?", (goes,))
