"""Relative dates in English."""

from __future__ import annotations

import re
from datetime import date
from typing import cast

from memreader.dates.found import Rule, before
from memreader.dates.spans import (
    Span,
    Unit,
    day_from,
    month_from,
    month_of,
    season_of,
    season_year,
    unit_from,
    weekday_after,
    weekday_before,
    weekday_of,
    weekend_from,
)
from memreader.dates.words import (
    LEFT,
    MONTH,
    NUMBER,
    PART,
    RIGHT,
    SEASON,
    SPACE,
    UNOWNED,
    WEEKDAY,
    month_number,
    number_of,
    season_number,
    weekday_number,
)

_SHIFTS = {"last": -1, "this": 0, "next": 1}
_NAMED = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}
_COUNTED = rf"(?P<count>{NUMBER}){SPACE}(?P<unit>day|week|month|year)s?"
_AROUND = re.compile(
    rf"(?:{NUMBER}\s?(?:,|or|to|[-–—~])|(?:day|week|month|year|hundred|thousand|million|billion)s?\s(?:and|or)"
    r"|\b(?:over|than|least|most|about|around|almost|nearly|roughly|approximately|some|maybe|perhaps|under|within|half|point)"
    r"|[-–—~]|\.)\s?$",
    re.IGNORECASE,
)
"""Before a count: it is one end of a range, or not exact."""

_TOLD = re.compile(
    r"\b(?:\w+ed|was|were|had|has|have|did|been|times?|once|twice|won|wrote|read|ran|made|lost|saw|went|got|took|came|best|worst"
    r"|first|only)\b",
    re.IGNORECASE,
)
"""Before "in two days": the past, or a duration, and not the time to come."""
_CLAUSE_END = re.compile(r"[.!?;\n]")


def _named(match: re.Match[str], base: date) -> Span:
    return day_from(base, _NAMED[match["name"].lower()])


def _two_off(match: re.Match[str], base: date) -> Span:
    return day_from(base, -2 if match["edge"].lower() in ("before yesterday", "before last") else 2)


def _weekday(match: re.Match[str], base: date) -> Span | None:
    weekday = weekday_number(match["weekday"])
    if weekday is None:
        return None
    which = match["which"].lower().split()[-1]
    if which in ("last", "past"):
        return weekday_before(base, weekday)
    return weekday_after(base, weekday) if which == "coming" else weekday_of(base, _SHIFTS[which], weekday)


def _weekday_of_week(match: re.Match[str], base: date) -> Span | None:
    weekday = weekday_number(match["weekday"])
    return None if weekday is None else weekday_of(base, _SHIFTS[match["which"].lower()], weekday)


def _unit(match: re.Match[str], base: date) -> Span:
    return unit_from(base, cast(Unit, match["unit"].lower()), _SHIFTS[match["which"].lower()])


def _unit_after_next(match: re.Match[str], base: date) -> Span:
    unit = match["unit"].lower()
    shift = -2 if match["edge"].lower() == "before last" else 2
    return weekend_from(base, shift) if unit == "weekend" else unit_from(base, cast(Unit, unit), shift)


def _part_of_unit(match: re.Match[str], base: date) -> Span:
    first, last = unit_from(base, cast(Unit, match["unit"].lower()), 0)
    return (first, base) if match["side"].lower() == "earlier" else (base, last)


def _weekend(match: re.Match[str], base: date) -> Span:
    which = match["which"].lower().split()[-1]
    if which == "coming":
        return weekend_from(base, 0 if base.weekday() < 5 else 1)
    return weekend_from(base, -1 if which == "past" else _SHIFTS[which])


def _month_or_season(match: re.Match[str], base: date) -> Span | None:
    """The most recent that is over, that of this year, that of the next, or the first to begin."""
    which = match["which"].lower().split()[-1]
    spans = _three_years(match, base)
    if spans is None:
        return None
    if which in ("last", "past"):
        return max(span for span in spans if span[1] < base)
    if which == "coming":
        return min(span for span in spans if span[0] > base)
    return spans[1 + _SHIFTS[which]]


def _three_years(match: re.Match[str], base: date) -> list[Span] | None:
    if match["season"]:
        season = season_number(match["season"])
        year = season_year(base, season)
        return [season_of(year + shift, season) for shift in (-1, 0, 1)]
    month = month_number(match["month"])
    return None if month is None else [month_of(base.year + shift, month) for shift in (-1, 0, 1)]


def _of_year(match: re.Match[str], base: date) -> Span | None:
    year = base.year + _SHIFTS[match["which"].lower()]
    if match["season"]:
        return season_of(year, season_number(match["season"]))
    month = month_number(match["month"])
    return None if month is None else month_of(year, month)


def _ago(match: re.Match[str], base: date) -> Span | None:
    if _AROUND.search(before(match, 24)):
        return None
    count, unit = number_of(match["count"]), match["unit"].lower()
    if unit == "weekend":
        return weekend_from(base, -count)
    if unit == "night":
        return day_from(base, -count)
    if match["more"]:
        return day_from(base, -7 * count) if unit == "week" and match["more"].lower() == "today" else None
    return unit_from(base, cast(Unit, unit), -count)


def _half_a_year_ago(match: re.Match[str], base: date) -> Span | None:
    return None if _AROUND.search(before(match, 24)) else month_from(base, -6)


def _ahead(match: re.Match[str], base: date) -> Span | None:
    """Return when "in two weeks" is, unless the clause before it tells of the past."""
    clause = _CLAUSE_END.split(before(match, 60))[-1]
    if _AROUND.search(before(match, 24)) or (not match["time"] and _TOLD.search(clause)):
        return None
    return unit_from(base, cast(Unit, match["unit"].lower()), number_of(match["count"]))


def _from_now(match: re.Match[str], base: date) -> Span | None:
    if _AROUND.search(before(match, 24)):
        return None
    count, unit = number_of(match["count"]), match["unit"].lower()
    if unit == "week" and match["start"].lower() == "today":
        return day_from(base, 7 * count)
    return unit_from(base, cast(Unit, unit), count)


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(LEFT + pattern + RIGHT, re.IGNORECASE)


_NOT_OF = rf"(?!{SPACE}of{RIGHT})"
_WHICH = r"(?P<which>last|this|next)"
_THE = rf"(?:the{SPACE})?"
_COMING = rf"(?P<which>(?:(?:this|the){SPACE})?(?:past|coming)|{UNOWNED}(?:last|this|next))"
_MORE = rf"(?:{SPACE}(?P<more>today|yesterday|last{SPACE}{WEEKDAY}))?"
_PERIOD = rf"(?:(?P<month>{MONTH})|(?P<season>{SEASON}))"

ENGLISH = (
    Rule(_rule(rf"(?P<name>today|tonight|(?:yesterday|tomorrow)){PART}"), _named),
    Rule(_rule(rf"{_THE}day{SPACE}(?P<edge>before yesterday|after tomorrow){PART}"), _two_off),
    Rule(_rule(rf"{_THE}night{SPACE}(?P<edge>before last)"), _two_off),
    Rule(_rule(rf"{UNOWNED}last{SPACE}(?:night|evening)"), lambda _match, base: day_from(base, -1)),
    Rule(_rule(rf"this{SPACE}(?:morning|afternoon|evening)"), lambda _match, base: day_from(base, 0)),
    Rule(_rule(rf"{_COMING}{SPACE}(?P<weekday>{WEEKDAY})(?:(?<![Dd][Aa][Yy])\.(?=\s))?{PART}"), _weekday),
    Rule(_rule(rf"(?P<weekday>{WEEKDAY}){PART},?{SPACE}(?:of{SPACE})?{_WHICH}{SPACE}week"), _weekday_of_week),
    Rule(_rule(rf"{UNOWNED}{_WHICH}{SPACE}week,?{SPACE}(?:on{SPACE})?(?P<weekday>{WEEKDAY}){PART}"), _weekday_of_week),
    Rule(_rule(rf"{UNOWNED}{_WHICH}{SPACE}(?P<unit>week|month|year){_NOT_OF}"), _unit),
    Rule(_rule(rf"{_THE}(?P<unit>weekend|week|month|year){SPACE}(?P<edge>before last|after next)"), _unit_after_next),
    Rule(_rule(rf"(?P<side>earlier|later){SPACE}this{SPACE}(?P<unit>week|month|year)"), _part_of_unit),
    Rule(_rule(rf"{_COMING}{SPACE}weekend{_NOT_OF}"), _weekend),
    Rule(_rule(rf"{_COMING}{SPACE}{_PERIOD}{_NOT_OF}(?!{SPACE}\d)"), _month_or_season),
    Rule(_rule(rf"{_THE}{_PERIOD}{SPACE}(?:of{SPACE})?{_WHICH}{SPACE}year"), _of_year),
    Rule(
        _rule(rf"(?P<count>{NUMBER}){SPACE}(?P<unit>weekend|day|night|week|month|year)s?{SPACE}ago{_MORE}"),
        _ago,
    ),
    Rule(_rule(rf"half{SPACE}a{SPACE}year{SPACE}ago"), _half_a_year_ago),
    Rule(
        _rule(rf"in{SPACE}{_COUNTED}(?P<time>['’]?s?['’]?{SPACE}time)?(?!{SPACE}(?:of|or|straight|ago){RIGHT})"), _ahead
    ),
    Rule(_rule(rf"{_COUNTED}{SPACE}from{SPACE}(?P<start>now|today)"), _from_now),
)
