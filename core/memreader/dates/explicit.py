"""Dates in figures: with their year, or without it and so taken as the nearest."""

from __future__ import annotations

import re
from datetime import date

from memreader.dates.found import Rule, before
from memreader.dates.numerals import NUMERAL, numeral_value, year_value
from memreader.dates.spans import Span, month_of, nearest, season_of, year_of
from memreader.dates.words import LEFT, MONTH, RIGHT, SPACE, month_number

ADDRESS = Rule(re.compile(r"(?:https?://|www\.)[!-~]+", re.IGNORECASE), lambda _match, _base: None)
"""No word in a web address is a date."""

_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_MONTH = rf"(?P<month>{MONTH})"
_END = rf"{RIGHT}(?![:%]|[.,]\d|\s?[-–—~]\s?\d)"
_NO_YEAR = r"(?!,?\s{0,3}\d{4}(?!\d))"

_RECURRING = re.compile(
    r"birthday|\bborn\b|anniversar|\bevery\b|\beach\b|annual|生日|出生|诞辰|誕辰|每年|周年|週年|纪念|紀念", re.I
)
_OTHER_YEAR = re.compile(r"\b(?:last|next|past|coming)\s{1,3}$|(?:年|农历|農曆|阴历|陰曆|旧历|舊曆)\s?$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。！？\n]")


def is_recurring(match: re.Match[str]) -> bool:
    """Return whether the sentence speaks of what comes back every year."""
    left = _SENTENCE_END.split(before(match, 60))[-1]
    right = _SENTENCE_END.split(match.string[match.end() : match.end() + 40])[0]
    return _RECURRING.search(f"{left}\n{right}") is not None


def _full(match: re.Match[str], _base: date) -> Span | None:
    month = month_number(match["month"])
    if month is None:
        return None
    day = date(int(match["year"]), month, int(match["day"]))
    return day, day


def _month_and_year(match: re.Match[str], _base: date) -> Span | None:
    month = month_number(match["month"])
    return None if month is None else month_of(int(match["year"]), month)


def _partial(match: re.Match[str], base: date) -> Span | None:
    month = month_number(match["month"])
    if month is None or _OTHER_YEAR.search(before(match, 12)) or is_recurring(match):
        return None
    return nearest(base, month, int(match["day"]))


def _figures(match: re.Match[str], _base: date) -> Span:
    day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    return day, day


def _slashed(match: re.Match[str], _base: date) -> Span | None:
    a, b, year = int(match["a"]), int(match["b"]), int(match["year"])
    if a <= 12 and b <= 12 and a != b:
        return None  # 3/4/2023: nobody knows
    day = date(year, b, a) if a > 12 else date(year, a, b)
    return day, day


def _chinese(match: re.Match[str], _base: date) -> Span | None:
    year = year_value(match["year"])
    if year is None:
        return None
    if match["season"]:
        return season_of(year, "春夏秋冬".index(match["season"]))
    if not match["month"]:
        return year_of(year)
    month = numeral_value(match["month"])
    day = numeral_value(match["day"]) if match["day"] else None
    if month is None or (match["day"] and day is None):
        return None
    if day is None:
        return month_of(year, month)
    return date(year, month, day), date(year, month, day)


def _chinese_partial(match: re.Match[str], base: date) -> Span | None:
    month, day = numeral_value(match["month"]), numeral_value(match["day"])
    if month is None or day is None or month > 12 or _OTHER_YEAR.search(before(match, 4)) or is_recurring(match):
        return None
    return nearest(base, month, day)


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_FIGURE_END = r"(?![A-Za-z0-9_/-]|\.\d)"
EXPLICIT = (
    Rule(
        _rule(
            rf"(?<![\w/.-])(?P<year>\d{{4}})(?P<s>[-/.])(?P<month>\d\d?)(?P=s)(?P<day>\d\d?)(?:(?=T\d)|{_FIGURE_END})"
        ),
        _figures,
        relative=False,
    ),
    Rule(_rule(rf"(?<![A-Za-z0-9_/.-])(?P<a>\d\d?)/(?P<b>\d\d?)/{_YEAR}{_FIGURE_END}"), _slashed, relative=False),
    Rule(_rule(rf"{LEFT}{_MONTH}\.?\s{{0,3}}{_DAY}(?:,\s{{0,3}}|{SPACE}){_YEAR}{_END}"), _full, relative=False),
    Rule(
        _rule(rf"{LEFT}(?<![\d.,:])(?:the{SPACE})?{_DAY}{SPACE}(?:of{SPACE})?{_MONTH}\.?,?{SPACE}{_YEAR}{_END}"),
        _full,
        relative=False,
    ),
    Rule(
        _rule(rf"{LEFT}{_MONTH}\.?,?{SPACE}(?:of{SPACE})?(?P<year>(?:1[5-9]|2[01])\d\d){_END}"),
        _month_and_year,
        relative=False,
    ),
    Rule(_rule(rf"{LEFT}{_MONTH}\.?{SPACE}{_DAY}{_END}{_NO_YEAR}"), _partial),
    Rule(_rule(rf"{LEFT}(?<![\d.,:])(?:the{SPACE})?{_DAY}{SPACE}(?:of{SPACE})?{_MONTH}{_END}{_NO_YEAR}"), _partial),
)
EXPLICIT_CHINESE = (
    Rule(
        re.compile(
            rf"(?<![\d{NUMERAL}])(?P<year>\d{{4}}|[{NUMERAL}]{{4}})\s?年\s?(?:(?P<month>\d{{1,2}}|[{NUMERAL}]{{1,3}})\s?月份?"
            rf"(?:\s?(?P<day>\d{{1,2}}|[{NUMERAL}]{{1,3}})\s?[日号號])?|(?P<season>[春夏秋冬])[天季]"
            r"|(?![前后後间間来來多以之内內代级級度期款版]))"
        ),
        _chinese,
        relative=False,
    ),
    Rule(
        re.compile(
            rf"(?<![\d{NUMERAL}.])(?P<month>\d{{1,2}}|[{NUMERAL}]{{1,3}})\s?月\s?(?P<day>\d{{1,2}}|[{NUMERAL}]{{1,3}})\s?[日号號](?!线|線|楼|樓)"
        ),
        _chinese_partial,
    ),
)
