"""A statement to reconcile, and which of two is the later one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias

_DAY_S = 86_400
_ZONES_S = 14 * 3600
"""How far a clock on some wall can be from UTC."""

Order: TypeAlias = "int | None"
"""1: later, -1: earlier, 0: at the same time, None: nobody knows."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: a refined memory, an item of the caller's, a fact that rules made."""

    text: str
    at: str | None = None
    """When it happened, or when it was learned: ISO 8601, a day or a time. None: unknown."""
    place: tuple[str, int] | None = None
    """Session and position in it: orders statements of one session whose times don't."""
    entities: tuple[str, ...] = ()
    """Whom and what it names."""
    sources: tuple[str, ...] = ()
    """A key of each source it rests on, whatever the store takes."""

    @property
    def day(self) -> date | None:
        """The day of `at`, on the clock it names; None if that is unknown or no ISO 8601 time."""
        time = _read(self.at)
        return time.date() if isinstance(time, datetime) else time


@dataclass(frozen=True, slots=True)
class Slot:
    """One value of something that somebody has one value of at a time."""

    subject: str
    """Lower case; "user" for the user, however called."""
    attribute: str
    value: str
    """Lower case."""
    whole: bool = True
    """Whether the statement says nothing else, so that nothing is lost with it."""
    new: bool = False
    """Whether the words say that it is a change: "moved to", "now"."""
    ends: bool = False
    """Whether the words say that this value is the one no more: "no longer lives in"."""
    vague: bool = False
    """Whether there may well be another value beside it ("at a bank", "is a painter"): it replaces none, and gives way
    only to a change that is said to be one."""


def order(one: Statement, other: Statement) -> Order:
    """Return 1 if `one` is later than `other`, -1 if it is earlier, 0 at the same time, None where nobody knows.

    A day is all of its hours, so a time within it is neither before nor after it. A time without an offset is ordered
    against one with an offset only if it is the same in every time zone. Where the times don't tell, the position
    does, in one session. `order(a, b)` is `order(b, a)` turned round.
    """
    by_time = _order_of_times(one.at, other.at)
    if by_time:
        return by_time
    if one.place is not None and other.place is not None and one.place[0] == other.place[0]:
        return (one.place[1] > other.place[1]) - (one.place[1] < other.place[1])
    return by_time


def _order_of_times(one: str | None, other: str | None) -> Order:
    first, second = _read(one), _read(other)
    if first is None or second is None:
        return None
    mixed = _is_naive(first) != _is_naive(second)
    (start, end), (begin, stop) = _span(first, widened=mixed), _span(second, widened=mixed)
    return 1 if start > stop else -1 if end < begin else 0


def _read(at: str | None) -> date | datetime | None:
    if at is None:
        return None
    try:
        return date.fromisoformat(at) if len(at) == len("2024-05-07") else datetime.fromisoformat(at)
    except ValueError:
        return None


def _is_naive(time: date | datetime) -> bool:
    return not isinstance(time, datetime) or time.utcoffset() is None


def _span(time: date | datetime, *, widened: bool) -> tuple[float, float]:
    """Return the first and the last second of a time, counted from a far day: no year is too early or too late."""
    start = float(time.toordinal() * _DAY_S)
    end = start + _DAY_S - 1
    if isinstance(time, datetime):
        offset = time.utcoffset()
        start += time.hour * 3600 + time.minute * 60 + time.second + time.microsecond / 1e6
        start -= 0 if offset is None else offset.total_seconds()
        end = start
    if widened and _is_naive(time):
        return start - _ZONES_S, end + _ZONES_S
    return start, end
