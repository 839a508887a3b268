"""What the user said of a memory's use moves it, by a bounded amount that decays: nothing else of a search changes.

With s = 1 for useful and -1 for useless, a = age in days, h = `feedback_half_life_days`, the contribution of an item is

    feedback_weight tanh(sum over what was said of it of  s 2^(-a / h) q)

where q says how much it is about the question that is asked now: 1 for the same, 0 for one that is not much like it,
`feedback_general` where no question was named. tanh keeps it between -feedback_weight and +feedback_weight however
often it was said, so two memories change places only if their scores lie less than twice that apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.ports import Embedder, Vectors
from memreader.recall.floor import scale_of
from memreader.recall.fuse import QueryForm
from memreader.recall.options import RecallOptions
from memreader.records import Keys
from memreader.stores.feedback_rows import Asked, Given

Floats: TypeAlias = npt.NDArray[np.float64]
Moves: TypeAlias = Callable[[Keys], Floats]
"""Numbers of items in, the contribution of each out."""

DAY = 86_400
ALIKE = 0.7
"""How far the cosine of two questions is above chance at least, where 1 is the same question, for one to say something
about the other. By MiniLM two questions about the same person are at 0.4 to 0.8, two ways to ask the same at 0.75 to
0.9; of the pairs of questions to one conversation of LoCoMo one in forty is above."""
ALIKE_WORDS = 1 / 3
"""The same for the share of terms that they have in common, where there are no vectors to compare."""


def asked_of(terms: Mapping[int, float], vector: Vectors, *, form: QueryForm, embedder: Embedder) -> Asked:
    """Return a question without its words.

    Args:
        terms: Term id -> weight; kept are those of the highest weight.
        vector: Of the question.
        form: Of it.
        embedder: Which the vector is of.
    """
    most = max(terms.values(), default=0.0)
    knows = scale_of(embedder).tells and (form.embedder_knows or not form.cjk)
    return Asked(frozenset(term for term, weight in terms.items() if weight == most), vector if knows else None)


def moves(given: Given, asked: Asked, *, embedder: Embedder, now: float, options: RecallOptions) -> Moves:
    """Return what gives the contributions of candidates; see `contributions`."""
    chance = scale_of(embedder).chance
    return partial(contributions, given, asked, chance=chance, now=now, options=options)


def contributions(
    given: Given, asked: Asked, keys: Keys, *, chance: float, now: float, options: RecallOptions
) -> Floats:
    """Return the contribution of each item, from -feedback_weight to feedback_weight; 0 where nothing was said of it.

    Args:
        given: What was said.
        asked: What is asked now.
        keys: Numbers of the items, each once, in any order.
        chance: Cosine of unrelated texts.
        now: Seconds since 1970; what was said later than that counts as said now.
        options: Weight, half-life, and what it counts where no question was named.
    """
    counts = strengths(given, now=now, half_life_days=options.feedback_half_life_days)
    counts = counts * alike(given, asked, chance=chance, general=options.feedback_general)
    told, which = np.unique(given.keys, return_inverse=True)
    moved = options.feedback_weight * np.tanh(np.bincount(which, counts[given.times], len(told)))
    place = np.minimum(np.searchsorted(told, keys), len(told) - 1)
    of_each: Floats = np.where(told[place] == keys, moved[place], 0.0)
    return of_each


def strengths(given: Given, *, now: float, half_life_days: float) -> Floats:
    """Return for each time 1 for useful and -1 for useless, halved with every half-life since."""
    age = np.maximum(now - given.at, 0.0) / DAY
    decayed: Floats = np.where(given.useful, 1.0, -1.0) * np.exp2(-age / half_life_days)
    return decayed


def alike(given: Given, asked: Asked, *, chance: float, general: float) -> Floats:
    """Return how much each time is about a question, in [0, 1]; `general` for those about none."""
    shares = np.array([np.nan if terms is None else _common(terms, asked.terms) for terms in given.terms])
    about = _beyond(shares, ALIKE_WORDS)
    if asked.vector is not None:
        vectors = given.vectors.astype(np.float32)
        cosine = (vectors @ asked.vector).astype(np.float64)
        near = _beyond((cosine - chance) / max(1 - chance, 1e-6), ALIKE)
        about = np.where(vectors.any(axis=1), near, about)
    whole: Floats = np.where(np.isnan(shares), general, about)
    return whole


def _common(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _beyond(values: Floats, start: float) -> Floats:
    """Return how far values are on the way from `start` to 1, in [0, 1]."""
    way: Floats = np.clip((values - start) / (1 - start), 0.0, 1.0)
    return way
