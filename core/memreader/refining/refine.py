"""What is raw in a store, through a reader with a model, and back into the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memreader.calling import Caller
from memreader.chunking import render_line
from memreader.items import TextualMemoryItem
from memreader.options import Gate, Reconcile
from memreader.plan import Job
from memreader.ports import TokenEmbedder
from memreader.raw import raw_passages
from memreader.reader import MemReader
from memreader.records import Cap, RawItem, Selection
from memreader.refining.completing import Completing
from memreader.refining.gating import Gating
from memreader.refining.judging import Judging
from memreader.refining.report import RefineReport
from memreader.refining.writing import Writing
from memreader.reviewing import Review, checked_review
from memreader.stores import Store
from memreader.types import Message, Progress

CONTEXT = 50
"""Messages before a window that are looked at for what may be shown with it."""


class Refining:
    """Refines what a store holds raw, through a reader with a model.

    Args:
        store: Stays the caller's to close.
        reader: Reads.
        tokens: Gives token vectors of what is made.
        unwanted: Gives the names that are not worth a memory on their own, of a user.
        cap: How many items a user may have.
        review: What waits for approval.
    """

    def __init__(
        self,
        store: Store,
        reader: MemReader,
        *,
        tokens: TokenEmbedder | None = None,
        unwanted: Callable[[str], Sequence[str]] | None = None,
        cap: Cap | None = None,
        review: Review = False,
    ) -> None:
        self._review = review
        self._store = store
        self._reader = reader
        self._tokens = tokens
        self._unwanted = unwanted
        self._cap = cap

    def caller(self) -> Caller:
        """Return who makes the calls of one verb, within the limits of the reader's options."""
        return self._reader.distiller.caller()

    def refine(
        self,
        user_id: str,
        *,
        caller: Caller,
        selection: Selection | None = None,
        ids: Sequence[str] | None = None,
        limit: int = -1,
        gates: Sequence[Gate] = (),
        reconcile: Reconcile = True,
        beside: Sequence[str] = (),
        partial: bool = False,
        review: Review | None = None,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Job[RefineReport]:
        """Return what a model made of a user's raw items; each window is one transaction, so what is done stays done.

        Args:
            user_id: Whose.
            caller: Makes the calls.
            selection: Which items; None for all.
            ids: Only these of them.
            limit: At most so many raw items, -1 for all.
            gates: What the memories that are there are checked for, once each, after that.
            reconcile: See `Reconcile`.
            beside: Ids of memories that are new, too, and to be reconciled with what is made.
            partial: Ask also for what partial memories lack, after that; at most `limit` of them.
            review: What waits for approval; None for what the memory was told.
            progress: Called with ("refine", windows done, windows).
            stopped: When it says so, no further window is begun.

        Raises:
            ModelRequiredError: There is something to read, and no model.
        """
        report = RefineReport()
        raws = self._store.raw(user_id, selection, ids=ids, limit=limit)
        if raws:
            self._reader.checked_mode("fine")
            chosen = checked_review(review, self._review)
            yield from self._read(user_id, raws, report, caller, reconcile, chosen, progress, stopped)
        new = [*beside, *report.added] if reconcile == "model" else []
        if new:
            judging = Judging(self._store, self._reader, user_id, report)
            yield from judging.job(caller, new, progress=progress, stopped=stopped)
        # What others refined or deleted meanwhile isn't left.
        report.left.extend(raw.item.id for raw in self._store.raw(user_id, ids=[raw.item.id for raw in raws]))
        for gate in gates:
            gating = Gating(self._store, self._reader, user_id, gate, report, tokens=self._tokens)
            yield from gating.job(caller, selection or Selection(), ids, progress=progress, stopped=stopped)
        completing = Completing(self._store, self._reader, user_id, report)
        if partial:
            which = selection or Selection()
            yield from completing.job(caller, which, ids, limit=limit, progress=progress, stopped=stopped)
        completing.note_partial()
        report.pending.extend(self._store.review.waiting(user_id, [*report.added, *report.existing]))
        return replace(report, usage=caller.usage)

    def _read(
        self,
        user_id: str,
        raws: Sequence[RawItem],
        report: RefineReport,
        caller: Caller,
        reconcile: Reconcile,
        review: Review,
        progress: Progress | None,
        stopped: Callable[[], bool],
    ) -> Job[None]:
        reader = self._reader
        passages = raw_passages(raws, options=reader.options, tokenizer=reader.tokenizer, before=self._before)
        writing = Writing(
            self._store,
            reader,
            user_id,
            raws,
            passages,
            report,
            tokens=self._tokens,
            reconcile=bool(reconcile),
            cap=self._cap,
            review=review,
        )
        unwanted = () if self._unwanted is None else self._unwanted(user_id)
        yield from reader.distiller.job(
            passages, caller, writing.take, unwanted=unwanted, progress=progress, stopped=stopped
        )

    def _before(self, item: TextualMemoryItem, position: int) -> list[tuple[str, Message]]:
        """Return the last messages before a position, as many as a window may repeat."""
        known = item.metadata
        if known.user_id is None:
            return []
        told = self._store.said_before(known.user_id, known.session_id, position, limit=CONTEXT)
        room = self._reader.options.window_overlap
        kept: list[tuple[str, Message]] = []
        for key, message in reversed(told):
            room -= self._reader.tokenizer.count(render_line(message))
            if room < 0:
                break
            kept.append((key, message))
        return kept[::-1]
