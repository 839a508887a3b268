"""The default store: SQLite holds the truth, one index per user answers searches."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from memreader.errors import DimensionMismatchError, EmbedderMismatchError
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.ports import Vectors
from memreader.records import Batch, DocumentRecord, ItemRecord, MessageRecord, Written
from memreader.stores.database import Database
from memreader.stores.user_index import Evidence, UserIndex

_OF_SOURCE = "item_sources CROSS JOIN items ON items.id = item"
"""Items by a source key. CROSS, since the planner would else start from all items of the user, however many."""
_LARGEST = 2**63 - 1
"""SQLite's largest whole number."""


class Store:
    """Messages, documents and items of many users in one folder; thread-safe.

    Args:
        folder: Created when absent.
        dimension: Of every vector.
        embedder: Name and fingerprint of the embedder, remembered at creation.
        lexicon: Name of the way terms are made, remembered likewise.

    Raises:
        EmbedderMismatchError: The folder was made with another embedder or lexicon.
        StoreVersionError, StoreCorruptError, StoreBusyError: As their names say.
    """

    def __init__(self, folder: Path, *, dimension: int, embedder: str, lexicon: str) -> None:
        self.folder = folder
        self.dimension = dimension
        self._database = Database(folder)
        self._indexes: dict[str, UserIndex] = {}
        self._index_lock = threading.Lock()
        with ExitStack() as undo:
            undo.callback(self._database.close)
            self._remember({"embedder": embedder, "dimension": str(dimension), "lexicon": lexicon})
            undo.pop_all()

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        self._database.close()
        with self._index_lock:
            self._indexes.clear()

    def write(self, batch: Batch) -> Written:
        """Write a batch in one transaction and return what became of each item.

        A message gets the next position of its session, or keeps the one it has; `index` in the chat sources of the
        items follows. A document that replaces another takes the old one's items away.
        """
        written = Written()
        with self._database.transaction() as db:
            positions = _write_messages(db, batch, written)
            for document in batch.documents:
                _write_document(db, batch.user_id, document, written)
            for record in batch.items:
                _write_item(db, batch.user_id, record, positions, self.dimension, written)
            rows = [(batch.user_id, key, batch.reading_key) for key in batch.read]
            db.executemany("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?)", rows)
        return written

    def unread(self, user_id: str, sources: Mapping[str, str | None], reading_key: str) -> set[str]:
        """Return the source keys whose reading is still to be done, given source key -> digest (None: not compared).

        It is when the ledger does not know it, when the message was kept with another digest (it was edited), or when
        an item that goes because of such an edit was also made from it.
        """
        out: set[str] = set()
        with self._database.snapshot() as db:
            for key, digest in sources.items():
                query = "SELECT 1 FROM ledger WHERE user_id = ? AND source_key = ? AND reading_key = ?"
                if not db.execute(query, (user_id, key, reading_key)).fetchone():
                    out.add(key)
                query = "SELECT digest FROM messages WHERE user_id = ? AND source_key = ? AND NOT deleted"
                kept = db.execute(query, (user_id, key)).fetchone() if digest is not None else None
                if kept and kept[0] != digest:
                    out.update(_cited_with(db, user_id, key))
        return out.intersection(sources)

    def items_of(self, user_id: str, source_keys: Iterable[str]) -> list[str]:
        """Return the ids of the user's items made from any of these sources, oldest first, each once."""
        found: dict[int, str] = {}
        query = f"SELECT items.id, item_id FROM {_OF_SOURCE} WHERE source_key = ? AND user_id = ?"
        with self._database.snapshot() as db:
            for key in source_keys:
                found.update(db.execute(query, (key, user_id)).fetchall())
        return [found[key] for key in sorted(found)]

    def get(self, user_id: str, item_ids: Sequence[str]) -> list[TextualMemoryItem | None]:
        """Return the user's items in the order asked; None for an id that is unknown or another user's."""
        query = "SELECT item_id, memory, metadata FROM items WHERE user_id = ? AND item_id = ?"
        with self._database.snapshot() as db:
            rows = [db.execute(query, (user_id, _bound(item_id))).fetchone() for item_id in item_ids]
        return [_item(*row) if row else None for row in rows]

    def items(
        self, user_id: str, *, session_id: str | None = None, agent_id: str | None = None, limit: int, offset: int
    ) -> list[TextualMemoryItem]:
        """Return the user's items, oldest first; only those with the given labels. A negative limit is no limit."""
        query = (
            "SELECT item_id, memory, metadata FROM items WHERE user_id = :user "
            "AND (:session IS NULL OR session_id = :session) AND (:agent IS NULL OR agent_id = :agent) "
            "ORDER BY id LIMIT :limit OFFSET :offset"
        )
        bounds = {"limit": min(limit, _LARGEST), "offset": min(offset, _LARGEST)}
        values = {"user": user_id, "session": session_id, "agent": agent_id, **bounds}
        with self._database.reading() as db:
            rows = db.execute(query, values).fetchall()
        return [_item(*row) for row in rows]

    def delete(self, user_id: str, item_ids: Sequence[str]) -> list[str]:
        """Delete the user's items and return the ids that were there, in the order given.

        Sources that no item is left of go too: a message's content and raw form are erased (its place in the session
        stays), a document's row goes, and the ledger forgets them, so that adding them again brings them back.
        """
        gone: list[str] = []
        with self._database.transaction() as db:
            for item_id in item_ids:
                query = "SELECT id FROM items WHERE user_id = ? AND item_id = ?"
                row = db.execute(query, (user_id, _bound(item_id))).fetchone()
                if row:
                    keys = _source_keys(db, row[0])
                    _delete_item(db, user_id, row[0])
                    _forget(db, user_id, keys)
                    gone.append(item_id)
        return gone

    def search(
        self,
        user_id: str,
        vector: Vectors,
        terms: Mapping[int, float],
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        isolate: bool = False,
    ) -> Evidence:
        """Return the evidence of every item of the user that the labels let through; see `UserIndex.search`."""
        if vector.shape != (self.dimension,):
            raise DimensionMismatchError(expected=self.dimension, got=vector.shape[-1])
        with self._index_lock, self._database.snapshot() as db:
            index = self._indexes.pop(user_id, None)
            if index is None:
                index = UserIndex(user_id, self.dimension)
            index.catch_up(db)
            # Back only now: one that an error or Ctrl-C left half filled pairs rows with the wrong vectors.
            self._indexes[user_id] = index
            return index.search(vector, terms, session_id=session_id, agent_id=agent_id, isolate=isolate)

    def by_key(self, user_id: str, keys: Sequence[int]) -> list[TextualMemoryItem | None]:
        """Return items by their database ids, as `Evidence.keys` names them; None for one deleted meanwhile."""
        query = "SELECT item_id, memory, metadata FROM items WHERE user_id = ? AND id = ?"
        with self._database.snapshot() as db:
            rows = [db.execute(query, (user_id, int(key))).fetchone() for key in keys]
        return [_item(*row) if row else None for row in rows]

    def has_items(self, user_id: str) -> bool:
        """Return whether the user has any item."""
        query = "SELECT 1 FROM items WHERE user_id = ? LIMIT 1"
        with self._database.reading() as db:
            return db.execute(query, (user_id,)).fetchone() is not None

    def _remember(self, facts: dict[str, str]) -> None:
        with self._database.transaction() as db:
            known = dict(db.execute("SELECT key, value FROM meta").fetchall())
            for key, value in facts.items():
                if known.setdefault(key, value) != value:
                    raise EmbedderMismatchError(stored=f"{key} {known[key]!r}", given=f"{key} {value!r}")
            db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", facts.items())


def _bound(item_id: str) -> str | None:
    """Return an id as SQLite takes it; None, which equals nothing, for one with a lone surrogate, that nothing has."""
    return item_id if isinstance(item_id, str) and item_id.encode("utf-8", "ignore").decode() == item_id else None


def _write_messages(db: sqlite3.Connection, batch: Batch, written: Written) -> dict[str, int]:
    """Keep the messages and return source key -> position in the session."""
    session = batch.session_id or ""
    query = "SELECT max(position) FROM messages WHERE user_id = ? AND session_id = ?"
    last = db.execute(query, (batch.user_id, session)).fetchone()[0] if batch.messages else None
    following = 0 if last is None else last + 1
    positions: dict[str, int] = {}
    read = set(batch.read)
    for record in batch.messages:
        query = "SELECT position, digest, deleted FROM messages WHERE user_id = ? AND source_key = ?"
        kept = db.execute(query, (batch.user_id, record.source_key)).fetchone()
        if kept is None:
            _insert_message(db, batch.user_id, session, following, record)
            positions[record.source_key], following = following, following + 1
            continue
        position, digest, deleted = kept
        positions[record.source_key] = position
        if deleted and record.source_key not in read:
            # Deleted while this batch was read: it has no item here, so its words must not come back either.
            continue
        if digest != record.digest and not deleted:
            written.replaced.extend(_delete_made_from(db, batch.user_id, record.source_key))
        if digest != record.digest or deleted:
            query = "DELETE FROM messages WHERE user_id = ? AND source_key = ?"
            db.execute(query, (batch.user_id, record.source_key))
            _insert_message(db, batch.user_id, session, position, record)
    return positions


def _insert_message(db: sqlite3.Connection, user_id: str, session: str, position: int, record: MessageRecord) -> None:
    message = record.message
    db.execute(
        "INSERT INTO messages (user_id, session_id, position, source_key, digest, message_id, parent_id, role, name,"
        " content, chat_time, time_inferred, flags, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            user_id, session, position, record.source_key, record.digest, message.message_id, message.parent_id,
            message.role, message.name, message.content, message.chat_time, message.time_inferred,
            json.dumps(sorted(message.flags)), message.raw,
        ),
    )  # fmt: skip


def _write_document(db: sqlite3.Connection, user_id: str, record: DocumentRecord, written: Written) -> None:
    query = "SELECT source_key FROM documents WHERE user_id = ? AND doc_key = ?"
    kept = db.execute(query, (user_id, record.doc_key)).fetchone()
    if kept and kept[0] != record.source_key:
        written.replaced.extend(_delete_made_from(db, user_id, kept[0]))
    document = record.document
    db.execute(
        "INSERT OR REPLACE INTO documents (user_id, doc_key, source_key, doc_path, sha256, media_type, title,"
        " page_starts, context, doc_time, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            user_id, record.doc_key, record.source_key, document.doc_path, document.sha256, document.media_type,
            document.title, json.dumps(document.page_starts), document.context, document.doc_time, document.text,
        ),
    )  # fmt: skip


def _write_item(
    db: sqlite3.Connection,
    user_id: str,
    record: ItemRecord,
    positions: dict[str, int],
    dimension: int,
    written: Written,
) -> None:
    item = record.item
    if record.vector.shape != (dimension,):
        raise DimensionMismatchError(expected=dimension, got=record.vector.shape[-1])
    query = "SELECT id FROM items WHERE user_id = ? AND item_id = ?"
    kept = db.execute(query, (user_id, item.id)).fetchone()
    if kept and not record.replaces:
        written.existing.append(item.id)
        _link(db, kept[0], record.source_keys)
        return
    source_keys = record.source_keys
    if kept:
        # A caller's new version of an item is still of the old one's sources: it goes and comes back with them.
        source_keys = (*source_keys, *_source_keys(db, kept[0]))
        _delete_item(db, user_id, kept[0])
        written.replaced.append(item.id)
    written.added.append(item.id)
    metadata = item.metadata
    cursor = db.execute(
        "INSERT INTO items (user_id, item_id, session_id, agent_id, status, visibility, source, memory, metadata,"
        " embedding, term_ids, term_counts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            user_id, item.id, metadata.session_id, metadata.agent_id, metadata.status, metadata.visibility,
            metadata.source, item.memory, _metadata_json(metadata, record.source_keys, positions),
            record.vector.astype("<f4").tobytes(),
            np.fromiter(record.terms.keys(), "<i8", len(record.terms)).tobytes(),
            np.fromiter((min(count, 65535) for count in record.terms.values()), "<u2", len(record.terms)).tobytes(),
        ),
    )  # fmt: skip
    _link(db, cursor.lastrowid, source_keys)
    db.execute("INSERT INTO changes (user_id, item) VALUES (?, ?)", (user_id, cursor.lastrowid))


def _link(db: sqlite3.Connection, key: int | None, source_keys: Iterable[str]) -> None:
    """Keep what an item was made from."""
    db.executemany("INSERT OR IGNORE INTO item_sources VALUES (?, ?)", [(key, source) for source in source_keys])


def _metadata_json(metadata: TextualMemoryMetadata, source_keys: Sequence[str], positions: dict[str, int]) -> str:
    """Return the metadata as JSON without its vector, chat sources numbered by position in the session."""
    data = metadata.model_dump(mode="json", exclude={"embedding"}, exclude_defaults=True)
    data["created_at"], data["updated_at"] = metadata.created_at, metadata.updated_at
    if len(source_keys) == len(metadata.sources):
        for source, key in zip(data.get("sources", ()), source_keys, strict=True):
            if key in positions:
                source["index"] = positions[key]
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _item(item_id: str, memory: str, metadata: str) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=memory, metadata=TextualMemoryMetadata.model_validate_json(metadata))


def _source_keys(db: sqlite3.Connection, key: int) -> list[str]:
    return [source for (source,) in db.execute("SELECT source_key FROM item_sources WHERE item = ?", (key,))]


def _delete_item(db: sqlite3.Connection, user_id: str, key: int) -> None:
    db.execute("DELETE FROM items WHERE id = ?", (key,))
    db.execute("INSERT INTO changes (user_id, item) VALUES (?, ?)", (user_id, key))


def _delete_made_from(db: sqlite3.Connection, user_id: str, source_key: str) -> list[str]:
    """Delete every item of the user made from a source, and the ledger's entries of it; return the items' ids."""
    query = f"SELECT items.id, item_id FROM {_OF_SOURCE} WHERE source_key = ? AND user_id = ? ORDER BY items.id"
    found = db.execute(query, (source_key, user_id)).fetchall()
    # What else those items were made from is unread again: no word may be left without an item.
    for key in _cited_with(db, user_id, source_key):
        db.execute("DELETE FROM ledger WHERE user_id = ? AND source_key = ?", (user_id, key))
    for key, _ in found:
        _delete_item(db, user_id, key)
    return [item_id for _, item_id in found]


def _cited_with(db: sqlite3.Connection, user_id: str, source_key: str) -> set[str]:
    """Return this source key and those of every other source of the user's items made from it."""
    query = (
        "SELECT others.source_key FROM item_sources AS mine CROSS JOIN items ON items.id = mine.item "
        "CROSS JOIN item_sources AS others ON others.item = mine.item WHERE mine.source_key = ? AND user_id = ?"
    )
    return {source_key, *(key for (key,) in db.execute(query, (source_key, user_id)))}


def _forget(db: sqlite3.Connection, user_id: str, source_keys: Iterable[str]) -> None:
    """Erase sources that no item of the user cites any more; the ledger forgets all of them."""
    for key in source_keys:
        db.execute("DELETE FROM ledger WHERE user_id = ? AND source_key = ?", (user_id, key))
        query = f"SELECT 1 FROM {_OF_SOURCE} WHERE source_key = ? AND user_id = ? LIMIT 1"
        if db.execute(query, (key, user_id)).fetchone():
            continue
        db.execute(
            "UPDATE messages SET content = '', raw = NULL, deleted = 1 WHERE user_id = ? AND source_key = ?",
            (user_id, key),
        )
        db.execute("DELETE FROM documents WHERE user_id = ? AND source_key = ?", (user_id, key))
