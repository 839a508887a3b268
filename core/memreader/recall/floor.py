"""Is there anything to this query at all? A verdict on the evidence, not on a score that is normalised per query.

It tells a question about something else from a question about these memories; it is no test of whether a memory holds
the answer.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from memreader.ports import Embedder
from memreader.recall.fuse import Floats, QueryForm
from memreader.recall.options import RecallOptions

UNRELATED = (
    "The ferry leaves the harbour at six in the morning.",
    "Prime numbers have exactly two divisors.",
    "She repaired the violin with a thin layer of glue.",
    "Interest rates fell for the third month in a row.",
    "Bake the bread until the crust sounds hollow.",
    "The glacier retreated by forty metres.",
    "His knee hurt after the marathon.",
    "Set the compiler flag before linking the library.",
    "The parliament voted against the new tax.",
    "Owls turn their heads almost all the way round.",
    "We painted the nursery pale yellow.",
    "The contract can be ended with three months' notice.",
)
"""Sentences of ours that have nothing to do with each other: how similar does this embedder think such texts are?"""

LONG = 12
"""Terms of a long question."""

_known: dict[str, float] = {}


def chance_similarity(embedder: Embedder) -> float:
    """Return the mean cosine of unrelated texts under `embedder`, measured once per fingerprint and process.

    About 0.05 for MiniLM, 0.8 for E5 models, whose cosines all lie close together.
    """
    # Without a lock: a child that was forked meanwhile would wait for it for ever, and a second thread only measures
    # the same once more.
    if embedder.fingerprint not in _known:
        vectors = embedder.embed(UNRELATED)
        pairs = (vectors @ vectors.T)[np.triu_indices(len(UNRELATED), 1)]
        _known[embedder.fingerprint] = float(pairs.mean())
    return _known[embedder.fingerprint]


def least_relevance(count: int, *, form: QueryForm, options: RecallOptions) -> float:
    """Return the floor for a search over `count` memories: it rises with the logarithm of their number.

    >>> form = QueryForm(cjk=False, embedder_knows=True)
    >>> [round(least_relevance(n, form=form, options=RecallOptions()), 2) for n in (1, 20, 400, 100_000)]
    [0.08, 0.15, 0.21, 0.21]
    """
    if form.cjk and not form.embedder_knows:
        return options.floor_words
    rise = min(math.log(max(count, 1)) / math.log(options.floor_size), 1.0)
    return options.floor_one + (options.floor_many - options.floor_one) * rise


def relevance(
    similarity: npt.ArrayLike,
    coverage: npt.ArrayLike,
    *,
    chance: float,
    form: QueryForm,
    options: RecallOptions,
    terms: int = 0,
) -> Floats:
    """Return how much each candidate's own evidence speaks to the query, in [0, 1].

    The similarity counts by how far it lies above `chance`, and not at all where the embedder does not know the
    query's language; the coverage is the idf-weighted share of the query's terms that the candidate holds. Of a long
    text nobody holds a large share: from `LONG` terms on, as many are asked for as a long question has.

    Args:
        similarity: Cosine of each candidate.
        coverage: Of each candidate.
        chance: Cosine of unrelated texts.
        form: Of the query.
        options: Weights.
        terms: Of the query; 0 for a few.

    >>> form = QueryForm(cjk=False, embedder_knows=True)
    >>> relevance([0.5, 0.0], [1.0, 0.0], chance=0.0, form=form, options=RecallOptions()).round(2).tolist()
    [0.65, 0.0]
    """
    covered = np.minimum(np.asarray(coverage, np.float64) * max(1.0, terms / LONG), 1.0)
    if form.cjk and not form.embedder_knows:
        return covered
    above = (np.asarray(similarity, np.float64) - chance) / max(1 - chance, 1e-6)
    weight = options.relevance_similarity_weight
    mixed: Floats = weight * np.clip(above, 0.0, 1.0) + (1 - weight) * covered
    return mixed
