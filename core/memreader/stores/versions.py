"""Steps in the lives of items: what they were before they were changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memreader.items import MAX_VERSION


def last_event(db: sqlite3.Connection, user_id: str, item_id: str) -> str | None:
    """Return what was recorded last about an item, or None."""
    query = "SELECT event FROM history WHERE user_id = ? AND item_id = ? ORDER BY id DESC LIMIT 1"
    row = db.execute(query, (user_id, item_id)).fetchone()
    return row[0] if row else None


def add_event(
    db: sqlite3.Connection,
    user_id: str,
    item_id: str,
    *,
    version: int,
    event: str,
    at: str,
    cause: str,
    memory: str | None = None,
    metadata: str | None = None,
) -> None:
    """Record one step in the life of an item."""
    db.execute(
        "INSERT INTO history (user_id, item_id, version, event, at, cause, memory, metadata) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (user_id, item_id, version, event, at, cause, memory, metadata),
    )


def record_version(
    db: sqlite3.Connection,
    user_id: str,
    item_id: str,
    *,
    before: Mapping[str, Any],
    memory: str,
    old: str,
    event: str,
    at: str,
    cause: str,
) -> None:
    """Keep the words that an item had until now, and that it has others since.

    Args:
        db: Inside a transaction.
        user_id: Whose.
        item_id: Of the item.
        before: Its metadata until now.
        memory: Its words until now.
        old: `before` as it is kept.
        event: What happened.
        at: When.
        cause: Why.
    """
    values, version = (user_id, item_id), int(before.get("version", 1))
    if last_event(db, *values) in (None, "delete"):
        add_event(db, *values, version=version, event="add", at=str(before["created_at"]), cause="add")
    db.execute(
        "UPDATE history SET memory = ?, metadata = ? WHERE id = (SELECT max(id) FROM history WHERE user_id = ? "
        "AND item_id = ?)",
        (memory, old, *values),
    )
    add_event(db, *values, version=min(version + 1, MAX_VERSION), event=event, at=at, cause=cause)


def now() -> str:
    """Return the time as the history shows it: ISO 8601 to the second, with zone."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
