"""Is there anything to this query at all? A verdict on the evidence, not on a score that is normalised per query.

It tells a question about something else from a question about these memories; it is no test of whether a memory holds
the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

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

QUESTIONS = (
    "When does the boat depart?",
    "How many divisors does a prime number have?",
    "What did she mend the violin with?",
    "What happened to interest rates?",
    "How can I tell that the bread is done?",
    "How much has the glacier shrunk?",
    "What was sore after he ran the marathon?",
    "What has to be done before the library is linked?",
    "How did parliament decide about the tax?",
    "How far can an owl turn its head?",
    "Which colour is the baby's room?",
    "How early must one give notice to end the contract?",
)
"""Of each of these sentences: how similar does it think a question and its answer are?"""

USUAL = 0.69
"""How far MiniLM places these above chance, as a share of what is above it: the floors are for such an embedder."""
MOST_STRETCHED = 2.5
"""Times the similarities of an embedder that places them nearer to chance are stretched at most."""
LEAST_ABOVE, MOST_CHANCE = 0.05, 0.98
"""An embedder that is worse than that does not know English, or no language at all: its scale can't be measured."""
SAME = 0.999
"""Cosine from which two vectors are of the same text, read the same way."""
LONG = 12
"""Terms of a long question."""


Value = TypeVar("Value", float, Floats)


@dataclass(frozen=True, slots=True)
class Scale:
    """How an embedder's cosines are to be read."""

    chance: float
    """Mean cosine of unrelated texts: about 0.05 for MiniLM, 0.8 for E5 models, whose cosines lie close together."""
    stretch: float = 1.0
    """By how much what is above chance is multiplied, so that a question and its answer are about as far above it as
    for MiniLM."""
    tells: bool = True
    """Whether it places a question nearer to its answer than chance; if not, only words say what a query speaks to."""


_known: dict[str, Scale] = {}


def scale_of(embedder: Embedder) -> Scale:
    """Return the scale of `embedder`, measured once per fingerprint and process by a few sentences of ours."""
    # Without a lock: a child that was forked meanwhile would wait for it for ever, and a second thread only measures
    # the same once more.
    if embedder.fingerprint not in _known:
        vectors = embedder.embed((*UNRELATED, *QUESTIONS))
        said, asked = vectors[: len(UNRELATED)], vectors[len(UNRELATED) :]
        # Only for an embedder that reads questions in a way of its own: one by one may be a request each.
        if float(embedder.embed_query(QUESTIONS[0]) @ asked[0]) < SAME:
            asked = np.stack([embedder.embed_query(question) for question in QUESTIONS])
        chance = float((said @ said.T)[np.triu_indices(len(said), 1)].mean())
        above = (float((said * asked).sum(axis=1).mean()) - chance) / max(1 - chance, 1e-6)
        stretch = float(np.clip(USUAL / max(above, 1e-6), 1.0, MOST_STRETCHED))
        tells = above > LEAST_ABOVE and chance < MOST_CHANCE
        _known[embedder.fingerprint] = Scale(chance, stretch, tells)
    return _known[embedder.fingerprint]


def least_relevance(
    count: int,
    *,
    form: QueryForm,
    options: RecallOptions,
    late: bool = False,
    document: bool = False,
    utterance: bool = False,
) -> float:
    """Return the floor for a search over `count` memories: it rises with the logarithm of their number.

    Args:
        count: How many candidates of one kind there are.
        form: Of the query.
        options: Hold the floors.
        late: They have token vectors.
        document: They are pieces of documents.
        utterance: The query is something said, which shares less with what it is about than a question does.

    >>> form = QueryForm(cjk=False, embedder_knows=True)
    >>> [round(least_relevance(n, form=form, options=RecallOptions()), 2) for n in (1, 20, 400, 100_000)]
    [0.08, 0.21, 0.34, 0.34]
    """
    if form.cjk and not form.embedder_knows:
        return options.floor_words
    one = options.floor_one_late if late else options.floor_one
    if document:
        many = options.floor_document
    elif utterance:
        many = options.floor_utterance_late if late else options.floor_utterance
    else:
        many = options.floor_many_late if late else options.floor_many
    rise = min(math.log(max(count, 1)) / math.log(options.floor_size), 1.0)
    return one + (many - one) * rise


def margin(
    similarity: npt.ArrayLike,
    coverage: npt.ArrayLike,
    *,
    scale: Scale,
    form: QueryForm,
    options: RecallOptions,
    terms: int = 0,
    late: Floats | None = None,
    documents: npt.NDArray[np.bool_] | None = None,
    utterance: bool = False,
    nameless: bool = False,
) -> float:
    """Return by how much the best evidence for a query is above the floor, below 0 for a query to be refused.

    Turns with token vectors, other turns and pieces of documents are compared with a floor each, and the best counts:
    the evidence of a kind is a weighted sum of the highest similarity, the highest coverage and the highest late
    interaction in it, whoever has them.

    Args:
        similarity: Cosine of each candidate, of which there is one at least.
        coverage: Of each, the idf-weighted share of the query's terms that it holds.
        scale: Of the embedder.
        form: Of the query.
        options: Weights and floors.
        terms: Of the query; 0 for a few.
        late: Late interaction of each; NaN for one without, -inf for one that was not looked at. None without.
        documents: Which candidates are pieces of documents; None for none.
        utterance: The query is something said.
        nameless: It holds names, and no speaker has one.
    """
    covered = _covered(coverage, terms)
    if (form.cjk and not form.embedder_knows) or not scale.tells:
        return float(covered.max()) - options.floor_words
    above = np.clip(_above(similarity, scale.chance) * scale.stretch, 0.0, 1.0)
    deep = np.full(len(covered), np.nan) if late is None else late
    paper = np.zeros(len(covered), np.bool_) if documents is None else documents
    margins = []
    for chosen, has_late, document in (
        (~np.isnan(deep), True, False),
        (np.isnan(deep) & ~paper, False, False),
        (np.isnan(deep) & paper, False, True),
    ):
        if count := int(np.count_nonzero(chosen)):
            floor = least_relevance(
                count, form=form, options=options, late=has_late, document=document, utterance=utterance
            )
            floor *= options.floor_nameless if nameless and not document else 1.0
            highest = float(np.clip(deep[chosen].max(), 0.0, 1.0)) if has_late else None
            best = _mixed(float(above[chosen].max()), float(covered[chosen].max()), highest, options)
            margins.append(best - floor)
    return max(margins)


def own_margins(
    similarity: npt.ArrayLike,
    coverage: npt.ArrayLike,
    *,
    scale: Scale,
    form: QueryForm,
    options: RecallOptions,
    terms: int = 0,
    late: Floats | None = None,
    documents: npt.NDArray[np.bool_] | None = None,
) -> Floats:
    """Return by how much each candidate's own evidence is above the floor of a question; see `margin`."""
    covered = _covered(coverage, terms)
    if (form.cjk and not form.embedder_knows) or not scale.tells:
        return covered - options.floor_words
    above = np.clip(_above(similarity, scale.chance) * scale.stretch, 0.0, 1.0)
    deep = np.full(len(covered), np.nan) if late is None else late
    paper = np.zeros(len(covered), np.bool_) if documents is None else documents
    margins = np.zeros(len(covered))
    for chosen, has_late, document in (
        (~np.isnan(deep), True, False),
        (np.isnan(deep) & ~paper, False, False),
        (np.isnan(deep) & paper, False, True),
    ):
        if count := int(np.count_nonzero(chosen)):
            floor = least_relevance(count, form=form, options=options, late=has_late, document=document)
            highest = np.clip(deep[chosen], 0.0, 1.0) if has_late else None
            margins[chosen] = _mixed(above[chosen], covered[chosen], highest, options) - floor
    return margins


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
    covered = _covered(coverage, terms)
    if form.cjk and not form.embedder_knows:
        return covered
    weight = options.relevance_similarity_weight
    mixed: Floats = weight * np.clip(_above(similarity, chance), 0.0, 1.0) + (1 - weight) * covered
    return mixed


def _mixed(above: Value, covered: Value, late: Value | None, options: RecallOptions) -> Value:
    if late is None:
        weight = options.relevance_similarity_weight
        return weight * above + (1 - weight) * covered
    rest = 1 - options.relevance_late_weight
    weight = options.relevance_late_similarity_weight
    return options.relevance_late_weight * late + rest * (weight * above + (1 - weight) * covered)


def _covered(coverage: npt.ArrayLike, terms: int) -> Floats:
    covered: Floats = np.minimum(np.asarray(coverage, np.float64) * max(1.0, terms / LONG), 1.0)
    return covered


def _above(similarity: npt.ArrayLike, chance: float) -> Floats:
    above: Floats = (np.asarray(similarity, np.float64) - chance) / max(1 - chance, 1e-6)
    return above
