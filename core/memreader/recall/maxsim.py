"""Vectors of word pieces in memory, ready to be compared with those of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.records import Keys
from memreader.stores.columns import distinct
from memreader.stores.tokens import Packed
from memreader.types import TokenVectors

Floats: TypeAlias = npt.NDArray[np.float64]

VOCABULARY = 1 << 16
BLOCK = 1 << 18
"""Multiplications of one product of matrices: above, OpenBLAS starts threads, and on a busy machine they wait for each
other many times as long as the work takes. As float32 a block fits the processor's cache, so eight bits in memory cost
no time.
"""
SCALE = 127.0


def _no_frequency() -> npt.NDArray[np.int32]:
    return np.zeros(VOCABULARY, np.int32)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token vectors of items; a value, `grown` makes the next one.

    What is written one by one goes to a small part, so that the large one need not be copied each time.
    """

    seq: int = 0
    """Change number up to which it is complete."""
    _large: _Part | None = None
    _small: _Part | None = None
    """Holds the newer vectors of items that both hold."""
    _count: int = 0
    _frequency: npt.NDArray[np.int32] = field(default_factory=_no_frequency)
    """In how many items each piece occurs."""

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Memory that is taken."""
        return self._frequency.nbytes + sum(part.nbytes for part in self._parts)

    @property
    def _parts(self) -> list[_Part]:
        return [part for part in (self._large, self._small) if part is not None]

    def grown(self, found: Sequence[tuple[int, TokenVectors]], seq: int, *, only: Keys | None = None) -> Tokens:
        """Return these with more, which take the place of older ones of the same items.

        Args:
            found: Number and vectors of items.
            seq: The new `seq`.
            only: Numbers of all items that still have vectors, in order, when some are gone.
        """
        new = _Part.of(found) if found else None
        if only is not None:
            return self._anew(seq, _joined([*self._parts, *([] if new is None else [new])], only))
        if new is None:
            return replace(self, seq=seq)
        if self._large is None or len(new) > len(self._large) // 4:
            return self._anew(seq, _joined([*self._parts, new]))
        held = [part for part in (self._small, self._large) if part is not None]
        frequency, count = self._frequency.copy(), self._count + len(new)
        for key, pieces in new.items():
            frequency[np.unique(pieces)] += 1
            old = next((known for part in held if (known := part.pieces_of(key)) is not None), None)
            if old is not None:
                frequency[np.unique(old)] -= 1
                count -= 1
        small = new if self._small is None else _joined([self._small, new])
        if len(small) > len(self._large) // 4:
            return self._anew(seq, _joined([self._large, small]))
        return Tokens(seq, self._large, small, count, frequency)

    @staticmethod
    def _anew(seq: int, part: _Part) -> Tokens:
        if not len(part):
            return Tokens(seq)
        owners = np.repeat(np.arange(len(part)), np.diff(part.starts))
        pieces = distinct(owners * VOCABULARY + part.pieces) % VOCABULARY
        frequency = np.bincount(pieces, minlength=VOCABULARY).astype(np.int32)
        return Tokens(seq, part, None, len(part), frequency)

    def scores(self, query: TokenVectors, keys: Keys) -> Floats:
        """Return the late interaction of each item of `keys`, NaN for one that isn't here."""
        weights = _weights(self._frequency[query.pieces], self._count)
        scores = np.full(len(keys), np.nan)
        for part in self._parts:
            places = np.searchsorted(part.keys, keys)
            places[places == len(part)] = 0
            known = part.keys[places] == keys
            scores[known] = (_best(part.vectors, part.starts, query) @ weights)[places[known]]
        return scores


@dataclass(frozen=True, slots=True)
class _Part:
    """Vectors one after another, items in the order of their numbers, each with one vector at least."""

    keys: Keys
    starts: npt.NDArray[np.int64]
    """Of each item, and the end of the last."""
    pieces: npt.NDArray[np.uint16]
    vectors: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.starts.nbytes + self.pieces.nbytes + self.vectors.nbytes

    @classmethod
    def of(cls, found: Sequence[tuple[int, TokenVectors]]) -> _Part:
        held = sorted(dict(found).items())
        sizes = np.array([len(tokens.pieces) for _, tokens in held], np.int64)
        return cls(
            np.array([key for key, _ in held], np.int64),
            np.append(0, np.cumsum(sizes)),
            np.concatenate([tokens.pieces for _, tokens in held]),
            np.concatenate([tokens.vectors for _, tokens in held]),
        )

    def items(self) -> list[tuple[int, npt.NDArray[np.uint16]]]:
        """Return each item's number and pieces."""
        ends = self.starts.tolist()
        return [(key, self.pieces[ends[i] : ends[i + 1]]) for i, key in enumerate(self.keys.tolist())]

    def pieces_of(self, key: int) -> npt.NDArray[np.uint16] | None:
        place = int(np.searchsorted(self.keys, key))
        if place == len(self.keys) or self.keys[place] != key:
            return None
        return self.pieces[self.starts[place] : self.starts[place + 1]]


def compare(query: TokenVectors, found: Sequence[Packed | None]) -> Floats:
    """Return the late interaction of each memory, NaN for a None; how rare a piece is, is counted over these."""
    there = [packed for packed in found if packed is not None]
    scores = np.full(len(found), np.nan)
    if not there:
        return scores
    pieces = np.frombuffer(b"".join([packed[0] for packed in there]), "<u2")
    vectors = np.frombuffer(b"".join([packed[1] for packed in there]), np.int8).reshape(len(pieces), -1)
    sizes = np.array([len(packed[0]) // 2 for packed in there], np.int64)
    weights = _weights(_frequency_of(query.pieces, pieces, sizes), len(there))
    known = np.array([packed is not None for packed in found])
    scores[known] = _best(vectors, np.append(0, np.cumsum(sizes)), query) @ weights
    return scores


def _weights(frequency: npt.NDArray[np.integer], count: int) -> Floats:
    """Return how much each piece of a question counts, given how many of `count` memories have it."""
    weights: Floats = np.log1p((count - frequency + 0.5) / (frequency + 0.5))
    return weights / max(float(weights.sum()), 1e-9)


def _frequency_of(wanted: npt.NDArray[np.uint16], pieces: npt.NDArray[np.uint16], sizes: Keys) -> Keys:
    """Return in how many memories each wanted piece occurs, given all their pieces and how many each has."""
    kinds, which = np.unique(wanted, return_inverse=True)
    code = np.full(VOCABULARY, -1, np.int32)
    code[kinds] = np.arange(len(kinds))
    codes = code[pieces]
    at = np.flatnonzero(codes >= 0)
    owners = np.repeat(np.arange(len(sizes)), sizes)[at]
    held = distinct(owners * len(kinds) + codes[at]) % len(kinds)
    frequency: Keys = np.bincount(held, minlength=len(kinds))[which]
    return frequency


def _best(vectors: npt.NDArray[np.int8], starts: Keys, query: TokenVectors) -> Floats:
    """Return the highest cosine of each memory with each piece of the question, shape (memories, pieces).

    Args:
        vectors: Of all memories, one after another.
        starts: Of each memory, and the end of the last.
        query: Of the question.
    """
    wanted = np.ascontiguousarray(query.vectors.astype(np.float32).T)
    size = max(BLOCK // wanted.size, 1)
    similar = np.empty((len(vectors), wanted.shape[1]), np.float32)
    block = np.empty((size, wanted.shape[0]), np.float32)
    for start in range(0, len(vectors), size):
        part = vectors[start : start + size]
        block[: len(part)] = part
        np.matmul(block[: len(part)], wanted, out=similar[start : start + len(part)])
    best: Floats = np.maximum.reduceat(similar, starts[:-1], axis=0) / (SCALE * SCALE)
    return best


def _joined(parts: Sequence[_Part], only: Keys | None = None) -> _Part:
    """Return one part of several: of items that more hold, what the last has; of `only`, in order, those in it."""
    keys = np.concatenate([part.keys for part in parts])
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    firsts = np.cumsum(sizes) - sizes
    # The last of equal keys: the first in reversed order.
    kept, places = np.unique(keys[::-1], return_index=True)
    places = len(keys) - 1 - places
    if only is not None:
        there = np.isin(kept, only, assume_unique=True)
        kept, places = kept[there], places[there]
    sizes, firsts = sizes[places], firsts[places]
    starts = np.append(0, np.cumsum(sizes))
    rows = np.arange(starts[-1]) + np.repeat(firsts - starts[:-1], sizes)
    return _Part(
        kept,
        starts,
        np.concatenate([part.pieces for part in parts])[rows],
        np.concatenate([part.vectors for part in parts])[rows],
    )
