"""Words that were rejected: only a hash of them stays, by which they are known when they come again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from memreader.records import REJECTED_BEFORE, Batch, DocumentRecord, Refused
from memreader.stores.rows import bound

Spelled = Callable[[str], str]
"""What two wordings of the same have in common."""


def rejected_hash(store_id: str, user_id: str, text: str) -> bytes:
    """Return what stays of rejected words: 16 bytes, keyed with the store that rejected them and the user.

    Args:
        store_id: Of the store; it goes with the hash into another one.
        user_id: Whose.
        text: What the wordings have in common.
    """
    key = hashlib.sha256(f"{store_id}\0{user_id}".encode("utf-8", "surrogatepass")).digest()
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()


class Rejected:
    """What one user has rejected, as of one transaction."""

    def __init__(self, db: sqlite3.Connection, user_id: str) -> None:
        self._db = db
        self._user_id = user_id
        query = "SELECT DISTINCT store FROM rejected WHERE user_id = ?"
        self._stores = [store for (store,) in db.execute(query, (user_id,))]

    def __bool__(self) -> bool:
        return bool(self._stores)

    def has(self, text: str) -> bool:
        """Return whether words that are the same were rejected; `text` is what they have in common."""
        return any(self._db.execute(*self._query("SELECT 1 FROM", store, text)).fetchone() for store in self._stores)

    def add(self, store_id: str, text: str) -> None:
        """Keep that these words were rejected in this store."""
        values = (self._user_id, store_id, rejected_hash(store_id, self._user_id, text))
        self._db.execute("INSERT OR IGNORE INTO rejected VALUES (?, ?, ?)", values)

    def forget(self, text: str) -> bool:
        """Forget that these words were rejected; return whether they were."""
        gone = [self._db.execute(*self._query("DELETE FROM", store, text)).rowcount for store in self._stores]
        return any(gone)

    def _query(self, what: str, store: str, text: str) -> tuple[str, tuple[str, str, bytes]]:
        values = (self._user_id, store, rejected_hash(store, self._user_id, text))
        return f"{what} rejected WHERE user_id = ? AND store = ? AND hash = ?", values


@dataclass(frozen=True, slots=True)
class Sifted:
    """A batch without what was rejected before."""

    batch: Batch
    refused: list[Refused] = field(default_factory=list)
    silent: frozenset[str] = frozenset()
    """Source keys of messages of which nothing else is made: they are kept without their words."""


def sifted(db: sqlite3.Connection, batch: Batch) -> Sifted:
    """Return a batch without the new items whose words were rejected, and what to tell of them.

    What is there in these words stays: approving said so, or it was there before.
    """
    spelled = batch.spelled
    if spelled is None or not batch.items:
        return Sifted(batch)
    rejected = Rejected(db, batch.user_id)
    if not rejected:
        return Sifted(batch)
    query = "SELECT 1 FROM items WHERE user_id = ? AND item_id = ? AND memory = ?"
    kept, refused, lost = [], [], set[str]()
    for record in batch.items:
        item = record.item
        is_there = db.execute(query, (batch.user_id, bound(item.id), item.memory)).fetchone()
        if record.base_version is None and not is_there and rejected.has(spelled(item.memory)):
            refused.append(Refused(item.id, item.memory, REJECTED_BEFORE))
            lost.update(record.source_keys)
        else:
            kept.append(record)
    if not refused:
        return Sifted(batch)
    silent = frozenset(lost.difference(*(record.source_keys for record in kept)))
    documents = tuple(_silenced(one) if one.source_key in silent else one for one in batch.documents)
    read = tuple(key for key in batch.read if key not in silent)
    return Sifted(replace(batch, items=tuple(kept), documents=documents, read=read), refused, silent)


def silence(db: sqlite3.Connection, user_id: str, source_keys: Iterable[str]) -> None:
    """Take the words of messages away; their places in the session stay."""
    query = (
        "UPDATE messages SET content = '', raw = NULL, name = NULL, deleted = 1 WHERE user_id = ? AND source_key = ?"
    )
    db.executemany(query, [(user_id, key) for key in source_keys])


def _silenced(record: DocumentRecord) -> DocumentRecord:
    document = replace(record.document, text="", title=None, page_starts=(), context="")
    return replace(record, document=document)
