"""A question in, the best memories out: evidence -> fuse -> floor -> order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from memreader.items import TextualMemoryItem
from memreader.ports import Embedder
from memreader.recall.expansion import Reached, expanded
from memreader.recall.feedback import Moves
from memreader.recall.floor import margin, own_margins, relevance, scale_of
from memreader.recall.fuse import Floats, QueryForm, fuse
from memreader.recall.highest import highest
from memreader.recall.lexical import is_mostly_cjk
from memreader.recall.options import RecallOptions
from memreader.recall.question import Question
from memreader.records import Keys
from memreader.stores import Evidence
from memreader.traits import IN_DOCUMENT
from memreader.types import Hit

LOOK_AHEAD = 10
"""Times k candidates are looked through for k with different words."""

Likely: TypeAlias = Callable[[], Floats]

Late: TypeAlias = Callable[[Keys, Likely], Floats | None]

Fetch: TypeAlias = Callable[[Keys], Sequence[TextualMemoryItem | None]]
"""Numbers of items in, items out, in order; None for one that is gone."""


def check_search(query: str, *, top_k: int, threshold: float | None, recall: str, session_id: str | None) -> None:
    """Raise what an impossible search deserves (TypeError or ValueError); see `Memory.search`."""
    if not isinstance(query, str):
        raise TypeError(f"query must be a string, got {type(query).__name__}")
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise TypeError(f"top_k must be a whole number, got {top_k!r}")
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    if threshold is not None and not isinstance(threshold, int | float):
        raise TypeError(f"threshold must be a number or None, got {threshold!r}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold}")
    if recall not in ("user", "session"):
        raise ValueError(f"recall must be 'user' or 'session', got {recall!r}")
    if recall == "session" and session_id is None:
        raise ValueError("recall='session' needs a session_id")


def query_form(query: str, embedder: Embedder) -> QueryForm:
    """Return what decides the balance: the query's script, and whether the embedder knows it."""
    return QueryForm(cjk=is_mostly_cjk(query), embedder_knows=not getattr(embedder, "english_only", False))


def rank(
    evidence: Evidence,
    *,
    question: Question,
    form: QueryForm,
    embedder: Embedder,
    top_k: int,
    threshold: float | None,
    options: RecallOptions,
    fetch: Fetch,
    terms: int = 0,
    late: Late | None = None,
    reached: Reached | None = None,
    feedback: Moves | None = None,
) -> list[Hit]:
    """Return up to `top_k` hits, best first; [] when the query is below the floor.

    A hit's score is its own relevance, comparable across queries, or that of a hit after it if that is more: the order
    is the fusion's, with repeats of the same words last, and scores never rise along it. By how much the best evidence
    of all is above the calibrated floor is the "margin" among each hit's parts.

    Args:
        evidence: What the store found for the query.
        question: What it asks for.
        form: Of the query.
        embedder: The one that embedded the query.
        top_k: At most so many hits; k above the floor if there are k candidates.
        threshold: None for the calibrated floor, 0 for none, else the least score of a hit.
        options: Weights.
        fetch: Gives the items of numbers, None for one that is gone.
        terms: How many the query has; 0 for a few.
        late: Gives the late interaction of candidates, given their numbers and what says how likely each is.
        reached: Asks the graph where candidates lead to; None: nothing is gained by it.
        feedback: Gives what is said of candidates' use, given their numbers: it orders, and touches no floor or score.
    """
    if not len(evidence.keys):
        return []
    scale = scale_of(embedder)
    fused_with = partial(fuse, evidence, question, form=form, options=options)
    deep = None
    if late is not None and not form.cjk:
        deep = _late_of_turns(late, evidence, lambda: fused_with()[0])
    kinds: dict[str, Any] = {"late": deep, "documents": evidence.around.marks & IN_DOCUMENT != 0}
    reading: dict[str, Any] = {"scale": scale, "form": form, "options": options, "terms": terms}
    above = margin(
        evidence.similarity,
        evidence.coverage,
        **reading,
        **kinds,
        utterance=question.utterance,
        nameless=bool(question.names) and not evidence.around.names,
    )
    if threshold is None and above < 0:
        return []
    fused, contributions = fused_with(late=deep)
    if reached is not None and options.expansion > 0 and not question.utterance:
        own = own_margins(evidence.similarity, evidence.coverage, **reading, **kinds)
        after = expanded(fused, own, evidence.keys, question=question, options=options, reached=reached)
        fused, contributions = after, contributions | {"expansion": after - fused}
    if feedback is not None:
        contributions["feedback"] = feedback(evidence.keys)
        fused = fused + contributions["feedback"]
    worth = relevance(
        evidence.similarity, evidence.coverage, chance=scale.chance, form=form, options=options, terms=terms
    )
    # An archive, or an index made anew, has the same items in another order.
    order = highest(fused, LOOK_AHEAD * top_k, ties=evidence.keys).tolist()
    hits: list[Hit] = []
    varied = _varied(order, evidence, fetch, top_k)
    scores = [float(worth[[found.place, *found.raw.values()]].max()) for found in varied]
    for place in range(len(scores) - 2, -1, -1):
        scores[place] = max(scores[place], scores[place + 1])
    for found, score in zip(varied, scores, strict=True):
        place = found.place
        if threshold is not None and score < threshold:
            break
        similarity = float(np.clip(evidence.similarity[place], -1.0, 1.0))
        parts = {
            "lexical": float(evidence.lexical[place]),
            "coverage": float(evidence.coverage[place]),
            "dense": similarity,
            "fused": float(fused[place]),
            "relevance": float(worth[place]),
            "margin": above,
            **{name: float(values[place]) for name, values in contributions.items()},
        }
        hits.append(Hit(found.item, score, similarity, parts, tuple(found.raw)))
    return hits


def _late_of_turns(late: Late, evidence: Evidence, likely: Likely) -> Floats | None:
    """Return the late interaction of each candidate, NaN for pieces of documents, which have none; None without."""
    turns = np.flatnonzero(evidence.around.marks & IN_DOCUMENT == 0)
    found = late(evidence.keys[turns], lambda: likely()[turns])
    if found is None:
        return None
    deep = np.full(len(evidence.keys), np.nan)
    deep[turns] = found
    return deep


@dataclass(slots=True)
class _Found:
    """A candidate that becomes a hit."""

    place: int
    item: TextualMemoryItem
    raw: dict[str, int] = field(default_factory=dict)
    """Raw items that it was made from and that are found too: id -> place."""


def _varied(order: Sequence[int], evidence: Evidence, fetch: Fetch, count: int) -> list[_Found]:
    """Return up to `count` candidates with their items, best first; what repeats the words of a better one comes last.

    A question asked six times must not take six places before its answer; but if there is nothing else, it does. A raw
    item stands under what was made of it: the first of these takes the better place of both.
    """
    varied: list[_Found] = []
    repeats: list[_Found] = []
    words: set[str] = set()
    for start in range(0, min(len(order), LOOK_AHEAD * count), count):
        part = order[start : start + count]
        for place, item in zip(part, fetch(evidence.keys[part]), strict=True):
            if item is not None and not _joins(place, item, varied):
                (repeats if item.memory in words else varied).append(_Found(place, item, _shared(item, varied)))
                words.add(item.memory)
        if len(varied) >= count:
            break
    return (varied + repeats)[:count]


def _shared(item: TextualMemoryItem, found: list[_Found]) -> dict[str, int]:
    """Return the raw items that stand under others already and that this one was made from, too."""
    parents = set(item.metadata.evolve_from)
    return {raw: place for one in found for raw, place in one.raw.items() if raw in parents}


def _joins(place: int, item: TextualMemoryItem, found: list[_Found]) -> bool:
    """Return whether an item goes together with one that was found before, and put it there."""
    if children := set(item.metadata.evolve_to):
        above = [one for one in found if one.item.id in children]
        for one in above:
            one.raw[item.id] = place
        return bool(above)
    if parents := set(item.metadata.evolve_from):
        for one in found:
            if one.item.id in parents:
                one.raw[one.item.id] = one.place
                one.item, one.place = item, place
                return True
    return False
