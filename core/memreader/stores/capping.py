"""A bound on how many items a user may have: refuse what is too much, or archive what is least useful.

Only activated items count, those that have expired and are not yet purged among them.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection

from memreader.errors import MemoryFullError
from memreader.filters import DAY
from memreader.items import MAX_VERSION
from memreader.lifetimes import now
from memreader.records import Batch
from memreader.stores.changes import ChangeNumbers
from memreader.stores.rows import as_json
from memreader.stores.versions import now as time_of_change
from memreader.stores.versions import record_version

CAUSE = "cap"
"""Why an item was archived, in its history."""

_log = logging.getLogger(__name__)


def _instant(written: str) -> str:
    """Return an SQL expression that orders ISO 8601 times.

    SQLite's own function is several times as fast as one in Python, which reads what that one doesn't; both count days
    from the same one.
    """
    return f"coalesce(julianday({written}), memreader_instant({written}) / {DAY}.0 + 1721424.5)"


# From the least useful to the most useful. Of the two last, the first is when it happened and the second when it was
# touched; what can't be told apart by them goes in the order of add.
_ORDER = (
    "coalesce(expires <= :now, 0) DESC",
    "json_extract(metadata, '$.lifetime') IS 'session' DESC",
    "json_extract(metadata, '$.evolve_to') IS NOT NULL DESC",
    "coalesce((SELECT sum(2 * useful - 1) FROM feedback WHERE item = items.id), 0)",
    "coalesce(json_extract(metadata, '$.confidence'), 0.99)",
    _instant("coalesce(json_extract(metadata, '$.memory_time'), json_extract(metadata, '$.created_at'))"),
    _instant("json_extract(metadata, '$.updated_at')"),
    "id",
)


class Room:
    """How many items a user has before a batch is written, and what becomes of those that are too many after it."""

    def __init__(self, db: sqlite3.Connection, batch: Batch) -> None:
        self._db = db
        self._batch = batch
        self._before = 0 if batch.cap is None else activated(db, batch.user_id)

    def keep(self, numbers: ChangeNumbers, *, spared: Collection[str] = ()) -> list[str]:
        """Return the ids of the items that were archived since there are more than the batch's cap, in that order.

        A batch that adds none never is too much: it may take some away, or change them.

        Args:
            numbers: Of changes.
            spared: Ids of items that are not archived.

        Raises:
            MemoryFullError: There are too many, and the cap says "reject".
        """
        batch, cap = self._batch, self._batch.cap
        if cap is None:
            return []
        count = activated(self._db, batch.user_id)
        if count <= max(cap.limit, self._before):
            return []
        if cap.when_full == "reject":
            query = "SELECT count(*) FROM items WHERE user_id = ? AND status = 'activated' AND expires <= ?"
            expired = self._db.execute(query, (batch.user_id, now())).fetchone()[0]
            wanted = count - self._before
            raise MemoryFullError(count=self._before, limit=cap.limit, wanted=wanted, expired=expired)
        spared = [*spared, *(record.item.id for record in batch.items if record.base_version is not None)]
        keys = least_useful(self._db, batch.user_id, count - cap.limit, spared=spared)
        ids = [_archive(self._db, batch.user_id, key, numbers) for key in keys]
        _log.info("%d memories were archived: more than %d of one user", len(ids), cap.limit)
        return ids


def activated(db: sqlite3.Connection, user_id: str) -> int:
    """Return how many items of the user count."""
    query = "SELECT count(*) FROM items INDEXED BY items_activated WHERE user_id = ? AND status = 'activated'"
    return int(db.execute(query, (user_id,)).fetchone()[0])


def least_useful(db: sqlite3.Connection, user_id: str, count: int, *, spared: Collection[str] = ()) -> list[int]:
    """Return the numbers of a user's activated items that are of least use, the very least first.

    What has expired comes first, then what only a session sees, then raw items of which a model made others, then what
    was said to be of least use (`Memory.feedback`), then what is least sure (`confidence`); of the rest what happened
    longest ago, and was not touched since.

    Args:
        db: Inside a transaction.
        user_id: Whose.
        count: How many, at most.
        spared: Ids of items that are not among them.
    """
    query = (
        "SELECT id FROM items INDEXED BY items_activated WHERE user_id = :user AND status = 'activated' "
        "AND item_id NOT IN (SELECT value FROM json_each(:spared)) "
        f"ORDER BY {', '.join(_ORDER)} LIMIT :count"
    )
    values = {"user": user_id, "now": now(), "count": count, "spared": json.dumps(list(spared))}
    return [key for (key,) in db.execute(query, values)]


def _archive(db: sqlite3.Connection, user_id: str, key: int, numbers: ChangeNumbers) -> str:
    """Archive an item, as a version of its own, and return its id."""
    query = "SELECT item_id, memory, metadata FROM items WHERE id = ?"
    item_id, memory, old = db.execute(query, (key,)).fetchone()
    before, at = json.loads(old), time_of_change()
    record_version(db, user_id, item_id, before=before, memory=memory, old=old, event="update", at=at, cause=CAUSE)
    version = min(before.get("version", 1) + 1, MAX_VERSION)
    after = before | {"status": "archived", "version": version, "updated_at": at}
    query = "UPDATE items SET seq = ?, status = 'archived', metadata = ? WHERE id = ?"
    db.execute(query, (numbers.next(), as_json(after), key))
    return str(item_id)
