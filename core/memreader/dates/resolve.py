"""The date that a short text is."""

from __future__ import annotations

import re
from datetime import date, datetime

from memreader.dates.annotate import NOTE
from memreader.dates.find import find_dates
from memreader.dates.found import FoundDate
from memreader.dates.spans import month_of, year_of
from memreader.dates.words import WEEKDAY

_LONGEST = 100
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d.*", re.IGNORECASE)
_SPAN = re.compile(r"(\d{4}-\d\d-\d\d)\s?(?:/|to|至|–|—|-|~)\s?(\d{4}-\d\d-\d\d)")
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_YEAR = re.compile(r"[12]\d{3}")

_CLOCK = r"\d{1,2}\s?[点點时時](?:\d{1,2}\s?分?|半)?|\d{1,2}(?::\d\d){0,2}\s?(?:[ap]\.?m\.?)?"
_SMALL = re.compile(
    rf"\b(?:{WEEKDAY}|on|in|at|of|the)\b\.?"
    rf"|\b(?:morning|noon|afternoon|evening|night|midnight)\b|{_CLOCK}"
    r"|(?:星期|礼拜|禮拜|周|週)[一二三四五六日天]|早上|上午|中午|下午|傍晚|晚上|凌晨|夜里|在|于|於|的|[\s,.;:，。；：、()（）\[\]-]",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:early|mid|late|around|about|circa|approximately|beginning|start|end)\b|初|中|底|末|约|大约", re.I
)
"""Allowed beside a month or a year, which hold such times; beside a day they say that it isn't that day."""


def resolve_date(text: str, base: date | datetime) -> str | None:
    """Return the one date or time that `text` is, in ISO 8601, or None.

    ISO forms come back normalised: a date, a time (`2023-05-07T13:56:00`, with its offset), a month, a year, a span
    `2023-05-01/2023-05-07`. Else the text has to consist of one expression that `find_dates` knows, with at most small
    words, a weekday or a time of day around it, which are left out.

    >>> base = date(2023, 5, 8)
    >>> resolve_date("yesterday at 3 pm", base), resolve_date("in May 2022", base), resolve_date("soon", base)
    ('2023-05-07', '2022-05', None)
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    try:
        if iso := _from_iso(text):
            return iso
    except ValueError:
        return None
    plain = NOTE.sub("", text)
    dates = find_dates(plain, base)
    if len(dates) != 1:
        return None
    found = dates[0]
    return found.iso if _is_all(plain, found) else None


def _from_iso(text: str) -> str | None:
    """Return an ISO 8601 form as Python writes it, None for other texts; ValueError: such a form, but no such time."""
    if _TIME.fullmatch(text):
        return datetime.fromisoformat(text).isoformat()
    if match := _SPAN.fullmatch(text):
        first, last = (date.fromisoformat(day) for day in match.groups())
        if first > last:
            raise ValueError("the span ends before it begins")
        return FoundDate(text, 0, len(text), first, last).iso
    if match := _MONTH.fullmatch(text):
        return month_of(int(match[1]), int(match[2]))[0].isoformat()[:7]
    return year_of(int(text))[0].isoformat()[:4] if _YEAR.fullmatch(text) else None


def _is_all(text: str, found: FoundDate) -> bool:
    rest = f"{text[: found.start]} {text[found.end :]}"
    if not found.is_day:
        rest = _VAGUE.sub(" ", rest)
    return not _SMALL.sub("", rest)
