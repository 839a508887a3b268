"""Raw items, and the items that a model made of them: which are still to be read, and links both ways."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memreader.lacking import filled_by
from memreader.lifetimes import NEVER, now
from memreader.records import Batch, ItemRecord, Selection
from memreader.stores.changes import ChangeNumbers
from memreader.stores.rows import bound, item_of
from memreader.stores.selecting import LARGEST, condition_of
from memreader.stores.withholding import NOT_WITHHELD, PENDING, any_stands, any_waits
from memreader.types import READABLE_FLAGS, Message

REFINED = "refined"
"""Reading key in the ledger of a raw item (as source key `i:` and its id) that was read and gave nothing."""
_IS_RAW = (
    "items.status IN ('activated', 'pending') AND json_extract(items.metadata, '$.is_fast') AND NOT EXISTS (SELECT 1 "
    f"FROM ledger WHERE user_id = items.user_id AND source_key = 'i:' || item_id AND reading_key = '{REFINED}')"
)

_MADE_OF = (
    "FROM item_sources CROSS JOIN items ON items.id = item WHERE item_sources.source_key = messages.source_key "
    "AND items.user_id = messages.user_id"
)
_NOT_EXPIRED = f"coalesce((SELECT max(coalesce(items.expires, {NEVER})) {_MADE_OF}) > ?, 1)"
"""Of a message: that something made of it is there that has not expired, or that nothing is there."""

Row = tuple[str, str, str]
"""item_id, memory, metadata."""


def raw_rows(
    db: sqlite3.Connection, user_id: str, selection: Selection, *, ids: Sequence[str] | None, limit: int
) -> list[tuple[Row, dict[str, int | None]]]:
    """Return the rows of the raw items with their source keys and the positions of these; see `ItemStore.raw`."""
    found: list[tuple[Row, dict[str, int | None]]] = []
    for key, *row in _rows(db, user_id, selection, ids, limit):
        query = (
            "SELECT item_sources.source_key, position FROM item_sources LEFT JOIN messages ON messages.user_id = ? "
            "AND messages.source_key = item_sources.source_key WHERE item = ?"
        )
        found.append(((row[0], row[1], row[2]), dict(db.execute(query, (user_id, key)).fetchall())))
    return found


def _rows(
    db: sqlite3.Connection, user_id: str, selection: Selection, ids: Sequence[str] | None, limit: int
) -> Iterator[tuple[Any, ...]]:
    condition, values = condition_of(db, user_id, replace(selection, live_at=now()))
    query = f"SELECT items.id, item_id, memory, metadata FROM items WHERE {condition} AND {_IS_RAW}"
    if ids is None:
        yield from db.execute(f"{query} ORDER BY items.id LIMIT ?", (*values, min(limit, LARGEST))).fetchall()
        return
    left = len(ids) if limit < 0 else limit
    for item_id in dict.fromkeys(ids):
        row = db.execute(f"{query} AND item_id = ?", (*values, bound(item_id))).fetchone() if left else None
        if row is not None:
            left -= 1
            yield row


def messages_before(
    db: sqlite3.Connection, user_id: str, session_id: str | None, position: int, *, limit: int
) -> list[tuple[str, Message]]:
    """Return the last readable messages of a session before a position, oldest first; see `ItemStore.said_before`."""
    return messages_near(db, user_id, session_id, position, limit=limit)


def messages_near(
    db: sqlite3.Connection, user_id: str, session_id: str | None, position: int, *, limit: int, later: bool = False
) -> list[tuple[str, Message]]:
    """Return the readable messages next to a position, before or after it, oldest first, with their source keys.

    Without those of which all that was made has expired.
    """
    # Looking it up for each message costs as much as they do.
    shown = NOT_WITHHELD if any_waits(db, user_id) else "TRUE"
    rule = "> ? AND NOT deleted ORDER BY position" if later else "< ? AND NOT deleted ORDER BY position DESC"
    query = (
        "SELECT source_key, role, content, position, name, chat_time, time_inferred, message_id, flags FROM messages "
        f"WHERE user_id = ? AND session_id = ? AND {_NOT_EXPIRED} AND {shown} AND position {rule}"
    )
    found: list[tuple[str, Message]] = []
    for key, role, content, index, name, time, inferred, message_id, flags in db.execute(
        query, (user_id, session_id or "", now(), position)
    ):
        if len(found) == limit:
            break
        if frozenset(json.loads(flags)) <= READABLE_FLAGS and content.strip():
            message = Message(role, content, index, name, time, time_inferred=bool(inferred), message_id=message_id)
            found.append((key, message))
    return found if later else found[::-1]


def still_raw(db: sqlite3.Connection, user_id: str, base: Mapping[str, int]) -> bool:
    """Return whether every item of a batch's base is there in that version, and unread by any model."""
    version_of = "coalesce(json_extract(metadata, '$.version'), 1)"
    query = f"SELECT {version_of} FROM items WHERE user_id = ? AND item_id = ? AND {_IS_RAW}"
    return all(
        (row := db.execute(query, (user_id, bound(item_id))).fetchone()) is not None and row[0] == version
        for item_id, version in base.items()
    )


def still_said(db: sqlite3.Connection, batch: Batch) -> bool:
    """Return whether all words that a batch was made from stand in their messages and documents."""
    tables = (("messages", "content"), ("documents", "text"))
    return all(
        any(
            db.execute(
                f"SELECT 1 FROM {table} WHERE user_id = ? AND source_key = ? AND substr({column}, ?, ?) = ?",
                (batch.user_id, key, start + 1, len(words), words),
            ).fetchone()
            for table, column in tables
        )
        for key, start, words in batch.shown
    )


def link_refined(db: sqlite3.Connection, batch: Batch, numbers: ChangeNumbers) -> None:
    """Link the base of a batch to what was made of it, and take from those that are read completely that they are raw.

    That makes no version of theirs: their words are what they were.
    """
    made: dict[str, list[str]] = {item_id: [] for item_id in batch.base}
    for record in batch.items:
        parents = record.item.metadata.evolve_from
        if parents and _comes_from(db, batch.user_id, record.item.id, parents):
            for item_id in parents:
                made.setdefault(item_id, []).append(record.item.id)
    for item_id, children in made.items():
        query = "SELECT id, metadata FROM items WHERE user_id = ? AND item_id = ?"
        row = db.execute(query, (batch.user_id, item_id)).fetchone()
        if row is None:
            continue  # One that isn't in the base and has gone.
        key, metadata = row[0], json.loads(row[1])
        links = list(dict.fromkeys([*metadata.get("evolve_to", ()), *children]))
        is_read = item_id in batch.refined or (links and unmark_refined(db, batch.user_id, item_id))
        if links:
            metadata["evolve_to"] = links
            if is_read:
                metadata.pop("is_fast", None)
            stands = metadata.get("status") != PENDING and any_stands(db, batch.user_id, links)
            if is_read and batch.archives and stands:
                metadata["status"] = "archived"
                db.execute("UPDATE items SET status = 'archived', seq = ? WHERE id = ?", (numbers.next(), key))
            text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
            db.execute("UPDATE items SET metadata = ? WHERE id = ?", (text, key))
        elif is_read:
            db.execute("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?)", (batch.user_id, f"i:{item_id}", REFINED))


def _comes_from(db: sqlite3.Connection, user_id: str, item_id: str, parents: Sequence[str]) -> bool:
    """Return whether an item is there; one that was there before comes from these parents, too."""
    query = "SELECT id, metadata FROM items WHERE user_id = ? AND item_id = ?"
    row = db.execute(query, (user_id, item_id)).fetchone()
    if row is None:
        return False
    metadata = json.loads(row[1])
    known = metadata.get("evolve_from", [])
    if not set(parents) <= set(known):
        metadata["evolve_from"] = list(dict.fromkeys([*known, *parents]))
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
        db.execute("UPDATE items SET metadata = ? WHERE id = ?", (text, row[0]))
    return True


def raw_again(db: sqlite3.Connection, user_id: str, item_ids: Iterable[str], numbers: ChangeNumbers) -> None:
    """Have the items that lost what was made of them read by a model again, and found meanwhile."""
    query = "SELECT id, status, metadata FROM items WHERE user_id = ? AND item_id = ?"
    for item_id in item_ids:
        row = db.execute(query, (user_id, bound(item_id))).fetchone()
        if row is None:
            continue
        key, status, metadata = row[0], row[1], json.loads(row[2])
        kept = [link for link in metadata.pop("evolve_to", ()) if db.execute(query, (user_id, link)).fetchone()]
        metadata |= {"is_fast": True} | ({"evolve_to": kept} if kept else {})
        if status == "archived":
            metadata.pop("status", None)
            db.execute("UPDATE items SET status = 'activated', seq = ? WHERE id = ?", (numbers.next(), key))
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
        db.execute("UPDATE items SET metadata = ? WHERE id = ?", (text, key))
        unmark_refined(db, user_id, item_id)


def unmark_refined(db: sqlite3.Connection, user_id: str, item_id: str) -> bool:
    """Forget that an item was read and gave nothing; return whether that was known."""
    query = "DELETE FROM ledger WHERE user_id = ? AND source_key = ? AND reading_key = ?"
    return db.execute(query, (user_id, f"i:{item_id}", REFINED)).rowcount > 0


def forget_judged(db: sqlite3.Connection, user_id: str, item_id: str) -> None:
    """Forget all that models were asked about an item, and about its versions (`i:`, its id, `@` and the version)."""
    unmark_refined(db, user_id, item_id)
    query = "DELETE FROM ledger WHERE user_id = ? AND source_key > ? AND source_key < ?"
    db.execute(query, (user_id, f"i:{item_id}@", f"i:{item_id}A"))


def keep_links(before: Mapping[str, Any], after: dict[str, Any]) -> None:
    """Have a new version keep what refining did to the item since the version was made from it: that makes none."""
    links = after.get("evolve_to", [])
    since = [link for link in before.get("evolve_to", ()) if link not in links]
    if since:
        after["evolve_to"] = [*links, *since]
        if not before.get("is_fast"):
            after.pop("is_fast", None)
        if before.get("status") == "archived":
            after["status"] = "archived"


def grown(db: sqlite3.Connection, record: ItemRecord, memory: str, metadata: str) -> ItemRecord:
    """Return the next version of an item that is there already, resting on what the record was made from, too."""
    path = Path(db.execute("PRAGMA database_list").fetchone()[2])
    item = item_of(path, record.item.id, memory, metadata)
    known, more = item.metadata, record.item.metadata
    update: dict[str, Any] = {
        name: list(dict.fromkeys((*getattr(known, name), *getattr(more, name))))
        for name in ("sources", "entities", "evolve_from")
    }
    update |= filled_by(known, more) | {"updated_at": more.updated_at}
    item = item.model_copy(update={"metadata": known.model_copy(update=update)})
    return ItemRecord(item, None, {}, record.source_keys, base_version=known.version)
