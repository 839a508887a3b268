"""Memories that a store holds, through a gate: reworded in place, or archived with the reason in the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from memreader.calling import Caller
from memreader.contexts import encode_alone
from memreader.embedding import embed_texts
from memreader.extract.fast import FAST_TAG, first_sentence
from memreader.extract.passage import Passage, cited_passage, render_passage
from memreader.gates import Verdict
from memreader.items import TextualMemoryItem
from memreader.lacking import lacking
from memreader.lifetimes import now
from memreader.normalize.language import detect_language
from memreader.options import Gate
from memreader.patching import patched
from memreader.plan import Job, Plan, Wave
from memreader.ports import TokenEmbedder
from memreader.reader import MemReader
from memreader.recall import item_record
from memreader.records import Batch, Selection
from memreader.refining.report import RefineReport
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.types import Dropped, Failure, Progress

AT_ONCE = 10
"""Memories of one session that are judged by one call."""


class Gating:
    """Sends a user's memories through one gate, each version once."""

    def __init__(
        self,
        store: Store,
        reader: MemReader,
        user_id: str,
        gate: Gate,
        report: RefineReport,
        *,
        tokens: TokenEmbedder | None = None,
    ) -> None:
        self._store = store
        self._reader = reader
        self._tokens = tokens
        self._user_id = user_id
        self._gate: Gate = gate
        self._report = report
        self._reading_key = f"gate:{gate}"

    def job(
        self,
        caller: Caller,
        selection: Selection,
        ids: Sequence[str] | None,
        *,
        progress: Progress | None,
        stopped: Callable[[], bool],
    ) -> Job[None]:
        """Judge what was not judged before, and write what came of it, call by call.

        Args:
            caller: Makes the calls.
            selection: Which items.
            ids: Only these of them.
            progress: Called with the gate's name, calls done, and all of them.
            stopped: When it says so, no further call is made.
        """
        parts = list(self._parts(selection, ids))
        if not parts:
            return
        self._reader.checked_mode("fine")

        def plans() -> Iterator[Plan[list[Verdict]]]:
            for part in parts:
                if stopped():
                    return
                yield self._plan(part)

        wave = Wave(plans(), caller)
        done = 0
        while (judged := (yield wave)) is not None:
            self._write(parts[judged[0]], judged[1])
            done += 1
            if progress is not None:
                progress(self._gate, done, len(parts))

    def _parts(self, selection: Selection, ids: Sequence[str] | None) -> Iterator[list[TextualMemoryItem]]:
        """Yield the memories to be judged, those of one session together."""
        wanted = None if ids is None else set(ids)
        groups: dict[tuple[str | None, str | None], list[TextualMemoryItem]] = {}
        for item in self._store.read(self._user_id, replace(selection, live_at=now())):
            known = item.metadata
            if (wanted is None or item.id in wanted) and _is_statement(item):
                groups.setdefault((known.session_id, known.agent_id), []).append(item)
        for members in groups.values():
            keys = {_version_key(item): None for item in members}
            unread = self._store.unread(self._user_id, keys, self._reading_key)
            left = [item for item in members if _version_key(item) in unread]
            for start in range(0, len(left), AT_ONCE):
                yield left[start : start + AT_ONCE]

    def _plan(self, items: Sequence[TextualMemoryItem]) -> Plan[list[Verdict]]:
        passage: Passage = cited_passage([source for item in items for source in item.metadata.sources])
        language = detect_language(passage.text)
        return self._reader.distiller.verdicts(
            [item.memory for item in items],
            self._gate,
            evidence=render_passage(passage, language),
            language=language,
        )

    def _write(self, items: Sequence[TextualMemoryItem], verdicts: Sequence[Verdict]) -> None:
        report = self._report
        judged = [
            (item, verdict) for item, verdict in zip(items, verdicts, strict=True) if verdict.status != "no verdict"
        ]
        if all(verdict.failed for verdict in verdicts):
            told = f"no verdict on {len(items)} memories, which stay as they were: {verdicts[0].reason}"
            report.failures.append(Failure("NoVerdict", told, self._gate))
        changed = [(item, verdict, _changed(item, verdict)) for item, verdict in judged if _changes(item, verdict)]
        embedded = embed_texts(self._reader.embedder, [new.memory for _, _, new in changed])
        report.failures.extend(embedded.as_failures([item.id for item, _, _ in changed]))
        tokens = encode_alone([new.memory for _, _, new in changed], self._tokens)
        records = [
            item_record(
                new,
                embedded.vectors[place] if verdict.keep else None,
                base_version=item.metadata.version,
                tokens=tokens[place],
            )
            for place, (item, verdict, new) in enumerate(changed)
            if place not in embedded.failures
        ]
        batch = Batch(
            self._user_id,
            items=tuple(records),
            embedder=facts_of(self._reader.embedder).embedder,
            token_model=None if self._tokens is None else self._tokens.token_fingerprint,
        )
        written = self._store.write(batch)
        done = set(written.added)
        for item, verdict, _ in changed:
            if item.id in done and verdict.keep:
                report.rewritten.append(item.id)
            elif item.id in done:
                report.archived.append(item.id)
                report.dropped.append(Dropped(item.memory, f"{self._gate}: {verdict.reason}", item.id))
        undone = {*written.conflicts, *(changed[place][0].id for place in embedded.failures)}
        # A version that a gate made has been judged by it.
        keys = [_version_key(item, by=item.id in done) for item, _ in judged if item.id not in undone]
        self._store.write(Batch(self._user_id, read=tuple(keys), reading_key=self._reading_key))


def _is_statement(item: TextualMemoryItem) -> bool:
    known = item.metadata
    cited = any(source.content for source in known.sources)
    return cited and known.status == "activated" and not known.is_fast and FAST_TAG not in known.tags


def _version_key(item: TextualMemoryItem, *, by: int = 0) -> str:
    return f"i:{item.id}@{item.metadata.version + by}"


def _changes(item: TextualMemoryItem, verdict: Verdict) -> bool:
    return not verdict.keep or verdict.text != item.memory


def _changed(item: TextualMemoryItem, verdict: Verdict) -> TextualMemoryItem:
    if verdict.keep:
        # The key that a partial memory lacks follows its words by itself.
        key = {} if "key" in lacking(item.metadata) else {"key": first_sentence(verdict.text)}
        return patched(item, {"memory": verdict.text, **key})
    return patched(item, {"status": "archived"})
