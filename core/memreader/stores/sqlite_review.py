"""What waits for approval in the database: taken in, or deleted with a hash that keeps it away."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memreader.items import MAX_VERSION, TextualMemoryItem
from memreader.lifetimes import now as time
from memreader.records import Batch, Cap, Decided, Decision, ItemRecord
from memreader.stores.capping import Room
from memreader.stores.changes import ChangeNumbers
from memreader.stores.database import Database
from memreader.stores.erasing import REJECTED, Eraser
from memreader.stores.rejecting import Rejected, Spelled
from memreader.stores.rows import as_json, bound, item_of
from memreader.stores.settler import Settler
from memreader.stores.versions import now, record_version
from memreader.stores.withholding import PENDING, release, waiting, withheld_places

_ROW = f"SELECT id, memory, metadata FROM items WHERE user_id = ? AND item_id = ? AND status = '{PENDING}'"

_LIVES = "(expires IS NULL OR expires > ?)"


@dataclass(frozen=True, slots=True)
class Approving:
    """What becomes of an item that is approved.

    Args:
        settle: Decides about it and what shares a key with it; None keeps each for itself.
        keys_of: By which it finds others.
        archives: Whether the raw items that it was made from are archived then.
        cap: How many items the user may have.
    """

    settle: Callable[[TextualMemoryItem, TextualMemoryItem], Decision] | None
    keys_of: Callable[[TextualMemoryItem], Sequence[str]]
    archives: bool = False
    cap: Cap | None = None


class SqliteReview:
    """The items of a store that are under review.

    Args:
        database: Stays the caller's to close.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, user_id: str, ids: Iterable[str]) -> list[str]:
        """Return those of the user's items of these ids that are under review, in their order."""
        with self._database.snapshot() as db:
            return waiting(db, user_id, ids)

    def rejected(self, user_id: str, texts: Sequence[str], spelled: Spelled) -> list[bool]:
        """Return of each text whether the user rejected it."""
        with self._database.snapshot() as db:
            known = Rejected(db, user_id)
            return [bool(known) and known.has(spelled(text)) for text in texts]

    def approve(self, user_id: str, ids: Sequence[str], how: Approving) -> tuple[list[str], list[Decided], list[str]]:
        """Have items stand that were under review, in one transaction.

        Each is reconciled with what stands, those before it among them. What is not under review is passed over.

        Returns:
            Which do, what was decided about them, and the ids of others that were archived to make room.

        Raises:
            MemoryFullError: There is no room, and the cap says "reject"; then all wait on.
        """
        approved: list[str] = []
        decisions: list[Decided] = []
        with self._database.transaction() as db:
            numbers = ChangeNumbers(db)
            room = Room(db, Batch(user_id, cap=how.cap))
            for item_id in dict.fromkeys(ids):
                row = db.execute(f"{_ROW} AND {_LIVES}", (user_id, bound(item_id), time())).fetchone()
                if row is not None:
                    decisions += self._approve(db, numbers, user_id, item_id, row, how)
                    approved.append(item_id)
            fits = how.cap is None or len(approved) <= how.cap.limit
            archived = room.keep(numbers, spared=approved if fits else ())
            numbers.save()
        return approved, decisions, archived

    def reject(self, user_id: str, ids: Sequence[str], spelled: Spelled) -> list[str]:
        """Delete items that were under review, and keep a hash of the words of each; return which there were."""
        with self._database.transaction() as db:
            rows = [db.execute(_ROW, (user_id, bound(item_id))).fetchone() for item_id in dict.fromkeys(ids)]
            doomed = {key: memory for key, memory, _ in filter(None, rows)}
            numbers, rejected = ChangeNumbers(db), Rejected(db, user_id)
            for memory in doomed.values():
                rejected.add(self._database.store_id, spelled(memory))
            eraser = Eraser(db, user_id, numbers)
            unseen = withheld_places(db, user_id, doomed)
            gone = eraser.delete(list(doomed), cause=REJECTED)
            eraser.forget()
            eraser.forget_around(but=unseen)  # No other turn was encoded beside them.
            numbers.save()
        return gone

    def unreject(self, user_id: str, text: str, spelled: Spelled) -> bool:
        """Forget that the user rejected these words; return whether that was known."""
        with self._database.transaction() as db:
            return Rejected(db, user_id).forget(spelled(text))

    def _approve(
        self,
        db: sqlite3.Connection,
        numbers: ChangeNumbers,
        user_id: str,
        item_id: str,
        row: tuple[int, str, str],
        how: Approving,
    ) -> list[Decided]:
        key, memory, old = row
        before = json.loads(old)
        at = now()
        after = {name: value for name, value in before.items() if name != "status"}
        after |= {"version": min(before.get("version", 1) + 1, MAX_VERSION), "updated_at": at}
        record_version(
            db, user_id, item_id, before=before, memory=memory, old=old, event="update", at=at, cause="approved"
        )
        text = as_json(after)
        query = "UPDATE items SET seq = ?, status = 'activated', metadata = ? WHERE id = ?"
        # Found out about others before it stands itself: it would find itself.
        item = item_of(self._database.path, item_id, memory, text)
        record = ItemRecord(item, None, {}, keys=tuple(how.keys_of(item)))
        settler = Settler(db, Batch(user_id, settle=how.settle), numbers)
        verdicts = settler.verdicts(record, skips=False)
        db.execute(query, (numbers.next(), text, key))
        db.execute("UPDATE tokens SET seq = ? WHERE item = ?", (numbers.next(), key))
        release(db, user_id, key, after.get("entities", ()))
        if how.archives:
            _archive_read(db, user_id, after, numbers)
        return settler.settle(key, record, verdicts)[0] if verdicts else []


def _archive_read(db: sqlite3.Connection, user_id: str, metadata: dict[str, Any], numbers: ChangeNumbers) -> None:
    """Archive the raw items that an approved one was made from, if they are read to the end."""
    query = "SELECT id, metadata FROM items WHERE user_id = ? AND item_id = ? AND status = 'activated'"
    for parent in metadata.get("evolve_from", ()):
        row = db.execute(query, (user_id, bound(parent))).fetchone()
        known = {} if row is None else json.loads(row[1])
        # Neither read by a model yet, nor a statement that another one grew out of.
        if not known or known.get("is_fast") or "mode:fast" not in known.get("tags", ()):
            continue
        known["status"] = "archived"
        update = "UPDATE items SET seq = ?, status = 'archived', metadata = ? WHERE id = ?"
        db.execute(update, (numbers.next(), as_json(known), row[0]))
