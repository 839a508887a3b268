"""Any common form of a time to ISO 8601: deterministic, free of the locale, and nothing filled in from today."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from numbers import Integral, Real
from typing import Any
from zoneinfo import ZoneInfo

from memreader.errors import InputError
from memreader.normalize.time_forms import LONGEST, offset_zone, read_form

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((1e11, 1), (1e14, 10**3), (1e17, 10**6), (1e20, 10**9))
"""A count below the bound is one of this many per second."""

_COUNT = re.compile(r"[+-]?\d{9,20}(?:\.\d{1,9})?")
_COMPACT = re.compile(r"(?:19|20)\d{12}")
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?")


def parse_time(
    value: Any, *, timezone: tzinfo | None = None, day_first: bool = False, locator: str | None = None
) -> str:
    """Return `value` as ISO 8601: `YYYY-MM-DDTHH:MM:SS`, with an offset where one is known; a bare date stays a date.

    Numbers (and strings of at least nine digits) count seconds, milliseconds, microseconds or nanoseconds since 1970,
    told apart by size (below 1e11, 1e14, 1e17, 1e20). In `03/04/2023` and `03-04-2023` the month comes first unless
    only the other order is a date or `day_first` says so; with dots (`03.04.2023`) the day does. Two-digit years are
    1969 to 2068. A weekday is not checked against the date.

    Args:
        value: A string, number, datetime or date.
        timezone: Given to times without one; times since 1970 are shown in it (default UTC).
        day_first: Read `03/04/2023` as 3 April.
        locator: Named in the error.

    Raises:
        InputError: Not a time, only part of one (no year, no day), or outside the years 1 to 9999.

    >>> parse_time("1:56 pm on 8 May, 2023"), parse_time("2023年5月8日 下午1:56"), parse_time(1683554160000)
    ('2023-05-08T13:56:00', '2023-05-08T13:56:00', '2023-05-08T13:56:00+00:00')
    """
    try:
        if isinstance(value, str):
            return _from_string(value, timezone, day_first)
        if isinstance(value, datetime | date):
            return _iso(value, timezone)
        if isinstance(value, Real) and not isinstance(value, bool):
            return _from_count(int(value) if isinstance(value, Integral) else float(value), timezone)
        raise ValueError(f"a {type(value).__name__} is not a time")
    except (ValueError, OverflowError) as error:
        shown = repr(value[:40]) if isinstance(value, str) else f"this {type(value).__name__}"
        raise InputError(
            f"can't read {shown} as a date or time; use ISO 8601 (2023-05-08T13:56:00), a datetime or an epoch",
            locator=locator,
        ) from error


def zone_of(timezone: tzinfo | str | None) -> tzinfo | None:
    """Return the zone with this IANA name (`Europe/Rome`) or offset (`+08:00`); a tzinfo or None comes back as it is.

    Raises:
        InputError: It is neither.
    """
    if timezone is None or isinstance(timezone, tzinfo):
        return timezone
    try:
        if match := _OFFSET.fullmatch(timezone):
            return offset_zone(*match.groups())
        return ZoneInfo(timezone)
    except (ValueError, LookupError, OSError, TypeError) as error:
        raise InputError(f"unknown timezone {timezone!r:.60}; use an IANA name or an offset like '+08:00'") from error


def _from_string(text: str, timezone: tzinfo | None, day_first: bool) -> str:
    if len(text) > LONGEST:
        raise ValueError("too long for a time")
    text = text.strip()
    if _COMPACT.fullmatch(text):
        return _iso(datetime.strptime(text, "%Y%m%d%H%M%S"), timezone)
    if _COUNT.fullmatch(text):
        return _from_count(float(text) if "." in text else int(text), timezone)
    return _iso(_from_iso(text) or read_form(text, day_first=day_first), timezone)


def _from_iso(text: str) -> datetime | date | None:
    """Return the time if `text` is ISO 8601 as Python knows it."""
    if text.isdigit() and len(text) != 8:
        return None
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    return None


def _from_count(value: int | float, timezone: tzinfo | None) -> str:
    size = abs(float(value))
    per_second = next((unit for bound, unit in _UNITS if size < bound), None)
    if per_second is None:
        raise ValueError("not a count from 1970")
    micros = value * 10**6 // per_second if isinstance(value, int) else round(value * 10**6 / per_second)
    at = _EPOCH + timedelta(microseconds=micros)
    return _iso(at.astimezone(timezone or UTC), None)


def _iso(found: datetime | date, timezone: tzinfo | None) -> str:
    if not isinstance(found, datetime):
        return found.isoformat()
    if found.tzinfo is None:
        found = found.replace(tzinfo=timezone)
    if found.tzinfo is not None:
        found.astimezone(UTC)  # what can't be compared with other times is refused here and not later
    # Subclasses may print more digits than ISO 8601 in Python has, and NaT is no time at all.
    return datetime.fromisoformat(found.isoformat()).isoformat()
