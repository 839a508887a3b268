"""The truth: messages, documents and items of many users in one SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from memreader.errors import EmbedderMismatchError
from memreader.items import TextualMemoryItem
from memreader.records import REPEATED, Batch, Changes, Keys, RawItem, Selection, Version, Written
from memreader.stores.changes import user_hash
from memreader.stores.database import Database
from memreader.stores.erasing import OF_SOURCE, cited_with
from memreader.stores.refined import messages_before, raw_rows
from memreader.stores.rows import bound, item_of
from memreader.stores.selecting import IN_ITS_SESSION, LARGEST, keys_of
from memreader.stores.writing import BatchWriter
from memreader.types import Message

_BOUND = 500
"""Values in one IN (...): below SQLite's oldest limit on bound values."""
_LABELS = (
    f"session_id, agent_id, visibility, CASE WHEN status = 'archived' AND {IN_ITS_SESSION} THEN '{REPEATED}' "
    "ELSE status END, source"
)


class SqliteItems:
    """The `ItemStore` port over a database, and what a store knows about itself.

    Args:
        database: Stays the caller's to close.
        facts: "embedder", "dimension" and "lexicon" of what is to be stored; kept at creation, compared later.

    Raises:
        EmbedderMismatchError: The database was made with others.
    """

    def __init__(self, database: Database, facts: Mapping[str, str]) -> None:
        self._database = database
        self._facts = dict(facts)
        self.dimension = int(facts["dimension"])
        with database.transaction() as db:
            self._epoch = _epoch(db)
            self._check_facts(db)
            db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", facts.items())

    def write(self, batch: Batch) -> Written:
        """Write a batch in one transaction and return what became of each item; see the port."""
        with self._database.transaction() as db:
            self.check(db, batch.embedder)
            writer = BatchWriter(db, batch, dimension=self.dimension, store_id=self._database.store_id)
            return writer.write()

    def find(self, user_id: str, selection: Selection, *, limit: int = -1, offset: int = 0) -> Keys:
        """Return the numbers of the items that the selection means, in the order of their first add; -1: no limit."""
        with self._database.reading() as db:
            return np.array(keys_of(db, user_id, selection, limit=limit, offset=offset), np.int64)

    def has_any(self, user_id: str) -> bool:
        """Return whether the user has any item that is not under review."""
        with self._database.reading() as db:
            return (
                db.execute(
                    "SELECT 1 FROM items WHERE user_id = ? AND status <> 'pending' LIMIT 1", (user_id,)
                ).fetchone()
                is not None
            )

    def public_users(self, *, but: str) -> list[str]:
        """Return the ids of the users that have an item of visibility "public", but one, in alphabetical order."""
        query = "SELECT DISTINCT user_id FROM items WHERE visibility = 'public' AND user_id <> ? ORDER BY user_id"
        with self._database.reading() as db:
            return [user for (user,) in db.execute(query, (but,))]

    def fetch(
        self, user_id: str, ids: Sequence[str] | Keys, *, until: int | None = None
    ) -> list[TextualMemoryItem | None]:
        """Return items by id or by number, in the order asked; None for one that is unknown or another user's.

        Args:
            user_id: Whose.
            ids: Ids, or numbers as an int64 array.
            until: None for an item, too, that was changed after this change number.
        """
        last = LARGEST if until is None else until
        with self._database.snapshot() as db:
            if isinstance(ids, np.ndarray):
                rows = _rows_of_keys(db, user_id, ids.tolist(), last)
            else:
                query = "SELECT item_id, memory, metadata FROM items WHERE user_id = ? AND item_id = ? AND seq <= ?"
                rows = [db.execute(query, (user_id, bound(item_id), last)).fetchone() for item_id in ids]
        return [item_of(self._database.path, *row) if row else None for row in rows]

    def unread(self, user_id: str, sources: Mapping[str, str | None], reading_key: str) -> set[str]:
        """Return the source keys whose reading is still to be done; see the port."""
        out: set[str] = set()
        with self._database.snapshot() as db:
            for key, digest in sources.items():
                query = "SELECT 1 FROM ledger WHERE user_id = ? AND source_key = ? AND reading_key = ?"
                if not db.execute(query, (user_id, key, reading_key)).fetchone():
                    out.add(key)
                query = "SELECT digest FROM messages WHERE user_id = ? AND source_key = ? AND NOT deleted"
                kept = db.execute(query, (user_id, key)).fetchone() if digest is not None else None
                if kept and kept[0] != digest:
                    out.update(cited_with(db, user_id, key))
        return out.intersection(sources)

    def ids_made_from(self, user_id: str, source_keys: Iterable[str], *, agent_id: str | None = None) -> list[str]:
        """Return the ids of the user's items with this agent's label (None: with none) made from these sources.

        They come in the order of the sources, those of one source oldest first, each once.
        """
        keys = list(source_keys)
        if not keys:
            return []
        found: dict[int, str] = {}
        query = (
            f"SELECT items.id, item_id FROM {OF_SOURCE} WHERE source_key = ? AND user_id = ? AND agent_id IS ? "
            "ORDER BY items.id"
        )
        with self._database.snapshot() as db:
            for key in keys:
                found.update(db.execute(query, (key, user_id, agent_id)).fetchall())
        return list(found.values())

    def raw(
        self, user_id: str, selection: Selection, *, ids: Sequence[str] | None = None, limit: int = -1
    ) -> list[RawItem]:
        """Return the items that a model has yet to read, first added first; see the port."""
        with self._database.snapshot() as db:
            rows = raw_rows(db, user_id, selection, ids=ids, limit=limit)
        return [RawItem(item_of(self._database.path, *row), keys) for row, keys in rows]

    def said_before(
        self, user_id: str, session_id: str | None, position: int, *, limit: int
    ) -> list[tuple[str, Message]]:
        """Return the last readable messages of a session before a position, oldest first; see the port."""
        with self._database.reading() as db:
            return messages_before(db, user_id, session_id, position, limit=limit)

    def changes(self, user_id: str, after: int, *, limit: int) -> Changes:
        """Return what changed after a change sequence number, at most `limit` items; 0 is from the beginning.

        Raises:
            EmbedderMismatchError: The store was reindexed with another embedder meanwhile.
        """
        with self._database.snapshot() as db:
            seq, epoch = db.execute("SELECT seq, epoch FROM counters WHERE id = 1").fetchone()
            if epoch != self._epoch:
                self._check_epoch(db)
            if seq == after:
                return self._nothing(seq)
            query = "SELECT seq FROM erased WHERE user_hash = ?"
            erased = db.execute(query, (user_hash(self._database.store_id, user_id),)).fetchone()
            restart = 0 < after < max(epoch, erased[0] if erased else 0)
            after = 0 if restart else after
            query = (
                f"SELECT seq, id, embedding, term_ids, term_counts, traits, expires, {_LABELS} FROM items "
                "CROSS JOIN evidence ON item = id WHERE user_id = ? AND seq > ? AND status <> 'pending' "
                "ORDER BY seq LIMIT ?"
            )
            rows = db.execute(query, (user_id, after, limit)).fetchall()
            more = len(rows) == limit
            upto = rows[-1][0] if more else seq
            query = (
                "SELECT item FROM gone WHERE user_id = :user AND seq > :after AND seq <= :upto UNION ALL "
                "SELECT id FROM items WHERE user_id = :user AND seq > :after AND seq <= :upto AND status = 'pending'"
            )
            values = {"user": user_id, "after": after, "upto": upto}
            gone = [key for (key,) in db.execute(query, values)] if after else []
            # In here: blobs of a wrong length are damage.
            return self._changes(rows, gone, seq=upto, more=more, restart=restart, first=after == 0)

    def history(self, user_id: str, item_id: str) -> list[Version]:
        """Return the versions of an item, oldest first; [] for an id that never was."""
        query = (
            "SELECT version, event, at, cause, memory, metadata FROM history WHERE user_id = ? AND item_id = ? "
            "ORDER BY id"
        )
        with self._database.snapshot() as db:
            steps = db.execute(query, (user_id, bound(item_id))).fetchall()
            query = "SELECT item_id, memory, metadata FROM items WHERE user_id = ? AND item_id = ?"
            row = db.execute(query, (user_id, bound(item_id))).fetchone()
        path = self._database.path
        versions = [
            Version(version, event, at, None if memory is None else item_of(path, item_id, memory, metadata), cause)
            for version, event, at, cause, memory, metadata in steps
        ]
        if row is None:
            return versions
        item = item_of(path, *row)
        if versions and versions[-1].event != "delete":
            last = versions.pop()
            return [*versions, Version(last.version, last.event, last.at, item, last.cause)]
        return [*versions, Version(item.metadata.version, "add", item.metadata.created_at, item, "add")]

    def check(self, db: sqlite3.Connection, embedder: str) -> None:
        """Refuse vectors of another embedder than the store's is now; "" is not compared.

        Raises:
            EmbedderMismatchError: They are, or the store was reindexed with another embedder meanwhile.
        """
        self._check_epoch(db)
        if embedder not in ("", self._facts["embedder"]):
            raise EmbedderMismatchError(stored=self._facts["embedder"], given=embedder)

    def _nothing(self, seq: int) -> Changes:
        return self._changes([], [], seq=seq, more=False, restart=False, first=True)

    def _changes(
        self, rows: Sequence[tuple[Any, ...]], gone: list[int], *, seq: int, more: bool, restart: bool, first: bool
    ) -> Changes:
        columns = zip(*rows, strict=True) if rows else ((),) * 12
        _, keys, embeddings, ids, occurrences, traits, expires, *labels = columns
        vectors = np.frombuffer(b"".join(embeddings), "<f4").reshape(len(keys), self.dimension)
        return Changes(
            seq=seq,
            more=more,
            restart=restart,
            gone=np.array(gone if first else [*gone, *keys], np.int64),
            keys=np.array(keys, np.int64),
            vectors=vectors.astype(np.float32, copy=False),
            sizes=np.array([len(blob) // 2 for blob in occurrences], np.int64),
            terms=np.frombuffer(b"".join(ids), "<i8").astype(np.int64, copy=False),
            counts=np.frombuffer(b"".join(occurrences), "<u2").astype(np.int64),
            labels=tuple(zip(*labels, strict=True)),
            traits=tuple(traits),
            expires=tuple(expires),
        )

    def _check_epoch(self, db: sqlite3.Connection) -> None:
        """Refuse to go on where the store was reindexed with another embedder by somebody else."""
        epoch = _epoch(db)
        if epoch != self._epoch:
            self._check_facts(db)
            self._epoch = epoch

    def _check_facts(self, db: sqlite3.Connection) -> None:
        known = known_facts(db, self._facts)
        for key, value in self._facts.items():
            if known.get(key, value) != value:
                raise EmbedderMismatchError(stored=f"{key} {known[key]!r}", given=f"{key} {value!r}")


def known_facts(db: sqlite3.Connection, names: Iterable[str]) -> dict[str, str]:
    """Return what the database says about itself, of these names."""
    found = dict(db.execute("SELECT key, value FROM meta").fetchall())
    return {name: found[name] for name in names if name in found}


def _epoch(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT epoch FROM counters WHERE id = 1").fetchone()[0])


def _rows_of_keys(
    db: sqlite3.Connection, user_id: str, keys: list[int], last: int
) -> list[tuple[str, str, str] | None]:
    found: dict[int, tuple[str, str, str]] = {}
    for start in range(0, len(keys), _BOUND):
        part = keys[start : start + _BOUND]
        marks = ",".join("?" * len(part))
        # The plus keeps SQLite from going through all of the user's items.
        query = f"SELECT id, item_id, memory, metadata FROM items WHERE id IN ({marks}) AND +user_id = ? AND +seq <= ?"
        found.update(
            (key, (item_id, memory, data)) for key, item_id, memory, data in db.execute(query, (*part, user_id, last))
        )
    return [found.get(key) for key in keys]
