"""Everything in a store, or of one user in it, row by row; all of it as of one moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from memreader.ports import Vectors
from memreader.stores.facts import Facts
from memreader.stores.feedback_rows import feedback_rows
from memreader.stores.withholding import all_relations

PART = 4096
"""Vectors handed out at once."""


class Rows:
    """The rows of the tables, inside one read transaction, as dicts of the columns asked for.

    Args:
        db: A connection inside a read transaction.
        user_id: Whose rows; None for everybody's.
        facts: What the store is made for, at that moment.
    """

    def __init__(self, db: sqlite3.Connection, user_id: str | None, facts: Facts) -> None:
        self._db = db
        self._where = "" if user_id is None else "WHERE user_id = ?"
        self._decided = f"{self._where or 'WHERE true'} AND item IS NULL"
        self._values: tuple[str, ...] = () if user_id is None else (user_id,)
        self.facts = facts

    def count(self, table: str) -> int:
        """Return how many rows there will be."""
        return int(self._db.execute(f"SELECT count(*) FROM {table} {self._where}", self._values).fetchone()[0])

    def users(self) -> list[str]:
        """Return the ids of everyone of whom there is a row, in alphabetical order."""
        tables = ("items", "messages", "documents", "ledger", "history", "rejected")
        query = " UNION ".join(f"SELECT user_id FROM {table} {self._where}" for table in tables) + " ORDER BY 1"
        return [user for (user,) in self._db.execute(query, self._values * len(tables))]

    def plain(self, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, in the order in which they were written."""
        order = {"ledger": "user_id, source_key, reading_key", "messages": "user_id, session_id, position"}
        query = f"SELECT {', '.join(columns)} FROM {table} {self._where} ORDER BY {order.get(table, 'id')}"
        for row in self._db.execute(query, self._values):
            yield dict(zip(columns, row, strict=True))

    def aliases(self) -> Iterator[dict[str, Any]]:
        """Yield what the users decided about pairs of names, oldest first; what items state comes with their words."""
        query = f"SELECT user_id, key, entity, origin FROM aliases {self._decided} ORDER BY id"
        for row in self._db.execute(query, self._values):
            yield dict(zip(("user_id", "key", "entity", "origin"), row, strict=True))

    def count_aliases(self) -> int:
        """Return how many of these there will be."""
        return int(self._db.execute(f"SELECT count(*) FROM aliases {self._decided}", self._values).fetchone()[0])

    def rejected(self) -> Iterator[dict[str, Any]]:
        """Yield the hashes of what was rejected, in hex, with the store that each is keyed with."""
        query = f"SELECT user_id, store, lower(hex(hash)) FROM rejected {self._where} ORDER BY user_id, store, hash"
        for user_id, store, hashed in self._db.execute(query, self._values):
            yield {"user_id": user_id, "store": store, "hash": hashed}

    def items(self) -> Iterator[dict[str, Any]]:
        """Yield the items by first add: the columns of `items.jsonl` in an archive."""
        query = f"SELECT id, user_id, item_id, memory, metadata FROM items {self._where} ORDER BY id"
        for key, user_id, item_id, memory, metadata in self._db.execute(query, self._values):
            sources = self._db.execute("SELECT source_key FROM item_sources WHERE item = ?", (key,)).fetchall()
            yield {
                "user_id": user_id,
                "item_id": item_id,
                "memory": memory,
                "metadata": metadata,
                "source_keys": [source for (source,) in sources],
                "relations": [list(relation) for relation in all_relations(self._db, key)],
                "settled": self._settled(key),
                "standing": self._standing(key),
                "feedback": list(feedback_rows(self._db, key)),
            }

    def _settled(self, key: int) -> list[list[str]]:
        query = "SELECT item_id, kind, at, reason FROM settled JOIN items ON id = by_item WHERE item = ? ORDER BY id"
        return [list(row) for row in self._db.execute(query, (key,))]

    def _standing(self, key: int) -> str | None:
        row = self._db.execute("SELECT sources, entities FROM standing WHERE item = ?", (key,)).fetchone()
        return None if row is None else f'{{"sources":{row[0]},"entities":{row[1]}}}'

    def vectors(self) -> Iterator[Vectors]:
        """Yield the items' vectors in the order of `items`, float32, shape (n, d), some thousand at a time."""
        query = f"SELECT embedding FROM items CROSS JOIN evidence ON item = id {self._where} ORDER BY id"
        found = self._db.execute(query, self._values)
        while part := found.fetchmany(PART):
            vectors = np.frombuffer(b"".join(blob for (blob,) in part), "<f4").reshape(-1, self.facts.dimension)
            yield vectors.astype(np.float32, copy=False)
