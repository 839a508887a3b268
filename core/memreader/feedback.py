"""What the user says of a memory's use: kept for later searches, and told to the model that makes memories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memreader.embedding.batching import checked
from memreader.ports import Embedder
from memreader.recall import RecallOptions, query_form, query_weights
from memreader.recall.feedback import asked_of, strengths
from memreader.stores import Store
from memreader.stores.feedback_rows import Asked
from memreader.text import clean

AGAINST = 1.0
"""Times, decayed, that memories with a name must have been called useless for it to be named: two of them name it for
one half-life, four for two."""
FEWEST = 2
"""Times at least, decayed or not."""


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """What is kept of a memory's use."""

    id: str
    useful: int
    """How often it was called useful, this time included; of its last 256 times."""
    useless: int


def give_feedback(
    store: Store,
    embedder: Embedder,
    user_id: str,
    item_id: str,
    *,
    useful: bool,
    query: str | None,
    at: float,
    made_for: str,
) -> FeedbackReport:
    """Keep whether an item was of use, and return how often it was; see `Memory.feedback`.

    Args:
        store: Where.
        embedder: The store's.
        user_id: Whose item.
        item_id: Of the item.
        useful: Whether it was.
        query: What it was found for; its words are not kept.
        at: Seconds since 1970.
        made_for: What the store was made for when the embedder was chosen.
    """
    if not isinstance(useful, bool):
        raise TypeError(f"useful is True or False, got {type(useful).__name__}")
    asked = None if query is None else _asked(query, embedder)
    yes, no = store.feedback.write(user_id, item_id, useful=useful, at=int(at), asked=asked, embedder=made_for)
    return FeedbackReport(item_id, yes, no)


def unwanted_names(store: Store, user_id: str, *, now: float, options: RecallOptions) -> list[str]:
    """Return the names that only useless memories mention, those with most against them first, then by name.

    Every memory that mentions such a name was called useless more than useful, and all of them together twice at least;
    all decays, so that a name is forgotten again.

    Args:
        store: Where.
        user_id: Whose.
        now: Seconds since 1970.
        options: Half-life; a weight of 0 turns it off.
    """
    if not options.feedback_weight:
        return []
    given = store.feedback.of(user_id, dimension=store.dimension)
    if given is None:
        return []
    counts = strengths(given, now=now, half_life_days=options.feedback_half_life_days)
    keys, place = np.unique(given.keys, return_inverse=True)
    sums = np.bincount(place, counts[given.times], len(keys))
    useless = dict(zip(keys[sums < 0].tolist(), sums[sums < 0].tolist(), strict=True))
    times = [set(given.times[given.keys == key].tolist()) for key in useless]
    said = dict(zip(useless, times, strict=True))
    found = []
    for name, items in store.feedback.mentions(user_id, useless):
        if items <= useless.keys():
            together: set[int] = set().union(*(said[item] for item in items))
            against = -float(counts[list(together)].sum())
            if len(together) >= FEWEST and against >= AGAINST:
                found.append((-against, name))
    return [name for _, name in sorted(found)]


def _asked(query: str, embedder: Embedder) -> Asked:
    if not isinstance(query, str):
        raise TypeError(f"query is a text or None, got {type(query).__name__}")
    words = clean(query)
    if not words.strip():
        raise ValueError("query is empty; leave it out for feedback about no question")
    vector = checked(embedder.embed_query(words)[None, :], count=1, dimension=embedder.dimension)[0]
    return asked_of(query_weights(words), vector, form=query_form(words, embedder), embedder=embedder)
