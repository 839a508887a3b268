"""What a model read in raw items, into the store: each window with its links in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from memreader.contexts import encode_alone
from memreader.embedding import embed_texts
from memreader.errors import MemoryFullError
from memreader.extract.fine import Found, PassageReading
from memreader.extract.passage import Passage
from memreader.extract.same import SameFacts
from memreader.ingest import left_out
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.ports import TokenEmbedder
from memreader.raw import refined_item
from memreader.reader import MemReader
from memreader.recall import item_record
from memreader.reconcile import surface_key
from memreader.reconciling import settle
from memreader.records import Batch, Cap, ItemRecord, RawItem
from memreader.refining.report import RefineReport
from memreader.reindexing import facts_of
from memreader.reviewing import Review, under_review
from memreader.stores import Store
from memreader.types import Candidate, Failure


class Writing:
    """Writes the readings of one refining, in order."""

    def __init__(
        self,
        store: Store,
        reader: MemReader,
        user_id: str,
        raws: Sequence[RawItem],
        passages: Sequence[Passage],
        report: RefineReport,
        *,
        tokens: TokenEmbedder | None = None,
        reconcile: bool = True,
        cap: Cap | None = None,
        review: Review = False,
    ) -> None:
        self._review = review
        self._store = store
        self._reader = reader
        self._user_id = user_id
        self._raws = {raw.item.id: raw.item for raw in raws}
        self._report = report
        self._tokens = tokens
        self._reconcile = reconcile
        self._cap = cap
        self._embedder = facts_of(reader.embedder).embedder
        self._same = SameFacts()
        self._rests_on: dict[int, frozenset[SourceMessage]] = {}
        """What each is known to rest on, by its number."""
        self._ids: list[str] = []
        """Of the memories made so far, by their number."""
        self._group = -1
        self._made: set[str] = set()
        """Ids that the report names."""
        self._to_read = Counter(name for passage in passages for line in passage.fresh for name in line.made_from)
        """Lines of each raw item that have yet to be read and written."""

    def take(self, _place: int, reading: PassageReading) -> None:
        """Write what a passage gave, or report why it gave nothing."""
        report, passage = self._report, reading.passage
        is_first = passage.group != self._group
        if is_first:
            self._group, self._same, self._ids, self._rests_on = passage.group, SameFacts(), [], {}
        if is_first or passage.kind == "chat":  # A document is one source: its memories are all known at once.
            self._know(passage)
        if reading.failure is not None:
            report.failures.append(replace(reading.failure, locator=self._locator(passage)))
        if reading.unchecked is not None:
            report.failures.append(replace(reading.unchecked, locator=self._locator(passage)))
        report.dropped.extend(reading.dropped)
        if len(reading.unread) == len(passage.fresh) and not reading.found:
            return
        new, repeats, dropped = self._same.sort(reading)
        report.dropped.extend(dropped)
        self._write(reading, new, repeats)

    def _know(self, passage: Passage) -> None:
        """Take in what these sources gave before: an answer was cut off, or a window that shares lines failed."""
        name = next((name for line in passage.fresh for name in line.made_from), None)
        if name is None:
            return
        raw = self._raws[name].metadata
        keys = dict.fromkeys(key for line in passage.lines if line.state != "context" for key in line.source_keys)
        ids = set(self._store.items_of(self._user_id, keys, agent_id=raw.agent_id)) - set(self._ids)
        for item in filter(None, self._store.fetch(self._user_id, sorted(ids - self._raws.keys()))):
            known = item.metadata
            if known.evolve_from and known.session_id == raw.session_id:
                candidate = Candidate(item.memory, tuple(known.sources), known.key or "", known.memory_type)
                self._same.know(Found(candidate, ()))
                self._ids.append(item.id)

    def _write(self, reading: PassageReading, new: list[Found], repeats: list[tuple[int, Found]]) -> None:
        report = self._report
        unread = {id(line) for line in reading.unread}
        read = Counter(name for line in reading.passage.fresh if id(line) not in unread for name in line.made_from)
        base = {name: self._raws[name].metadata.version for line in reading.passage.fresh for name in line.made_from}
        refined = tuple(name for name in base if self._to_read[name] == read[name])
        records, failed = self._records(new, repeats)
        options = self._reader.options
        batch = Batch(
            self._user_id,
            items=tuple(records),
            embedder=self._embedder,
            token_model=None if self._tokens is None else self._tokens.token_fingerprint,
            base=base,
            shown=tuple(
                (key, source.start or 0, line.text)
                for line in reading.passage.lines
                if line.state != "fresh"
                for key, source in zip(line.source_keys, line.sources, strict=False)
            ),
            refined=() if failed else refined,
            archives=not (options.keep_raw and options.keep_turns),
            settle=settle if self._reconcile else None,
            cap=self._cap,
            spelled=surface_key,
        )
        try:
            written = self._store.write(batch)
        except MemoryFullError as error:
            raise error.after(len(report.added)) from None
        if base and set(base) <= set(written.conflicts):
            where = self._locator(reading.passage)
            reason = "it was changed, deleted or refined by others while the model read it; nothing of it was written"
            report.failures.append(Failure("ChangedMeanwhile", reason, where))
            return
        for name, count in read.items():
            self._to_read[name] -= count
        report.refined.extend(batch.refined)
        report.dropped.extend(left_out(written))
        report.decisions.extend(written.decisions)
        report.made_room.extend(written.archived)
        fresh = set(written.replaced)
        report.added.extend(item_id for item_id in written.added if item_id not in fresh)
        made = set(written.added) - fresh
        report.partial.extend(one.item.id for one in records if one.item.metadata.partial and one.item.id in made)
        self._made.update(item_id for item_id in written.added if item_id not in fresh)
        again = (*written.existing, *(item_id for item_id in written.added if item_id in fresh))
        report.existing.extend(item_id for item_id in again if item_id not in self._made)
        self._made.update(again)

    def _records(self, new: list[Found], repeats: list[tuple[int, Found]]) -> tuple[list[ItemRecord], bool]:
        """Return what is to be written for a passage, and whether a memory could not be embedded."""
        first = len(self._ids)
        ttl = self._reader.options.session_ttl_hours
        self._ids += [refined_item(found.candidate, self._raws).id for found in new]
        mine: dict[int, Found] = dict(enumerate(new, start=first))
        for number, found in repeats:
            # What passages before gave is there, and rests on more then; unless they could not be written.
            if number not in mine and self._rests_on.get(number, frozenset()) >= set(found.candidate.sources):
                continue
            mine[number] = mine[number].joined(found) if number in mine else found
        items = [
            self._reviewed(
                refined_item(found.candidate, self._raws, session_ttl_hours=ttl).model_copy(
                    update={"id": self._ids[number]}
                )
            )
            for number, found in mine.items()
        ]
        embedded = embed_texts(self._reader.embedder, [item.memory for item in items])
        self._report.failures.extend(embedded.as_failures([item.id for item in items]))
        tokens = encode_alone([item.memory for item in items], self._tokens)
        records = [
            item_record(
                item,
                embedded.vectors[place],
                found.candidate.source_keys,
                relations=found.candidate.relations,
                tokens=tokens[place],
            )
            for place, (item, found) in enumerate(zip(items, mine.values(), strict=True))
            if place not in embedded.failures
        ]
        for number, found in mine.items():
            self._rests_on[number] = self._rests_on.get(number, frozenset()) | set(found.candidate.sources)
        return records, bool(embedded.failures)

    def _reviewed(self, item: TextualMemoryItem) -> TextualMemoryItem:
        """Return a new memory, under review if it should be, or what it was made from is."""
        parents = (self._raws[name] for name in item.metadata.evolve_from if name in self._raws)
        waits = any(parent.metadata.status == "pending" for parent in parents)
        return under_review(item, self._review, also=waits)

    def _locator(self, passage: Passage) -> str:
        name = next((name for line in passage.fresh for name in line.made_from), None)
        session = self._raws[name].metadata.session_id if name is not None else None
        return f"{session}: {passage.locator}" if session else passage.locator
