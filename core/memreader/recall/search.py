"""A question in, the best memories out: evidence -> fuse -> floor -> order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

import numpy as np

from memreader.items import TextualMemoryItem
from memreader.ports import Embedder
from memreader.recall.floor import chance_similarity, least_relevance, relevance
from memreader.recall.fuse import QueryForm, fuse
from memreader.recall.lexical import is_mostly_cjk
from memreader.recall.options import RecallOptions
from memreader.stores import Evidence
from memreader.types import Hit

Fetch: TypeAlias = Callable[[Sequence[int]], Sequence[TextualMemoryItem | None]]
"""Database ids in, items out, in order; None for one that is gone."""


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
    fetch: Fetch,
) -> list[Hit]:
    """Return up to `top_k` hits, best first; [] when the query is below the floor.

    A hit's score is its own relevance, comparable across queries, or that of the hit before it if that is less: the
    order is the fusion's, and scores never rise along it.

    Args:
        evidence: What the store found for the query.
        form: Of the query.
        embedder: The one that embedded the query.
        top_k: At most so many hits; k above the floor if there are k candidates with different words.
        threshold: None for the calibrated floor, 0 for none, else the least score of a hit.
        options: Weights.
        fetch: Gives the items of database ids, None for one that is gone.
    """
    if not len(evidence.keys):
        return []
    chance = chance_similarity(embedder)
    worth = relevance(evidence.similarity, evidence.coverage, chance=chance, form=form, options=options)
    if threshold is None and worth.max() < least_relevance(len(worth), form=form, options=options):
        return []
    fused = fuse(evidence.lexical, evidence.similarity, form=form, options=options)
    order = np.argsort(-fused, kind="stable")
    scores = np.minimum.accumulate(worth[order])
    hits: list[Hit] = []
    for place, score, item in _distinct(zip(order.tolist(), scores.tolist(), strict=True), evidence, fetch, top_k):
        if threshold is not None and score < threshold:
            break
        similarity = float(np.clip(evidence.similarity[place], -1.0, 1.0))
        parts = {
            "lexical": float(evidence.lexical[place]),
            "coverage": float(evidence.coverage[place]),
            "dense": similarity,
            "fused": float(fused[place]),
            "relevance": float(worth[place]),
        }
        hits.append(Hit(item, score, similarity, parts))
    return hits


def _distinct(
    ordered: Iterable[tuple[int, float]], evidence: Evidence, fetch: Fetch, count: int
) -> Iterator[tuple[int, float, TextualMemoryItem]]:
    """Yield up to `count` candidates with their items, in order; of those with the same words only the first.

    A question asked six times must not take six places: its repeats hide the answer.
    """
    remaining = iter(ordered)
    count = min(count, len(evidence.keys))
    words: set[str] = set()
    while len(words) < count and (part := list(islice(remaining, count - len(words)))):
        for (place, score), item in zip(part, fetch([int(evidence.keys[place]) for place, _ in part]), strict=True):
            if item is not None and item.memory not in words:
                words.add(item.memory)
                yield place, score, item
