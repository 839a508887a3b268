"""LlamaIndex's embedding models as an embedder of ours, and ours as LlamaIndex's."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, model_validator

from llamaindex_memreader.pickling import state_of
from memreader import MiniLMEmbedder
from memreader.embedding import FunctionEmbedder


def as_embedder(
    model: BaseEmbedding, *, name: str | None = None, dimension: int | None = None, max_tokens: int = 8192
) -> FunctionEmbedder:
    """Return any LlamaIndex embedding model as an embedder for `Memory.open(..., embedder=...)`.

    Args:
        model: The model.
        name: Its name; by default its class and `model_name`. Together with the dimension it stands for the model, so
            give one if two models would share it.
        dimension: Length of its vectors; measured with one query when not given.
        max_tokens: Longest text it takes in one piece; a longer one is embedded in pieces.
    """
    shown = name or f"{type(model).__name__}({model.model_name})"
    return FunctionEmbedder(shown, partial(_embed, model), partial(_embed_question, model), dimension, max_tokens)


# Functions of this module, since LlamaIndex wraps its methods in objects that can't be pickled.
def _embed(model: BaseEmbedding, texts: list[str]) -> list[list[float]]:
    return model.get_text_embedding_batch(texts)


def _embed_question(model: BaseEmbedding, text: str) -> list[float]:
    return model.get_query_embedding(text)


class MemReaderEmbedding(BaseEmbedding):
    """LlamaIndex embeddings by an embedder of ours: by default the embedded English model, offline, 384 dimensions.

    `embedder` takes another one, for example `memory.reader.embedder`, so that the model is loaded once. Where this
    goes through `to_dict` or a pickle, what comes out must have the same fingerprint.

    Raises:
        ValueError: The embedder is not the one whose fingerprint was given.
    """

    embedder: Any = Field(default_factory=MiniLMEmbedder, exclude=True, repr=False)
    fingerprint: str = Field(default="", description="Of the embedder; part of what a pipeline's cache goes by.")

    @classmethod
    def class_name(cls) -> str:
        """Name of this component in serialised pipelines."""
        return "MemReaderEmbedding"

    @model_validator(mode="after")
    def _name_embedder(self) -> Self:
        if self.fingerprint not in ("", self.embedder.fingerprint):
            raise ValueError(f"this was made with the embedder {self.model_name!r}. Pass it again as embedder=.")
        self.fingerprint = self.embedder.fingerprint
        self.model_name = self.embedder.name
        return self

    def __getstate__(self) -> dict[str, Any]:
        return state_of(self, super().__getstate__, needed="embedder")

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self.embedder.embed(texts).tolist()
        return rows

    def _get_query_embedding(self, query: str) -> list[float]:
        row: list[float] = self.embedder.embed_query(query).tolist()
        return row

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)
