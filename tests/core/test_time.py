"""Times in any common form."""

from __future__ import annotations

import locale
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.errors import InputError
from memreader.normalize.time import parse_time, zone_of
from memreader.text import show_time

AFTERNOON = """
2023-05-08T13:56:00
2023-05-08t13:56
2023-05-08 13:56
2023-05-08T13:56:00.000
20230508T135600
20230508135600
2023/05/08 13:56
2023/5/8 13:56:00
2023.05.08 13:56
08.05.2023 13:56
1:56 pm on 8 May, 2023
01:56 PM on 08 May, 2023
1:56pm, 8 May 2023
1:56 p.m. on May 8th, 2023
May 8, 2023 1:56 PM
May 8, 2023, 1:56:00\u202fPM
Monday, May 8, 2023 at 1:56 PM
8 May 2023 13:56
8-May-2023 13:56
08-MAY-23 13:56
the 8th of May 2023 at 13:56
5/8/2023 1:56 PM
5/8/23, 1:56 PM
[05/08/2023, 13:56:00]
Mon May  8 13:56:00 2023
2023 May 8 13:56
2023-05-08 - 13:56
2023年5月8日 下午1:56
2023年5月8日下午1点56分
2023年05月08日 13:56
2023年5月8日 星期一 13时56分00秒
2023-05-08 下午1:56
2023年5月8日(月) 13時56分
2023年5月8日 午後1時56分
2023년 5월 8일 오후 1:56
2023. 5. 8. 오후 1시 56분
２０２３／０５／０８　１３：５６
"""


@pytest.mark.parametrize("text", AFTERNOON.strip().splitlines())
def test_the_same_afternoon_in_many_forms(text: str) -> None:
    assert parse_time(text) == "2023-05-08T13:56:00"
    assert parse_time(f"  {text}\n") == "2023-05-08T13:56:00"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("2023-05-08T13:56:00Z", "+00:00"),
        ("2023-05-08T13:56:00+02:00", "+02:00"),
        ("2023-05-08 13:56:00 +0800", "+08:00"),
        ("2023-05-08 13:56:00 UTC", "+00:00"),
        ("Mon, 08 May 2023 13:56:00 +0200", "+02:00"),
        ("Mon, 8 May 2023 13:56:00 GMT", "+00:00"),
        ("Mon, 8 May 2023 13:56:00 -0500 (CDT)", "-05:00"),
        ("Mon May 08 13:56:00 PDT 2023", "-07:00"),
        ("Mon May 08 2023 13:56:00 GMT+0200 (Central European Summer Time)", "+02:00"),
        ("8 May 2023 13:56 (UTC)", "+00:00"),
        ("May 8, 2023 1:56 PM EST", "-05:00"),
        ("2023-05-08 13:56 UTC+8", "+08:00"),
    ],
)
def test_a_given_zone_is_kept(text: str, offset: str) -> None:
    assert parse_time(text) == f"2023-05-08T13:56:00{offset}"
    assert parse_time(text, timezone=ZoneInfo("Asia/Tokyo")) == f"2023-05-08T13:56:00{offset}"


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-08",
        "20230508",
        "2023/5/8",
        "8 May 2023",
        "May 8, 2023",
        "8th of May, 2023",
        "Mon, 8 May 2023",
        "08.05.2023",
        "5/8/2023",
        "2023年5月8日",
        "2023年5月8日 星期一",
    ],
)
def test_a_bare_date_stays_a_date(text: str) -> None:
    assert parse_time(text) == "2023-05-08"
    assert parse_time(text, timezone=UTC) == "2023-05-08"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "2023",
        "2023-05",
        "May 2023",
        "8 May",
        "5月8日",
        "Monday",
        "13:56",
        "1:56 pm",
        "12345",
        "yesterday",
        "now",
        "100,000 years ago",
        "0000-01-01",
        "99999-01-01",
        "2023-13-45",
        "30 February 2023",
        "29 Feb 2023",
        "2023-05-08 25:00",
        "2023-05-08 13:61",
        "13:56 am on 8 May 2023",
        "I saw you on 8 May 2023",
        "8 May 2023 or 9 May 2023",
        "inf",
        "nan",
        "1e9",
        "2023-05-08 13:56 Mars/Olympus",
        "8 May 2023 UTC",
        "5/8/2023 5/9/2023",
        "a" * 10_000,
        "9" * 50,
        "9999-12-31 24:00",
        "9999-12-31T23:59:59-05:00",
        "0001-01-01T00:00:00+14:00",
        "2023-05-08 13:56 +99:00",
    ],
)
def test_what_is_no_whole_time_is_an_error(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_time(text, locator="[3]")
    assert caught.value.locator == "[3]"


@pytest.mark.parametrize(
    "value", [None, True, [], {}, float("nan"), float("inf"), 1e30, 10**400, -(10**14 - 1), b"2023"]
)
def test_what_is_no_kind_of_time_is_an_error(value: Any) -> None:
    with pytest.raises(InputError):
        parse_time(value)


@pytest.mark.parametrize(
    "value",
    [1683554160, 1683554160.0, "1683554160", 1683554160000, "1683554160000", 1683554160000000, 1683554160000000000],
)
def test_counts_since_1970_are_told_apart_by_size(value: Any) -> None:
    assert parse_time(value) == "2023-05-08T13:56:00+00:00"
    assert parse_time(value, timezone=zone_of("+08:00")) == "2023-05-08T21:56:00+08:00"


def test_counts_keep_their_fractions_and_may_be_negative() -> None:
    assert parse_time(1683554160.25) == "2023-05-08T13:56:00.250000+00:00"
    assert parse_time("1683554160.25") == "2023-05-08T13:56:00.250000+00:00"
    assert parse_time(1683554160123) == "2023-05-08T13:56:00.123000+00:00"
    assert parse_time(-1) == "1969-12-31T23:59:59+00:00"
    assert parse_time(0) == "1970-01-01T00:00:00+00:00"


def test_datetimes_and_dates_are_written_as_they_are() -> None:
    assert parse_time(datetime(2023, 5, 8, 13, 56)) == "2023-05-08T13:56:00"
    assert parse_time(datetime(2023, 5, 8, 13, 56, tzinfo=UTC)) == "2023-05-08T13:56:00+00:00"
    assert parse_time(date(2023, 5, 8)) == "2023-05-08"


def test_naive_times_get_the_zone_with_its_summer_time() -> None:
    rome = ZoneInfo("Europe/Rome")
    assert parse_time("2023-05-08 13:56", timezone=rome) == "2023-05-08T13:56:00+02:00"
    assert parse_time(datetime(2023, 1, 8, 13, 56), timezone=rome) == "2023-01-08T13:56:00+01:00"


def test_the_month_comes_first_in_slashes_unless_it_cant() -> None:
    assert parse_time("03/04/2023") == parse_time("03-04-2023") == "2023-03-04"
    assert parse_time("03/04/2023", day_first=True) == parse_time("03.04.2023") == "2023-04-03"
    assert parse_time("13/04/2023") == "2023-04-13"
    assert parse_time("04/13/2023", day_first=True) == "2023-04-13"


def test_two_digit_years_dont_depend_on_today() -> None:
    assert [parse_time(f"5/8/{year}")[:4] for year in ("00", "68", "69", "99")] == ["2000", "2068", "1969", "1999"]


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("凌晨12:10", "00:10"),
        ("上午12:10", "00:10"),
        ("早上8点", "08:00"),
        ("中午12点", "12:00"),
        ("中午1点", "13:00"),
        ("下午12:30", "12:30"),
        ("下午3点半", "15:30"),
        ("晚上8点", "20:00"),
        ("下午13:56", "13:56"),
        ("午後0時5分", "12:05"),
        ("12:00 AM", "00:00"),
        ("12:00 PM", "12:00"),
        ("11 pm", "23:00"),
        ("9am", "09:00"),
        ("13:56 PM", "13:56"),
    ],
)
def test_halves_of_the_day(text: str, clock: str) -> None:
    assert parse_time(f"2023年5月8日 {text}") == f"2023-05-08T{clock}:00"
    assert parse_time(f"{text} 8 May 2023") == f"2023-05-08T{clock}:00"


def test_midnight_may_end_a_day() -> None:
    assert parse_time("2023年5月8日晚上12点") == parse_time("2023-05-08 24:00") == "2023-05-09T00:00:00"


FORMS = [
    "%Y-%m-%d %H:%M:%S",
    "%Y/%m/%d %H:%M:%S",
    "%d %B %Y %H:%M:%S",
    "%B %d, %Y %I:%M:%S %p",
    "%a, %d %b %Y %H:%M:%S",
    "%I:%M:%S %p on %d %B, %Y",
    "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%Y年%m月%d日 %H:%M:%S",
    "%a %b %d %H:%M:%S %Y",
    "%d-%b-%Y %H:%M:%S",
]


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.sampled_from(FORMS))
def test_every_moment_is_read_back_from_every_form(moment: datetime, form: str) -> None:
    assert parse_time(moment.strftime(form)) == moment.replace(microsecond=0).isoformat()


@settings(deadline=None)
@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_iso_times_are_read_back_or_refused(moment: datetime) -> None:
    try:
        again = parse_time(moment.isoformat())
    except InputError:
        assert moment.year in (1, 9999) or moment.utcoffset() is not None
    else:
        assert again == moment.isoformat()
        assert parse_time(again) == again


@settings(deadline=None)
@given(st.text(max_size=120) | st.floats() | st.integers())
def test_anything_is_a_time_or_an_input_error(value: Any) -> None:
    try:
        iso = parse_time(value)
    except InputError:
        return
    assert show_time(iso)


@settings(deadline=None)
@given(st.text(alphabet="0123456789:/-. TZ年月日下午amp+()", max_size=40))
def test_almost_times_are_a_time_or_an_input_error(text: str) -> None:
    try:
        iso = parse_time(text)
    except InputError:
        return
    assert datetime.fromisoformat(iso).year >= 1


@settings(deadline=None)
@given(st.datetimes())
def test_the_shown_form_is_what_strftime_gives_in_english(moment: datetime) -> None:
    locale.setlocale(locale.LC_TIME, "C")
    assert show_time(moment.isoformat()) == moment.strftime("%I:%M %p on %d %B, ") + f"{moment.year:04d}"
    assert parse_time(show_time(moment.isoformat())) == moment.replace(second=0, microsecond=0).isoformat()


def test_a_shown_time_doesnt_convert_its_zone() -> None:
    assert show_time("2023-05-08T13:56:00+09:00") == show_time("2023-05-08T13:56:00") == "01:56 PM on 08 May, 2023"
    assert show_time("2023-05-08") == "12:00 AM on 08 May, 2023"


def test_zones_by_name_offset_or_value() -> None:
    assert zone_of(None) is None
    assert zone_of(UTC) is UTC
    assert zone_of("-03:30") == timezone(-timedelta(hours=3, minutes=30))
    assert zone_of("UTC+8") == timezone(timedelta(hours=8))
    for unknown in ("Mars/Olympus", "", "+99:00", "../etc/passwd", "a\0b"):
        with pytest.raises(InputError):
            zone_of(unknown)
