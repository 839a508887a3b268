"""LlamaIndex's embedding models as an embedder of ours, and ours as LlamaIndex's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, model_validator

from llamaindex_memreader.pickling import state_of
from memreader import MiniLMEmbedder
from memreader.chunking import chunk
from memreader.embedding import checked
from memreader.ports import Vectors
from memreader.tokenizing import load_tokenizer

_PROBE = "How long is a vector?"


class LlamaIndexEmbedder:
    """Embeds with any LlamaIndex `BaseEmbedding`; pass it to `Memory.open(..., embedder=...)`.

    Args:
        model: The model.
        name: Its name; by default its class and `model_name`. Together with the dimension it stands for the model, so
            give one if two models would share it.
        dimension: Length of its vectors; measured with one query when not given.
        max_tokens: Longest text it takes in one piece, in its own tokens.
    """

    def __init__(
        self, model: BaseEmbedding, *, name: str | None = None, dimension: int | None = None, max_tokens: int = 8192
    ) -> None:
        self.model = model
        self._name = name or f"{type(model).__name__}({model.model_name})"
        self._dimension = dimension
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """Class and model, for example `OpenAIEmbedding(text-embedding-3-small)`."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of every vector; the first look at it may embed one short text."""
        if self._dimension is None:
            self._dimension = len(self.model.get_query_embedding(_PROBE))
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Longest text, in tokens of the model, that is embedded in one piece."""
        return self._max_tokens

    @property
    def fingerprint(self) -> str:
        """Name and dimension: LlamaIndex says no more about a model."""
        return f"llama-index:{self.name}:{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts to be stored, float32, shape (len(texts), d), in order.

        A text above `max_tokens` is embedded in pieces, whose mean it gets.

        Raises:
            InvalidVectorsError, DimensionMismatchError: The model gave something else than one such vector per text.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._means(self.model.get_text_embedding_batch, [self._pieces(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (d,)."""
        vector: Vectors = self._means(self._embed_queries, [self._pieces(text)])[0]
        return vector

    def _embed_queries(self, texts: list[str]) -> list[list[float]]:
        return [self.model.get_query_embedding(text) for text in texts]

    def _pieces(self, text: str) -> list[str]:
        """Return the text in pieces that the model takes whole, tokens counted by our tokenizer in place of its own."""
        if len(text.encode("utf-8", "replace")) <= self.max_tokens:
            return [text]
        pieces = chunk(text, kind="simple", max_tokens=self.max_tokens, overlap_tokens=0, tokenizer=load_tokenizer())
        return [piece.text for piece in pieces] or [text]

    def _means(self, embed: Callable[[list[str]], list[list[float]]], texts: Sequence[list[str]]) -> Vectors:
        """Return one unit vector per text, the mean of those of its pieces."""
        pieces = [piece for text in texts for piece in text]
        rows = checked(np.asarray(embed(pieces), np.float32), count=len(pieces), dimension=self.dimension)
        if len(pieces) == len(texts):
            return rows
        starts = np.cumsum([0, *map(len, texts[:-1])])
        return checked(np.add.reduceat(rows, starts), count=len(texts), dimension=self.dimension)


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
