"""One batch on its way into the tables, inside a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from memreader.errors import DimensionMismatchError, ItemExistsError
from memreader.items import MAX_VERSION
from memreader.lifetimes import has_expired, now, second_of
from memreader.records import (
    Batch,
    Deleted,
    DocumentRecord,
    Event,
    ItemRecord,
    MessageRecord,
    Refused,
    Selection,
    Written,
)
from memreader.stores.alias_rows import drop_nameless
from memreader.stores.capping import Room
from memreader.stores.changes import ChangeNumbers
from memreader.stores.erasing import EXPIRED, Eraser, is_blanked
from memreader.stores.inserting import insert_item, link
from memreader.stores.refined import grown, keep_links, link_refined, still_raw, still_said
from memreader.stores.rejecting import Sifted, sifted, silence
from memreader.stores.resettling import keep_brought, keep_place
from memreader.stores.rows import as_json, bound, evidence_of, kept_metadata, placed
from memreader.stores.selecting import keys_of, whole_user
from memreader.stores.settler import Settler
from memreader.stores.settling import Standing, write_keys
from memreader.stores.tokens import rewrite_tokens, takes_tokens, write_tokens
from memreader.stores.versions import now as time_of_change
from memreader.stores.versions import record_version
from memreader.stores.withholding import PENDING, bring_anew

UNVERSIONED = frozenset({"created_at", "updated_at", "version"})
"""Fields that alone make no new version of an item."""
PORTION = 500
"""Items that have expired and are deleted in one transaction: others may write in between."""
STANDS = "an item of this id stands: update it, or give the new one another id"


class BatchWriter:
    """Writes one batch; what came of it is in `written`."""

    def __init__(self, db: sqlite3.Connection, batch: Batch, *, dimension: int, store_id: str) -> None:
        self._db = db
        self._batch = batch
        self._dimension = dimension
        self._store_id = store_id
        self._numbers = ChangeNumbers(db)
        self._eraser = Eraser(db, batch.user_id, self._numbers)
        self._sifted = Sifted(batch)
        self._positions: dict[str, int] = {}
        self._takes_tokens = False
        self.written = Written()

    def write(self) -> Written:
        """Return what became of the batch."""
        db = self._db
        self._sifted = sifted(db, self._batch)
        batch = self._batch = self._sifted.batch
        if batch.base and not (still_raw(db, batch.user_id, batch.base) and still_said(db, batch)):
            return Written(conflicts=list(batch.base))
        room = Room(db, batch)
        if batch.doomed is not None:
            self.written = Written(deleted=self._delete(batch.doomed))
        self.written.refused.extend(self._sifted.refused)
        if batch.messages:
            self._write_messages()
        for document in batch.documents:
            self._write_document(document)
        self._takes_tokens = takes_tokens(db, batch)
        for record in batch.items:
            self._write_item(record)
        if batch.decided:
            self.written.decisions.extend(Settler(db, batch, self._numbers).carry_out())
        if batch.base:
            link_refined(db, batch, self._numbers)
        if self._takes_tokens:
            rewrite_tokens(db, batch, self._numbers)
        if batch.read:
            rows = [(batch.user_id, key, batch.reading_key) for key in batch.read]
            db.executemany("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?)", rows)
        drop_nameless(db, batch.user_id)
        self.written.archived.extend(room.keep(self._numbers))
        self._numbers.save()
        return self.written

    def _delete(self, doomed: Sequence[str] | Selection) -> Deleted:
        batch, eraser = self._batch, self._eraser
        if whole_user(doomed):
            return eraser.everything(self._store_id)
        portion = PORTION if isinstance(doomed, Selection) and doomed.expired_by is not None else -1
        keys = keys_of(self._db, batch.user_id, doomed, limit=portion)
        ids = eraser.delete(keys, cause=batch.cause, traceless=batch.traceless)
        # Of a window that goes with one of its messages, the others stay.
        eraser.forget(messages=not isinstance(doomed, Selection) or doomed.message_id is None)
        if isinstance(doomed, Selection):
            self._forget_sources(doomed)
        eraser.forget_around()
        return Deleted(ids, *eraser.lost)

    def _write_messages(self) -> None:
        """Keep the messages, each at the next position of its session or at the one it has."""
        db, user_id, session = self._db, self._batch.user_id, self._batch.session_id or ""
        query = "SELECT max(position) FROM messages WHERE user_id = ? AND session_id = ?"
        last = db.execute(query, (user_id, session)).fetchone()[0]
        following = 0 if last is None else last + 1
        brought = {*self._batch.read, *(key for record in self._batch.items for key in record.source_keys)}
        for record in self._batch.messages:
            if self._insert_message(session, following, record):
                self._positions[record.source_key], following = following, following + 1
                silence(db, user_id, self._sifted.silent & {record.source_key})
                continue
            query = "SELECT position, digest, deleted, content FROM messages WHERE user_id = ? AND source_key = ?"
            position, digest, deleted, content = db.execute(query, (user_id, record.source_key)).fetchone()
            self._positions[record.source_key] = position
            if (deleted or not digest) and record.source_key not in brought:
                # Deleted, wholly or in part, while this batch was read: it has no item here, so its words must not come
                # back either.
                continue
            if digest == record.digest and not deleted:
                continue
            comes_back = deleted or (not digest and is_blanked(content, record.message.content))
            if not comes_back:
                self._replace_made_from(record.source_key, "the message was edited")
            query = "DELETE FROM messages WHERE user_id = ? AND source_key = ?"
            db.execute(query, (user_id, record.source_key))
            self._insert_message(session, position, record)
            silence(db, user_id, self._sifted.silent & {record.source_key})

    def _insert_message(self, session: str, position: int, record: MessageRecord) -> bool:
        """Insert a message and return True; False if one of its source key is there."""
        message = record.message
        cursor = self._db.execute(
            "INSERT INTO messages (user_id, session_id, position, source_key, digest, message_id, parent_id, role, "
            "name, content, chat_time, time_inferred, flags, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (user_id, source_key) DO NOTHING",
            (
                self._batch.user_id, session, position, record.source_key, record.digest, message.message_id,
                message.parent_id, message.role, message.name, message.content, message.chat_time,
                message.time_inferred, json.dumps(sorted(message.flags)) if message.flags else "[]", message.raw,
            ),
        )  # fmt: skip
        return cursor.rowcount > 0

    def _write_document(self, record: DocumentRecord) -> None:
        query = "SELECT source_key FROM documents WHERE user_id = ? AND doc_key = ?"
        kept = self._db.execute(query, (self._batch.user_id, record.doc_key)).fetchone()
        if kept and kept[0] != record.source_key:
            self._replace_made_from(kept[0], "the document changed")
        document = record.document
        self._db.execute(
            "INSERT OR REPLACE INTO documents (user_id, doc_key, source_key, doc_path, sha256, media_type, title,"
            " page_starts, context, doc_time, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._batch.user_id, record.doc_key, record.source_key, document.doc_path, document.sha256,
                document.media_type, document.title, json.dumps(document.page_starts), document.context,
                document.doc_time, document.text,
            ),
        )  # fmt: skip

    def _replace_made_from(self, source_key: str, cause: str) -> None:
        """Delete every item made from a source; the caller writes the new source."""
        eraser = Eraser(self._db, self._batch.user_id, self._numbers)
        self.written.replaced.extend(eraser.delete_made_from(source_key, cause))

    def _forget_sources(self, selection: Selection) -> None:
        """Erase the messages and documents that a selection names, those without an item too."""
        db, user_id, eraser = self._db, self._batch.user_id, self._eraser
        if selection.message_id is not None:
            query = (
                "SELECT id, source_key FROM messages WHERE user_id = ? AND message_id = ? "
                "AND (? IS NULL OR session_id = ?)"
            )
            values = (user_id, bound(selection.message_id), selection.session_id, selection.session_id)
            for row, key in db.execute(query, values).fetchall():
                eraser.forget_message(row, key)
        elif selection.document is not None:
            query = "SELECT id, source_key FROM documents WHERE user_id = ? AND (doc_path = ? OR doc_key = ?)"
            name = bound(selection.document)
            for row, key in db.execute(query, (user_id, name, name)).fetchall():
                eraser.forget_document(row, key)
        elif selection == Selection(session_id=selection.session_id) and selection.session_id is not None:
            query = "SELECT id, source_key FROM messages WHERE user_id = ? AND session_id = ?"
            for row, key in db.execute(query, (user_id, selection.session_id)).fetchall():
                eraser.forget_message(row, key)
            db.execute("DELETE FROM messages WHERE user_id = ? AND session_id = ?", (user_id, selection.session_id))

    def _write_item(self, record: ItemRecord) -> None:
        db = self._db
        if record.vector is not None and record.vector.shape != (self._dimension,):
            raise DimensionMismatchError(expected=self._dimension, got=record.vector.shape[-1])
        query = "SELECT id, memory, metadata FROM items WHERE user_id = ? AND item_id = ?"
        kept = self._db.execute(query, (self._batch.user_id, record.item.id)).fetchone()
        if kept is not None and record.base_version is None and self._has_expired(record, kept[0]):
            kept = None
        if kept is None:
            if record.base_version is not None:
                self.written.conflicts.append(record.item.id)
            else:
                self._insert_item(record)
        elif self._batch.refuse_known:
            raise ItemExistsError(item_id=record.item.id)
        elif self._would_withhold(record, kept[2]):
            self._leave_standing(record, *kept)
        elif record.replaces or record.base_version is not None:
            self._replace_item(_as_reviewed(record, kept[2]), *kept)
        elif self._batch.base and (record.item.metadata.status != PENDING or _is_pending(kept[2])):
            self._replace_item(grown(db, record, kept[1], kept[2]), *kept)
        else:
            self.written.existing.append(record.item.id)
            link(self._db, kept[0], record.source_keys)

    def _has_expired(self, record: ItemRecord, key: int) -> bool:
        """Take away an item that a new one of its words would find expired; return whether that was so.

        Not of one that was made from a source: with that it is known, until what has expired is purged.
        """
        query = "SELECT 1 FROM items WHERE id = ? AND expires <= ?"
        if record.source_keys or record.replaces or self._batch.refuse_known:
            return False
        if has_expired(record.item.metadata.expires_at, now()):
            return False
        if not self._db.execute(query, (key, now())).fetchone():
            return False
        self.written.replaced.extend(self._eraser.delete([key], cause=EXPIRED))
        self._eraser.forget()
        self._eraser.forget_around()
        return True

    def _would_withhold(self, record: ItemRecord, old: str) -> bool:
        """Return whether a caller's version of an item would take away, unreviewed, the one that stands."""
        is_new = record.item.metadata.status == PENDING and record.replaces
        return is_new and record.base_version is None and not _is_pending(old)

    def _leave_standing(self, record: ItemRecord, key: int, memory: str, old: str) -> None:
        before = _content(json.loads(old)) | {"status": PENDING}
        after = _content(kept_metadata(record.item.metadata, record.source_keys, self._positions))
        if record.item.memory == memory and before == after:
            self.written.existing.append(record.item.id)
            link(self._db, key, record.source_keys)
        else:
            self.written.refused.append(Refused(record.item.id, record.item.memory, STANDS))

    def _insert_item(self, record: ItemRecord) -> None:
        settler = Settler(self._db, self._batch, self._numbers)
        verdicts = settler.verdicts(record)
        if (same := next((one for one in verdicts if one.decision.action == "skip"), None)) is not None:
            self.written.decisions.append(same.as_decided(record))
            self.written.existing.append(same.item.id)
            link(self._db, same.key, record.source_keys)
            return
        metadata = kept_metadata(record.item.metadata, record.source_keys, self._positions)
        if record.tokens is not None and not self._takes_tokens:
            record = replace(record, tokens=None)
        key = insert_item(self._db, self._batch.user_id, record, metadata, self._numbers.next())
        decided, stands_for_it = settler.settle(key, record, verdicts) if verdicts else ((), None)
        self.written.decisions.extend(decided)
        if stands_for_it is None:
            self.written.added.append(record.item.id)
        else:
            self.written.existing.append(stands_for_it)

    def _replace_item(self, record: ItemRecord, key: int, memory: str, old: str) -> None:
        """Give an item a new version in place; it stays of the old one's sources: it goes and comes back with them."""
        db, item = self._db, record.item
        before = json.loads(old)
        version = before.get("version", 1)
        if record.base_version is not None and record.base_version != version:
            self.written.conflicts.append(item.id)
            return
        after = kept_metadata(item.metadata, record.source_keys, self._positions)
        standing = Standing(db, self._batch.user_id, self._numbers)
        stands_again = record.restores
        same = record.base_version is None and item.memory == memory
        if same:
            record = keep_brought(standing, key, record, after)
        elif record.base_version is not None and not record.restores:
            keep_links(before, after)
        if not record.restores:
            stands_again = keep_place(db, key, before, after, same=same)
        if item.memory == memory and _content(before) == _content(after):
            self.written.existing.append(item.id)
            link(db, key, record.source_keys)
            return
        after["version"] = min(version + 1, MAX_VERSION)
        metadata = item.metadata
        event: Event = "replace" if record.base_version is None else "restore" if record.restores else "update"
        # An item from elsewhere may have been changed long ago; it takes the place of this one now.
        record_version(
            db,
            self._batch.user_id,
            item.id,
            before=before,
            memory=memory,
            old=old,
            event=event,
            at=time_of_change() if event == "replace" else after["updated_at"],
            cause=event,
        )
        db.execute(
            "UPDATE items SET seq = ?, session_id = ?, agent_id = ?, status = ?, visibility = ?, source = ?, "
            "memory = ?, metadata = ?, expires = ? WHERE id = ?",
            (
                self._numbers.next(), metadata.session_id, metadata.agent_id, after.get("status", "activated"),
                metadata.visibility, metadata.source, item.memory,
                as_json(after), second_of(metadata.expires_at), key,
            ),
        )  # fmt: skip
        if record.vector is not None:
            query = "UPDATE evidence SET embedding = ?, term_ids = ?, term_counts = ? WHERE item = ?"
            db.execute(query, (*evidence_of(record.vector, record.terms), key))
            db.execute("DELETE FROM staged WHERE item = ?", (key,))
            tokens = record.tokens if self._takes_tokens else None
            write_tokens(db, self._batch.user_id, key, tokens, self._numbers.next())
            write_keys(db, self._batch.user_id, key, record.keys)
        if record.traits:
            db.execute("UPDATE evidence SET traits = ? WHERE item = ?", (placed(record.traits, after), key))
        standing.changed(key, after)
        if stands_again:
            standing.free(key)
        link(db, key, record.source_keys)
        bring_anew(db, self._batch.user_id, key, record, same_words=item.memory == memory)
        self.written.added.append(item.id)
        self.written.replaced.append(item.id)


def _content(metadata: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in metadata.items() if name not in UNVERSIONED}


def _is_pending(metadata: str) -> bool:
    return bool(json.loads(metadata).get("status") == PENDING)


def _as_reviewed(record: ItemRecord, old: str) -> ItemRecord:
    """Return the next version of an item; of one under review it is, too: only approving has it stand."""
    if not _is_pending(old) or record.item.metadata.status == PENDING:
        return record
    metadata = record.item.metadata.model_copy(update={"status": PENDING})
    return replace(record, item=record.item.model_copy(update={"metadata": metadata}))
