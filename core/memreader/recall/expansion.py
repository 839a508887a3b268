"""One hop through the graph: what the best evidence mentions, and who else mentions it.

It only lifts memories that the search allows anyway, and none above one that speaks for itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.recall.fuse import Floats
from memreader.recall.highest import highest
from memreader.recall.options import RecallOptions
from memreader.recall.question import Question
from memreader.records import Keys, Link
from memreader.spelling import entity_key

SEEDS = 10
"""Memories that are started from, at most."""
ENTITIES = 24
"""Entities that are followed, at most."""
HUB = 64
"""Memories above which an entity leads nowhere: what everything mentions tells nothing."""
RELATED = 0.5
"""What a step along a relation counts for, of what the same entity does."""

Reached: TypeAlias = Callable[[Keys], Sequence[Link]]
"""Numbers of items in, what leads from them to others out."""


def share_of(question: Question) -> str:
    """Return which weight a question takes: "utterance", "specific" or "open"."""
    if question.utterance:
        return "utterance"
    one = question.when or question.how_many or question.who or question.where
    return "specific" if one and not (question.list or question.infer) else "open"


def expanded(
    fused: Floats, own: Floats, keys: Keys, *, question: Question, options: RecallOptions, reached: Reached
) -> Floats:
    """Return the scores with what each candidate gains by the graph.

    A candidate gains by what the best ones mention, if it mentions that, too: for each such entity the strength of the
    best one (its evidence above the floor, of the most there is) divided by log2(1 + how many memories mention it), in
    all 1 at most, times the weight of such a question. Whom the question names is left out, as the words have found
    that, but not under another name.

    The law: no candidate comes to stand above one that stood above it and whose own evidence is not below the floor.

    Args:
        fused: Score of each candidate by its own evidence and what stands around it.
        own: By how much each one's own evidence is above the floor.
        keys: Numbers of the candidates.
        question: What is asked for.
        options: Weights.
        reached: Asks the graph.
    """
    form = share_of(question)
    weight = options.expansion * (options.expansion_specific if form == "specific" else 1.0)
    seeds = [place for place in highest(fused, SEEDS).tolist() if own[place] >= 0] if len(fused) else []
    if form == "utterance" or weight <= 0 or not seeds:
        return fused
    most = float(own[seeds].max())
    strength = {int(keys[place]): (0.5 + 0.5 * float(own[place]) / most if most else 1.0) for place in seeds}
    gain = _gains(reached(keys[seeds]), strength, keys, question)
    return _below_evidence(fused, weight * gain, own >= 0)


def _gains(links: Sequence[Link], strength: dict[int, float], keys: Keys, question: Question) -> Floats:
    gain = np.zeros(len(keys))
    followed = [link for link in links if 1 < len(link.items) <= HUB and not _named(link, question)]
    numbers = {number for link in followed for number in (*link.items, *link.by)}
    if not numbers:
        return gain
    there = np.flatnonzero(np.isin(keys, np.fromiter(numbers, np.int64, len(numbers))))
    place_of = dict(zip(keys[there].tolist(), there.tolist(), strict=True))
    for link in followed:
        if link.by and not link.by & place_of.keys():
            # Related only by what this search does not see.
            continue
        step = max(strength.get(seed, 0.0) for seed in link.seeds) / math.log2(1 + len(link.items))
        for number in link.items:
            if number in place_of and (link.by or link.seeds != {number}):
                gain[place_of[number]] += step * (RELATED if link.by else 1.0)
    return np.minimum(gain, 1.0)


def _named(link: Link, question: Question) -> bool:
    """Return whether the question names an entity by the only name that it has."""
    return len(link.keys) == 1 and f" {link.keys[0]} " in _spaced(question.text)


def _spaced(text: str) -> str:
    return f" {' '.join(entity_key(word) for word in text.split())} "


def _below_evidence(before: Floats, gain: Floats, stands: npt.NDArray[np.bool_]) -> Floats:
    """Return the scores with what each gains, below the lowest score that stands and was not below its own.

    Args:
        before: Scores.
        gain: Of each, not below 0.
        stands: Which of them bar those below.
    """
    after = before.copy()
    places = np.flatnonzero(gain)
    bars = np.append(np.sort(before[stands]), np.inf)
    # Its own score is no bar to one that stands itself.
    bar = bars[np.searchsorted(bars, before[places]) + stands[places]]
    after[places] = np.maximum(before[places], np.minimum(before[places] + gain[places], np.nextafter(bar, -np.inf)))
    return after
