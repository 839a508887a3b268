"""Hits in the order of a model that reads the question and each of them together; only if the caller gives one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from memreader.errors import InvalidScoresError
from memreader.ports import Reranker
from memreader.types import Hit


def rerank_hits(query: str, hits: Sequence[Hit], reranker: Reranker, *, keep: int) -> list[Hit]:
    """Return the `keep` hits that the reranker thinks best, best first; of equal ones the one that was before.

    What it says is in `parts["rerank"]`, on its own scale. A hit's score stays what it is in every search, its own
    relevance or that of the hit before it if that is less: in [0, 1], and never rising along the new order.

    Args:
        query: As it was searched for.
        hits: Best first. With none, the reranker is not asked.
        reranker: Reads the words of the items.
        keep: At most so many are returned.

    Raises:
        ValueError: `keep` is less than 1.
        InvalidScoresError: There is not one finite score per hit. What the reranker itself raises is passed on.
    """
    if keep < 1:
        raise ValueError(f"keep must be at least 1, got {keep}")
    if not hits:
        return []
    scores = _checked(reranker, reranker.rerank(query, [hit.item.memory for hit in hits]), len(hits))
    order = sorted(range(len(hits)), key=lambda place: -scores[place])
    ranked: list[Hit] = []
    least = 1.0
    for place in order[:keep]:
        hit = hits[place]
        # The score may be that of a better hit before it, which now stands elsewhere.
        least = min(least, max(hit.score, hit.parts.get("relevance", 0.0)))
        ranked.append(replace(hit, score=least, parts={**hit.parts, "rerank": scores[place]}))
    return ranked


def _checked(reranker: Reranker, given: Sequence[float], count: int) -> list[float]:
    try:
        scores = [float(score) for score in given]
    except (TypeError, ValueError) as error:
        problem = f"returned no numbers ({type(error).__name__})"
        raise InvalidScoresError(reranker=reranker.name, problem=problem) from error
    if len(scores) != count:
        raise InvalidScoresError(reranker=reranker.name, problem=f"returned {len(scores)} for {count} texts")
    wrong = [place for place, score in enumerate(scores) if not math.isfinite(score)]
    if wrong:
        raise InvalidScoresError(reranker=reranker.name, problem=f"score {wrong[0]} is {scores[wrong[0]]}")
    return scores
