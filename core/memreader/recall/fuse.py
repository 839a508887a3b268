"""All evidence into one order: words, vectors, late interaction, and what stands around a memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memreader.recall.features import Parts, asked_before, circumstances, has, spread, structure
from memreader.recall.options import RecallOptions, Weights
from memreader.recall.question import Question
from memreader.records import Keys
from memreader.stores import Evidence
from memreader.traits import IN_DOCUMENT

Floats = npt.NDArray[np.float64]

BEST = 5
"""Turns that a document's piece is compared with."""


@dataclass(frozen=True, slots=True)
class QueryForm:
    """What decides the balance between words and vectors."""

    cjk: bool
    """The query is mostly Chinese, Japanese or Korean."""
    embedder_knows: bool
    """The embedder was trained on the query's language."""


def fuse(
    evidence: Evidence, question: Question, *, form: QueryForm, options: RecallOptions, late: Floats | None = None
) -> tuple[Floats, Parts]:
    """Return one score per candidate, higher is better, and the contributions that it is the sum of, by name.

    A question is answered by what was said and by what stands around it; something said (a chat turn as a query) only
    by what it resembles. Equal evidence gives equal scores.

    Args:
        evidence: What the store found.
        question: What is asked for.
        form: Of the query.
        options: Weights.
        late: Late interaction of each candidate; NaN for one that has none, whose vector counts in its place; -inf for
            one that was not looked at, since others are likelier. None without.
    """
    weights = options.plain if late is None else options.late
    words = asked_before(evidence.lexical, evidence.around, weights.question_before)
    highest = words.max(initial=0.0)
    words = words / highest if highest > 0 else words
    similarity = spread(evidence.similarity.astype(np.float64))
    deep = np.zeros(len(words)) if late is None else _spread_known(late, similarity)
    if question.utterance:
        parts: Parts = {
            "words": options.utterance_lexical * words,
            "vectors": options.utterance_dense * _share(form, options) * similarity,
        }
        if late is not None:
            parts["late"] = options.utterance_late * deep
    else:
        parts = _of_question(evidence, question, words, similarity, deep, form, options, weights)
    return sum(parts.values(), np.zeros(len(evidence.keys))), parts


def _of_question(
    evidence: Evidence,
    question: Question,
    words: Floats,
    similarity: Floats,
    deep: Floats,
    form: QueryForm,
    options: RecallOptions,
    weights: Weights,
) -> Parts:
    around = evidence.around
    dense = _dense_weight(form, options, weights)
    comb = weights.comb_lexical * words + weights.comb_spread * spread(words)
    comb = comb + weights.comb_dense * dense * similarity + weights.comb_late * deep
    told = {
        **structure(comb, evidence.group, around, question, weights),
        **circumstances(around, question, weights, many=options.floor_size),
    }
    document = has(around, IN_DOCUMENT) > 0
    knows = form.embedder_knows or not form.cjk
    covering = document & knows
    lexical = np.where(covering, options.document_lexical, weights.lexical_weight)
    # A piece of a document has no late interaction, so it has its vector in full whatever turns have.
    whole = _dense_weight(form, options, options.plain) / (options.plain.dense_weight or 1.0) * options.document_dense
    own = {
        "words": lexical * words + np.where(covering, options.document_coverage * evidence.coverage, 0.0),
        "vectors": np.where(document, whole, dense) * similarity,
        "late": np.where(document, 0.0, weights.late_weight * deep),
    }
    return own | _of_turns(told, document, own["words"] + own["vectors"] + own["late"], evidence.keys)


def _of_turns(parts: Parts, document: npt.NDArray[np.bool_], own: Floats, keys: Keys) -> Parts:
    """Return contributions that only turns have; a piece of a document gets the average of what the best turns do.

    Args:
        parts: Contributions, of turns and documents alike.
        document: Which candidates are pieces of documents.
        own: Score of each candidate without these.
        keys: Numbers of the candidates: of equal ones the first added is the better.
    """
    if not document.any():
        return parts
    turns = np.flatnonzero(~document)
    best = turns[np.lexsort((keys[turns], -own[turns]))[:BEST]]
    average = float(sum((values[best].mean() for values in parts.values()), 0.0)) if len(best) else 0.0
    kept = {name: np.where(document, 0.0, values) for name, values in parts.items()}
    return kept | {"kind": np.where(document, average, 0.0)}


def _spread_known(values: Floats, otherwise: Floats) -> Floats:
    """Return `spread` of the finite values; `otherwise` for a NaN, and the least of them for -inf."""
    known = np.isfinite(values)
    found = spread(values[known])
    out = np.where(np.isnan(values), otherwise, found.min(initial=0.0))
    out[known] = found
    return out


def _share(form: QueryForm, options: RecallOptions) -> float:
    """Return how much the vectors of something said count, of what they do where the embedder knows the language."""
    if not options.plain.dense_weight:
        return 0.0
    return options.dense_weight_unknown if form.cjk and not form.embedder_knows else 1.0


def _dense_weight(form: QueryForm, options: RecallOptions, weights: Weights) -> float:
    if not form.cjk:
        return weights.dense_weight
    return options.dense_weight_cjk if form.embedder_knows else options.dense_weight_unknown
