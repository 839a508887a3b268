"""Lexical and dense evidence into one order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memreader.recall.options import RecallOptions

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QueryForm:
    """What decides the balance between words and vectors."""

    cjk: bool
    """The query is mostly Chinese, Japanese or Korean."""
    embedder_knows: bool
    """The embedder was trained on the query's language."""


def fuse(lexical: npt.ArrayLike, similarity: npt.ArrayLike, *, form: QueryForm, options: RecallOptions) -> Floats:
    """Return one score per candidate, higher is better; equal evidence gives equal scores.

    Args:
        lexical: BM25 of each candidate, >= 0.
        similarity: Cosine of each candidate, same length.

    >>> form = QueryForm(cjk=False, embedder_knows=True)
    >>> fuse([2.0, 0.0], [0.9, 0.1], form=form, options=RecallOptions()).round(2).tolist()
    [0.6, -0.1]
    """
    weight = options.dense_weight
    if form.cjk:
        weight = options.dense_weight_cjk if form.embedder_knows else options.dense_weight_unknown
    words = np.asarray(lexical, np.float64)
    highest = words.max(initial=0.0)
    scaled = words / highest if highest > 0 else words
    return options.lexical_weight * scaled + weight * spread(np.asarray(similarity, np.float64))


def spread(values: Floats) -> Floats:
    """Return (x - mean) / standard deviation / 5: all zeros where the values do not differ."""
    deviation = values.std() if len(values) else 0.0
    if deviation < 1e-9:
        return np.zeros_like(values)
    scaled: Floats = (values - values.mean()) / deviation / 5
    return scaled
