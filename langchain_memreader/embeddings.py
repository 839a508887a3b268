"""LangChain's embeddings as an embedder of ours, and ours as LangChain's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from memreader import MiniLMEmbedder
from memreader.chunking import chunk
from memreader.embedding import checked
from memreader.ports import Embedder, Vectors
from memreader.tokenizing import load_tokenizer

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

        A text above `max_tokens` is embedded in pieces, whose mean it gets.

        Raises:
            InvalidVectorsError, DimensionMismatchError: The model gave something else than one such vector per text.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._means(self.embeddings.embed_documents, [self._pieces(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (d,)."""
        vector: Vectors = self._means(self._embed_queries, [self._pieces(text)])[0]
        return vector

    def _embed_queries(self, texts: list[str]) -> list[list[float]]:
        return [self.embeddings.embed_query(text) for text in texts]

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
