"""LangChain's embeddings as an embedder of ours, and ours as LangChain's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from memreader import MiniLMEmbedder
from memreader.embedding import checked
from memreader.ports import Embedder, Vectors

_NAMES = ("model", "model_name", "model_id", "deployment", "repo_id")
_PROBE = "How long is a vector?"


class LangChainEmbedder:
    """Embeds with any LangChain `Embeddings`; pass it to `Memory.open(..., embedder=...)`.

    Args:
        embeddings: The model.
        name: Its name; by default its class and the model it names. Together with the dimension it stands for the
            model, so give one if two models would share it.
        dimension: Length of its vectors; measured with one query when not given.
        max_tokens: Longest text it takes in one piece, in its own tokens.
    """

    def __init__(
        self, embeddings: Embeddings, *, name: str | None = None, dimension: int | None = None, max_tokens: int = 8192
    ) -> None:
        self.embeddings = embeddings
        self._name = name or _name_of(embeddings)
        self._dimension = dimension
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """Class and model, for example `OpenAIEmbeddings(text-embedding-3-small)`."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of every vector; the first look at it may embed one short text."""
        if self._dimension is None:
            self._dimension = len(self.embeddings.embed_query(_PROBE))
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Longest text, in tokens of the model, that is embedded in one piece."""
        return self._max_tokens

    @property
    def fingerprint(self) -> str:
        """Name and dimension: LangChain says no more about a model."""
        return f"langchain:{self.name}:{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts to be stored, float32, shape (len(texts), d), in order.

        Raises:
            InvalidVectorsError, DimensionMismatchError: The model gave something else than one such vector per text.
        """
        rows = self.embeddings.embed_documents(list(texts)) if texts else np.zeros((0, self.dimension))
        return checked(np.asarray(rows, np.float32), count=len(texts), dimension=self.dimension)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (d,)."""
        row = np.asarray([self.embeddings.embed_query(text)], np.float32)
        vector: Vectors = checked(row, count=1, dimension=self.dimension)[0]
        return vector


class MemReaderEmbeddings(Embeddings):
    """LangChain embeddings by an embedder of ours: by default the embedded English model, offline, 384 dimensions.

    Args:
        embedder: Another one, for example `memory.reader.embedder`, so that the model is loaded once.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder: Embedder = embedder or MiniLMEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one unit vector per text, in order."""
        rows: list[list[float]] = self.embedder.embed(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question."""
        row: list[float] = self.embedder.embed_query(text).tolist()
        return row


def _name_of(embeddings: Embeddings) -> str:
    kind = type(embeddings).__name__
    named = (getattr(embeddings, attribute, None) for attribute in _NAMES)
    model = next((value for value in named if isinstance(value, str) and value), None)
    return kind if model is None else f"{kind}({model})"
