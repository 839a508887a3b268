"""An embedder made of two functions, as other libraries' models offer them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memreader.embedding.batching import checked, pieces_that_fit
from memreader.ports import Vectors
from memreader.tokenizing import load_tokenizer

_PROBE = "How long is a vector?"


@dataclass(frozen=True)
class FunctionEmbedder:
    """Embeds with functions that give lists of numbers, of any length, for texts of limited length.

    A text above `max_tokens` is embedded in pieces, whose normalised mean it gets; its tokens are counted by
    o200k_base in place of the model's own tokenizer.

    Args:
        name: Of the model; together with the dimension it stands for it.
        embed_texts: Texts to be stored in, one list of numbers per text out, in order.
        embed_question: The same for a single question.
        known_dimension: Length of its vectors; measured with one question when None.
        max_tokens: Longest text it takes in one piece.
    """

    name: str
    embed_texts: Callable[[list[str]], list[list[float]]]
    embed_question: Callable[[str], list[float]]
    known_dimension: int | None = None
    max_tokens: int = 8192

    @property
    def dimension(self) -> int:
        """Length of every vector; the first look at it may embed one short text."""
        # No cached_property: in Python 3.11 it has a lock, which a child that was forked meanwhile would wait for.
        kept: dict[str, int] = vars(self)
        if "_dimension" not in kept:
            kept["_dimension"] = self.known_dimension or len(self.embed_question(_PROBE))
        return kept["_dimension"]

    @property
    def fingerprint(self) -> str:
        """Name and dimension: functions say no more about a model."""
        return f"{self.name}:{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts to be stored, float32, shape (len(texts), d), in order.

        Raises:
            InvalidVectorsError, DimensionMismatchError: The model gave something else than one such vector per text.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._means(self.embed_texts, [self._pieces(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (d,)."""
        vector: Vectors = self._means(lambda pieces: [*map(self.embed_question, pieces)], [self._pieces(text)])[0]
        return vector

    def _pieces(self, text: str) -> list[str]:
        return list(pieces_that_fit(text, count=lambda piece: load_tokenizer().count(piece), limit=self.max_tokens))

    def _means(self, embed: Callable[[list[str]], list[list[float]]], texts: Sequence[list[str]]) -> Vectors:
        """Return one unit vector per text, the mean of those of its pieces."""
        pieces = [piece for text in texts for piece in text]
        rows = checked(np.asarray(embed(pieces), np.float32), count=len(pieces), dimension=self.dimension)
        if len(pieces) == len(texts):
            return rows
        starts = np.cumsum([0, *map(len, texts[:-1])])
        return checked(np.add.reduceat(rows, starts), count=len(texts), dimension=self.dimension)
