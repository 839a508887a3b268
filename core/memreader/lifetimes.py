"""How long a memory lives: the moment at which it expires, and what time it is now.

A moment of expiry is an ISO 8601 text with a zone, in whole seconds. A memory has expired when that moment has come.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from typing import Literal, TypeAlias

Lifetime = Literal["long", "session"]
"""long: until it is deleted; session: only its session sees it, and it expires."""
Ttl: TypeAlias = timedelta | float
"""How long something lives, as a timedelta or in seconds."""

SESSION_TTL_HOURS = 168.0
"""Hours that a memory of lifetime "session" lives where nobody says: a week."""
NEVER = 2**63 - 1
"""Second of expiry of what never expires."""

clock: Callable[[], float] = time.time
"""Tells the time in Unix seconds, for every look at what has expired; a test puts another one here."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DAY_ENDS = clock_time(23, 59, 59)
_END_OF_TIME = "9999-12-31T23:59:59+00:00"


def now() -> float:
    """Return the time in Unix seconds."""
    return clock()


def ending(value: date | str) -> str:
    """Return a moment of expiry: ISO 8601 with a zone, in whole seconds, rounded up.

    Args:
        value: A datetime, which is local time if it has no zone; a date, of which the end is meant; or either as an
            ISO 8601 text.

    Raises:
        ValueError: It is none of these.

    >>> ending("2026-12-05T10:00:00.5+01:00"), ending(date(2026, 12, 5))[:19]
    ('2026-12-05T10:00:01+01:00', '2026-12-05T23:59:59')
    """
    try:
        if isinstance(value, str):
            value = date.fromisoformat(value) if _DATE.fullmatch(value) else datetime.fromisoformat(value)
        moment = value if isinstance(value, datetime) else datetime.combine(value, _DAY_ENDS)
    except (ValueError, TypeError) as error:
        shown = str(value)[:40]
        problem = f"not a time to expire at (YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS, with or without a zone): {shown!r}"
        raise ValueError(problem) from error
    try:
        whole = moment.replace(microsecond=0)
        moment = whole + timedelta(seconds=1) if moment.microsecond else whole
        return (moment if moment.tzinfo else moment.astimezone()).isoformat()
    except (ValueError, OverflowError, OSError):
        # At one of the ends of the calendar there is no second more, and no local time.
        return (whole if whole.tzinfo else whole.replace(tzinfo=UTC)).isoformat()


def second_of(expires_at: str | None) -> int | None:
    """Return a moment of expiry in Unix seconds; None for never.

    >>> second_of("1970-01-02T00:00:00+00:00"), second_of(None)
    (86400, None)
    """
    return None if expires_at is None else int(datetime.fromisoformat(expires_at).timestamp())


def has_expired(expires_at: str | None, at: float) -> bool:
    """Return whether what expires at a moment has done so by a time in Unix seconds.

    >>> has_expired("1970-01-02T00:00:00+00:00", 86400), has_expired(None, 86400)
    (True, False)
    """
    second = second_of(expires_at)
    return second is not None and second <= at


def chosen_end(*, ttl: Ttl | None, expires_at: date | str | None) -> str | None:
    """Return when what is added now expires, as its caller says; None where he doesn't.

    Args:
        ttl: How long from now.
        expires_at: See `ending`.

    Raises:
        TypeError: `ttl` is neither a timedelta nor a number.
        ValueError: Both are given, or one of them makes no sense, or it would have expired already.
    """
    if ttl is None:
        return None if expires_at is None else _to_come(ending(expires_at))
    if expires_at is not None:
        raise ValueError("give either ttl (how long) or expires_at (until when), not both")
    if isinstance(ttl, bool) or not isinstance(ttl, timedelta | int | float):
        raise TypeError(f"ttl is a timedelta or a number of seconds, got {type(ttl).__name__}")
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else float(ttl)
    if not 0 < seconds < math.inf:
        raise ValueError(f"ttl must be above 0 seconds and finite, got {seconds:g}; leave it out to keep for good")
    try:
        return ending(datetime.fromtimestamp(now() + seconds).astimezone())
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"ttl is too long: {seconds:g} s; leave it out to keep for good") from None


def session_end(created_at: str, hours: float) -> str:
    """Return when a memory of lifetime "session" expires where nobody says: so many hours after it was learned.

    >>> session_end("2026-12-01T08:00:00+00:00", 168)
    '2026-12-08T08:00:00+00:00'
    """
    try:
        return ending(datetime.fromisoformat(created_at) + timedelta(hours=hours))
    except OverflowError:
        return _END_OF_TIME


def earliest(ends: list[str | None]) -> str | None:
    """Return the first of several moments of expiry: what is made of something is not kept longer than it.

    >>> earliest([None, "1970-01-02T00:00:00+01:00", "1970-01-02T00:00:00+00:00"]), earliest([None])
    ('1970-01-02T00:00:00+01:00', None)
    """
    return min((one for one in ends if one is not None), key=lambda one: second_of(one) or 0, default=None)


def _to_come(expires_at: str) -> str:
    if has_expired(expires_at, now()):
        raise ValueError(f"expires_at is in the past ({expires_at}): nothing was stored")
    return expires_at
