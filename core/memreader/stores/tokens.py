"""Vectors of word pieces, beside the items: written with them, read all at once or for some candidates."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np

from memreader.records import Batch, Keys
from memreader.stores.changes import ChangeNumbers
from memreader.stores.rows import bound
from memreader.types import TokenVectors

Found: TypeAlias = list[tuple[int, TokenVectors]]
"""Number of an item, and the vectors of its pieces."""
Packed: TypeAlias = tuple[bytes, bytes]
"""Pieces of an item (two bytes each, little-endian) and their vectors, as they are on the disk."""

BEFORE, AFTER = 2, 1
"""Turns before and after one that its vectors are made with."""
_BOUND = 500
_SEEN = "tokens.item NOT IN (SELECT id FROM items WHERE user_id = :user AND status = 'pending')"
"""Not those of items under review: how rare a piece is, is counted over all that are read."""
_MODEL = "SELECT value FROM meta WHERE key = 'token_model'"


@dataclass(frozen=True, slots=True)
class TokenPart:
    """Token vectors of one user, some of them, and how many there are."""

    found: Found
    seq: int
    """Change number of the last of them."""
    more: bool
    count: int
    """Of the user's items with token vectors; not counted beyond the bound that was asked for."""


def takes_tokens(db: sqlite3.Connection, batch: Batch) -> bool:
    """Return whether a batch's token vectors may be kept: of the model of those there, and of what is still said.

    The first model to come is the one, until `claim_tokens` says otherwise.
    """
    if batch.token_model is None:
        return False
    row = db.execute(_MODEL).fetchone()
    if row is None:
        db.execute("INSERT INTO meta VALUES ('token_model', ?)", (batch.token_model,))
    elif row[0] != batch.token_model:
        return False
    query = "SELECT 1 FROM messages WHERE user_id = ? AND source_key = ? AND content = ? AND NOT deleted"
    return all(db.execute(query, (batch.user_id, key, words)).fetchone() for key, words in batch.heard)


def claim_tokens(db: sqlite3.Connection, model: str) -> None:
    """Make the store one for token vectors of a model: those of another go."""
    row = db.execute(_MODEL).fetchone()
    if row is not None and row[0] != model:
        db.execute("DELETE FROM tokens")
    db.execute("INSERT OR REPLACE INTO meta VALUES ('token_model', ?)", (model,))


def write_tokens(db: sqlite3.Connection, user_id: str, key: int, tokens: TokenVectors | None, seq: int) -> None:
    """Keep the vectors of an item's pieces in the place of older ones; None takes those away."""
    if tokens is None or not len(tokens.pieces):
        db.execute("DELETE FROM tokens WHERE item = ?", (key,))
        return
    blobs = (tokens.pieces.astype("<u2").tobytes(), tokens.vectors.astype(np.int8).tobytes())
    db.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?)", (key, user_id, seq, *blobs))


def rewrite_tokens(db: sqlite3.Connection, batch: Batch, numbers: ChangeNumbers) -> None:
    """Keep new vectors of items that are there already, in the words that the vectors are of."""
    for item_id, memory, tokens in batch.tokens:
        query = "SELECT id FROM items WHERE user_id = ? AND item_id = ? AND memory = ?"
        row = db.execute(query, (batch.user_id, bound(item_id), memory)).fetchone()
        if row is not None:
            write_tokens(db, batch.user_id, row[0], tokens, numbers.next())


def forget_around(db: sqlite3.Connection, user_id: str, places: Iterable[tuple[str, int]]) -> None:
    """Delete the token vectors that were made with messages which are said no more; they show traces of those.

    Args:
        db: Inside a transaction.
        user_id: Whose.
        places: Session and position of each such message.
    """
    if db.execute("SELECT 1 FROM tokens WHERE user_id = ? LIMIT 1", (user_id,)).fetchone() is None:
        return  # A session in which nobody has any would be looked through to its ends.
    for session, group in groupby(sorted(set(places)), key=lambda place: place[0]):
        known = -1
        for _, position in group:
            if position <= known:
                continue  # The same turns are next to it as to the one before.
            earlier = _near(db, user_id, session, position, "< ? ORDER BY position DESC", AFTER)
            later = _near(db, user_id, session, position, "> ? ORDER BY position", BEFORE)
            db.executemany("DELETE FROM tokens WHERE item = ?", [(item,) for _, item in (*earlier, *later)])
            known = min((place for place, _ in later), default=2**63)


def _near(
    db: sqlite3.Connection, user_id: str, session: str, position: int, rule: str, count: int
) -> list[tuple[int, int]]:
    """Return position and number of the turns with token vectors at the nearest `count` positions."""
    query = (
        "SELECT position, tokens.item FROM messages CROSS JOIN item_sources USING (source_key) "
        "CROSS JOIN items ON items.id = item_sources.item AND items.user_id = messages.user_id "
        "CROSS JOIN tokens ON tokens.item = items.id WHERE messages.user_id = ? AND messages.session_id = ? "
        f"AND instr(metadata, '\"mode:fast\"') AND position {rule}"
    )
    near: list[tuple[int, int]] = []
    for row in db.execute(query, (user_id, session, position)):
        if len({place for place, _ in near} | {row[0]}) > count:
            break
        near.append(row)
    return near


def tokens_since(
    db: sqlite3.Connection, user_id: str, model: str, seq: int, *, limit: int, at_most: int
) -> TokenPart | None:
    """Return the user's token vectors written after a change number; None if there are none of this model.

    Args:
        db: Inside a read transaction.
        user_id: Whose.
        model: Fingerprint of what the vectors must be of.
        seq: 0 for all.
        limit: At most so many of them.
        at_most: Count no further.
    """
    row = db.execute(_MODEL).fetchone()
    if row is None or row[0] != model:
        return None
    query = f"SELECT count(*) FROM (SELECT 1 FROM tokens WHERE user_id = :user AND {_SEEN} LIMIT :most)"
    count = db.execute(query, {"user": user_id, "most": at_most + 1}).fetchone()[0]
    if count > at_most:
        return TokenPart([], seq, more=False, count=count)
    query = (
        f"SELECT item, pieces, vectors, seq FROM tokens WHERE user_id = :user AND seq > :seq AND {_SEEN} "
        "ORDER BY seq LIMIT :limit"
    )
    rows = db.execute(query, {"user": user_id, "seq": seq, "limit": limit}).fetchall()
    found = [(key, _read(pieces, vectors)) for key, pieces, vectors, _ in rows]
    return TokenPart(found, rows[-1][3] if rows else seq, more=len(rows) == limit, count=count)


def keys_with_tokens(db: sqlite3.Connection, user_id: str) -> Keys:
    """Return the numbers of the user's items that have token vectors, ascending."""
    query = f"SELECT item FROM tokens WHERE user_id = :user AND {_SEEN} ORDER BY item"
    rows = db.execute(query, {"user": user_id}).fetchall()
    return np.array([key for (key,) in rows], np.int64)


def tokens_of(db: sqlite3.Connection, user_id: str, model: str, keys: Sequence[int]) -> dict[int, Packed]:
    """Return the token vectors of this model of those items that have some, by their numbers."""
    row = db.execute(_MODEL).fetchone()
    if row is None or row[0] != model:
        return {}
    found: dict[int, Packed] = {}
    for start in range(0, len(keys), _BOUND):
        part = keys[start : start + _BOUND]
        marks = ",".join("?" * len(part))
        # The plus keeps SQLite from going through all of the user's items.
        query = f"SELECT item, pieces, vectors FROM tokens WHERE item IN ({marks}) AND +user_id = ?"
        found.update((key, (pieces, vectors)) for key, pieces, vectors in db.execute(query, (*part, user_id)))
    return found


def tokenless(
    db: sqlite3.Connection, user_id: str, *, after: int, limit: int
) -> list[tuple[int, tuple[str, str, str]]]:
    """Return number and row of items without token vectors, by number, from after a number on."""
    query = (
        "SELECT id, item_id, memory, metadata FROM items WHERE user_id = ? AND id > ? AND NOT EXISTS "
        "(SELECT 1 FROM tokens WHERE item = items.id) ORDER BY id LIMIT ?"
    )
    return [(key, (item_id, *rest)) for key, item_id, *rest in db.execute(query, (user_id, after, limit))]


def _read(pieces: bytes, vectors: bytes) -> TokenVectors:
    ids = np.frombuffer(pieces, "<u2")
    return TokenVectors(ids, np.frombuffer(vectors, np.int8).reshape(len(ids), -1))
