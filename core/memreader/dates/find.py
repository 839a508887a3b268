"""All dates of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime

from memreader.dates.chinese import CHINESE
from memreader.dates.english import ENGLISH
from memreader.dates.explicit import ADDRESS, EXPLICIT, EXPLICIT_CHINESE
from memreader.dates.found import FoundDate, Rule

_CHINESE = re.compile("[一-鿿]")


def find_dates(text: str, base: date | datetime, *, day_only: bool = False) -> list[FoundDate]:
    """Return the dates that `text` names in English or Chinese words, in order, none overlapping another.

    Relative ones ("yesterday", 上周三) are counted from `base`; the rules are in the package's docstring. What names no
    exact date, or one outside the years 1 to 9999, is left out; nothing raises. Linear in the text.

    Args:
        base: The day when the words were said. Of a time only the date counts: the clock on the wall, no offset.
        day_only: Leave out weeks, months and other spans of more than a day.

    >>> [(f.words, f.iso) for f in find_dates("I went to the clinic last Friday.", date(2023, 5, 8))]
    [('last Friday', '2023-05-05')]
    """
    base = base.date() if isinstance(base, datetime) else base
    rules: tuple[Rule, ...] = (ADDRESS, *EXPLICIT, *ENGLISH)
    if _CHINESE.search(text):
        rules += (*EXPLICIT_CHINESE, *CHINESE)
    matches = sorted(_matches(text, rules), key=lambda each: (each[0].start(), -each[0].end()))
    dates = []
    taken = 0
    for match, rule in matches:
        if match.start() < taken:
            continue
        taken = match.end()
        found = _resolved(match, rule, base)
        if found is not None and (found.is_day or not day_only):
            dates.append(found)
    return dates


def _matches(text: str, rules: tuple[Rule, ...]) -> Iterator[tuple[re.Match[str], Rule]]:
    for rule in rules:
        for match in rule.pattern.finditer(text):
            yield match, rule


def _resolved(match: re.Match[str], rule: Rule, base: date) -> FoundDate | None:
    try:
        span = rule.resolve(match, base)
    except (ValueError, OverflowError):
        return None  # no calendar has it: text stays text
    return None if span is None else FoundDate(match[0], match.start(), match.end(), *span, relative=rule.relative)
