"""A text with its dates written out."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import date, datetime

from memreader.dates.find import find_dates
from memreader.dates.found import FoundDate

_ISO = r"\d{4}(?:-\d\d(?:-\d\d)?)?"
NOTE = re.compile(rf"(?: ?\(|（){_ISO}(?: (?:to|至) {_ISO})?[)）]")
"""A date in brackets, as `annotate` writes it."""

_OPENING = "(（[【"
_POSSESSIVE = re.compile(r"['’]s\b")
_JOINT = re.compile(r"\s{0,2}[,，:：;；–—-]?\s{0,2}")
_CHINESE = re.compile("[一-鿿]")


def annotate(text: str, base: date | datetime, *, language: str) -> str:
    """Return `text` with the date, in brackets, after each expression that `find_dates` resolves.

    Left as they are: dates that name their year in figures, and expressions beside a bracket or beside such a date. So
    doing it again changes nothing.

    Args:
        base: The day when the words were said.
        language: Of the text. "zh" (or "zh-CN") makes all brackets full-width, others those after Chinese words.

    >>> annotate("She called yesterday; last week she was ill.", date(2023, 5, 8), language="en")
    'She called yesterday (2023-05-07); last week (2023-05-01 to 2023-05-07) she was ill.'
    """
    plain, notes = _without_notes(text)
    places = [place for place, _ in notes]
    removed = [0]
    for _, length in notes:
        removed.append(removed[-1] + length)
    pieces: list[str] = []
    done = 0
    dates = find_dates(plain, base)
    for i, found in enumerate(dates):
        end = found.end
        if match := _POSSESSIVE.match(plain, end):
            end = match.end()
        if not found.relative or _is_noted(plain, found.start, end, places) or _has_date_beside(plain, dates, i):
            continue
        at = end + removed[bisect_left(places, end)]
        pieces += (text[done:at], _note(found, is_chinese=language.lower().startswith("zh")))
        done = at
    return "".join((*pieces, text[done:]))


def _without_notes(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text without its notes, and of each note where in that text it stood and how long it was.

    Dates are looked for in this text, so that what is found, and so what is written, can't hang on the notes.
    """
    pieces = []
    notes = []
    done = length = 0
    for match in NOTE.finditer(text):
        pieces.append(text[done : match.start()])
        length += match.start() - done
        notes.append((length, match.end() - match.start()))
        done = match.end()
    return "".join((*pieces, text[done:])), notes


def _is_noted(plain: str, start: int, end: int, places: list[int]) -> bool:
    """Return whether a bracket stands inside the expression, or beside it with blanks between at most."""
    left = next((i for i in range(start, max(0, start - 2), -1) if not plain[i - 1].isspace()), max(0, start - 2))
    right = next((i for i in range(end, min(len(plain), end + 2)) if not plain[i].isspace()), min(len(plain), end + 2))
    if plain[right : right + 1] in tuple(_OPENING) or plain[max(0, left - 1) : left] in tuple(_OPENING):
        return True
    i = bisect_left(places, left)
    return i < len(places) and places[i] <= right


def _has_date_beside(plain: str, dates: list[FoundDate], i: int) -> bool:
    pairs = [dates[max(0, i - 1) : i + 1], dates[i : i + 2]]
    return any(
        _JOINT.fullmatch(plain, pair[0].end, pair[1].start) and not (pair[0].relative and pair[1].relative)
        for pair in pairs
        if len(pair) == 2
    )


def _note(found: FoundDate, *, is_chinese: bool) -> str:
    if is_chinese or _CHINESE.search(found.words):
        return f"（{' 至 '.join(found.bounds)}）"
    return f" ({' to '.join(found.bounds)})"
