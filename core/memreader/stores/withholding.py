"""What an item under review says of entities, kept apart until it is approved: no query of the graph has to know of it.

Its words are withheld as well: it is in no index (`SqliteItems.changes`, `tokens`), and the message that it is, or that
nothing else was made from, is shown to nobody (`NOT_WITHHELD`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from memreader.records import ItemRecord
from memreader.stores.alias_rows import add_stated, state_anew
from memreader.stores.sqlite_graph import add_mentions, mention_anew, relations_of

PENDING: Final = "pending"
"""Status of an item under review."""

_MADE_OF_IT = (
    "EXISTS (SELECT 1 FROM item_sources CROSS JOIN items ON items.id = item_sources.item WHERE "
    "item_sources.source_key = messages.source_key AND items.user_id = messages.user_id AND {})"
)
_WAITS = f"status = '{PENDING}'"
_TURN_WAITS = _MADE_OF_IT.format(_WAITS + " AND instr(metadata, '\"mode:fast\"')")
_ALL_WAITS = f"({_MADE_OF_IT.format(_WAITS)} AND NOT {_MADE_OF_IT.format(f'NOT {_WAITS}')})"
NOT_WITHHELD = f"NOT ({_TURN_WAITS} OR {_ALL_WAITS})"
"""Of a row of `messages`: neither the turn itself, or a part of it, nor all that was made from it is under review."""

Relations = Sequence[tuple[str, str, str]]
Aliases = Sequence[tuple[str, str]]


def bring(
    db: sqlite3.Connection, user_id: str, key: int, status: str, names: Sequence[str], said: tuple[Relations, Aliases]
) -> None:
    """Record whom a new item mentions and what it states of them: in the graph, or apart while it is under review."""
    relations, aliases = said
    if status == PENDING:
        _keep(db, key, relations, aliases)
        return
    add_mentions(db, user_id, key, names, relations)
    add_stated(db, user_id, key, aliases)


def bring_anew(db: sqlite3.Connection, user_id: str, key: int, record: ItemRecord, *, same_words: bool) -> None:
    """Put what a new version of an item says in the place of what it said; the same words state the same."""
    kept = _kept(db, key)
    if kept is None:
        relations = record.relations or (relations_of(db, key) if same_words else ())
        mention_anew(db, user_id, key, record.item.metadata.entities, relations)
        if record.aliases or not same_words:
            state_anew(db, user_id, key, record.aliases)
        return
    before: tuple[Relations, Aliases] = kept if same_words else ((), ())
    _keep(db, key, record.relations or before[0], record.aliases or before[1])


def release(db: sqlite3.Connection, user_id: str, key: int, names: Sequence[str]) -> None:
    """Record in the graph what an item says that is approved now."""
    relations, aliases = _kept(db, key) or ((), ())
    db.execute("DELETE FROM withheld WHERE item = ?", (key,))
    add_mentions(db, user_id, key, names, relations)
    add_stated(db, user_id, key, aliases)


def withheld_places(db: sqlite3.Connection, user_id: str, keys: Iterable[int]) -> set[tuple[str, int]]:
    """Return session and position of the messages that these items were made from and that are shown to nobody."""
    query = (
        "SELECT session_id, position FROM item_sources CROSS JOIN messages ON messages.user_id = ? AND "
        f"messages.source_key = item_sources.source_key WHERE item_sources.item = ? AND NOT ({NOT_WITHHELD})"
    )
    return {place for key in keys for place in db.execute(query, (user_id, key)).fetchall()}


def all_relations(db: sqlite3.Connection, key: int) -> Relations:
    """Return head, relation and tail of what an item states, under review or not."""
    kept = _kept(db, key)
    return relations_of(db, key) if kept is None else kept[0]


def any_stands(db: sqlite3.Connection, user_id: str, ids: Iterable[str]) -> bool:
    """Return whether one of the user's items of these ids is there and not under review."""
    query = f"SELECT 1 FROM items WHERE user_id = ? AND item_id = ? AND status <> '{PENDING}'"
    return any(db.execute(query, (user_id, item_id)).fetchone() for item_id in ids)


def any_waits(db: sqlite3.Connection, user_id: str) -> bool:
    """Return whether any of the user's items is under review."""
    query = f"SELECT 1 FROM items WHERE user_id = ? AND status = '{PENDING}' LIMIT 1"
    return db.execute(query, (user_id,)).fetchone() is not None


def waiting(db: sqlite3.Connection, user_id: str, ids: Iterable[str]) -> list[str]:
    """Return those of the user's items of these ids that are under review, in their order."""
    if not any_waits(db, user_id):
        return []
    query = f"SELECT 1 FROM items WHERE user_id = ? AND item_id = ? AND status = '{PENDING}'"
    return [item_id for item_id in ids if db.execute(query, (user_id, item_id)).fetchone()]


def _keep(db: sqlite3.Connection, key: int, relations: Relations, aliases: Aliases) -> None:
    texts = (json.dumps(list(map(list, part)), ensure_ascii=False) for part in (relations, aliases))
    db.execute("INSERT OR REPLACE INTO withheld VALUES (?, ?, ?)", (key, *texts))


def _kept(db: sqlite3.Connection, key: int) -> tuple[Relations, Aliases] | None:
    row = db.execute("SELECT relations, aliases FROM withheld WHERE item = ?", (key,)).fetchone()
    if row is None:
        return None
    relations, aliases = map(json.loads, row)
    return [tuple(one) for one in relations], [tuple(one) for one in aliases]
