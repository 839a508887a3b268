"""Another embedder for a whole store: vectors are staged beside the old ones, which serve until all are there."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memreader.errors import ReindexInterruptedError
from memreader.ports import Vectors
from memreader.stores.database import Database
from memreader.stores.feedback_rows import forget_vectors
from memreader.stores.rows import evidence_of

_PREFIX = "reindex_"


@dataclass(frozen=True, slots=True)
class Unstaged:
    """An item that has no new vector yet."""

    key: int
    seq: int
    memory: str


class Reindexing:
    """One reindexing, which may go over several processes: what was staged for the same embedder is not done again.

    Args:
        database: Of the store.
        facts: "embedder", "dimension" and "lexicon" of the new index.
    """

    def __init__(self, database: Database, facts: Mapping[str, str]) -> None:
        self._database = database
        self._facts = dict(facts)
        wanted = {_PREFIX + name: value for name, value in facts.items()}
        with database.transaction() as db:
            query = "SELECT key, value FROM meta WHERE key LIKE 'reindex\\_%' ESCAPE '\\'"
            if dict(db.execute(query).fetchall()) != wanted:
                db.execute("DELETE FROM staged")
                db.execute("DELETE FROM meta WHERE key LIKE 'reindex\\_%' ESCAPE '\\'")
                db.executemany("INSERT INTO meta VALUES (?, ?)", wanted.items())

    def progress(self) -> tuple[int, int]:
        """Return how many items have their new vector, and how many there are."""
        with self._database.reading() as db:
            query = "SELECT (SELECT count(*) FROM staged), (SELECT count(*) FROM items)"
            done, total = db.execute(query).fetchone()
        return int(done), int(total)

    def next(self, count: int) -> list[Unstaged]:
        """Return up to `count` items without a new vector; [] when all have one."""
        query = (
            "SELECT id, seq, memory FROM items WHERE NOT EXISTS (SELECT 1 FROM staged WHERE item = items.id) "
            "AND id > ? ORDER BY id LIMIT ?"
        )
        with self._database.reading() as db:
            last = db.execute("SELECT coalesce(max(item), 0) FROM staged").fetchone()[0]
            # Mostly all before the last are done; what was changed meanwhile is found when the end is reached.
            rows = db.execute(query, (last, count)).fetchall() or db.execute(query, (0, count)).fetchall()
        return [Unstaged(*row) for row in rows]

    def stage(self, items: Sequence[Unstaged], vectors: Vectors, terms: Sequence[Mapping[int, int]]) -> None:
        """Keep the new vectors and terms of items, of those that are still as they were."""
        with self._database.transaction() as db:
            self._check_mine(db)
            for item, vector, counts in zip(items, vectors, terms, strict=True):
                db.execute(
                    "INSERT OR REPLACE INTO staged SELECT id, ?, ?, ? FROM items WHERE id = ? AND seq = ?",
                    (*evidence_of(vector, counts), item.key, item.seq),
                )

    def finish(self) -> bool:
        """Put the new vectors in the place of the old ones, all at once; False when some items still have none."""
        with self._database.transaction() as db:
            self._check_mine(db)
            query = "SELECT 1 FROM items WHERE NOT EXISTS (SELECT 1 FROM staged WHERE item = items.id) LIMIT 1"
            if db.execute(query).fetchone():
                return False
            db.execute(
                "UPDATE evidence SET (embedding, term_ids, term_counts) = (SELECT embedding, term_ids, term_counts "
                "FROM staged WHERE staged.item = evidence.item)"
            )
            db.execute("DELETE FROM staged")
            forget_vectors(db)
            db.execute("DELETE FROM meta WHERE key LIKE 'reindex\\_%' ESCAPE '\\'")
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", self._facts.items())
            db.execute("UPDATE counters SET seq = seq + 1, epoch = seq + 1")
        return True

    def _check_mine(self, db: sqlite3.Connection) -> None:
        query = "SELECT value FROM meta WHERE key = 'reindex_embedder'"
        row = db.execute(query).fetchone()
        if row is None or row[0] != self._facts["embedder"]:
            raise ReindexInterruptedError
