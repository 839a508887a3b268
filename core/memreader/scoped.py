"""The verbs of a memory for one user, without the labels in each call: what seed 001 offers, and adapters use."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memreader.ingest import AddReport, Progress
from memreader.items import TextualMemoryItem
from memreader.reader import DataType, Mode
from memreader.twins import off_loop
from memreader.types import Hit, Scope

if TYPE_CHECKING:
    from memreader.memory import Memory, Recall


class ScopedMemory:
    """One user's memories (and, where set, one session's and agent's labels); made by `Memory.scoped`."""

    def __init__(self, memory: Memory, scope: Scope) -> None:
        self._memory = memory
        self.scope = scope

    def extract(self, messages: Any) -> list[TextualMemoryItem]:
        """Return the items that reading `messages` gives, embedded, without storing them."""
        scope = self.scope
        report = self._memory.reader.read(
            messages, user_id=scope.user_id, session_id=scope.session_id, agent_id=scope.agent_id
        )
        return report.items

    def add(
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
        progress: Progress | None = None,
    ) -> AddReport:
        """Return what adding `data` did; see `Memory.add`."""
        scope = self.scope
        return self._memory.add(
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
            progress=progress,
        )

    def search(
        self, query: str, top_k: int = 5, *, threshold: float | None = None, recall: Recall = "user"
    ) -> list[Hit]:
        """Return up to `top_k` memories that speak to `query`, best first; see `Memory.search`."""
        scope = self.scope
        return self._memory.search(
            query,
            user_id=scope.user_id,
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            top_k=top_k,
            threshold=threshold,
            recall=recall,
        )

    def context(
        self,
        query: str,
        *,
        max_tokens: int = 800,
        top_k: int = 10,
        threshold: float | None = None,
        recall: Recall = "user",
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
            threshold=threshold,
            recall=recall,
        )

    def get(self, memory_id: str) -> TextualMemoryItem | None:
        """Return the user's item, or None."""
        return self._memory.get(memory_id, user_id=self.scope.user_id)

    def get_by_ids(self, ids: Sequence[str]) -> list[TextualMemoryItem | None]:
        """Return the user's items in the order asked; None for each that is absent."""
        return self._memory.get_by_ids(ids, user_id=self.scope.user_id)

    def get_all(self, *, limit: int | None = None, offset: int = 0) -> list[TextualMemoryItem]:
        """Return the user's items of all sessions, oldest first."""
        return self._memory.get_all(
            user_id=self.scope.user_id, agent_id=self.scope.agent_id, limit=limit, offset=offset
        )

    def delete(self, ids: str | Sequence[str]) -> list[str]:
        """Delete the user's items and return the ids that were there."""
        return self._memory.delete(ids, user_id=self.scope.user_id)

    aextract = off_loop(extract)
    aadd = off_loop(add)
    asearch = off_loop(search)
    acontext = off_loop(context)
    aget = off_loop(get)
    aget_by_ids = off_loop(get_by_ids)
    aget_all = off_loop(get_all)
    adelete = off_loop(delete)
