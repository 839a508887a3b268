"""From a selection to the numbers of the items that it means; every value is bound."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from memreader.records import Selection
from memreader.stores.alias_filters import with_aliases
from memreader.stores.filter_sql import condition_sql
from memreader.stores.rows import bound

LARGEST = 2**63 - 1
"""SQLite's largest whole number."""

_OF_KEYS = "items.id IN (SELECT item FROM item_sources WHERE source_key IN (SELECT value FROM json_each(?)))"
# Of a statement that stands for others, those that it brought: theirs are their own.
_OWN_SOURCES = (
    "json_each(coalesce((SELECT sources FROM standing WHERE item = items.id), "
    "json_extract(items.metadata, '$.sources'), '[]'))"
)
_OF_MESSAGE = (
    "(items.id IN (SELECT item FROM messages CROSS JOIN item_sources USING (source_key) WHERE messages.user_id = ? "
    "AND message_id = ? AND (? IS NULL OR messages.session_id = ?)) OR "
    f"EXISTS (SELECT 1 FROM {_OWN_SOURCES} WHERE json_extract(value, '$.message_id') = ? AND (? IS NULL OR "
    "json_extract(value, '$.session_id') = ? OR items.session_id = ?)))"
)
_OF_DOCUMENT = (
    "(items.id IN (SELECT item FROM documents CROSS JOIN item_sources USING (source_key) WHERE documents.user_id = ? "
    "AND (doc_path = ? OR doc_key = ?)) OR "
    f"EXISTS (SELECT 1 FROM {_OWN_SOURCES} WHERE json_extract(value, '$.doc_path') = ?))"
)

_STANDS = "NOT EXISTS (SELECT 1 FROM settled WHERE item = items.id)"
# One that another session's stands for is not there for all, but for who looks at its own session: the first of them.
IN_ITS_SESSION = (
    "EXISTS (SELECT 1 FROM settled JOIN items AS front ON front.id = by_item WHERE settled.item = items.id "
    "AND kind = 'merge' AND front.session_id IS NOT items.session_id AND NOT EXISTS (SELECT 1 FROM settled AS beside "
    "JOIN items AS other ON other.id = beside.item WHERE beside.by_item = front.id AND beside.kind = 'merge' "
    "AND other.id < items.id AND other.session_id IS items.session_id))"
)


def whole_user(doomed: Sequence[str] | Selection) -> bool:
    """Return whether this means everything of the user."""
    return isinstance(doomed, Selection) and doomed == Selection()


def condition_of(db: sqlite3.Connection, user_id: str, selection: Selection) -> tuple[str, list[Any]]:
    """Return what the rows of `items` that a selection means fulfil, as SQL and the values to bind."""
    parts: list[str] = ["items.user_id = ?"]
    values: list[Any] = [user_id]
    session = selection.session_id
    if session is not None and selection.message_id is None:
        parts.append("items.session_id = ?")
        values.append(session)
    if selection.agent_id is not None:
        parts.append("items.agent_id = ?")
        values.append(selection.agent_id)
    if selection.where is not None:
        condition, more = condition_sql(with_aliases(db, user_id, selection.where))
        parts.append(condition)
        values += more
    if selection.source_keys is not None:
        parts.append(_OF_KEYS)
        values.append(json.dumps(selection.source_keys))
    if selection.message_id is not None:
        message = bound(selection.message_id)
        parts.append(_OF_MESSAGE)
        values += [user_id, message, session, session, message, session, session, session]
    if not selection.repeats:
        parts.append("NOT EXISTS (SELECT 1 FROM settled WHERE item = items.id AND kind = 'merge')")
    if not selection.pending:
        parts.append("items.status <> 'pending'")
    if not selection.behind:
        parts.append(_STANDS if session is None else f"{_STANDS} OR {IN_ITS_SESSION}")
        parts.append("items.status = 'activated' OR json_extract(items.metadata, '$.valid_until') IS NULL")
    if selection.live_at is not None:
        parts.append("items.expires IS NULL OR items.expires > ?")
        values.append(selection.live_at)
    if selection.expired_by is not None:
        parts.append("items.expires <= ?")
        values.append(selection.expired_by)
    if selection.document is not None:
        name = bound(selection.document)
        parts.append(_OF_DOCUMENT)
        values += [user_id, name, name, name]
    return " AND ".join(f"({part})" for part in parts), values


def keys_of(
    db: sqlite3.Connection, user_id: str, wanted: Sequence[str] | Selection, *, limit: int = -1, offset: int = 0
) -> list[int]:
    """Return the numbers of the user's items: by id in the order asked, each once; by selection in the order of add."""
    if isinstance(wanted, Selection):
        condition, values = condition_of(db, user_id, wanted)
        query = f"SELECT id FROM items WHERE {condition} ORDER BY id LIMIT ? OFFSET ?"
        return [key for (key,) in db.execute(query, (*values, min(limit, LARGEST), min(offset, LARGEST)))]
    query = "SELECT id FROM items WHERE user_id = ? AND item_id = ?"
    rows = [db.execute(query, (user_id, bound(item_id))).fetchone() for item_id in wanted]
    return list(dict.fromkeys(row[0] for row in rows if row))
