"""The forms people and programs write a time in, other than ISO 8601 and counts since 1970."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo
from datetime import timezone as fixed_zone
from functools import lru_cache
from typing import Any

LONGEST = 100
"""Characters of the longest text that can be a time."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_NTH = r"(?:st|nd|rd|th)?"

_MORNING = ("am", "凌晨", "清晨", "早上", "早晨", "上午", "午前", "오전")
_NOON = ("中午",)
_AFTERNOON = ("pm", "下午", "傍晚", "午後", "午后", "오후")
_NIGHT = ("晚上", "夜里", "夜裡")
_HALVES = "|".join((*_MORNING[1:], *_NOON, *_AFTERNOON[1:], *_NIGHT))

_CLOCK = re.compile(
    rf"""(?:(?P<half>{_HALVES})\s*)?(?<![\d:.+-])(?P<hour>\d{{1,2}})
    (?: :(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{{1,9}}))?)?(?![\d:])
      | \s*[点點时時시]
        (?:\s*(?P<minute_cjk>\d{{1,2}})\s*[分분]|(?P<minute_bare>\d\d)(?!\d)|\s?(?P<half_past>半)|[整钟鐘])?
        (?:\s*(?P<second_cjk>\d{{1,2}})\s*[秒초])?
      | (?=\s*[ap]\.?\s?m(?![a-z])) )
    (?:\s*(?P<ap>[ap])\.?\s?m(?![a-z])\.?)?""",
    re.VERBOSE,
)
_DATES = tuple(
    re.compile(form)
    for form in (
        r"(?<!\d)(?P<year>\d{4})\s*[年년./-]\s*(?P<m>\d{1,2})\s*[月월./-]\s*(?P<day>\d{1,2})(?!\d)\s*[日号號일]?\.?",
        rf"(?<!\d)(?P<day>\d{{1,2}}){_NTH}(?:\s+of\b)?[\s,.-]*{_MONTH}[\s,.'-]*(?P<year>\d{{4}}|\d\d)(?!\d)",
        rf"(?<![a-z]){_MONTH}[\s.-]*(?P<day>\d{{1,2}}){_NTH}[\s,.-]+(?P<year>\d{{4}})(?!\d)",
        rf"(?<!\d)(?P<year>\d{{4}})[\s,.-]*{_MONTH}[\s,.-]*(?P<day>\d{{1,2}}){_NTH}(?!\d)",
    )
)
_NUMERIC = re.compile(r"(?<!\d)(?P<a>\d{1,2})(?P<sep>[/.-])(?P<b>\d{1,2})(?P=sep)(?P<year>\d{4}|\d\d)(?!\d)")

_FILLER = re.compile(
    r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?(?![a-z])\.?"
    r"|(?:星期|礼拜|禮拜|周|週)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일|\([一-龥가-힣]\)"
    r"|\b(?:on|at|of|the|t)\b|[\s,;|@·\[\]]+|(?<![+\d])-(?!\d)"
)
_ZONE = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2}):?(\d\d)?")
_NAMED_ZONE = re.compile(r"\s*([a-z]{1,5})(?=\s)")
_COMMENT = re.compile(r"\([^()]*\)")
_ZONES = {
    "z": 0, "utc": 0, "gmt": 0, "ut": 0, "wet": 0, "bst": 60, "west": 60, "cet": 60, "cest": 120, "eet": 120,
    "eest": 180, "msk": 180, "hkt": 480, "sgt": 480, "jst": 540, "kst": 540, "aest": 600, "aedt": 660,
    "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420,
}  # fmt: skip
"""Minutes east of UTC; the North American ones as RFC 2822 defines them."""


@lru_cache(maxsize=4096)
def read_form(text: str, *, day_first: bool) -> datetime | date:
    """Return the time that `text` writes in words or figures; a date where it holds no time of day.

    Every character has to be accounted for, so prose with a date in it is not a time.

    Raises:
        ValueError: It is not a whole time, or one that can't be.
    """
    text = unicodedata.normalize("NFKC", text).lower().strip()
    clock = _CLOCK.search(text)
    rest = text if clock is None else f"{text[: clock.start()]} {_zone_last(text[clock.end() :])}"
    day, rest = _take_date(rest, day_first)
    zone = _read_zone(rest)
    if clock is None:
        if zone is not None:
            raise ValueError("a zone without a time of day")
        return day
    return datetime(day.year, day.month, day.day, tzinfo=zone) + _time_of_day(clock)


def reads_day_first(values: Iterable[Any]) -> bool:
    """Return whether the slashed dates among `values` can only be read day first, so that the others should be too.

    >>> reads_day_first(["03/04/2023", "25/12/2023"]), reads_day_first(["03/04/2023"])
    (True, False)
    """
    matches = [_NUMERIC.search(value[:LONGEST]) for value in values if isinstance(value, str)]
    pairs = [(int(match["a"]), int(match["b"])) for match in matches if match and match["sep"] != "."]
    return any(a > 12 for a, _ in pairs) and not any(b > 12 for _, b in pairs)


def offset_zone(sign: str, hours: str, minutes: str | None) -> tzinfo:
    """Return the fixed zone `sign` `hours`:`minutes` east of UTC; ValueError if there is none."""
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return fixed_zone(-offset if sign == "-" else offset)


def _take_date(text: str, day_first: bool) -> tuple[date, str]:
    for form in _DATES:
        if match := form.search(text):
            groups = match.groupdict()
            month = int(groups["m"]) if "m" in groups else _MONTHS.index(groups["month"][:3]) + 1
            return date(_full_year(match["year"]), month, int(match["day"])), _without(text, match)
    if match := _NUMERIC.search(text):
        a, b = int(match["a"]), int(match["b"])
        month, day = (b, a) if (day_first and b <= 12) or a > 12 or match["sep"] == "." else (a, b)
        return date(_full_year(match["year"]), month, day), _without(text, match)
    raise ValueError("no date with a year, a month and a day")


def _zone_last(text: str) -> str:
    """Return what follows a time of day with its zone moved to the end, out of the way of a year after it."""
    match = _NAMED_ZONE.match(text)
    return f"{text[match.end() :]} {match[1]}" if match and match[1] in _ZONES else text


def _without(text: str, match: re.Match[str]) -> str:
    return f"{text[: match.start()]} {text[match.end() :]}"


def _full_year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) == 4 else year + (1900 if year > 68 else 2000)


def _time_of_day(clock: re.Match[str]) -> timedelta:
    hour = int(clock["hour"])
    minute = 30 if clock["half_past"] else int(clock["minute"] or clock["minute_cjk"] or clock["minute_bare"] or 0)
    second = int(clock["second"] or clock["second_cjk"] or 0)
    half = f"{clock['ap']}m" if clock["ap"] else clock["half"]
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and minute + second > 0):
        raise ValueError("no such time of day")
    if half in _MORNING:
        if hour > 12:
            raise ValueError("no such hour in the morning")
        hour %= 12
    elif (half in _AFTERNOON or half in _NOON) and hour < (12 if half in _AFTERNOON else 4):
        hour += 12
    elif half in _NIGHT and hour > 4:
        hour += 12 if hour <= 12 else 0  # 晚上12点 is the midnight that ends the day
    fraction = (clock["fraction"] or "").ljust(6, "0")[:6]
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=int(fraction))


def _read_zone(rest: str) -> tzinfo | None:
    """Return the zone that is all that is left of a time, once weekdays and connecting words are taken out."""
    outside = _FILLER.sub("", _COMMENT.sub("", _FILLER.sub(" ", rest)))
    left = outside or _FILLER.sub("", rest).strip("()")
    if not left:
        return None
    if match := _ZONE.fullmatch(left):
        return offset_zone(*match.groups())
    if left in _ZONES:
        return fixed_zone(timedelta(minutes=_ZONES[left]))
    raise ValueError("words that belong to no time")
