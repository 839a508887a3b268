"""A new statement among those that may say the same, or something that it ends: decided and carried out."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from memreader.items import TextualMemoryItem
from memreader.lifetimes import NEVER, now, second_of
from memreader.records import Batch, Decided, Decision, ItemRecord, Side
from memreader.stores.changes import ChangeNumbers
from memreader.stores.rows import bound, item_of
from memreader.stores.settling import MERGE, SUPERSEDE, Standing, happened, hashed, moment

MOST = 64
"""Statements that a new one is compared with: those that came last, of what shares a key with it."""

# What only repeats one that was archived (by hand, for room) or has expired says nothing to anybody.
_OUT_OF_SIGHT = (
    "EXISTS (SELECT 1 FROM settled JOIN items AS front ON front.id = by_item WHERE settled.item = items.id "
    "AND kind = 'merge' AND (front.status <> 'activated' OR front.expires <= ?) "
    "AND NOT EXISTS (SELECT 1 FROM settled AS ended WHERE ended.item = front.id))"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided about a new statement and one that is there."""

    key: int
    """Number of the one that is there."""
    item: TextualMemoryItem
    """It."""
    decision: Decision

    def as_decided(self, record: ItemRecord) -> Decided:
        """Return it as the report says it."""
        what = self.decision
        return Decided(record.item.id, what.action, self.item.id, what.keeps, what.reason, what.by)


class Settler:
    """Settles the new statements of a batch."""

    def __init__(self, db: sqlite3.Connection, batch: Batch, numbers: ChangeNumbers) -> None:
        self._db = db
        self._batch = batch
        self._numbers = numbers

    def verdicts(self, record: ItemRecord, *, skips: bool = True) -> list[Verdict]:
        """Return what is decided about a new statement and each that shares a key with it, oldest first; no "add".

        Args:
            record: The statement.
            skips: Whether it may be left out; one that is there already is put behind instead.
        """
        settle, user_id = self._batch.settle, self._batch.user_id
        metadata = record.item.metadata
        if settle is None or not record.keys or metadata.status != "activated":
            return []
        query = (
            "SELECT DISTINCT items.id, item_id, memory, metadata "
            "FROM statement_keys CROSS JOIN items ON items.id = statement_keys.item "
            f"WHERE statement_keys.user_id = ? AND key IN ({', '.join('?' * len(record.keys))}) AND agent_id IS ? "
            "AND (visibility = ?) AND (visibility <> 'session' OR session_id IS ?) "
            "AND (status = 'activated' OR EXISTS (SELECT 1 FROM settled WHERE item = items.id)) "
            f"AND (expires IS NULL OR expires > ?) AND NOT {_OUT_OF_SIGHT} "
            f"ORDER BY items.id DESC LIMIT {MOST}"
        )
        keys = map(hashed, record.keys)
        values = (user_id, *keys, metadata.agent_id, metadata.visibility, metadata.session_id, now(), now())
        rows = self._db.execute(query, values).fetchall()
        if not rows:
            return []
        path = Path(self._db.execute("PRAGMA database_list").fetchone()[2])
        found: list[Verdict] = []
        for key, *row in reversed(rows):
            item = item_of(path, row[0], row[1], row[2])
            decision = settle(record.item, item)
            if decision.action == "skip" and not skips:
                decision = replace(decision, action=MERGE, keeps="old")
            decision = longest_lived(decision, record.item, item)
            if decision.action != "add":
                found.append(Verdict(key, item, decision))
        return found

    def carry_out(self) -> list[Decided]:
        """Carry out what was decided about statements that are there, where both stand and are what they were."""
        standing = Standing(self._db, self._batch.user_id, self._numbers)
        done: list[Decided] = []
        for one in self._batch.decided:
            new, old = self._as_judged(one.new), self._as_judged(one.old)
            decision = longest_lived(one.decision, one.new, one.old)
            if new is None or old is None or decision.action not in (MERGE, SUPERSEDE):
                continue
            behind, by, front = (old, new, one.new) if decision.keeps == "new" else (new, old, one.old)
            times = {"memory_time": front.metadata.memory_time, "created_at": front.metadata.created_at}
            at = happened(times) if decision.action == SUPERSEDE else ""
            standing.put_behind(behind, by, decision.action, at=at, reason=decision.reason)
            standing.refresh()
            done.append(Decided(one.new.id, decision.action, one.old.id, decision.keeps, decision.reason, decision.by))
        return done

    def _as_judged(self, item: TextualMemoryItem) -> int | None:
        """Return the number of a statement that stands and says what it did; None if it doesn't."""
        query = (
            "SELECT id FROM items WHERE user_id = ? AND item_id = ? AND memory = ? AND status = 'activated' "
            "AND NOT EXISTS (SELECT 1 FROM settled WHERE item = items.id) AND (expires IS NULL OR expires > ?)"
        )
        row = self._db.execute(query, (self._batch.user_id, bound(item.id), item.memory, now())).fetchone()
        return None if row is None else int(row[0])

    def settle(self, key: int, record: ItemRecord, verdicts: list[Verdict]) -> tuple[list[Decided], str | None]:
        """Carry the verdicts about a statement out, now that it is there under a number.

        Returns:
            What was decided, and the id of the statement that stands for it now, None if it stands itself or is
            superseded.
        """
        standing = Standing(self._db, self._batch.user_id, self._numbers)
        done: list[Decided] = []
        is_so = True
        # What only the words of another tell to be the same ends with that, if it did not happen after the end.
        judged = {one.key for one in verdicts if one.decision.action == SUPERSEDE}
        for one in verdicts:
            decision = one.decision
            if decision.action != SUPERSEDE:
                continue
            item, by, later = (one.key, key, record.item) if decision.keeps == "new" else (key, one.key, one.item)
            at = _happened(later)
            for other in standing.behind([item]) if item != key else ():
                if other not in judged and self._was_before(other, at):
                    standing.put_behind(other, by, SUPERSEDE, at=at, reason=decision.reason)
            standing.put_behind(item, by, SUPERSEDE, at=at, reason=decision.reason)
            is_so &= item != key
            done.append(one.as_decided(record))
        for one in verdicts:
            if one.decision.action == MERGE and is_so:
                is_so = not self._ends_with(one, key, record, standing, done)
        # What is so no longer is said no longer, either.
        stands = self._merge(key, record, verdicts, standing, done) if is_so else None
        standing.refresh()
        return done, stands

    def _ends_with(self, one: Verdict, key: int, record: ItemRecord, standing: Standing, done: list[Decided]) -> bool:
        """Return whether a statement was put behind what ended another that says the same; not if it happened later."""
        query = "SELECT by_item, at, reason FROM settled WHERE item = ? AND kind = ?"
        rows = self._db.execute(query, (one.key, SUPERSEDE)).fetchall()
        before = [row for row in rows if moment(_happened(record.item)) < moment(row[1])]
        for by, at, reason in before:
            standing.put_behind(key, by, SUPERSEDE, at=at, reason=reason)
            query = "SELECT item_id FROM items WHERE id = ?"
            (by_id,) = self._db.execute(query, (by,)).fetchone()
            done.append(Decided(record.item.id, SUPERSEDE, by_id, "old", reason, "rules"))
        return bool(before)

    def _was_before(self, key: int, at: str) -> bool:
        row = self._db.execute("SELECT metadata FROM items WHERE id = ?", (key,)).fetchone()
        return moment(happened(json.loads(row[0]))) < moment(at)

    def _merge(
        self,
        key: int,
        record: ItemRecord,
        verdicts: list[Verdict],
        standing: Standing,
        done: list[Decided],
    ) -> str | None:
        """Put the statement behind the first that says the same and still is so, or those behind it."""
        stands: str | None = None
        query = "SELECT 1 FROM settled WHERE item = ?"
        for one in verdicts:
            if one.decision.action != MERGE or stands is not None:
                continue
            if self._db.execute(query, (one.key,)).fetchone():
                continue  # It is so no longer, or stands behind another, which is asked, too.
            reason = one.decision.reason
            if one.decision.keeps == "new":
                standing.put_behind(one.key, key, MERGE, at="", reason=reason)
            else:
                standing.put_behind(key, one.key, MERGE, at="", reason=reason)
                stands = one.item.id
            done.append(one.as_decided(record))
        return stands


def longest_lived(decision: Decision, new: TextualMemoryItem, old: TextualMemoryItem) -> Decision:
    """Return the decision so that of two that say the same the one that lives longer stands for both.

    Else what is kept for good would go out of sight with what is kept for an hour.
    """
    if decision.action not in ("merge", "skip"):
        return decision
    ends = {side: second_of(item.metadata.expires_at) for side, item in (("new", new), ("old", old))}
    new_end, old_end = (NEVER if end is None else end for end in (ends["new"], ends["old"]))
    front = "new" if decision.action == "merge" and decision.keeps == "new" else "old"
    longer: Side = "new" if new_end > old_end else "old"
    if new_end == old_end or front == longer:
        return decision
    return replace(decision, action="merge", keeps=longer)


def _happened(item: TextualMemoryItem) -> str:
    return happened({"memory_time": item.metadata.memory_time, "created_at": item.metadata.created_at})
