"""Texts into vectors through any embedder: in slices, checked, one bad text isolated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from memreader.errors import DimensionMismatchError, InputError, InvalidVectorsError, MemReaderError
from memreader.ports import Embedder, Vectors
from memreader.types import Failure

SLICE = 64
"""Texts per call of the embedder, so that progress moves and memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of the texts that could be embedded, and why the others could not."""

    vectors: Vectors
    """float32, shape (n, d), a row of zeros for each failed text."""
    failures: dict[int, Exception] = field(default_factory=dict)
    """Position of a text -> what the embedder raised for it alone."""

    def as_failures(self, locators: Sequence[str]) -> list[Failure]:
        """Return the failures as values, located by the name of their text."""
        return [
            Failure(type(error).__name__, f"could not be embedded: {error}", locators[place])
            for place, error in self.failures.items()
        ]


def embed_texts(embedder: Embedder, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Embedded:
    """Return one vector per text, in order.

    A slice that the embedder refuses with a ValueError or RuntimeError is halved until the bad text stands alone;
    that text is reported and the others are embedded. Anything else it raises (a lost connection) passes.

    Args:
        progress: Called with the number of texts done since the last call.

    Raises:
        InvalidVectorsError: The embedder gave another number of rows, or a value that is not finite.
        DimensionMismatchError: It gave vectors of another length than its `dimension`.
    """
    vectors = np.zeros((len(texts), embedder.dimension), np.float32)
    failures: dict[int, Exception] = {}
    for start in range(0, len(texts), SLICE):
        stop = min(start + SLICE, len(texts))
        _embed_range(embedder, texts, start, stop, vectors, failures)
        if progress is not None:
            progress(stop - start)
    return Embedded(vectors, failures)


def _embed_range(
    embedder: Embedder, texts: Sequence[str], start: int, stop: int, out: Vectors, failures: dict[int, Exception]
) -> None:
    try:
        rows = embedder.embed(list(texts[start:stop]))
    except (ValueError, RuntimeError) as error:
        if isinstance(error, MemReaderError) and not isinstance(error, InputError):
            raise  # It is not about a text: a model file that is missing, for example.
        if stop - start == 1:
            failures[start] = error
            return
        middle = (start + stop) // 2
        _embed_range(embedder, texts, start, middle, out, failures)
        _embed_range(embedder, texts, middle, stop, out, failures)
        return
    out[start:stop] = checked(rows, count=stop - start, dimension=embedder.dimension)


def checked_embedder(embedder: Embedder) -> Embedder:
    """Return `embedder` as it is.

    Raises:
        TypeError: It does not embed.
    """
    if callable(getattr(embedder, "embed", None)) and callable(getattr(embedder, "embed_query", None)):
        return embedder
    raise TypeError(
        f"embedder must have the methods of memreader.ports.Embedder, got {type(embedder).__name__}. For another "
        "library's model use langchain_memreader.as_embedder or llamaindex_memreader.as_embedder."
    )


def checked(vectors: Vectors, *, count: int, dimension: int) -> Vectors:
    """Return `vectors` as contiguous float32 of shape (count, dimension) and unit length.

    Raises:
        InvalidVectorsError: Another number of rows, or a value that is not finite.
        DimensionMismatchError: Rows of another length.
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != count:
        raise InvalidVectorsError(f"an embedder gave shape {rows.shape} for {count} texts. Return one row per text.")
    if rows.shape[1] != dimension:
        raise DimensionMismatchError(expected=dimension, got=rows.shape[1])
    if not np.isfinite(rows).all():
        raise InvalidVectorsError("an embedder gave a vector with a number that is not finite. Check its model.")
    return normalised(rows)


def normalised(rows: Vectors) -> Vectors:
    """Return rows scaled to unit length; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Vectors = np.divide(rows, np.where(lengths > 0, lengths, 1), dtype=np.float32)
    return unit


def pieces_that_fit(text: str, *, count: Callable[[str], int], limit: int) -> Iterator[str]:
    """Yield `text` in pieces of at most `limit` tokens by `count`, halved at a space near the middle until they fit.

    >>> list(pieces_that_fit("one two three four", count=len, limit=11))
    ['one two', ' three four']
    """
    # No token is shorter than a byte: most texts need no counting.
    if len(text) < 2 or len(text.encode("utf-8", "replace")) <= limit or count(text) <= limit:
        yield text
        return
    middle = len(text) // 2
    space = text.rfind(" ", 0, middle)
    cut = space if space > middle // 2 else middle
    yield from pieces_that_fit(text[:cut], count=count, limit=limit)
    yield from pieces_that_fit(text[cut:], count=count, limit=limit)


def even_cuts(length: int, limit: int) -> list[tuple[int, int]]:
    """Return the fewest ranges of nearly equal size <= `limit` that cover `length`; one empty range for 0.

    >>> even_cuts(10, 4)
    [(0, 3), (3, 6), (6, 10)]
    """
    count = max(1, -(-length // limit))
    ends = (length * step // count for step in range(count + 1))
    return list(pairwise(ends))
