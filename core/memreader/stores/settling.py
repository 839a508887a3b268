"""Statements that stand behind others: repeated or superseded by them, and forward again when those go.

Two tables say so: `settled` (who stands behind whom, and why), and `standing` (what one that stands for others brought
itself). Everything else follows: a statement with a row in `settled` is archived, a superseded one ends when the first
of those after it happened, and one that others repeat has their sources and entities, too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from memreader.items import MAX_VERSION
from memreader.stores.changes import ChangeNumbers
from memreader.stores.sqlite_graph import mention_anew, relations_of
from memreader.stores.versions import now, record_version

MERGE: Final = "merge"
SUPERSEDE: Final = "supersede"


def hashed(key: str) -> bytes:
    """Return what stands for a statement's key."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def write_keys(db: sqlite3.Connection, user_id: str, item: int, keys: Iterable[str]) -> None:
    """Keep by which keys a statement is found, in the place of those it had."""
    db.execute("DELETE FROM statement_keys WHERE item = ?", (item,))
    add_keys(db, user_id, item, keys)


def add_keys(db: sqlite3.Connection, user_id: str, item: int, keys: Iterable[str]) -> None:
    """Keep by which keys a statement that is new is found."""
    rows = [(user_id, hashed(key), item) for key in keys]
    db.executemany("INSERT OR IGNORE INTO statement_keys VALUES (?, ?, ?)", rows)


def happened(metadata: Mapping[str, Any]) -> str:
    """Return when what a statement says happened, as far as is known, ISO 8601: else when it was learned."""
    return str(metadata.get("memory_time") or metadata["created_at"])


def moment(time: str) -> datetime:
    """Return a time as one that can be compared with any other; without a zone it is UTC."""
    read = datetime.fromisoformat(time)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


class Standing:
    """Who stands behind whom among one user's statements, within one transaction."""

    def __init__(self, db: sqlite3.Connection, user_id: str, numbers: ChangeNumbers) -> None:
        self._db = db
        self._user_id = user_id
        self._numbers = numbers
        self._left: dict[int, tuple[str, bool]] = {}
        """Those whose place may be another one, why, and whether they stood behind another."""

    def behind(self, keys: Collection[int]) -> list[int]:
        """Return the numbers of the statements that repeat some of these, in order."""
        query = "SELECT item FROM settled WHERE by_item = ? AND kind = ? ORDER BY item"
        known = set(keys)
        found = [item for key in keys for (item,) in self._db.execute(query, (key, MERGE))]
        return [item for item in dict.fromkeys(found) if item not in known]

    def put_behind(self, item: int, by: int, kind: str, *, at: str, reason: str) -> None:
        """Put a statement behind another; `refresh` must follow."""
        db = self._db
        db.execute("INSERT OR REPLACE INTO settled VALUES (?, ?, ?, ?, ?)", (item, by, kind, at, reason))
        if kind == SUPERSEDE:
            # What is so no longer says no longer the same as what is.
            self._leave_front(item)
            db.execute("DELETE FROM settled WHERE item = ? AND kind = ?", (item, MERGE))
            self._pass_on(item, (), f"{SUPERSEDE}: {self._id_of(by)}: {reason}")
        else:
            # Those that repeat it repeat the other one.
            for other in self.behind([item]):
                db.execute(
                    "UPDATE OR REPLACE settled SET by_item = ? WHERE item = ? AND by_item = ?", (by, other, item)
                )
                self._tell(other)
            self._left[by] = (f"{MERGE}: {self._id_of(item)}: {reason}", False)
        self._left[item] = (f"{kind}: {self._id_of(by)}: {reason}", True)

    def leave(self, key: int, doomed: Collection[int]) -> None:
        """Prepare for the deletion of a statement, as one of several; `refresh` must follow it."""
        db = self._db
        for (other,) in db.execute("SELECT item FROM settled WHERE by_item = ? AND kind = ?", (key, SUPERSEDE)):
            self._left[other] = ("what superseded it is gone", True)
        self._leave_front(key)
        self._pass_on(key, doomed, "what it repeated is gone")
        self._left.pop(key, None)

    def refresh(self, *, revive: bool = True) -> None:
        """Have every statement that may have another place now take it.

        Args:
            revive: Whether one that nothing is in front of any more stands again.
        """
        for key, (cause, was_behind) in self._left.items():
            row = self._db.execute("SELECT item_id, memory, metadata FROM items WHERE id = ?", (key,)).fetchone()
            if row is not None:
                self._place(key, *row, cause=cause, revive=revive and was_behind)
        self._left.clear()

    def lost(self, key: int, cause: str, *, was_behind: bool) -> None:
        """Say that what a statement stood behind, or what repeated it, is missing; `refresh` must follow."""
        known = self._left.get(key, (cause, False))
        self._left[key] = (cause, was_behind or known[1])

    def free(self, key: int) -> None:
        """Have a statement stand by itself, whatever stood in front of it."""
        self._leave_front(key)
        self._db.execute("DELETE FROM settled WHERE item = ?", (key,))
        self.refresh()

    def changed(self, key: int, metadata: Mapping[str, Any]) -> None:
        """Take in the new version of a statement: what it says of sources and entities, those that repeat it aside."""
        self._leave_front(key)
        self.refresh()
        for other in self.behind([key]):
            self._tell(other)
        if self._db.execute("SELECT 1 FROM standing WHERE item = ?", (key,)).fetchone():
            brought = [self.own(other) for other in self.behind([key])]
            own = [
                json.dumps(without(metadata.get(name, []), [one for each in brought for one in each[place]]))
                for place, name in enumerate(("sources", "entities"))
            ]
            self._db.execute("UPDATE standing SET sources = ?, entities = ? WHERE item = ?", (*own, key))

    def _pass_on(self, key: int, doomed: Collection[int], cause: str) -> None:
        """Have the first of those that repeat a statement take its place, if any stays."""
        db, repeats = self._db, self.behind([key])
        heirs = [item for item in repeats if item not in doomed]
        db.execute("DELETE FROM settled WHERE by_item = ? AND kind = ?", (key, MERGE))
        if not heirs:
            return
        query = "INSERT OR IGNORE INTO settled VALUES (?, ?, ?, '', ?)"
        for item in heirs[1:]:
            db.execute(query, (item, heirs[0], MERGE, cause))
            self._tell(item)
        self._left[heirs[0]] = (cause, True)

    def _tell(self, key: int) -> None:
        """Have the indexes in memory look at a statement again: another one stands for it now, maybe of its session."""
        self._db.execute("UPDATE items SET seq = ? WHERE id = ?", (self._numbers.next(), key))

    def _leave_front(self, key: int) -> None:
        for (other,) in self._db.execute("SELECT by_item FROM settled WHERE item = ? AND kind = ?", (key, MERGE)):
            self._left.setdefault(other, ("what repeated it is gone", False))
            for beside in self.behind([other]):
                self._tell(beside)

    def _place(self, key: int, item_id: str, memory: str, old: str, *, cause: str, revive: bool) -> None:
        before = json.loads(old)
        after = dict(before)
        self._gather(key, after)
        query = "SELECT kind, at FROM settled WHERE item = ?"
        rows = self._db.execute(query, (key,)).fetchall()
        ends = [at for kind, at in rows if kind == SUPERSEDE]
        if rows or revive:
            for name in ("status", "valid_until"):
                after.pop(name, None)
        if rows:
            after["status"] = "archived"
        if ends:
            after["valid_until"] = min(ends, key=moment)
        if after == before:
            return
        self._write(key, item_id, memory, old, before=before, after=after, cause=cause)

    def _gather(self, key: int, metadata: dict[str, Any]) -> None:
        """Give a statement the sources and entities of those that repeat it, beside its own."""
        db, repeats = self._db, self.behind([key])
        kept = db.execute("SELECT sources, entities FROM standing WHERE item = ?", (key,)).fetchone()
        if not repeats and kept is None:
            return
        own = self.own(key)
        if repeats:
            query = "INSERT OR IGNORE INTO standing VALUES (?, ?, ?)"
            db.execute(query, (key, *(json.dumps(part, ensure_ascii=False) for part in own)))
        else:
            db.execute("DELETE FROM standing WHERE item = ?", (key,))
        for place, name in enumerate(("sources", "entities")):
            whole = together([own[place], *(self.own(other)[place] for other in repeats)])
            metadata.pop(name, None)
            if whole:
                metadata[name] = whole

    def own(self, key: int) -> tuple[list[Any], list[Any]]:
        """Return sources and entities that a statement itself brought."""
        row = self._db.execute("SELECT sources, entities FROM standing WHERE item = ?", (key,)).fetchone()
        if row is not None:
            return json.loads(row[0]), json.loads(row[1])
        metadata = json.loads(self._db.execute("SELECT metadata FROM items WHERE id = ?", (key,)).fetchone()[0])
        return metadata.get("sources", []), metadata.get("entities", [])

    def _write(
        self,
        key: int,
        item_id: str,
        memory: str,
        old: str,
        *,
        before: dict[str, Any],
        after: dict[str, Any],
        cause: str,
    ) -> None:
        db = self._db
        at = now()
        after["version"], after["updated_at"] = min(before.get("version", 1) + 1, MAX_VERSION), at
        record_version(
            db,
            self._user_id,
            item_id,
            before=before,
            memory=memory,
            old=old,
            event="update",
            at=at,
            cause=cause,
        )
        if set(map(_text, before.get("sources", ()))) - set(map(_text, after.get("sources", ()))):
            self._forget_in_history(item_id, after)
        text = json.dumps(after, ensure_ascii=False, separators=(",", ":"))
        status = after.get("status", "activated")
        query = "UPDATE items SET seq = ?, status = ?, metadata = ? WHERE id = ?"
        db.execute(query, (self._numbers.next(), status, text, key))
        if before.get("entities") != after.get("entities"):
            mention_anew(db, self._user_id, key, after.get("entities", ()), relations_of(db, key))

    def _forget_in_history(self, item_id: str, now_is: Mapping[str, Any]) -> None:
        """Take from earlier versions what came from statements that are gone: their words must not stay there."""
        query = "SELECT id, metadata FROM history WHERE user_id = ? AND item_id = ? AND metadata IS NOT NULL"
        for row, text in self._db.execute(query, (self._user_id, item_id)).fetchall():
            metadata = json.loads(text)
            for name in ("sources", "entities"):
                known = set(map(_text, now_is.get(name, ())))
                kept = [one for one in metadata.get(name, ()) if _text(one) in known]
                metadata.pop(name, None)
                if kept:
                    metadata[name] = kept
            text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
            self._db.execute("UPDATE history SET metadata = ? WHERE id = ?", (text, row))

    def _id_of(self, key: int) -> str:
        row = self._db.execute("SELECT item_id FROM items WHERE id = ?", (key,)).fetchone()
        return str(row[0])


def together(lists: Iterable[Sequence[Any]]) -> list[Any]:
    """Return what is in any of several lists, each once, in order."""
    return list({_text(one): one for part in lists for one in part}.values())


def without(values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the values that are not among others."""
    known = set(map(_text, others))
    return [one for one in values if _text(one) not in known]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
