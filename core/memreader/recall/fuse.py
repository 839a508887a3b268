"""All evidence into one order: words, vectors, and what stands around a memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memreader.recall.features import Parts, asked_before, circumstances, has, spread, structure
from memreader.recall.options import RecallOptions
from memreader.recall.question import Question
from memreader.stores import Evidence
from memreader.traits import IN_DOCUMENT

BEST = 10
"""Turns that a document's piece is compared with."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QueryForm:
    """What decides the balance between words and vectors."""

    cjk: bool
    """The query is mostly Chinese, Japanese or Korean."""
    embedder_knows: bool
    """The embedder was trained on the query's language."""


def fuse(evidence: Evidence, question: Question, *, form: QueryForm, options: RecallOptions) -> tuple[Floats, Parts]:
    """Return one score per candidate, higher is better, and the contributions that it is the sum of, by name.

    A question is answered by what was said and by what stands around it; something said (a chat turn as a query) only
    by what it resembles. Equal evidence gives equal scores.
    """
    words = asked_before(evidence.lexical, evidence.around, options.question_before)
    highest = words.max(initial=0.0)
    words = words / highest if highest > 0 else words
    similarity = spread(evidence.similarity.astype(np.float64))
    dense = _dense_weight(form, options)
    if question.utterance:
        parts: Parts = {
            "words": options.utterance_lexical * words,
            "vectors": options.utterance_dense * _share(form, options) * similarity,
        }
    else:
        comb = options.comb_lexical * words + options.comb_spread * spread(words)
        comb += options.comb_dense * dense * similarity
        told = {
            **structure(comb, evidence.group, evidence.around, question, options),
            **circumstances(evidence.around, question, options),
        }
        document = has(evidence.around, IN_DOCUMENT) > 0
        knows = form.embedder_knows or not form.cjk
        lexical = np.where(document & knows, options.document_lexical, options.lexical_weight)
        vectors = np.where(document, options.document_dense / (options.dense_weight or 1.0), 1.0) * dense
        own = {"words": lexical * words, "vectors": vectors * similarity}
        parts = own | _of_turns(told, document, own["words"] + own["vectors"])
    return sum(parts.values(), np.zeros(len(evidence.keys))), parts


def _of_turns(parts: Parts, document: npt.NDArray[np.bool_], own: Floats) -> Parts:
    """Return contributions that only turns have; a piece of a document gets the average of what the best turns do.

    Args:
        parts: Contributions, of turns and documents alike.
        document: Which candidates are pieces of documents.
        own: Score of each candidate without these.
    """
    if not document.any():
        return parts
    turns = np.flatnonzero(~document)
    best = turns[np.argsort(-own[turns], kind="stable")[:BEST]]
    average = float(sum((values[best].mean() for values in parts.values()), 0.0)) if len(best) else 0.0
    kept = {name: np.where(document, 0.0, values) for name, values in parts.items()}
    return kept | {"kind": np.where(document, average, 0.0)}


def _share(form: QueryForm, options: RecallOptions) -> float:
    """Return how much the vectors of something said count, of what they do where the embedder knows the language."""
    if not options.dense_weight:
        return 0.0
    return options.dense_weight_unknown if form.cjk and not form.embedder_knows else 1.0


def _dense_weight(form: QueryForm, options: RecallOptions) -> float:
    if not form.cjk:
        return options.dense_weight
    return options.dense_weight_cjk if form.embedder_knows else options.dense_weight_unknown
