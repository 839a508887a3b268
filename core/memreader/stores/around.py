"""What stands around the candidates of a search: who said them and when, before and after what, in which session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.records import Keys
from memreader.traits import STATEMENT

Floats: TypeAlias = npt.NDArray[np.float64]
K1, B = 1.2, 0.75
"""Of BM25 over whole groups: they are long, and of unlike length."""
COMMON = 0.3
"""Rarity among groups, as an idf, below which a term counts for less: that of one in three quarters of them."""


@dataclass(frozen=True, slots=True)
class Around:
    """One entry per candidate, in their order; the neighbours are numbers of candidates, -1 for none."""

    marks: npt.NDArray[np.uint16]
    """Bits of `traits`."""
    days: npt.NDArray[np.int32]
    """`date.toordinal()`, 0 for unknown."""
    words: npt.NDArray[np.int32]
    """Terms, repeats included."""
    speakers: npt.NDArray[np.int32]
    """Number in `names`, -1 for nobody."""
    names: tuple[str, ...]
    before: Keys
    """What was said, or stands, just before in the same group."""
    after: Keys
    groups: npt.NDArray[np.int32]
    """Number of the session or section, from 0; -1 for none."""
    group_words: Floats = field(repr=False)
    """Terms of each group, its raw candidates together."""
    group_sizes: Floats = field(repr=False)
    """Raw candidates of each group."""


def around_of(
    *,
    groups: npt.NDArray[np.int32],
    orders: npt.NDArray[np.int64],
    days: npt.NDArray[np.int32],
    marks: npt.NDArray[np.uint16],
    lengths: npt.NDArray[np.int32],
    living: npt.NDArray[np.bool_],
    speakers: npt.NDArray[np.int32],
    names: tuple[str, ...],
) -> Around:
    """Return what stands around n candidates, given their columns of shape (n,).

    Neighbours and groups are made of raw items that are not archived; a statement is in a group and nobody's neighbour.
    """
    count = len(groups)
    codes = np.unique(groups[groups >= 0])
    compact = np.where(groups >= 0, np.searchsorted(codes, groups), -1).astype(np.int32)
    raw = np.flatnonzero((compact >= 0) & living & (marks & STATEMENT == 0))
    row = raw[np.lexsort((orders[raw], compact[raw]))]
    together = compact[row[1:]] == compact[row[:-1]]
    before, after = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    before[row[1:][together]] = row[:-1][together]
    after[row[:-1][together]] = row[1:][together]
    return Around(
        marks=marks.copy(),
        days=days.copy(),
        words=lengths.copy(),
        speakers=speakers,
        names=names,
        before=before,
        after=after,
        groups=compact,
        group_words=np.bincount(compact[raw], lengths[raw], len(codes)).astype(np.float64),
        group_sizes=np.bincount(compact[raw], minlength=len(codes)).astype(np.float64),
    )


def term_rarity(around: Around, found: list[tuple[Keys, Keys]]) -> Floats:
    """Return for each term of a query how much it tells turns apart, above 0 to 1: little if most groups hold it.

    The name of somebody who is there in every session says nothing about where an answer is, however few turns hold it.

    Args:
        around: Of the candidates.
        found: For each term the candidates that hold it, and how often.
    """
    size = len(around.group_words)
    if not size:
        return np.ones(len(found))
    groups = (_occurrences(around, rows, counts) for rows, counts in found)
    holders = np.array([np.count_nonzero(occurrences) for occurrences in groups], np.float64)
    rarity: Floats = np.minimum(np.log1p((size - holders + 0.5) / (holders + 0.5)) / COMMON, 1.0)
    return rarity


def _occurrences(around: Around, rows: Keys, counts: Keys) -> Floats:
    """Return how often the raw candidates of each group hold a term."""
    group = around.groups[rows]
    held = (group >= 0) & (around.marks[rows] & STATEMENT == 0)
    return np.bincount(group[held], counts[held], len(around.group_words)).astype(np.float64, copy=False)


def group_scores(around: Around, found: list[tuple[Keys, Keys]], weights: Floats) -> Floats:
    """Return BM25 of every candidate's group taken as one text, divided by the highest; 0 for those without a group.

    It counts less the fewer a group has: one item alone says nothing as a group that it doesn't say itself.

    Args:
        around: Of the candidates.
        found: For each term of the query the candidates that hold it, and how often.
        weights: Of each term.
    """
    size = len(around.group_words)
    if not size or not found:
        return np.zeros(len(around.groups))
    mean = max(float(around.group_words.mean()), 1.0)
    norm = K1 * (1 - B + B * around.group_words / mean)
    scores = np.zeros(size)
    for (rows, counts), weight in zip(found, weights.tolist(), strict=True):
        occurrences = _occurrences(around, rows, counts)
        holders = np.count_nonzero(occurrences)
        if holders:
            idf = weight * np.log1p((size - holders + 0.5) / (holders + 0.5))
            scores += idf * occurrences * (K1 + 1) / (occurrences + norm)
    highest = scores.max(initial=0.0)
    if highest <= 0:
        return np.zeros(len(around.groups))
    scores *= 1 - 1 / np.maximum(around.group_sizes, 1)
    spread: Floats = np.where(around.groups >= 0, scores[around.groups] / highest, 0.0)
    return spread
