"""When something expires: what a caller says, as a moment that everybody reads alike."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from clocks import Clock
from memreader import lifetimes
from memreader.items import TextualMemoryMetadata
from memreader.lifetimes import chosen_end, earliest, ending, has_expired, second_of, session_end
from memreader.options import ReadOptions

INDIA = timezone(timedelta(hours=5, minutes=30))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(at=datetime(2026, 12, 1, 8, tzinfo=UTC).timestamp())
    monkeypatch.setattr(lifetimes, "clock", clock)
    return clock


@pytest.fixture
def in_india(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as context:
        context.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process can't be set here")
@pytest.mark.usefixtures("in_india")
def test_a_time_without_a_zone_is_local_and_a_date_is_its_end() -> None:
    assert ending(datetime(2026, 12, 5, 10)) == "2026-12-05T10:00:00+05:30"
    assert ending("2026-12-05T10:00") == "2026-12-05T10:00:00+05:30"
    assert ending(date(2026, 12, 5)) == ending("2026-12-05") == "2026-12-05T23:59:59+05:30"


def test_a_zone_that_is_given_stays() -> None:
    assert ending(datetime(2026, 12, 5, 10, tzinfo=INDIA)) == "2026-12-05T10:00:00+05:30"
    assert ending("2026-12-05T10:00:00Z") == "2026-12-05T10:00:00+00:00"


@given(
    st.datetimes(
        timezones=st.sampled_from([UTC, INDIA]), min_value=datetime(1900, 1, 1), max_value=datetime(9999, 1, 1)
    )
)
def test_a_moment_is_kept_to_the_second_and_never_too_early(moment: datetime) -> None:
    text = ending(moment)
    assert ending(text) == text
    assert timedelta(0) <= datetime.fromisoformat(text) - moment < timedelta(seconds=1)
    second = second_of(text)
    assert second is not None
    assert has_expired(text, second)
    assert not has_expired(text, second - 0.001)


def test_the_ends_of_the_calendar_are_times_too() -> None:
    assert ending("0001-01-01") in ("0001-01-01T23:59:59+00:00", ending(datetime(1, 1, 1, 23, 59, 59)))
    assert ending("9999-12-31T23:59:59.5Z") == "9999-12-31T23:59:59+00:00"
    assert (second_of(ending("0001-01-01T00:00:00+14:00")) or 0) < 0


@pytest.mark.parametrize("wrong", ["soon", "2026-13-01", "", "7d"])
def test_what_is_no_time_is_refused_with_how_to_write_one(wrong: str) -> None:
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        ending(wrong)


def test_ttl_counts_from_now(clock: Clock) -> None:
    for ttl in (timedelta(days=7), 7 * 86_400, 7 * 86_400.0):
        assert second_of(chosen_end(ttl=ttl, expires_at=None)) == clock() + 7 * 86_400
    assert second_of(chosen_end(ttl=0.25, expires_at=None)) == clock() + 1
    assert chosen_end(ttl=None, expires_at=None) is None


@pytest.mark.parametrize("ttl", [0, -1, math.nan, math.inf, timedelta(0), timedelta(seconds=-1), 1e18])
def test_a_ttl_that_makes_no_sense_is_refused(clock: Clock, ttl: Any) -> None:
    with pytest.raises(ValueError, match="ttl"):
        chosen_end(ttl=ttl, expires_at=None)


@pytest.mark.parametrize("ttl", ["7d", True, [1]])
def test_a_ttl_is_a_timedelta_or_a_number(clock: Clock, ttl: Any) -> None:
    with pytest.raises(TypeError, match="ttl is a timedelta or a number of seconds"):
        chosen_end(ttl=ttl, expires_at=None)


def test_an_end_in_the_past_and_two_ends_are_refused(clock: Clock) -> None:
    for past in ("2026-12-01T08:00:00Z", datetime(2026, 11, 30, tzinfo=UTC), date(2026, 11, 1)):
        with pytest.raises(ValueError, match=r"in the past .* nothing was stored"):
            chosen_end(ttl=None, expires_at=past)
    with pytest.raises(ValueError, match="not both"):
        chosen_end(ttl=5, expires_at="2027-01-01")


def test_of_several_ends_the_first_counts_whatever_its_zone() -> None:
    assert earliest(["2026-12-05T10:00:00+00:00", None, "2026-12-05T11:00:00+02:00"]) == "2026-12-05T11:00:00+02:00"
    assert earliest([]) is None
    assert earliest([None, None]) is None


def test_a_session_ends_some_hours_after_it_was_learned_and_never_beyond_time() -> None:
    assert session_end("2026-12-01T08:00:00+05:30", 1.5) == "2026-12-01T09:30:00+05:30"
    assert session_end("2026-12-01T08:00:00+05:30", 1e8) == "9999-12-31T23:59:59+00:00"


def test_metadata_take_any_way_of_saying_it_and_keep_one() -> None:
    for given_as in ("2026-12-05T10:00:00.5Z", datetime(2026, 12, 5, 10, 0, 0, 500_000, tzinfo=UTC)):
        assert TextualMemoryMetadata(expires_at=given_as).expires_at == "2026-12-05T10:00:01+00:00"
    for wrong in ("soon", 5, ["2026-12-05"]):
        with pytest.raises(ValidationError, match="expires_at"):
            TextualMemoryMetadata(expires_at=wrong)
    with pytest.raises(ValidationError, match="lifetime"):
        TextualMemoryMetadata(lifetime="short")


@pytest.mark.parametrize("hours", [0, -1, math.nan, math.inf])
def test_how_long_a_session_lives_is_above_nothing(hours: float) -> None:
    with pytest.raises(ValueError, match="session_ttl_hours"):
        ReadOptions(session_ttl_hours=hours)


def test_how_long_a_session_lives_is_no_part_of_the_reading() -> None:
    how = {"mode": "fast", "unit": "turn", "tokenizer": "t", "max_tokens": 9}
    assert ReadOptions(session_ttl_hours=1).reading_key(**how) == ReadOptions().reading_key(**how)
