"""A date that was found, and what a rule for finding dates is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from memreader.dates.spans import Span, month_of, year_of


@dataclass(frozen=True, slots=True)
class FoundDate:
    """Words that name a day or a span of days, and which: `text[start:end] == words`, `first <= last`."""

    words: str
    start: int
    end: int
    first: date
    last: date
    relative: bool = True
    """Which day it is hangs on when the words were said; False if they name the year in figures."""

    @property
    def is_day(self) -> bool:
        """Whether it is one day."""
        return self.first == self.last

    @property
    def iso(self) -> str:
        """ISO 8601: `2023-05-07`, a whole month `2023-04`, a whole year `2022`, else `2023-05-01/2023-05-07`."""
        return "/".join(self.bounds)

    @property
    def bounds(self) -> tuple[str, ...]:
        """What `iso` joins: one string, or the first and the last day."""
        span = (self.first, self.last)
        if self.is_day:
            return (self.first.isoformat(),)
        if span == year_of(self.first.year):
            return (self.first.isoformat()[:4],)
        if span == month_of(self.first.year, self.first.month):
            return (self.first.isoformat()[:7],)
        return (self.first.isoformat(), self.last.isoformat())


Resolve = Callable[[re.Match[str], date], Span | None]
"""Gets a match and the day it was said on; None when the words turn out to name no date.
ValueError and OverflowError: a date that no calendar has."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One form of dates. What it matches is taken, also when it resolves to None: no other rule reads a part of it."""

    pattern: re.Pattern[str]
    resolve: Resolve
    relative: bool = True


def before(match: re.Match[str], length: int) -> str:
    """Return the `length` characters, at most, that stand before the match."""
    return match.string[max(0, match.start() - length) : match.start()]
