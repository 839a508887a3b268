"""Rows of another store into this one, inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memreader.errors import DimensionMismatchError, ItemExistsError, SourceExistsError
from memreader.items import TextualMemoryItem
from memreader.records import ItemRecord
from memreader.stores.alias_rows import decide, drop_nameless, is_decided
from memreader.stores.changes import ChangeNumbers
from memreader.stores.erasing import Eraser
from memreader.stores.feedback_rows import take_feedback
from memreader.stores.inserting import insert_item
from memreader.stores.rows import kept_metadata
from memreader.stores.settling import Standing
from memreader.stores.tokens import forget_around

MESSAGE = (
    "session_id", "source_key", "digest", "message_id", "parent_id", "role", "name", "content", "chat_time",
    "time_inferred", "flags", "raw", "deleted",
)  # fmt: skip
DOCUMENT = (
    "doc_key", "source_key", "doc_path", "sha256", "media_type", "title", "page_starts", "context", "doc_time", "text",
)  # fmt: skip
FARTHEST = 2**53
"""Position above which none is taken over: no session is so long, and the next ones must still be numbers."""


class Importer:
    """Takes rows in, kind by kind: messages, documents, items, ledger, history, aliases, rejected.

    Args:
        db: Inside a transaction.
        numbers: Of that transaction.
        on_conflict: What an item that is there already does, or a source that is there in other words: "error" raises,
            "skip" keeps what is there, "replace" takes what comes in. A source of which either side deleted a part is
            no conflict: it becomes whole again.
        dimension: Of the store's vectors.
    """

    def __init__(self, db: sqlite3.Connection, numbers: ChangeNumbers, *, on_conflict: str, dimension: int) -> None:
        self._db = db
        self._numbers = numbers
        self._on_conflict = on_conflict
        self._dimension = dimension
        self._moved: dict[tuple[str, str, int], int] = {}
        self._crowded: set[tuple[str, str]] = set()
        """Sessions of which a message did not get its place: those after it must not come before it."""
        self._left_out: set[tuple[str, str]] = set()
        """Sources that were not taken in, and those of items that were not because of them."""
        self._taken: dict[tuple[str, str], bool] = {}
        """Whether an item was taken in."""
        self._users: set[str] = set()
        """Whose items, or decisions about names, came in."""
        self._settled: list[tuple[str, ...]] = []
        """User, item, the one in front of it, kind, time, reason."""
        self.added = self.existing = self.replaced = 0

    def message(self, row: Mapping[str, Any]) -> None:
        """Take a message in, at its position if that is free, else at the end of the session.

        Raises:
            SourceExistsError: It is there in other words, and on_conflict is "error".
        """
        db, user_id, session = self._db, row["user_id"], row["session_id"]
        query = "SELECT id, position, digest, deleted, content FROM messages WHERE user_id = ? AND source_key = ?"
        kept = db.execute(query, (user_id, row["source_key"])).fetchone()
        if kept is None:
            position = self._free_position(user_id, session, row["position"])
            self._place(row, position)
            marks = ", ".join("?" * (len(MESSAGE) + 2))
            query = f"INSERT INTO messages (user_id, position, {', '.join(MESSAGE)}) VALUES ({marks})"
            db.execute(query, (user_id, position, *(row[name] for name in MESSAGE)))
            return
        number, position, digest, deleted, content = kept
        self._place(row, position)
        if row["deleted"]:
            return
        words = row["content"]
        if not deleted:
            same = digest == row["digest"]
            found = content if same and digest else None if digest and row["digest"] else merged(content, words)
            if found is None and not self._is_to_replace("message", row, row["source_key"]):
                return
            if found == content and (self._on_conflict != "replace" or not row["digest"]):
                return
            words = words if found is None else found
        # Where it is here: the session is part of the source key.
        names = [name for name in MESSAGE if name not in ("session_id", "source_key")]
        values = [words if name == "content" else row[name] for name in names]
        db.execute(f"UPDATE messages SET {' = ?, '.join(names)} = ? WHERE id = ?", (*values, number))
        forget_around(db, user_id, [(session, position)])

    def document(self, row: Mapping[str, Any]) -> None:
        """Take a document in. Of one that is there in other words, only one stays, with its items.

        Raises:
            SourceExistsError: It is there in other words, and on_conflict is "error".
        """
        db, user_id = self._db, row["user_id"]
        query = "SELECT source_key, text FROM documents WHERE user_id = ? AND doc_key = ?"
        kept = db.execute(query, (user_id, row["doc_key"])).fetchone()
        words = row["text"]
        if kept:
            source_key, text = kept
            found = merged(text, words) if source_key == row["source_key"] else None
            if found is None and not self._is_to_replace("document", row, source_key):
                return
            if found == text and self._on_conflict != "replace":
                return
            words = words if found is None else found
        marks = ", ".join("?" * (len(DOCUMENT) + 1))
        query = f"INSERT OR REPLACE INTO documents (user_id, {', '.join(DOCUMENT)}) VALUES ({marks})"
        db.execute(query, (user_id, *(words if name == "text" else row[name] for name in DOCUMENT)))

    def item(self, row: Mapping[str, Any], record: ItemRecord) -> None:
        """Take an item in, with what it was made from, unless its source was left out.

        Raises:
            ItemExistsError: It is there, and on_conflict is "error".
            DimensionMismatchError: The vector has another length than the store's.
        """
        db, user_id, item = self._db, row["user_id"], record.item
        if record.vector is not None and record.vector.shape != (self._dimension,):
            raise DimensionMismatchError(expected=self._dimension, got=record.vector.shape[-1])
        kept = db.execute("SELECT id FROM items WHERE user_id = ? AND item_id = ?", (user_id, item.id)).fetchone()
        self._settled += [(user_id, item.id, *one) for one in row.get("settled", ())]
        sources = [(user_id, key) for key in row["source_keys"]]
        no_source = not self._left_out.isdisjoint(sources)
        if kept and self._on_conflict == "error":
            raise ItemExistsError(item_id=item.id)
        if no_source or (kept and self._on_conflict == "skip"):
            self.existing += 1
            self._taken[user_id, item.id] = False
            if no_source:
                # No word is left without an item: what else it was made from is to be read again.
                self._left_out.update(sources)
            return
        if kept:
            Eraser(db, user_id, self._numbers).delete([kept[0]], cause="replaced by an import", traceless=True)
            self.replaced += 1
        relations = tuple((head, relation, tail) for head, relation, tail in row["relations"])
        record = replace(record, source_keys=tuple(row["source_keys"]), relations=relations)
        key = insert_item(db, user_id, record, self._metadata(user_id, item), self._numbers.next())
        if row.get("standing") is not None:
            self._bring(user_id, key, json.loads(row["standing"]))
        take_feedback(db, user_id, key, self._numbers, row.get("feedback", ()), dimension=self._dimension)
        self._taken[user_id, item.id] = True
        self._users.add(user_id)
        self.added += 1

    def settle(self) -> None:
        """Put the items behind those in front of them, now that all are here, and their history and aliases.

        What is missing of one or the other end is left out, and the rest has the place that it then has.
        """
        placed = defaultdict(list)
        for user_id, item_id, by_item, *what in self._settled:
            placed[user_id].append((item_id, by_item, what))
        for user_id, pairs in placed.items():
            standing = Standing(self._db, user_id, self._numbers)
            for item_id, by_item, what in pairs:
                keys = self._key(user_id, item_id), self._key(user_id, by_item)
                if None not in keys:
                    self._db.execute("INSERT OR IGNORE INTO settled VALUES (?, ?, ?, ?, ?)", (*keys, *what))
                    continue
                for key, is_behind in zip(keys, (True, False), strict=True):
                    if key is not None:
                        standing.lost(key, "what it was settled with was not imported", was_behind=is_behind)
            standing.refresh()
        for user_id in self._users:
            drop_nameless(self._db, user_id)

    def _key(self, user_id: str, item_id: str) -> int | None:
        """Return the number of an item that was taken in."""
        if not self._taken.get((user_id, item_id)):
            return None
        query = "SELECT id FROM items WHERE user_id = ? AND item_id = ?"
        row = self._db.execute(query, (user_id, item_id)).fetchone()
        return None if row is None else int(row[0])

    def _bring(self, user_id: str, key: int, brought: dict[str, list[Any]]) -> None:
        self._renumber(user_id, brought["sources"])
        parts = (json.dumps(brought[name], ensure_ascii=False) for name in ("sources", "entities"))
        self._db.execute("INSERT INTO standing VALUES (?, ?, ?)", (key, *parts))

    def read(self, row: Mapping[str, Any]) -> None:
        """Take in that a source was read, if its items are here."""
        if (row["user_id"], row["source_key"]) not in self._left_out:
            values = (row["user_id"], row["source_key"], row["reading_key"])
            self._db.execute("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?)", values)

    def version(self, row: Mapping[str, Any]) -> None:
        """Take in a step of an item's history, of an item that was taken in or is gone on both sides."""
        user_id, item_id = row["user_id"], row["item_id"]
        taken = self._taken.get((user_id, item_id))
        if taken is None:
            query = (
                "SELECT 1 FROM items WHERE user_id = ? AND item_id = ? "
                "UNION ALL SELECT 1 FROM history WHERE user_id = ? AND item_id = ? AND id <= ?"
            )
            values = (user_id, item_id, user_id, item_id, self._history_before)
            taken = not self._db.execute(query, values).fetchone()
        if taken:
            columns = ("version", "event", "at", "cause", "memory", "metadata")
            query = f"INSERT INTO history (user_id, item_id, {', '.join(columns)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            self._db.execute(query, (user_id, item_id, *(row[name] for name in columns)))

    def alias(self, row: Mapping[str, Any]) -> None:
        """Take in what the user decided about two names, unless that was decided here, too, and stays."""
        user_id, pair = row["user_id"], (row["key"], row["entity"])
        self._users.add(user_id)
        if self._on_conflict == "replace" or not is_decided(self._db, user_id, *pair):
            decide(self._db, user_id, *pair, row["origin"])

    def rejected(self, row: Mapping[str, Any]) -> None:
        """Take in that words were rejected; items of them that came in, or were here, stay."""
        values = (row["user_id"], row["store"], bytes.fromhex(row["hash"]))
        self._db.execute("INSERT OR IGNORE INTO rejected VALUES (?, ?, ?)", values)

    def begin_history(self) -> None:
        """Note which steps were there before."""
        self._history_before = self._db.execute("SELECT coalesce(max(id), 0) FROM history").fetchone()[0]

    def _is_to_replace(self, kind: str, row: Mapping[str, Any], kept_key: str) -> bool:
        """Return whether a source in other words takes the place of the one here, whose items then are gone."""
        if self._on_conflict == "error":
            place = row["doc_path"] if kind == "document" else f"{row['session_id']}[{row['position']}]"
            raise SourceExistsError(kind=kind, place=place)
        if self._on_conflict == "skip":
            self._left_out.add((row["user_id"], row["source_key"]))
            return False
        eraser = Eraser(self._db, row["user_id"], self._numbers)
        self.replaced += len(eraser.delete_made_from(kept_key, "replaced by an import"))
        return True

    def _free_position(self, user_id: str, session: str, wanted: int) -> int:
        values = (user_id, session)
        query = "SELECT 1 FROM messages WHERE user_id = ? AND session_id = ? AND position = ?"
        crowded = wanted > FARTHEST or self._db.execute(query, (*values, wanted)).fetchone()
        if values not in self._crowded and not crowded:
            return wanted
        self._crowded.add(values)
        query = "SELECT coalesce(max(position) + 1, 0) FROM messages WHERE user_id = ? AND session_id = ?"
        return int(self._db.execute(query, values).fetchone()[0])

    def _place(self, row: Mapping[str, Any], position: int) -> None:
        if position != row["position"]:
            self._moved[row["user_id"], row["session_id"], row["position"]] = position

    def _metadata(self, user_id: str, item: TextualMemoryItem) -> dict[str, Any]:
        """Return the metadata as it is kept, its sources numbered by where their messages are here."""
        data = kept_metadata(item.metadata)
        self._renumber(user_id, data.get("sources", ()))
        return data

    def _renumber(self, user_id: str, sources: Iterable[dict[str, Any]]) -> None:
        for source in sources:
            place = (user_id, source.get("session_id") or "", source.get("index", -1))
            if source.get("type", "chat") == "chat" and place in self._moved:
                source["index"] = self._moved[place]


def merged(here: str, there: str) -> str | None:
    """Return a text of which each side may have blanked a part; None if they are two texts.

    >>> merged("    two three", "one two      "), merged("one", "two")
    ('one two three', None)
    """
    if here == there:
        return here
    if len(here) != len(there) or any(a != b and " " not in (a, b) for a, b in zip(here, there, strict=True)):
        return None
    return "".join(b if a == " " else a for a, b in zip(here, there, strict=True))
