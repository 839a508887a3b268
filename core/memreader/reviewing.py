"""What is put under review, and ready-made answers to that: by confidence, and by words about health and money."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from memreader.items import TextualMemoryItem
from memreader.reviewing_words import HEALTH, HEALTH_CHINESE, MONEY, MONEY_CHINESE

Predicate: TypeAlias = Callable[[TextualMemoryItem], bool]
Review: TypeAlias = bool | Predicate
"""True: everything waits for approval; False: nothing does; a predicate: that for which it says so."""


def checked_review(given: Review | None, default: Review = False) -> Review:
    """Return `given`, or `default` where it is None.

    Raises:
        TypeError: It is neither a truth value nor callable.
    """
    chosen = default if given is None else given
    if not (isinstance(chosen, bool) or callable(chosen)):
        raise TypeError(f"review is True, False or a function of an item, got {type(chosen).__name__}")
    return chosen


def under_review(item: TextualMemoryItem, review: Review, *, also: bool = False) -> TextualMemoryItem:
    """Return `item` as one that waits for approval, if `review` says so; else as it is.

    Args:
        item: New.
        review: Asked for each item by itself.
        also: Whether it waits whatever `review` says.
    """
    if not (also or (review(item) if callable(review) else review)):
        return item
    metadata = item.metadata.model_copy(update={"status": "pending"})
    return item.model_copy(update={"metadata": metadata})


def low_confidence(below: float = 0.5) -> Predicate:
    """Return a predicate for items whose `confidence` is below a bound; it is 0.99 where nobody gave one.

    Args:
        below: In (0, 1].

    Raises:
        ValueError: The bound is not.

    >>> unsure = low_confidence(below=0.4)
    >>> unsure(TextualMemoryItem(memory="likes tea", metadata={"confidence": 0.3}))
    True
    """
    if not 0 < below <= 1:
        raise ValueError(f"below is above 0 and at most 1, got {below}")

    return lambda item: item.metadata.confidence < below


def health() -> Predicate:
    """Return a predicate for items whose words are about somebody's health: illnesses, treatment, medicines, symptoms.

    By cue words in English and Chinese, chosen so that they hardly ever mean anything else: it misses what is only
    hinted at ("she hasn't been herself", "I'm off work again"), names of medicines and rare illnesses that it doesn't
    know, misspellings, and every other language. "Sick of it", "heart of the city" and a "viral video" are none.
    """
    return _speaks_of(HEALTH, HEALTH_CHINESE)


def money() -> Predicate:
    """Return a predicate for items whose words are about somebody's money: income, debt, accounts, taxes, amounts.

    By cue words in English and Chinese, and by sums that somebody earns, pays, owes or saves, chosen so that they
    hardly ever mean anything else: it misses what is only hinted at ("things are tight this month"), prices of things,
    sums without a currency, and every other language. "River bank", "give credit" and "owes me an apology" are none.
    """
    return _speaks_of(MONEY, MONEY_CHINESE)


def any_of(*predicates: Predicate) -> Predicate:
    """Return a predicate that holds where any of these does; of none, nowhere.

    >>> any_of(health(), money())(TextualMemoryItem(memory="My salary was raised."))
    True
    """
    return lambda item: any(predicate(item) for predicate in predicates)


def _speaks_of(english: str, chinese: str) -> Predicate:
    cues = re.compile(rf"(?<![\w-])(?:{english})(?![\w-])|{chinese}", re.IGNORECASE)

    return lambda item: cues.search(item.memory.replace("’", "'")) is not None
