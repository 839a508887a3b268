"""A new item into the tables: its row, what finding it needs, its sources, and whom it mentions."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from memreader.lifetimes import second_of
from memreader.records import ItemRecord
from memreader.stores.rows import as_json, evidence_of, placed
from memreader.stores.settling import add_keys
from memreader.stores.tokens import write_tokens
from memreader.stores.withholding import bring


def insert_item(db: sqlite3.Connection, user_id: str, record: ItemRecord, metadata: Mapping[str, Any], seq: int) -> int:
    """Insert an item that is new, with all that is its own; return its number.

    Args:
        metadata: As `kept_metadata` gives it.
    """
    if record.vector is None:
        raise ValueError("an item that is new needs a vector")
    item, fields = record.item, record.item.metadata
    cursor = db.execute(
        "INSERT INTO items (user_id, item_id, seq, session_id, agent_id, status, visibility, source, memory, metadata, "
        "expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            user_id, item.id, seq, fields.session_id, fields.agent_id, fields.status, fields.visibility, fields.source,
            item.memory, as_json(metadata), second_of(fields.expires_at),
        ),
    )  # fmt: skip
    key = int(cursor.lastrowid or 0)
    found = (*evidence_of(record.vector, record.terms), placed(record.traits, metadata))
    db.execute("INSERT INTO evidence VALUES (?, ?, ?, ?, ?)", (key, *found))
    if record.tokens is not None:
        write_tokens(db, user_id, key, record.tokens, seq)
    link(db, key, record.source_keys)
    bring(db, user_id, key, fields.status, fields.entities, (record.relations, record.aliases))
    if record.keys:
        add_keys(db, user_id, key, record.keys)
    return key


def link(db: sqlite3.Connection, key: int, source_keys: Sequence[str]) -> None:
    """Keep what an item was made from."""
    if source_keys:
        db.executemany("INSERT OR IGNORE INTO item_sources VALUES (?, ?)", [(key, source) for source in source_keys])
