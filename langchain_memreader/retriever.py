"""Stored memories as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field, model_validator

from langchain_memreader.documents import hit_to_document
from langchain_memreader.tools import SearchMemoryTool
from memreader import Memory
from memreader.filters import parse_filter
from memreader.types import Recall, Scope


class MemReaderRetriever(BaseRetriever):
    """Returns one user's memories as Documents, best first, with score and provenance in metadata.

    `k`, `threshold`, `filter` and `mode` can also be given per call: `retriever.invoke("...", k=3)`.

    Args:
        memory: Where the memories are.
        user_id: Whose memories.
        session_id: Also shows what only this session may see.
        agent_id: Only memories with this label.
        k: How many at most; exactly so many above the floor if there are.
        threshold: None for the calibrated floor, 0 for none, else the least score of a Document.
        filter: Only memories for which it holds, `{"tags": "home"}`; see `memreader.filters`.
        mode: "user" looks into all sessions of the user, "session" only into `session_id`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    user_id: str
    session_id: str | None = None
    agent_id: str | None = None
    k: int = Field(default=4, ge=1)
    threshold: float | None = Field(default=None, ge=0, le=1)
    filter: dict[str, Any] | None = None
    mode: Recall = "user"

    @model_validator(mode="after")
    def _check_scope(self) -> MemReaderRetriever:
        Scope(self.user_id, self.session_id, self.agent_id)
        parse_filter(self.filter)
        if self.mode == "session" and self.session_id is None:
            raise ValueError("mode='session' needs a session_id")
        return self

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> BaseTool:
        """Return a tool by which a model searches these memories; it is shown them quoted, as notes.

        With a schema of yours it is LangChain's own tool, which gives Documents.
        """
        if args_schema is not None or arg_types is not None:
            return super().as_tool(args_schema, name=name, description=description, arg_types=arg_types)
        said: dict[str, Any] = {
            key: value for key, value in (("name", name), ("description", description)) if value is not None
        }
        search = self.model_dump(include={"user_id", "session_id", "agent_id", "k", "threshold", "filter", "mode"})
        return SearchMemoryTool(memory=self.memory, **search, **said)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(
            **super()._get_ls_params(**kwargs),
            ls_vector_store_provider="memreader",
            ls_embedding_provider=type(self.memory.reader.embedder).__name__,
            ls_embedding_model=self.memory.reader.embedder.name,
        )

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's signature
        k: int | None = None,
        threshold: float | None = None,
        filter: dict[str, Any] | None = None,
        mode: Recall | None = None,
    ) -> list[Document]:
        wanted = self._search(k, threshold, filter, mode)
        return [hit_to_document(hit) for hit in self.memory.search(query, **wanted)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's signature
        k: int | None = None,
        threshold: float | None = None,
        filter: dict[str, Any] | None = None,
        mode: Recall | None = None,
    ) -> list[Document]:
        wanted = self._search(k, threshold, filter, mode)
        return [hit_to_document(hit) for hit in await self.memory.asearch(query, **wanted)]

    def _search(
        self, k: int | None, threshold: float | None, filter: dict[str, Any] | None, mode: Recall | None
    ) -> dict[str, Any]:
        return {
            "user_id": self.user_id,
            "session_id": self.session_id,
            "agent_id": self.agent_id,
            "top_k": self.k if k is None else k,
            "threshold": self.threshold if threshold is None else threshold,
            "filter": self.filter if filter is None else filter,
            "recall": self.mode if mode is None else mode,
        }
