"""Taking words away: items with all that is theirs, and what of their sources nobody else cites."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memreader.records import Deleted
from memreader.stores.changes import ChangeNumbers, user_hash
from memreader.stores.refined import forget_judged, raw_again
from memreader.stores.settling import Standing
from memreader.stores.sqlite_graph import drop_unmentioned
from memreader.stores.tokens import forget_around
from memreader.stores.versions import add_event, last_event, now

EXPIRED = "expired"
"""Cause of the deletion of what has expired: what it stood in front of stands again, and nothing is made again."""
OF_SOURCE = "item_sources CROSS JOIN items ON items.id = item"
"""Items by a source key. CROSS, since the planner would else start from all items of the user, however many."""


REJECTED: Final = "rejected"
"""Why an item is deleted that was under review."""
_ALONE = ("delete", REJECTED)
"""Causes that mean the item alone, not what it was made from."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A message or document that lost an item, and how to blank a part of it."""

    table: str
    row: int
    text: str
    kind: str
    place: tuple[Any, ...]
    """Of a message: position and session; of a document: its path."""

    def spans(self, sources: Iterable[dict[str, Any]]) -> list[tuple[int, int]]:
        """Return which parts of the text an item that was made from it cites; all of it where it doesn't say."""
        cited = [
            (source.get("start") or 0, len(self.text) if source.get("end") is None else source["end"])
            for source in sources
            if source.get("type", "chat") == self.kind and self._is_cited_by(source)
        ]
        return cited or [(0, len(self.text))]

    def _is_cited_by(self, source: dict[str, Any]) -> bool:
        if self.kind == "doc":
            return (source.get("doc_path"),) == self.place
        position, session = self.place
        return source.get("index") in (None, position) and source.get("session_id") in (None, session)


class Eraser:
    """Deletes within one transaction, for one user."""

    def __init__(self, db: sqlite3.Connection, user_id: str, numbers: ChangeNumbers) -> None:
        self._db = db
        self._user_id = user_id
        self._numbers = numbers
        self._lost: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
        self._messages = self._documents = 0
        self._silent: list[tuple[str, int]] = []

    @property
    def lost(self) -> tuple[int, int]:
        """How many messages, and how many documents, lost words so far."""
        return self._messages, self._documents

    def delete(self, keys: Sequence[int], *, cause: str, traceless: bool = False) -> list[str]:
        """Delete items by number and return their ids; `forget` must follow for what they were made from."""
        ids: list[str] = []
        parents: dict[str, None] = {}
        standing = Standing(self._db, self._user_id, self._numbers)
        # Who deletes a memory means all that say the same.
        repeats = standing.behind(keys) if cause in _ALONE else []
        doomed = {*keys, *repeats}
        for key in (*keys, *repeats):
            query = "SELECT item_id, metadata FROM items WHERE id = ?"
            item_id, text = self._db.execute(query, (key,)).fetchone()
            standing.leave(key, doomed)
            metadata = json.loads(text)
            parents.update(dict.fromkeys(metadata.get("evolve_from", ())))
            query = "SELECT source_key FROM item_sources WHERE item = ?"
            for (source_key,) in self._db.execute(query, (key,)):
                self._lost[source_key].append(metadata.get("sources", []))
            entities = self._db.execute("SELECT entity FROM mentions WHERE item = ?", (key,)).fetchall()
            self._db.execute("DELETE FROM items WHERE id = ?", (key,))
            forget_judged(self._db, self._user_id, item_id)
            drop_unmentioned(self._db, entities)
            self._db.execute("INSERT INTO gone VALUES (?, ?, ?)", (self._numbers.next(), self._user_id, key))
            self._record_deletion(item_id, metadata, cause, traceless=traceless)
            if key not in repeats:
                ids.append(item_id)
        standing.refresh(revive=cause not in _ALONE)
        if cause not in (*_ALONE, EXPIRED):  # Who deletes a memory alone doesn't want it made again.
            raw_again(self._db, self._user_id, parents, self._numbers)
        if ids:
            self.purge_is_due()
        return ids

    def delete_made_from(self, source_key: str, cause: str) -> list[str]:
        """Delete every item made from a source, of which the caller writes another version, and return their ids.

        The ledger forgets it, and what else those items were made from: no word may be left without an item.
        """
        query = f"SELECT items.id FROM {OF_SOURCE} WHERE source_key = ? AND user_id = ? ORDER BY items.id"
        keys = [key for (key,) in self._db.execute(query, (source_key, self._user_id))]
        for key in cited_with(self._db, self._user_id, source_key):
            self._db.execute("DELETE FROM ledger WHERE user_id = ? AND source_key = ?", (self._user_id, key))
        ids = self.delete(keys, cause=cause)
        query = "SELECT id FROM messages WHERE user_id = ? AND source_key = ?"
        for (row,) in self._db.execute(query, (self._user_id, source_key)).fetchall():
            self._forget_retold(row)
        # The source's own words go, whether or not there was an item.
        self.purge_is_due()
        self._lost.clear()
        self.forget_around()
        return ids

    def forget(self, *, messages: bool = True) -> None:
        """Erase of the deleted items' sources what no other item cites.

        The ledger forgets all of them, so that adding them again brings everything back.

        Args:
            messages: Whether messages are erased too, or only documents.
        """
        for source_key, deleted in self._lost.items():
            values = (self._user_id, source_key)
            self._db.execute("DELETE FROM ledger WHERE user_id = ? AND source_key = ?", values)
            query = f"SELECT metadata FROM {OF_SOURCE} WHERE user_id = ? AND source_key = ?"
            others = [json.loads(text).get("sources", []) for (text,) in self._db.execute(query, values)]
            for source in self._sources(source_key):
                if messages or source.table == "documents":
                    self._blank(source, source_key, deleted, others)
        self._lost.clear()

    def forget_message(self, row: int, source_key: str) -> None:
        """Erase a message whole; its place in the session stays."""
        query = (
            "UPDATE messages SET content = '', raw = NULL, name = NULL, deleted = 1 "
            "WHERE id = ? AND NOT (deleted AND content = '')"
        )
        self._messages += self._db.execute(query, (row,)).rowcount
        self._db.execute("DELETE FROM ledger WHERE user_id = ? AND source_key = ?", (self._user_id, source_key))
        self._forget_retold(row)
        self.purge_is_due()

    def forget_around(self, *, but: Collection[tuple[str, int]] = ()) -> None:
        """Delete the token vectors that were made with the words erased so far; not with those at some places."""
        forget_around(self._db, self._user_id, [place for place in self._silent if place not in but])
        self._silent.clear()

    def _forget_retold(self, row: int) -> None:
        """Take the summaries from the memories of a message's session, and from their history: they may retell it.

        So may token vectors of the turns around it: `forget_around` must follow.
        """
        query = "SELECT session_id, position FROM messages WHERE id = ?"
        session, position = self._db.execute(query, (row,)).fetchone()
        self._silent.append((session, position))
        session = session or None
        query = (
            "SELECT id, item_id FROM items WHERE user_id = ? AND session_id IS ? "
            "AND instr(metadata, '\"background\":') > 0"
        )
        for key, item_id in self._db.execute(query, (self._user_id, session)).fetchall():
            without = "json_remove(metadata, '$.background')"
            self._db.execute(f"UPDATE items SET metadata = {without} WHERE id = ?", (key,))
            query = (
                f"UPDATE history SET metadata = {without} WHERE user_id = ? AND item_id = ? AND metadata IS NOT NULL"
            )
            self._db.execute(query, (self._user_id, item_id))

    def forget_document(self, row: int, source_key: str) -> None:
        """Erase a document whole."""
        self._documents += self._db.execute("DELETE FROM documents WHERE id = ?", (row,)).rowcount
        self._db.execute("DELETE FROM ledger WHERE user_id = ? AND source_key = ?", (self._user_id, source_key))
        self.purge_is_due()

    def everything(self, store_id: str) -> Deleted:
        """Erase the user: no row holds the id any more, only a hash of it, so that other processes notice."""
        db, user = self._db, (self._user_id,)
        ids = [item_id for (item_id,) in db.execute("SELECT item_id FROM items WHERE user_id = ? ORDER BY id", user)]
        query = "SELECT count(*) FROM messages WHERE user_id = ? AND NOT deleted"
        messages = db.execute(query, user).fetchone()[0]
        documents = db.execute("SELECT count(*) FROM documents WHERE user_id = ?", user).fetchone()[0]
        tables = (
            "items",
            "messages",
            "documents",
            "ledger",
            "history",
            "entities",
            "statement_keys",
            "gone",
            "rejected",
        )
        for table in tables:
            db.execute(f"DELETE FROM {table} WHERE user_id = ?", user)
        number = self._numbers.next()
        db.execute("INSERT OR REPLACE INTO erased VALUES (?, ?)", (user_hash(store_id, self._user_id), number))
        self.purge_is_due()
        return Deleted(ids, messages, documents)

    def purge_is_due(self) -> None:
        """Keep that the files still hold what was deleted, under a new number: an older purge doesn't clear it."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('purge_due', ?)", (str(self._numbers.next()),))

    def _sources(self, source_key: str) -> list[_Source]:
        values = (self._user_id, source_key)
        query = "SELECT id, content, position, session_id FROM messages WHERE user_id = ? AND source_key = ?"
        found = [
            _Source("messages", row, text, "chat", (position, session or None))
            for row, text, position, session in self._db.execute(query, values)
        ]
        query = "SELECT id, text, doc_path FROM documents WHERE user_id = ? AND source_key = ?"
        found += [
            _Source("documents", row, text, "doc", (path,)) for row, text, path in self._db.execute(query, values)
        ]
        return found

    def _blank(
        self, source: _Source, source_key: str, deleted: list[list[dict[str, Any]]], others: list[list[dict[str, Any]]]
    ) -> None:
        if not others:
            (self.forget_message if source.table == "messages" else self.forget_document)(source.row, source_key)
            return
        kept = [span for sources in others for span in source.spans(sources)]
        text = blanked(source.text, [span for sources in deleted for span in source.spans(sources)], kept)
        if text == source.text:
            return
        if source.table == "messages":
            # Without a digest it counts as edited: sent again, it is read again.
            self._db.execute(
                "UPDATE messages SET content = ?, raw = NULL, digest = '' WHERE id = ?", (text, source.row)
            )
            self._messages += 1
            self._forget_retold(source.row)
        else:
            # A title that stood in what is blank now goes with it.
            query = "UPDATE documents SET text = ?, title = iif(instr(?, title), title, NULL) WHERE id = ?"
            self._db.execute(query, (text, text, source.row))
            self._documents += 1

    def _record_deletion(self, item_id: str, metadata: dict[str, Any], cause: str, *, traceless: bool) -> None:
        db, values = self._db, (self._user_id, item_id)
        if traceless:
            db.execute("DELETE FROM history WHERE user_id = ? AND item_id = ?", values)
            return
        version = metadata.get("version", 1)
        if last_event(db, *values) in (None, "delete"):
            add_event(db, *values, version=version, event="add", at=metadata["created_at"], cause="add")
        db.execute(
            "UPDATE history SET memory = NULL, metadata = NULL WHERE user_id = ? AND item_id = ? "
            "AND memory IS NOT NULL",
            values,
        )
        add_event(db, *values, version=version, event="delete", at=now(), cause=cause)


def blanked(text: str, spans: Sequence[tuple[int, int]], kept: Sequence[tuple[int, int]]) -> str:
    """Return `text` with every character of `spans` that is in none of `kept` replaced by a space; line breaks stay.

    >>> blanked("one two three", [(0, 7)], [(4, 7)])
    '    two three'
    """
    mask = bytearray(len(text))
    for mark, ranges in ((1, spans), (0, kept)):
        for start, end in ranges:
            first = max(start, 0)
            last = max(min(end, len(text)), first)
            mask[first:last] = bytes([mark]) * (last - first)
    pieces, at = [], 0
    for run in re.finditer(b"\x01+", mask):
        pieces += [text[at : run.start()], re.sub(r"\S", " ", text[run.start() : run.end()])]
        at = run.end()
    return "".join([*pieces, text[at:]])


def is_blanked(rest: str, text: str) -> bool:
    """Return whether `rest` is what blanking a part of `text`, or nothing of it, leaves.

    >>> is_blanked("    two three", "one two three"), is_blanked("one two", "one ten")
    (True, False)
    """
    return len(rest) == len(text) and all(left in (" ", right) for left, right in zip(rest, text, strict=True))


def cited_with(db: sqlite3.Connection, user_id: str, source_key: str) -> set[str]:
    """Return this source key and those of every other source of the user's items made from it."""
    query = (
        "SELECT others.source_key FROM item_sources AS mine CROSS JOIN items ON items.id = mine.item "
        "CROSS JOIN item_sources AS others ON others.item = mine.item WHERE mine.source_key = ? AND user_id = ?"
    )
    return {source_key, *(key for (key,) in db.execute(query, (source_key, user_id)))}
