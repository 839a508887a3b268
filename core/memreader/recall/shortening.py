"""A text cut to what there is room for: after a sentence where one fits, else after a clause or a word."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

from memreader.chunking.boundaries import (
    CLAUSE,
    WORD,
    character_end,
    goes_on,
    last_match,
    sentence_ends,
    sentence_starts,
)

ELLIPSIS = "…"
LEAST_CHARACTERS = 24
"""A sentence shorter than that ("Wow!") says too little alone; then what follows is cut inside its sentence."""

Fits: TypeAlias = Callable[[str], bool]
"""Whether there is room for a text; what it has room for, it has room for in part."""


def beginning(text: str, fits: Fits, *, reach: int | None = None) -> str | None:
    """Return the first sentences of `text` that fit, and an ellipsis; None if next to nothing does.

    Where no sentence of some length fits, the cut is after a clause or a word, at least `LEAST_CHARACTERS` long.

    Args:
        text: Any text that doesn't fit.
        fits: See `Fits`; asked for a few beginnings, the ellipsis included.
        reach: No more than so many characters can fit; None where that isn't known.

    >>> beginning("We moved to Porto in May. My sister had found a house.", lambda text: len(text) < 40)
    'We moved to Porto in May. …'
    """
    reach = len(text) if reach is None else reach
    ends = [end for end in sentence_ends(text).tolist() if end <= reach and not goes_on(text, end)]
    whole = _last(text, ends, fits)
    if len(whole) >= LEAST_CHARACTERS:
        return _open_end(whole)
    words = _words(text[:reach], fits)
    best = words if len(words) >= LEAST_CHARACTERS else whole
    return _open_end(best) if best else None


def ending(text: str, fits: Fits) -> str | None:
    """Return an ellipsis and the last sentences of `text` that fit; None if not even the last one does.

    >>> ending("I have news for you. Where do you live now?", lambda text: len(text) < 30)
    '… Where do you live now?'
    """
    starts = sentence_starts(text.rstrip()).tolist()[:-1]
    place = bisect_left(starts, True, key=lambda start: fits(_open_start(text[start:])))
    return _open_start(text[starts[place] :]) if place < len(starts) else None


def _open_end(text: str) -> str:
    return f"{text} {ELLIPSIS}"


def _open_start(text: str) -> str:
    return f"{ELLIPSIS} {text.strip()}"


def _last(text: str, ends: Sequence[int], fits: Fits) -> str:
    """Return `text` up to the last of `ends` at which it fits, an ellipsis included; "" if there is none."""
    place = bisect_left(ends, True, key=lambda end: not fits(_open_end(text[:end].strip())))
    # A part may have a token more than the whole it is cut from.
    while place and not fits(_open_end(text[: ends[place - 1]].strip())):
        place -= 1
    return text[: ends[place - 1]].strip() if place else ""


def _words(text: str, fits: Fits) -> str:
    """Return as much of `text` as fits, cut after a clause if that loses less than half, else a word or character."""
    reach = len(_last(text, range(1, len(text) + 1), fits)) + len(text) - len(text.lstrip())
    end = last_match(CLAUSE, text, reach // 2, reach) or last_match(WORD, text, reach // 2, reach)
    cut = text[: end or character_end(text, 0, reach)].strip()
    return cut if fits(_open_end(cut)) else ""
