"""New memories beside similar ones that are there: a model says which say the same, and which are so no longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from memreader.calling import Caller
from memreader.embedding import embed_texts
from memreader.items import TextualMemoryItem
from memreader.normalize.language import detect_language
from memreader.plan import Job, Plan, Wave
from memreader.reader import MemReader
from memreader.recall.floor import scale_of
from memreader.reconcile import MAX_PER_PROMPT, Judgement
from memreader.reconciling import statement_keys, statement_of
from memreader.records import Batch, Judged
from memreader.refining.report import RefineReport
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.traits import STATEMENT
from memreader.types import Progress

NEAREST = 3
"""Memories that a new one is compared with, the most similar ones."""

Pair = tuple[TextualMemoryItem, TextualMemoryItem]


class Judging:
    """Has a model decide about new memories of one user and those most similar to them."""

    def __init__(self, store: Store, reader: MemReader, user_id: str, report: RefineReport) -> None:
        self._store = store
        self._reader = reader
        self._user_id = user_id
        self._report = report
        self._embedder = facts_of(reader.embedder).embedder

    def job(
        self,
        caller: Caller,
        ids: Sequence[str],
        *,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Job[None]:
        """Ask about the memories of these ids, and carry out what is decided, call by call.

        Args:
            caller: Makes the calls.
            ids: Of memories that are there since now.
            progress: Called with ("reconcile", calls done, calls).
            stopped: When it says so, no further call is made.
        """
        pairs = self._pairs(ids)
        parts = [pairs[start : start + MAX_PER_PROMPT] for start in range(0, len(pairs), MAX_PER_PROMPT)]

        def plans() -> Iterator[Plan[Judgement]]:
            for part in parts:
                if stopped():
                    return
                yield self._reader.distiller.judgement(
                    [(statement_of(new), statement_of(old)) for new, old in part],
                    language=detect_language(" ".join(new.memory for new, _ in part)),
                )

        wave, done = Wave(plans(), caller), 0
        while (judged := (yield wave)) is not None:
            place, judgement = judged
            self._report.failures.extend(judgement.failures)
            decided = [Judged(*pair, one) for pair, one in zip(parts[place], judgement.decisions, strict=True)]
            written = self._store.write(Batch(self._user_id, decided=tuple(decided), embedder=self._embedder))
            self._report.decisions.extend(written.decisions)
            done += 1
            if progress is not None:
                progress("reconcile", done, len(parts))

    def _pairs(self, ids: Sequence[str]) -> list[Pair]:
        """Return pairs of a new memory and one that it may repeat or end; rules have decided about others."""
        news = [item for item in self._store.fetch(self._user_id, ids) if item is not None and _stands(item)]
        embedded = embed_texts(self._reader.embedder, [item.memory for item in news])
        scale = scale_of(self._reader.embedder)
        least = scale.chance + self._reader.distiller.model_options.similar * (1 - scale.chance) / scale.stretch
        pairs: dict[frozenset[str], Pair] = {}
        for place, new in enumerate(news):
            if place in embedded.failures:
                continue
            evidence = self._store.search(
                self._user_id, embedded.vectors[place], {}, session_id=new.metadata.session_id, embedder=self._embedder
            )
            near = (evidence.around.marks & STATEMENT != 0) & (evidence.similarity >= least)
            rows = near.nonzero()[0]
            best = rows[(-evidence.similarity[rows]).argsort(kind="stable")[: NEAREST + 1]]
            for old in self._store.fetch(self._user_id, evidence.keys[best]):
                if old is not None and old.id != new.id and _stands(old) and _may_meet(new, old):
                    pairs.setdefault(frozenset((new.id, old.id)), (new, old))
        return list(pairs.values())


def _stands(item: TextualMemoryItem) -> bool:
    return item.metadata.status == "activated" and bool(statement_keys(item))


def _may_meet(new: TextualMemoryItem, old: TextualMemoryItem) -> bool:
    """Return whether two memories have the same labels, as the rules want it, too."""
    mine, other = new.metadata, old.metadata
    same = mine.agent_id == other.agent_id and mine.visibility == other.visibility
    return same and (mine.visibility != "session" or mine.session_id == other.session_id)
