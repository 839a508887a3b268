"""Stored memories as a LlamaIndex retriever."""

from __future__ import annotations

import copy
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools import FunctionTool

from llamaindex_memreader.filters import Filters, as_filter
from llamaindex_memreader.hearing import heard_of
from llamaindex_memreader.nodes import hit_to_node
from llamaindex_memreader.recalling import without
from memreader import Memory
from memreader.recall import check_search
from memreader.types import Recall, Scope

NOTHING = "Nothing is remembered about that."


class MemReaderRetriever(BaseRetriever):
    """Returns one user's memories as nodes, best first, with scores, and provenance in their metadata.

    Args:
        memory: Where the memories are.
        user_id: Whose memories.
        session_id: Also shows what only this session may see.
        agent_id: Only memories with this label.
        similarity_top_k: How many at most; exactly so many above the floor if there are.
        threshold: None for the calibrated floor, 0 for none, else the least score of a node.
        filters: Only memories for which they hold: LlamaIndex's `MetadataFilters`, or a filter as `Memory.search` takes
            it.
        recall: "user" looks into all sessions of the user, "session" only into `session_id`.
        callback_manager: LlamaIndex's.
        verbose: LlamaIndex's.

    Raises:
        FilterError: The filters can't be read.
        ValueError: A setting makes no sense.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        similarity_top_k: int = 4,
        threshold: float | None = None,
        filters: Filters | None = None,
        recall: Recall = "user",
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        Scope(user_id, session_id, agent_id)
        check_search("", top_k=similarity_top_k, threshold=threshold, recall=recall, session_id=session_id)
        self._memory = memory
        self._search: dict[str, Any] = {
            "user_id": user_id,
            "session_id": session_id,
            "agent_id": agent_id,
            "top_k": similarity_top_k,
            "threshold": threshold,
            "filter": as_filter(filters),
            "recall": recall,
        }

    @property
    def similarity_top_k(self) -> int:
        """How many memories at most."""
        top_k: int = self._search["top_k"]
        return top_k

    def as_tool(
        self,
        *,
        name: str = "search_memory",
        description: str = "Searches what is remembered about the person you speak with and what was said before.",
        max_tokens: int = 800,
    ) -> FunctionTool:
        """Return a tool by which an agent searches these memories; it is shown them quoted, as notes.

        With the `session_id` of the chat that the agent has, and a `MemReaderMemoryBlock` in it, the message it is just
        answering is not among what is found. LlamaIndex's own `RetrieverTool` takes this retriever, too, and shows the
        words as they are.

        Args:
            name: What the model calls it by.
            description: What the model is told of it.
            max_tokens: Upper bound of what one call gives.
        """

        def search(query: str) -> str:
            return self._memory.context(query, max_tokens=max_tokens, **self._unasked()) or NOTHING

        async def asearch(query: str) -> str:
            return await self._memory.acontext(query, max_tokens=max_tokens, **self._unasked()) or NOTHING

        return FunctionTool.from_defaults(fn=search, async_fn=asearch, name=name, description=description)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a retriever on the same open memory, which can't be copied."""
        return copy.copy(self)

    def __repr__(self) -> str:
        told = {key: value for key, value in self._search.items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in told.items())})"

    def _unasked(self) -> dict[str, Any]:
        user_id, session_id = self._search["user_id"], self._search["session_id"]
        asked = [] if session_id is None else heard_of(self._memory).asked(user_id, session_id)
        return {**self._search, "filter": without(self._search["filter"], asked)}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [hit_to_node(hit) for hit in self._memory.search(query_bundle.query_str, **self._search)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [hit_to_node(hit) for hit in await self._memory.asearch(query_bundle.query_str, **self._search)]
