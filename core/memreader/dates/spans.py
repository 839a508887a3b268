"""Arithmetic of days, weeks, months, seasons and years: (first day, last day), both included.

ValueError and OverflowError from here mean that the calendar (years 1 to 9999) has no such days.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from typing import Literal, TypeAlias

Span: TypeAlias = tuple[date, date]
Unit = Literal["day", "week", "month", "year"]

WINTER = 3
"""Seasons count from spring, 0."""


def day_from(base: date, days: int) -> Span:
    """Return the day `days` after `base`; negative is before, here and below."""
    day = base + timedelta(days=days)
    return day, day


def week_from(base: date, weeks: int) -> Span:
    """Return the week, Monday to Sunday, that lies `weeks` after that of `base`."""
    monday = base + timedelta(days=7 * weeks - base.weekday())
    return monday, monday + timedelta(days=6)


def weekday_of(base: date, weeks: int, weekday: int) -> Span:
    """Return a weekday (Monday is 0) of the week that lies `weeks` after that of `base`."""
    return day_from(base, 7 * weeks - base.weekday() + weekday)


def weekday_before(base: date, weekday: int) -> Span:
    """Return the most recent such weekday, 1 to 7 days back."""
    return day_from(base, -((base.weekday() - weekday - 1) % 7 + 1))


def weekday_after(base: date, weekday: int) -> Span:
    """Return the first such weekday to come, 1 to 7 days ahead."""
    return day_from(base, (weekday - base.weekday() - 1) % 7 + 1)


def weekend_from(base: date, weeks: int) -> Span:
    """Return Saturday and Sunday of the week that lies `weeks` after that of `base`."""
    sunday = week_from(base, weeks)[1]
    return sunday - timedelta(days=1), sunday


def month_of(year: int, month: int) -> Span:
    """Return all days of a month."""
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def month_from(base: date, months: int) -> Span:
    """Return the month that lies `months` after that of `base`."""
    year, month = divmod(base.year * 12 + base.month - 1 + months, 12)
    return month_of(year, month + 1)


def year_of(year: int) -> Span:
    """Return all days of a year."""
    return date(year, 1, 1), date(year, 12, 31)


def unit_from(base: date, unit: Unit, count: int) -> Span:
    """Return the day, week, month or year that lies `count` of them after that of `base`."""
    if unit == "day":
        return day_from(base, count)
    if unit == "week":
        return week_from(base, count)
    return month_from(base, count) if unit == "month" else year_of(base.year + count)


def season_of(year: int, season: int) -> Span:
    """Return a meteorological season of the north; the winter of a year begins in its December."""
    if season == WINTER:
        return date(year, 12, 1), month_of(year + 1, 2)[1]
    return date(year, 3 * season + 3, 1), month_of(year, 3 * season + 5)[1]


def season_year(base: date, season: int) -> int:
    """Return the year of the season called "this": that of `base`; the winter that goes on, or is nearest."""
    return base.year - 1 if season == WINTER and base.month <= 6 else base.year


def nearest(base: date, month: int, day: int) -> Span:
    """Return the day of this month and day that lies nearest to `base`, the earlier one of two.

    Raises:
        ValueError: None of the years around has such a day (30 February; 29 February, mostly).
    """
    days = []
    for year in range(max(1, base.year - 1), min(9999, base.year + 1) + 1):
        if day in range(1, monthrange(year, month)[1] + 1):
            days.append(date(year, month, day))
    found = min(days, key=lambda each: (abs(each - base), each))
    return found, found
