"""The verbs of a memory for one user, without the labels in each call: what seed 001 offers, and adapters use."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memreader.archive import FILENAME
from memreader.checks import OnConflict
from memreader.expiring import ExpiredReport
from memreader.feedback import FeedbackReport
from memreader.graphs import ScopedGraph
from memreader.ingest import AddReport
from memreader.items import TextualMemoryItem
from memreader.jobs import add_job, extract_job, refine_job
from memreader.lifetimes import Lifetime, Ttl
from memreader.options import Gate, Reconcile
from memreader.patching import Patch
from memreader.plan import Job, awaiting, blocking
from memreader.reader import DataType, Mode
from memreader.records import DeleteReport, Version
from memreader.refining import RefineReport
from memreader.review import ScopedReview
from memreader.reviewing import Review
from memreader.twins import off_loop
from memreader.types import Hit, Message, Progress, Recall, Scope

if TYPE_CHECKING:
    from memreader.memory import Memory


class ScopedMemory:
    """One user's memories (and, where set, one session's and agent's labels); made by `Memory.scoped`.

    `add`, `search`, `context` and `delete_all` use the labels as `Memory`'s do; `get_all` uses the agent's, and shows
    all sessions. What takes ids (`get`, `update`, `feedback`, `delete`, `history`, `restore`), `dump` and `load`
    are about all of the user's.
    """

    def __init__(self, memory: Memory, scope: Scope) -> None:
        self._memory = memory
        self.scope = scope

    @property
    def graph(self) -> ScopedGraph:
        """The verbs for whom and what the user's memories mention, without the user in each call; see `Graph`."""
        return ScopedGraph(self._memory.graph, self.scope.user_id)

    def _extract_job(self, messages: Any) -> Job[list[TextualMemoryItem]]:
        """Return the items that reading `messages` gives, embedded, without storing them."""
        scope = self.scope
        return extract_job(
            self._memory, messages, user_id=scope.user_id, session_id=scope.session_id, agent_id=scope.agent_id
        )

    def _add_job(
        self,
        data: Any,
        *,
        mode: Mode | None = None,
        type: DataType | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        at: datetime | str | None = None,
        files_root: str | os.PathLike[str] | None = None,
        as_text: bool = False,
        lifetime: Lifetime = "long",
        ttl: Ttl | None = None,
        expires_at: date | str | None = None,
        reconcile: Reconcile = True,
        review: Review | None = None,
        progress: Progress | None = None,
    ) -> Job[AddReport]:
        """Return what adding `data` did; see `Memory.add`."""
        scope = self.scope
        return add_job(
            self._memory,
            data,
            user_id=scope.user_id,
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            mode=mode,
            type=type,
            metadata=metadata,
            tags=tags,
            at=at,
            files_root=files_root,
            as_text=as_text,
            lifetime=lifetime,
            ttl=ttl,
            expires_at=expires_at,
            reconcile=reconcile,
            review=review,
            progress=progress,
        )

    def _refine_job(
        self,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
        gates: Sequence[Gate] = (),
        reconcile: Reconcile = True,
        partial: bool = False,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        review: Review | None = None,
        progress: Progress | None = None,
    ) -> Job[RefineReport]:
        """Return what a model made of what is still raw and has these labels; see `Memory.refine`."""
        scope = self.scope
        return refine_job(
            self._memory,
            user_id=scope.user_id,
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            ids=ids,
            limit=limit,
            gates=gates,
            reconcile=reconcile,
            partial=partial,
            max_calls=max_calls,
            max_tokens=max_tokens,
            review=review,
            progress=progress,
        )

    @property
    def review(self) -> ScopedReview:
        """The verbs for what of the user's waits for approval, in any session."""
        return ScopedReview(self._memory.review, self.scope.user_id)

    def search(
        self,
        query: str,
        top_k: int = 5,
        *,
        filter: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        recall: Recall = "user",
        as_of: date | str | None = None,
        include_public: bool = False,
    ) -> list[Hit]:
        """Return up to `top_k` memories that speak to `query`, best first; see `Memory.search`."""
        scope = self.scope
        return self._memory.search(
            query,
            user_id=scope.user_id,
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            top_k=top_k,
            filter=filter,
            threshold=threshold,
            recall=recall,
            as_of=as_of,
            include_public=include_public,
        )

    def context(
        self,
        query: str,
        *,
        max_tokens: int = 800,
        top_k: int = 10,
        filter: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        recall: Recall = "user",
        as_of: date | str | None = None,
        include_public: bool = False,
    ) -> str:
        """Return the memories found for `query` as one quoted block; see `Memory.context`."""
        scope = self.scope
        return self._memory.context(
            query,
            user_id=scope.user_id,
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            max_tokens=max_tokens,
            top_k=top_k,
            filter=filter,
            threshold=threshold,
            recall=recall,
            as_of=as_of,
            include_public=include_public,
        )

    def get(self, memory_id: str) -> TextualMemoryItem | None:
        """Return the user's item, or None."""
        return self._memory.get(memory_id, user_id=self.scope.user_id)

    def get_by_ids(self, ids: str | Sequence[str]) -> list[TextualMemoryItem | None]:
        """Return the user's items in the order asked; None for each that is absent."""
        return self._memory.get_by_ids(ids, user_id=self.scope.user_id)

    def get_all(
        self, *, filter: Mapping[str, Any] | None = None, limit: int | None = None, offset: int = 0
    ) -> list[TextualMemoryItem]:
        """Return the user's items of all sessions, in the order of their first add; see `Memory.get_all`."""
        scope = self.scope
        return self._memory.get_all(
            user_id=scope.user_id, agent_id=scope.agent_id, filter=filter, limit=limit, offset=offset
        )

    def recent_messages(self, limit: int = 20) -> list[Message]:
        """Return what was said last in the session, oldest first; see `Memory.recent_messages`."""
        scope = self.scope
        return self._memory.recent_messages(user_id=scope.user_id, session_id=scope.session_id, limit=limit)

    def update(self, memory_id: str, new: Patch) -> TextualMemoryItem:
        """Return the user's item with some fields changed; see `Memory.update`."""
        return self._memory.update(memory_id, new, user_id=self.scope.user_id)

    def feedback(self, memory_id: str, *, useful: bool, query: str | None = None) -> FeedbackReport:
        """Keep whether one of the user's items was of use; see `Memory.feedback`."""
        return self._memory.feedback(memory_id, user_id=self.scope.user_id, useful=useful, query=query)

    def delete(self, ids: str | Sequence[str]) -> list[str]:
        """Delete the user's items and return the ids that were there."""
        return self._memory.delete(ids, user_id=self.scope.user_id)

    def delete_by_source(
        self, *, message_id: str | None = None, document: str | os.PathLike[str] | None = None
    ) -> DeleteReport:
        """Delete a message (of this session, if there is one) or a document, and what was made from it."""
        session_id = None if message_id is None else self.scope.session_id
        return self._memory.delete_by_source(
            user_id=self.scope.user_id, session_id=session_id, message_id=message_id, document=document
        )

    def delete_all(self) -> DeleteReport:
        """Delete everything that has these labels: all of the user's where no session or agent is set."""
        scope = self.scope
        return self._memory.delete_all(user_id=scope.user_id, session_id=scope.session_id, agent_id=scope.agent_id)

    def purge_expired(self, *, progress: Progress | None = None) -> ExpiredReport:
        """Delete what of the user's items has expired, of all sessions; see `Memory.purge_expired`."""
        return self._memory.purge_expired(self.scope.user_id, progress=progress)

    def history(self, memory_id: str) -> list[Version]:
        """Return the versions of the user's item, oldest first; see `Memory.history`."""
        return self._memory.history(memory_id, user_id=self.scope.user_id)

    def restore(self, memory_id: str, version: int) -> TextualMemoryItem:
        """Return the user's item with the words and fields of an earlier version; see `Memory.restore`."""
        return self._memory.restore(memory_id, version, user_id=self.scope.user_id)

    def dump(self, folder: str | os.PathLike[str], *, filename: str = FILENAME) -> Path:
        """Write the user's items as a JSON list to `<folder>/<filename>` and return that path."""
        return self._memory.dump(folder, user_id=self.scope.user_id, filename=filename)

    def load(
        self,
        folder: str | os.PathLike[str],
        *,
        filename: str = FILENAME,
        on_conflict: OnConflict = "error",
        rescope: bool = False,
        confidence_scale: float = 1,
        max_mb: float = 1000,
        progress: Progress | None = None,
    ) -> AddReport:
        """Return what adding the items of a dumped file to the user did: all of them or none; see `Memory.load`."""
        return self._memory.load(
            folder,
            user_id=self.scope.user_id,
            filename=filename,
            on_conflict=on_conflict,
            rescope=rescope,
            confidence_scale=confidence_scale,
            max_mb=max_mb,
            progress=progress,
        )

    extract = blocking(_extract_job, "extract")
    aextract = awaiting(_extract_job, "aextract")
    add = blocking(_add_job, "add")
    aadd = awaiting(_add_job, "aadd")
    refine = blocking(_refine_job, "refine")
    arefine = awaiting(_refine_job, "arefine")
    asearch = off_loop(search)
    acontext = off_loop(context)
    aget = off_loop(get)
    aget_by_ids = off_loop(get_by_ids)
    aget_all = off_loop(get_all)
    arecent_messages = off_loop(recent_messages)
    aupdate = off_loop(update)
    afeedback = off_loop(feedback)
    adelete = off_loop(delete)
    adelete_by_source = off_loop(delete_by_source)
    adelete_all = off_loop(delete_all)
    apurge_expired = off_loop(purge_expired)
    ahistory = off_loop(history)
    arestore = off_loop(restore)
    adump = off_loop(dump)
    aload = off_loop(load)
