"""Traits and terms for the items of a store that was made before there were any, or when they were made otherwise."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping

from memreader.items import TextualMemoryItem
from memreader.stores.database import Database
from memreader.stores.rows import item_of, placed, terms_as_blobs

FLAG = "undescribed"
"""In the table meta, from the migration until every item has its traits."""
PART = 1000
"""Items that are described in one transaction."""


def is_flagged(database: Database, flag: str = FLAG) -> bool:
    """Return whether there may be items that lack what a flag in the table meta stands for."""
    with database.reading() as db:
        return db.execute("SELECT 1 FROM meta WHERE key = ?", (flag,)).fetchone() is not None


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

    def give(db: sqlite3.Connection, key: int, _: str, item: TextualMemoryItem, metadata: str) -> None:
        traits = placed(traits_of(item), json.loads(metadata))
        db.execute("UPDATE evidence SET traits = ? WHERE item = ? AND traits = x''", (traits, key))

    for_every_item(database, FLAG, give, progress=progress)


def for_every_item(
    database: Database,
    flag: str,
    give: Callable[[sqlite3.Connection, int, str, TextualMemoryItem, str], None],
    *,
    progress: Callable[[int, int], None],
    last: Callable[[sqlite3.Connection], None] | None = None,
) -> None:
    """Do something to every item, some at a time, then take a flag away and let every index be made anew.

    May be interrupted, and done by several processes at once: both then do it, so that twice must be as good as once.

    Args:
        database: Of the store.
        flag: In the table meta.
        give: Called inside a transaction, with an item's number, its user, the item and its metadata as kept.
        progress: Called with items done, and all items.
        last: Called inside the transaction that takes the flag away.
    """
    with database.reading() as db:
        total = db.execute("SELECT count(*) FROM items").fetchone()[0]
    at = done = 0
    while True:
        with database.transaction() as db:
            query = "SELECT id, user_id, item_id, memory, metadata FROM items WHERE id > ? ORDER BY id LIMIT ?"
            rows = db.execute(query, (at, PART)).fetchall()
            for key, user_id, item_id, memory, metadata in rows:
                give(db, key, user_id, item_of(database.path, item_id, memory, metadata), metadata)
            if not rows:
                if last is not None:
                    last(db)
                db.execute("DELETE FROM meta WHERE key = ?", (flag,))
                db.execute("UPDATE counters SET seq = seq + 1, epoch = seq + 1")
                return
            at, done = rows[-1][0], done + len(rows)
        progress(done, total)


def renew_terms(
    database: Database, lexicon: str, older: Collection[str], terms_of: Callable[[str], Mapping[int, int]]
) -> None:
    """Give every item of a store of an older lexicon the terms of this one, in one transaction; no vector is touched.

    Traits count terms, so the items whose terms change have theirs to be made anew: see `describe`. Nothing is done to
    a store that is new, has this lexicon or one that is none of the older ones.

    Args:
        database: Of the store.
        lexicon: Name of the way that `terms_of` makes terms.
        older: Names of the ways that it takes the place of.
        terms_of: Gives the term ids of a text and how often they occur.
    """
    with database.reading() as db:
        if _lexicon(db) not in older:
            return
    with database.transaction() as db:
        if _lexicon(db) not in older:
            return
        changed = 0
        last = 0
        query = (
            "SELECT id, memory, term_ids, term_counts FROM items JOIN evidence ON item = id WHERE id > ? "
            "ORDER BY id LIMIT ?"
        )
        while rows := db.execute(query, (last, PART)).fetchall():
            for key, memory, *known in rows:
                made = terms_as_blobs(terms_of(memory))
                if made != tuple(known):
                    changed += 1
                    update = "UPDATE evidence SET term_ids = ?, term_counts = ?, traits = x'' WHERE item = ?"
                    db.execute(update, (*made, key))
            last = rows[-1][0]
        db.execute("UPDATE meta SET value = ? WHERE key = 'lexicon'", (lexicon,))
        if changed:
            db.execute("INSERT OR IGNORE INTO meta VALUES (?, '1')", (FLAG,))
        db.execute("UPDATE counters SET seq = seq + 1, epoch = seq + 1")


def _lexicon(db: sqlite3.Connection) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = 'lexicon'").fetchone()
    return row[0] if row else ""
