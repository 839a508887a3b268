"""The dates that a question names, and how near to them a day is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain

import numpy as np
import numpy.typing as npt

from memreader.dates import FoundDate, find_dates
from memreader.dates.numerals import NUMERAL, numeral_value
from memreader.dates.spans import month_of, season_of, year_of
from memreader.dates.words import season_number

Days = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

NEXT_MONTH = 0.3
"""Worth of a day in the month after the one that is named: people tell of things later."""
ONLY_YEAR = 0.3
"""Worth of a day in the year that is named, without a month."""
SLOPE_DAYS = 4.0
"""Over so many days from the one that is named, what a day is worth falls to 1/e."""

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """A month, with or without its day and its year, or a year alone: what was named in figures or by name."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Ordinals of the first and the last day of a span that isn't a calendar month or year."""

    first: int
    last: int


NamedDate = CalendarDate | DaySpan

_NAMES = "january february march april may june july august september october november december".split()
_SHORT = {"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"}
_PEOPLE_TOO = {"march", "april", "may", "june", "august"} | _SHORT
"""A name or another word, unless a preposition or a number stands beside it."""

_BEFORE = (
    r"(?P<before>\b(?:in|during|since|until|till|through|around|before|after|between|by|early|late|mid|last|this|next|past"
    r"|every|each|(?:end|beginning|start|middle|month)\sof)[\s-])?"
)
_MONTH = re.compile(
    rf"{_BEFORE}(?:\bthe\s)?(?:(?<![\d.,:/-])(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?)?"
    rf"\b(?P<month>{'|'.join(_NAMES)}|{'|'.join(sorted(_SHORT, reverse=True))})\b\.?"
    r"(?:\s(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?![\d:%]|\s?[ap]m\b))?(?:,?\s(?:of\s)?(?P<year>(?:19|20)\d\d)(?!\d))?",
    re.IGNORECASE,
)
_SEASON = re.compile(
    r"\b(?P<season>spring|summer|autumn|fall|winter)\s(?:of\s)?(?P<year>(?:19|20)\d\d)(?![\d-])", re.IGNORECASE
)
_YEAR = re.compile(
    r"(?<![\w.,/$€£¥#:-])(?P<year>(?:19|20)\d\d)(?![\w/%-]|[.,:]\d|\s?(?:dollars?|euros?|pounds?|yuan|usd|eur|km|miles?|steps?|people|元|块|人|米)(?![a-z]))",
    re.IGNORECASE,
)
_CHINESE_MONTH = re.compile(
    rf"(?<![\d{NUMERAL}.个個几幾])(?P<month>\d{{1,2}}|[{NUMERAL}]{{1,3}})\s?月(?![亮球光饼餅薪租票费費供])份?"
    rf"(?:\s?(?P<day>\d{{1,2}}|[{NUMERAL}]{{1,3}})\s?[日号號])?"
)


def dates_in(text: str, today: date | None) -> tuple[NamedDate, ...]:
    """Return the dates that a question names, in English or Chinese, in no order.

    A month and a day without a year are those of any year. Relative dates (last summer, 两周前) are counted from
    `today` by the rules of `memreader.dates`; without it they are left out. A year alone counts only where no month is
    named.

    >>> dates_in("What did Ana do on 7 May 2023?", None)
    (CalendarDate(year=2023, month=5, day=7),)
    >>> dates_in("她五月份去哪儿了？", None)
    (CalendarDate(year=None, month=5, day=None),)
    >>> dates_in("May I ask what April said two weeks ago?", date(2023, 5, 24))
    (DaySpan(first=738648, last=738654),)
    """
    text = " ".join(text.split())
    found = [each for each in find_dates(text, today or date(2000, 1, 1)) if today or not each.relative]
    named = [
        (start, end, calendar)
        for start, end, calendar in chain(_english_months(text), _chinese_months(text))
        if not any(each.start <= start and end <= each.end and each.end - each.start > end - start for each in found)
    ]
    dates: list[NamedDate] = [calendar for _, _, calendar in named]
    free = [each for each in found if not any(each.start < end and start < each.end for start, end, _ in named)]
    dates += map(_of_found, free)
    taken = [(each.start, each.end) for each in free] + [(start, end) for start, end, _ in named]
    for match in _SEASON.finditer(text):
        first, last = season_of(int(match["year"]), season_number(match["season"]))
        dates.append(DaySpan(first.toordinal(), last.toordinal()))
        taken.append(match.span())
    if not taken:
        dates += [CalendarDate(int(match["year"])) for match in _YEAR.finditer(text)]
    return tuple(dict.fromkeys(dates))


def _english_months(text: str) -> list[tuple[int, int, CalendarDate]]:
    """Return start, end and meaning of the months in English words."""
    months = []
    for match in _MONTH.finditer(text):
        word = match["month"].lower()
        day = match["d1"] or match["d2"]
        if word in _PEOPLE_TOO and not (day or match["year"] or match["before"]):
            continue
        if day and not 1 <= int(day) <= 31:
            day = None
        number = next(i for i, name in enumerate(_NAMES, start=1) if name.startswith(word[:3]))
        start = match.end("before") if match["before"] else match.start()
        months.append((start, match.end(), CalendarDate(_number(match["year"]), number, _number(day))))
    return months


def _chinese_months(text: str) -> list[tuple[int, int, CalendarDate]]:
    months = []
    for match in _CHINESE_MONTH.finditer(text):
        month, day = numeral_value(match["month"]), numeral_value(match["day"]) if match["day"] else None
        if month in range(1, 13) and (day is None or day in range(1, 32)):
            months.append((match.start(), match.end(), CalendarDate(None, month, day)))
    return months


def _number(figures: str | None) -> int | None:
    return int(figures) if figures else None


def _of_found(found: FoundDate) -> NamedDate:
    """Return what was found as a calendar date where the words are as plain as one, else as its span of days."""
    span, first = (found.first, found.last), found.first
    if span == year_of(first.year):
        return CalendarDate(first.year)
    if span == month_of(first.year, first.month):
        return CalendarDate(first.year, first.month)
    if found.is_day and not found.relative:
        return CalendarDate(first.year, first.month, first.day)
    return DaySpan(first.toordinal(), found.last.toordinal())


def nearness(dates: Sequence[NamedDate], days: Days) -> Scores:
    """Return how near each day is to the nearest of the dates, 0 to 2, shape of `days`.

    In the month that was named it is 1, and up to 1 more with a day; in the next month `NEXT_MONTH`; where only a year
    was named, `ONLY_YEAR` in it. In a span of days it is 1, and falls off outside, more slowly for long ones.

    Args:
        dates: What `dates_in` found; () gives zeros.
        days: `date.toordinal()`, 0 for an unknown day, which is near to nothing.
    """
    scores = np.zeros(days.shape, np.float64)
    if not dates:
        return scores
    moments = (days - _EPOCH).astype("datetime64[D]")
    months = moments.astype("datetime64[M]").astype(np.int64) + 12 * 1970
    in_month = (moments - moments.astype("datetime64[M]")).astype(np.int64) + 1
    for each in dates:
        if isinstance(each, DaySpan):
            outside = np.maximum(np.maximum(each.first - days, days - each.last), 0)
            value = np.exp(-outside / (SLOPE_DAYS + (each.last - each.first) / 4))
        elif each.month is None:
            value = np.where(months // 12 == each.year, ONLY_YEAR, 0.0)
        else:
            value = _month_nearness(each.year, each.month, each.day, months, in_month)
        np.maximum(scores, value, out=scores)
    return np.where(days > 0, scores, 0.0)


def _month_nearness(year: int | None, month: int, day: int | None, months: Days, in_month: Days) -> Scores:
    if year is None:
        same, following = months % 12 == month - 1, months % 12 == month % 12
    else:
        same, following = months == 12 * year + month - 1, months == 12 * year + month
    worth = 1.0 if day is None else 1.0 + np.exp(-np.abs(in_month - day) / SLOPE_DAYS)
    return np.where(same, worth, np.where(following, NEXT_MONTH, 0.0))
