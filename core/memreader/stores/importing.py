"""Rows of another store into this one, inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from memreader.errors import ItemExistsError
from memreader.items import TextualMemoryItem
from memreader.ports import Vectors
from memreader.records import ItemRecord
from memreader.stores.changes import ChangeNumbers
from memreader.stores.erasing import OF_SOURCE, Eraser
from memreader.stores.inserting import insert_item
from memreader.stores.rows import metadata_json

MESSAGE = (
    "session_id", "source_key", "digest", "message_id", "parent_id", "role", "name", "content", "chat_time",
    "time_inferred", "flags", "raw", "deleted",
)  # fmt: skip
DOCUMENT = (
    "doc_key", "source_key", "doc_path", "sha256", "media_type", "title", "page_starts", "context", "doc_time", "text",
)  # fmt: skip


class Importer:
    """Takes rows in, kind by kind: messages, documents, items, ledger, history.

    Args:
        db: Inside a transaction.
        numbers: Of that transaction.
        on_conflict: What an item or a source that is there already does: "error" raises, "skip" keeps what is there,
            "replace" takes what comes in.
    """

    def __init__(self, db: sqlite3.Connection, numbers: ChangeNumbers, *, on_conflict: str) -> None:
        self._db = db
        self._numbers = numbers
        self._on_conflict = on_conflict
        self._moved: dict[tuple[str, str, int], int] = {}
        self._left_out: set[tuple[str, str]] = set()
        self._taken: set[tuple[str, str]] = set()
        self.added = self.existing = self.replaced = 0

    def message(self, row: Mapping[str, Any]) -> None:
        """Take a message in, at its position if that is free, else at the end of the session."""
        db, user_id, session = self._db, row["user_id"], row["session_id"]
        query = "SELECT id, position, deleted FROM messages WHERE user_id = ? AND source_key = ?"
        kept = db.execute(query, (user_id, row["source_key"])).fetchone()
        if kept is None:
            position = self._free_position(user_id, session, row["position"])
        else:
            number, position, deleted = kept
            if row["deleted"] or not (deleted or self._on_conflict == "replace"):
                self._place(row, position)
                return
            db.execute("DELETE FROM messages WHERE id = ?", (number,))
        self._place(row, position)
        marks = ", ".join("?" * (len(MESSAGE) + 2))
        query = f"INSERT INTO messages (user_id, position, {', '.join(MESSAGE)}) VALUES ({marks})"
        db.execute(query, (user_id, position, *(row[name] for name in MESSAGE)))

    def document(self, row: Mapping[str, Any]) -> None:
        """Take a document in. Of one that is there in other bytes, only one stays, with its items."""
        db, user_id = self._db, row["user_id"]
        query = "SELECT source_key FROM documents WHERE user_id = ? AND doc_key = ?"
        kept = db.execute(query, (user_id, row["doc_key"])).fetchone()
        if kept and kept[0] != row["source_key"]:
            if self._on_conflict != "replace":
                self._left_out.add((user_id, row["source_key"]))
                return
            query = f"SELECT items.id FROM {OF_SOURCE} WHERE source_key = ? AND user_id = ? ORDER BY items.id"
            keys = [key for (key,) in db.execute(query, (kept[0], user_id))]
            eraser = Eraser(db, user_id, self._numbers)
            eraser.delete(keys, cause="the document changed")
            eraser.forget()
        if kept and kept[0] == row["source_key"] and self._on_conflict != "replace":
            return
        marks = ", ".join("?" * (len(DOCUMENT) + 1))
        query = f"INSERT OR REPLACE INTO documents (user_id, {', '.join(DOCUMENT)}) VALUES ({marks})"
        db.execute(query, (user_id, *(row[name] for name in DOCUMENT)))

    def item(self, row: Mapping[str, Any], item: TextualMemoryItem, vector: Vectors, terms: Mapping[int, int]) -> None:
        """Take an item in, with what it was made from.

        Raises:
            ItemExistsError: It is there, and on_conflict is "error".
        """
        db, user_id = self._db, row["user_id"]
        if any((user_id, key) in self._left_out for key in row["source_keys"]):
            self.existing += 1
            return
        kept = db.execute("SELECT id FROM items WHERE user_id = ? AND item_id = ?", (user_id, item.id)).fetchone()
        if kept and self._on_conflict == "error":
            raise ItemExistsError(item_id=item.id)
        if kept and self._on_conflict == "skip":
            self.existing += 1
            return
        if kept:
            Eraser(db, user_id, self._numbers).delete([kept[0]], cause="replaced by an import", traceless=True)
            self.replaced += 1
        relations = tuple((head, relation, tail) for head, relation, tail in row["relations"])
        record = ItemRecord(item, vector, terms, tuple(row["source_keys"]), relations=relations)
        insert_item(db, user_id, record, self._metadata(user_id, item), self._numbers.next())
        self._taken.add((user_id, item.id))
        self.added += 1

    def read(self, row: Mapping[str, Any]) -> None:
        """Take in that a source was read, if its items are here."""
        if (row["user_id"], row["source_key"]) not in self._left_out:
            values = (row["user_id"], row["source_key"], row["reading_key"])
            self._db.execute("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?)", values)

    def version(self, row: Mapping[str, Any]) -> None:
        """Take in a step of an item's history, of an item that was taken in or is gone on both sides."""
        user_id, item_id = row["user_id"], row["item_id"]
        if (user_id, item_id) not in self._taken:
            query = (
                "SELECT 1 FROM items WHERE user_id = ? AND item_id = ? "
                "UNION ALL SELECT 1 FROM history WHERE user_id = ? AND item_id = ? AND id <= ?"
            )
            if self._db.execute(query, (user_id, item_id, user_id, item_id, self._history_before)).fetchone():
                return
        columns = ("version", "event", "at", "cause", "memory", "metadata")
        query = f"INSERT INTO history (user_id, item_id, {', '.join(columns)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._db.execute(query, (user_id, item_id, *(row[name] for name in columns)))

    def begin_history(self) -> None:
        """Note which steps were there before."""
        self._history_before = self._db.execute("SELECT coalesce(max(id), 0) FROM history").fetchone()[0]

    def _free_position(self, user_id: str, session: str, wanted: int) -> int:
        query = "SELECT 1 FROM messages WHERE user_id = ? AND session_id = ? AND position = ?"
        if not self._db.execute(query, (user_id, session, wanted)).fetchone():
            return wanted
        query = "SELECT max(position) + 1 FROM messages WHERE user_id = ? AND session_id = ?"
        return int(self._db.execute(query, (user_id, session)).fetchone()[0])

    def _place(self, row: Mapping[str, Any], position: int) -> None:
        if position != row["position"]:
            self._moved[row["user_id"], row["session_id"], row["position"]] = position

    def _metadata(self, user_id: str, item: TextualMemoryItem) -> str:
        """Return the metadata as it is kept, its sources numbered by where their messages are here."""
        text = metadata_json(item.metadata, (), {})
        if not self._moved:
            return text
        data = json.loads(text)
        for source in data.get("sources", ()):
            place = (user_id, source.get("session_id") or "", source.get("index", -1))
            if source.get("type", "chat") == "chat" and place in self._moved:
                source["index"] = self._moved[place]
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
