"""A question in, the best memories out: evidence -> fuse -> floor -> order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memreader.items import TextualMemoryItem
from memreader.ports import Embedder
from memreader.recall.floor import chance_similarity, least_relevance, relevance
from memreader.recall.fuse import QueryForm, fuse
from memreader.recall.lexical import is_mostly_cjk
from memreader.recall.options import RecallOptions
from memreader.stores import Evidence
from memreader.types import Hit


def query_form(query: str, embedder: Embedder) -> QueryForm:
    """Return what decides the balance: the query's script, and whether the embedder knows it."""
    return QueryForm(cjk=is_mostly_cjk(query), embedder_knows=not getattr(embedder, "english_only", False))


def rank(
    evidence: Evidence,
    *,
    form: QueryForm,
    embedder: Embedder,
    top_k: int,
    threshold: float | None,
    options: RecallOptions,
    fetch: Callable[[Sequence[int]], Sequence[TextualMemoryItem | None]],
) -> list[Hit]:
    """Return up to `top_k` hits, best first; [] when the query is below the floor.

    A hit's score is the query's relevance times the candidate's place between the worst (0) and the best (1) fused
    score: at most the relevance, and comparable across queries.

    Args:
        evidence: What the store found for the query.
        form: Of the query.
        embedder: The one that embedded the query.
        top_k: At most so many hits; k hits above the floor if there are k candidates.
        threshold: None for the calibrated floor, 0 for none, else the least score of a hit.
        options: Weights.
        fetch: Gives the items of database ids, None for one that is gone.
    """
    if not len(evidence.keys):
        return []
    chance = chance_similarity(embedder)
    worth = relevance(evidence.similarity, evidence.coverage, chance=chance, form=form, options=options)
    if threshold is None and worth < least_relevance(len(evidence.keys), form=form, options=options):
        return []
    fused = fuse(evidence.lexical, evidence.similarity, form=form, options=options)
    order = np.argsort(-fused, kind="stable")[:top_k]
    lowest, highest = float(fused.min()), float(fused.max())
    hits: list[Hit] = []
    for place, item in zip(order, fetch([int(evidence.keys[i]) for i in order]), strict=True):
        share = (float(fused[place]) - lowest) / (highest - lowest) if highest > lowest else 1.0
        score = worth * share
        if item is None or (threshold is not None and score < threshold):
            continue
        similarity = float(np.clip(evidence.similarity[place], -1.0, 1.0))
        parts = {
            "lexical": float(evidence.lexical[place]),
            "coverage": float(evidence.coverage[place]),
            "dense": similarity,
            "fused": float(fused[place]),
            "relevance": worth,
        }
        hits.append(Hit(item, score, similarity, parts))
    return hits
