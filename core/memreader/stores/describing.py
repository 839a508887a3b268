"""Traits for the items of a store that was made before there were any."""

from __future__ import annotations

import json
from collections.abc import Callable

from memreader.items import TextualMemoryItem
from memreader.stores.database import Database
from memreader.stores.rows import item_of, placed

FLAG = "undescribed"
"""In the table meta, from the migration until every item has its traits."""
PART = 1000
"""Items that are described in one transaction."""


def is_undescribed(database: Database) -> bool:
    """Return whether there may be items without traits."""
    with database.reading() as db:
        return db.execute("SELECT 1 FROM meta WHERE key = ?", (FLAG,)).fetchone() is not None


def describe(
    database: Database, traits_of: Callable[[TextualMemoryItem], bytes], *, progress: Callable[[int, int], None]
) -> None:
    """Give every item without traits its own, and let every index be made anew.

    May be interrupted, and done by several processes at once.

    Args:
        database: Of the store.
        traits_of: Gives the packed traits of an item.
        progress: Called with items done, and all items.
    """
    with database.reading() as db:
        total = db.execute("SELECT count(*) FROM items").fetchone()[0]
    last = done = 0
    while True:
        with database.transaction() as db:
            query = "SELECT id, item_id, memory, metadata FROM items WHERE id > ? ORDER BY id LIMIT ?"
            rows = db.execute(query, (last, PART)).fetchall()
            for key, item_id, memory, metadata in rows:
                traits = placed(traits_of(item_of(database.path, item_id, memory, metadata)), json.loads(metadata))
                db.execute("UPDATE evidence SET traits = ? WHERE item = ? AND traits = x''", (traits, key))
            if not rows:
                db.execute("DELETE FROM meta WHERE key = ?", (FLAG,))
                db.execute("UPDATE counters SET seq = seq + 1, epoch = seq + 1")
                return
            last, done = rows[-1][0], done + len(rows)
        progress(done, total)
