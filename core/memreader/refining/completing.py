"""Partial memories of a store, completed by a model: just what they lack, as new versions of the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from memreader.calling import Caller
from memreader.extract.passage import cited_passage, render_passage
from memreader.filters import AllOf, Condition
from memreader.gates import Completion, Lacking
from memreader.items import TextualMemoryItem
from memreader.lacking import completed, lacking
from memreader.normalize.language import detect_language
from memreader.patching import patched
from memreader.plan import Job, Plan, Wave
from memreader.reader import MemReader
from memreader.recall import item_record
from memreader.records import Batch, Selection
from memreader.refining.report import RefineReport
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.types import Progress

AT_ONCE = 20
"""Memories of one session that are asked about by one call."""
_PARTIAL = AllOf(
    (
        Condition("partial", "bool", "$in", (True,)),
        Condition("status", "choice", "$in", ("activated",)),
    )
)


class Completing:
    """Asks for what a user's partial memories lack, each once."""

    def __init__(self, store: Store, reader: MemReader, user_id: str, report: RefineReport) -> None:
        self._store = store
        self._reader = reader
        self._user_id = user_id
        self._report = report

    def job(
        self,
        caller: Caller,
        selection: Selection,
        ids: Sequence[str] | None,
        *,
        limit: int = -1,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Job[None]:
        """Ask, and write what is given, call by call; where a call fails, its memories stay as they were.

        Args:
            caller: Makes the calls.
            selection: Which items.
            ids: Only these of them.
            limit: At most so many, the oldest first; -1 for all.
            progress: Called with "complete", calls done, and all of them.
            stopped: When it says so, no further call is made.

        Raises:
            ModelRequiredError: There is something to ask about, and no model.
        """
        parts = list(self._parts(selection, ids, limit))
        if not parts:
            return
        self._reader.checked_mode("fine")
        self._report.partial.extend(item.id for part in parts for item in part)

        def plans() -> Iterator[Plan[Completion]]:
            for part in parts:
                if stopped():
                    return
                yield self._plan(part)

        wave, done = Wave(plans(), caller), 0
        while (answered := (yield wave)) is not None:
            self._write(parts[answered[0]], answered[1])
            done += 1
            if progress is not None:
                progress("complete", done, len(parts))

    def note_partial(self) -> None:
        """Keep in the report only what is still partial, each once."""
        named = list(dict.fromkeys(self._report.partial))
        there = self._store.fetch(self._user_id, named) if named else []
        self._report.partial[:] = [item.id for item in there if item is not None and lacking(item.metadata)]

    def _parts(self, selection: Selection, ids: Sequence[str] | None, limit: int) -> Iterator[list[TextualMemoryItem]]:
        """Yield the partial memories, those of one session together."""
        wanted = None if ids is None else set(ids)
        groups: dict[tuple[str | None, str | None], list[TextualMemoryItem]] = {}
        where = _PARTIAL if selection.where is None else AllOf((selection.where, _PARTIAL))
        for item in self._store.read(self._user_id, replace(selection, where=where)):
            if limit == 0:
                break
            if (wanted is None or item.id in wanted) and lacking(item.metadata):
                groups.setdefault((item.metadata.session_id, item.metadata.agent_id), []).append(item)
                limit -= 1
        for members in groups.values():
            for start in range(0, len(members), AT_ONCE):
                yield members[start : start + AT_ONCE]

    def _plan(self, items: Sequence[TextualMemoryItem]) -> Plan[Completion]:
        passage = cited_passage([source for item in items for source in item.metadata.sources])
        language = detect_language(passage.text or " ".join(item.memory for item in items))
        return self._reader.distiller.completion(
            [Lacking(item.memory, lacking(item.metadata)) for item in items],
            evidence=render_passage(passage, language),
            language=language,
        )

    def _write(self, items: Sequence[TextualMemoryItem], completion: Completion) -> None:
        if completion.failure is not None:
            self._report.failures.append(replace(completion.failure, locator="partial"))
        changed = [
            (item, patched(item, completed(item.metadata, fields)))
            for item, fields in zip(items, map(dict, completion.fields), strict=True)
            if fields
        ]
        if not changed:
            return
        records = tuple(item_record(new, None, base_version=item.metadata.version) for item, new in changed)
        written = self._store.write(
            Batch(self._user_id, items=records, embedder=facts_of(self._reader.embedder).embedder)
        )
        # What somebody else changed meanwhile stays as they made it.
        self._report.completed.extend(item_id for item_id in written.added if item_id not in written.conflicts)
