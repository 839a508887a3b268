"""Dates in words, English and Chinese, against tables."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from time import perf_counter

import pytest

from memreader.dates import FoundDate, annotate, find_dates, resolve_date

MONDAY = date(2023, 5, 8)
FRIDAY = date(2023, 5, 12)
SUNDAY = date(2023, 5, 14)

ENGLISH = """
yesterday = 2023-05-07
Yesterday evening = 2023-05-07
yesterday morning = 2023-05-07
today = 2023-05-08
tonight = 2023-05-08
tomorrow = 2023-05-09
tomorrow night = 2023-05-09
the day before yesterday = 2023-05-06
day after tomorrow = 2023-05-10
the day after tomorrow evening = 2023-05-10
the night before last = 2023-05-06
last night = 2023-05-07
this morning = 2023-05-08
this afternoon = 2023-05-08
this evening = 2023-05-08
3 days ago = 2023-05-05
three days ago = 2023-05-05
a day ago = 2023-05-07
twenty-two days ago = 2023-04-16
two weeks ago = 2023-04-24/2023-04-30
a week ago = 2023-05-01/2023-05-07
a week ago today = 2023-05-01
two nights ago = 2023-05-06
two weekends ago = 2023-04-29/2023-04-30
six months ago = 2022-11
one month ago = 2023-04
half a year ago = 2022-11
5 years ago = 2018
a year ago = 2022
in two days = 2023-05-10
in 3 weeks = 2023-05-29/2023-06-04
in a month = 2023-06
in two days' time = 2023-05-10
in a week's time = 2023-05-15/2023-05-21
ten days from now = 2023-05-18
two weeks from today = 2023-05-22
last Wednesday = 2023-05-03
last Monday = 2023-05-01
last Sunday = 2023-05-07
last Friday night = 2023-05-05
last Fri = 2023-05-05
last tues = 2023-05-02
next Friday = 2023-05-19
next Monday = 2023-05-15
next Thu = 2023-05-18
this Friday = 2023-05-12
this coming Friday = 2023-05-12
the coming Monday = 2023-05-15
this past Saturday = 2023-05-06
past Tuesday = 2023-05-02
Wednesday of last week = 2023-05-03
Tuesday next week = 2023-05-16
last week, on Monday = 2023-05-01
next week Friday = 2023-05-19
last week = 2023-05-01/2023-05-07
this week = 2023-05-08/2023-05-14
next week = 2023-05-15/2023-05-21
the week before last = 2023-04-24/2023-04-30
the week after next = 2023-05-22/2023-05-28
last weekend = 2023-05-06/2023-05-07
this past weekend = 2023-05-06/2023-05-07
this weekend = 2023-05-13/2023-05-14
this coming weekend = 2023-05-13/2023-05-14
next weekend = 2023-05-20/2023-05-21
last month = 2023-04
this month = 2023-05
next month = 2023-06
the month before last = 2023-03
earlier this month = 2023-05-01/2023-05-08
later this year = 2023-05-08/2023-12-31
last year = 2022
this year = 2023
next year = 2024
the year after next = 2025
last summer = 2022-06-01/2022-08-31
last winter = 2022-12-01/2023-02-28
this summer = 2023-06-01/2023-08-31
this winter = 2022-12-01/2023-02-28
next summer = 2024-06-01/2024-08-31
last fall = 2022-09-01/2022-11-30
this coming autumn = 2023-09-01/2023-11-30
summer of last year = 2022-06-01/2022-08-31
last May = 2022-05
last March = 2023-03
next March = 2024-03
this October = 2023-10
May of last year = 2022-05
December last year = 2022-12
May 7 = 2023-05-07
May 7th = 2023-05-07
7 May = 2023-05-07
the 7th of May = 2023-05-07
Dec. 24 = 2022-12-24
3 January = 2023-01-03
October 31st = 2023-10-31
2023-05-07 = 2023-05-07
2023/5/7 = 2023-05-07
2023.05.07 = 2023-05-07
5/17/2023 = 2023-05-17
17/5/2023 = 2023-05-17
May 7, 2023 = 2023-05-07
May 7th 2021 = 2021-05-07
7 May 1999 = 1999-05-07
the 3rd of March, 2020 = 2020-03-03
Sept. 2022 = 2022-09
May of 2021 = 2021-05
"""

CHINESE = """
今天 = 2023-05-08
昨天 = 2023-05-07
前天 = 2023-05-06
大前天 = 2023-05-05
明天 = 2023-05-09
后天 = 2023-05-10
後天 = 2023-05-10
大后天 = 2023-05-11
大後天 = 2023-05-11
昨日 = 2023-05-07
昨儿 = 2023-05-07
今晚 = 2023-05-08
昨晚 = 2023-05-07
昨夜 = 2023-05-07
今早 = 2023-05-08
明早 = 2023-05-09
昨天晚上 = 2023-05-07
明天下午 = 2023-05-09
前天下午 = 2023-05-06
上周 = 2023-05-01/2023-05-07
上星期 = 2023-05-01/2023-05-07
上个礼拜 = 2023-05-01/2023-05-07
上一周 = 2023-05-01/2023-05-07
上周三 = 2023-05-03
上週三 = 2023-05-03
上个星期日 = 2023-05-07
上個禮拜天 = 2023-05-07
上周五晚上 = 2023-05-05
上上周 = 2023-04-24/2023-04-30
上上周三 = 2023-04-26
这周五 = 2023-05-12
這週五 = 2023-05-12
本周五 = 2023-05-12
本周 = 2023-05-08/2023-05-14
下周三 = 2023-05-17
下星期一 = 2023-05-15
下下周二 = 2023-05-23
下周 = 2023-05-15/2023-05-21
上周末 = 2023-05-06/2023-05-07
这个周末 = 2023-05-13/2023-05-14
下周末 = 2023-05-20/2023-05-21
上个月 = 2023-04
上月 = 2023-04
上個月 = 2023-04
上上个月 = 2023-03
本月 = 2023-05
这个月底 = 2023-05
下个月 = 2023-06
上个月5号 = 2023-04-05
上个月十五日 = 2023-04-15
下月三號 = 2023-06-03
去年 = 2022
今年 = 2023
明年 = 2024
前年 = 2021
后年 = 2025
大前年 = 2020
去年年底 = 2022
去年五月 = 2022-05
去年12月 = 2022-12
去年夏天 = 2022-06-01/2022-08-31
去年冬天 = 2022-12-01/2023-02-28
今年3月8日 = 2023-03-08
去年的十月一号 = 2022-10-01
去年的今天 = 2022-05-08
三天前 = 2023-05-05
3天前 = 2023-05-05
３天之前 = 2023-05-05
二十一天以前 = 2023-04-17
两周前 = 2023-04-24/2023-04-30
兩個星期前 = 2023-04-24/2023-04-30
3个月前 = 2023-02
半年前 = 2022-11
一年半前 = 2021-11
五年前 = 2018
十年前 = 2013
从今天起三天后 = 2023-05-11
从现在起两周后 = 2023-05-22/2023-05-28
再过三天 = 2023-05-11
再过两个月 = 2023-07
5月7日 = 2023-05-07
五月七号 = 2023-05-07
十二月二十五日 = 2022-12-25
10月1號 = 2023-10-01
2023年5月7日 = 2023-05-07
二〇二三年五月七日 = 2023-05-07
2023 年 5 月 7 日 = 2023-05-07
2022年5月 = 2022-05
2022年 = 2022
2022年夏天 = 2022-06-01/2022-08-31
"""

NO_DATE = """
on Friday
Monday Night Football
see you Monday
todayish
yesterdays
www.today.com
https://example.com/today/yesterday?d=tomorrow
mail me at today@example.com
today.com
a few days ago
a couple of weeks ago
several months ago
years ago
about three days ago
over 10 years ago
more than two years ago
two or three days ago
2-3 days ago
two to three weeks ago
three years and two months ago
two and a half years ago
1.5 years ago
100,000 years ago
100000 years ago
in 9999999 weeks
9999 years ago
in 9999 years
twenty thousand years ago
I read it in two days
we finished in a week
the first time in 3 years
twice in a week
in two weeks or so
two days later
the next day
the last week of school
the last week
the next year
my last year
her last summer
last week of May
last time
next to me
the other day
the following Friday
a year ago today
a week ago last Friday
a month ago yesterday
on the 3rd
what comes next may be new
this may hurt
could last may
this march was long
she may 7 times
3/4/2023
May 32
February 30
2023-02-30
0000-01-01
May 7-9
May 70
the ratio 2023-05-07-3
report-2023-05-07.pdf
My birthday is May 7
every year on May 7
May 7 is my birthday
this sun is hot
周三
星期三
当天
當天
三天后
3个月后
几天前
两三天前
十几天前
十多年前
三年多前
大约三天前
每三天前
99999年前
周末
春节
农历五月七日
我的生日是5月7日
每年5月7日
5月7日是我的生日
明后天
三到四天前
100,000年前
2月30日
十三月一日
以前天天跑步
三天前后
后天性疾病
先天后天
聪明天真
三年后年纪大了
过去年代
当今天下
上周围
晚上周围没有人
晚上月亮很圆
不再过三天
"""


def rows(table: str) -> list[tuple[str, str]]:
    return [(words, iso) for words, iso in (line.split(" = ") for line in table.strip().splitlines())]


def isos(text: str, base: date = MONDAY) -> list[str]:
    return [found.iso for found in find_dates(text, base)]


@pytest.mark.parametrize(("words", "iso"), rows(ENGLISH))
def test_english_words_are_the_date(words: str, iso: str) -> None:
    text = f"So, {words}, we met."
    assert [(found.words, found.iso) for found in find_dates(text, MONDAY)] == [(words, iso)]


@pytest.mark.parametrize(("words", "iso"), rows(CHINESE))
def test_chinese_words_are_the_date(words: str, iso: str) -> None:
    text = f"我{words}，去了医院"
    assert [(found.words, found.iso) for found in find_dates(text, MONDAY)] == [(words, iso)]


@pytest.mark.parametrize("text", NO_DATE.strip().splitlines())
def test_what_names_no_exact_date_is_left_out(text: str) -> None:
    assert find_dates(text, MONDAY) == []


@pytest.mark.parametrize(
    ("base", "words", "iso"),
    [
        (FRIDAY, "last Wednesday", "2023-05-10"),
        (FRIDAY, "last Friday", "2023-05-05"),
        (FRIDAY, "Wednesday of last week", "2023-05-03"),
        (FRIDAY, "上周三", "2023-05-03"),
        (FRIDAY, "上周五", "2023-05-05"),
        (FRIDAY, "next Friday", "2023-05-19"),
        (FRIDAY, "this Friday", "2023-05-12"),
        (FRIDAY, "this coming Friday", "2023-05-19"),
        (SUNDAY, "next Friday", "2023-05-19"),
        (SUNDAY, "next Sunday", "2023-05-21"),
        (SUNDAY, "last Sunday", "2023-05-07"),
        (SUNDAY, "last weekend", "2023-05-06/2023-05-07"),
        (SUNDAY, "this weekend", "2023-05-13/2023-05-14"),
        (SUNDAY, "this coming weekend", "2023-05-20/2023-05-21"),
        (SUNDAY, "下周一", "2023-05-15"),
        (date(2023, 12, 26), "last summer", "2023-06-01/2023-08-31"),
        (date(2023, 7, 1), "last summer", "2022-06-01/2022-08-31"),
        (date(2023, 9, 1), "last summer", "2023-06-01/2023-08-31"),
        (date(2024, 1, 11), "this winter", "2023-12-01/2024-02-29"),
        (date(2024, 1, 11), "last winter", "2022-12-01/2023-02-28"),
        (date(2023, 11, 11), "this winter", "2023-12-01/2024-02-29"),
        (date(2023, 11, 11), "next winter", "2024-12-01/2025-02-28"),
        (date(2023, 12, 8), "last August", "2023-08"),
        (date(2023, 12, 8), "last December", "2022-12"),
        (date(2023, 12, 8), "this coming March", "2024-03"),
        (date(2023, 1, 1), "last month", "2022-12"),
        (date(2023, 1, 1), "yesterday", "2022-12-31"),
        (date(2024, 3, 1), "昨天", "2024-02-29"),
        (date(2023, 12, 30), "January 2", "2024-01-02"),
        (date(2024, 1, 2), "12月30日", "2023-12-30"),
        (date(2023, 10, 1), "February 29", "2024-02-29"),
        (date(2024, 2, 29), "去年的今天", None),
        (date(2023, 3, 31), "上个月30号", None),
    ],
)
def test_the_day_it_is_said_on_decides(base: date, words: str, iso: str | None) -> None:
    assert isos(words, base) == ([] if iso is None else [iso])


def test_a_number_after_a_weekday_character_counts_something_else() -> None:
    week = ["2023-05-01/2023-05-07"]
    for text in ("上周一直在加班", "上周三次会议", "上周日本队输了", "上周天气很好", "上周一起吃饭", "上周五个人"):
        assert isos(text) == week, text
    assert isos("上周一开会") == ["2023-05-01"]
    assert isos("上周期中考试") == week


def test_a_season_is_not_the_feast_that_begins_like_it() -> None:
    assert isos("明年春节") == ["2024"]
    assert isos("明年春") == ["2024-03-01/2024-05-31"]


def test_the_week_of_another_year_is_left_out() -> None:
    assert isos("last year's last week") == ["2022"]
    assert isos("It's next Friday") == ["2023-05-19"]


def test_a_sentence_can_begin_with_a_count() -> None:
    assert isos("我病了，三天前去了医院") == ["2023-05-05"]


def test_several_dates_come_in_the_order_of_the_text() -> None:
    assert isos("Tomorrow, not yesterday; 昨天说的是下周三") == ["2023-05-09", "2023-05-07", "2023-05-07", "2023-05-17"]


def test_an_english_word_inside_chinese_text_is_found() -> None:
    assert [found.words for found in find_dates("我last week去了，昨天又去", MONDAY)] == ["last week", "昨天"]


def test_case_and_line_breaks_do_not_matter() -> None:
    assert isos("LAST\nWEEK, Last  Friday") == ["2023-05-01/2023-05-07", "2023-05-05"]


def test_in_two_days_is_ahead_when_nothing_tells_of_the_past() -> None:
    assert isos("I was ill. My exam is in two days.") == ["2023-05-10"]


def test_the_longest_words_win() -> None:
    assert [found.words for found in find_dates("the day before yesterday", MONDAY)] == ["the day before yesterday"]
    assert [found.words for found in find_dates("我大前天去", MONDAY)] == ["大前天"]


def test_the_date_of_a_timestamp_is_found() -> None:
    assert [found.words for found in find_dates("at 2023-05-07T13:56:00Z", MONDAY)] == ["2023-05-07"]


def test_only_the_clock_on_the_wall_counts() -> None:
    late = datetime(2023, 5, 8, 23, 59, tzinfo=timezone(timedelta(hours=-11)))
    assert find_dates("yesterday", late) == find_dates("yesterday", MONDAY)


def test_day_only_leaves_out_weeks_months_and_years() -> None:
    found = find_dates("last week, last month, 去年, yesterday", MONDAY, day_only=True)
    assert [each.iso for each in found] == ["2023-05-07"]


def test_dates_with_their_year_in_figures_are_not_relative() -> None:
    found = find_dates("2023-05-07, May 7, 2023, 2022年, May 7, 昨天", MONDAY)
    assert [each.relative for each in found] == [False, False, False, True, True]


def test_a_found_date_tells_days_months_and_years_apart() -> None:
    def iso(first: date, last: date) -> str:
        return FoundDate("x", 0, 1, first, last).iso

    assert FoundDate("x", 0, 1, MONDAY, MONDAY).is_day
    assert iso(MONDAY, FRIDAY) == "2023-05-08/2023-05-12"
    assert iso(date(2024, 2, 1), date(2024, 2, 29)) == "2024-02"
    assert iso(date(2024, 2, 1), date(2024, 2, 28)) == "2024-02-01/2024-02-28"
    assert iso(date(2023, 1, 1), date(2023, 12, 31)) == "2023"
    assert iso(date(2023, 1, 2), date(2023, 12, 30)) == "2023-01-02/2023-12-30"
    assert iso(date(800, 1, 1), date(800, 12, 31)) == "0800"


@pytest.mark.parametrize("base", [date.min, date.max])
def test_the_ends_of_the_calendar_raise_nothing(base: date) -> None:
    for words, _ in rows(ENGLISH) + rows(CHINESE):
        find_dates(words, base)
        annotate(words, base, language="en")
        resolve_date(words, base)


@pytest.mark.parametrize(
    ("text", "language", "written"),
    [
        ("I went to the clinic yesterday.", "en", "I went to the clinic yesterday (2023-05-07)."),
        ("yesterday's talk", "en", "yesterday's (2023-05-07) talk"),
        ("last week", "en", "last week (2023-05-01 to 2023-05-07)"),
        ("last month, last year", "en", "last month (2023-04), last year (2022)"),
        ("see May 7", "en", "see May 7 (2023-05-07)"),
        ("我昨天去了医院", "zh", "我昨天（2023-05-07）去了医院"),
        ("上周很忙", "zh", "上周（2023-05-01 至 2023-05-07）很忙"),
        ("I went 昨天", "en", "I went 昨天（2023-05-07）"),
        ("我 last month 去了", "zh-CN", "我 last month（2023-04） 去了"),
        ("yesterday (2023-05-07) and today", "en", "yesterday (2023-05-07) and today (2023-05-08)"),
        ("昨天（2023-05-07）和今天", "zh", "昨天（2023-05-07）和今天（2023-05-08）"),
    ],
)
def test_the_date_stands_after_its_words(text: str, language: str, written: str) -> None:
    assert annotate(text, MONDAY, language=language) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no date here",
        "on May 7, 2023 and 2023-05-01",
        "2022年5月去过",
        "yesterday (it rained)",
        "(yesterday) we met",
        "yesterday (2023-05-07)",
        "yesterday  (2023-05-07)",
        "last week (2023-05-01 to 2023-05-07)",
        "on 2023-05-07 (yesterday)",
        "(2023-05-07) yesterday",
        "yesterday, May 7, 2023",
        "May 7, 2023, yesterday",
        "yesterday's (2023-05-07) talk",
        "昨天（2023-05-07）",
        "上周（2023-05-01 至 2023-05-07）",
        "2023年5月7日，昨天",
        "last (2023-05-01) week",
    ],
)
def test_a_date_that_is_there_is_not_written_again(text: str) -> None:
    assert annotate(text, MONDAY, language="en") == text


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2023-05-07", "2023-05-07"),
        (" 2023-05-07 ", "2023-05-07"),
        ("2023-05-07T13:56:00", "2023-05-07T13:56:00"),
        ("2023-05-07 13:56", "2023-05-07T13:56:00"),
        ("2023-05-07T13:56:00Z", "2023-05-07T13:56:00+00:00"),
        ("2023-05-07T13:56:00+08:00", "2023-05-07T13:56:00+08:00"),
        ("2023-05", "2023-05"),
        ("2022", "2022"),
        ("2023-05-01/2023-05-07", "2023-05-01/2023-05-07"),
        ("2023-05-01 to 2023-05-07", "2023-05-01/2023-05-07"),
        ("2023-05-01/2023-05-31", "2023-05"),
        ("yesterday", "2023-05-07"),
        ("Yesterday at 3:15 p.m.", "2023-05-07"),
        ("yesterday (2023-05-07)", "2023-05-07"),
        ("on the evening of May 7, 2023", "2023-05-07"),
        ("Sunday, May 7, 2023", "2023-05-07"),
        ("in early May 2022", "2022-05"),
        ("around last month", "2023-04"),
        ("next Friday", "2023-05-19"),
        ("last week", "2023-05-01/2023-05-07"),
        ("昨天", "2023-05-07"),
        ("昨天晚上8点", "2023-05-07"),
        ("在上周三", "2023-05-03"),
        ("2023年5月7日（星期日）", "2023-05-07"),
        ("", None),
        ("unknown", None),
        ("soon", None),
        ("on Friday", None),
        ("2023-13-01", None),
        ("2023-13", None),
        ("2023-02-30T10:00:00", None),
        ("2023-05-07T99:00:00", None),
        ("2023-05-07/2023-05-01", None),
        ("before breakfast yesterday", None),
        ("around yesterday", None),
        ("before yesterday", None),
        ("since last month", None),
        ("not yesterday", None),
        ("yesterday or today", None),
        ("9999 years ago", None),
        ("a" * 5000, None),
        ("yesterday" + " " * 5000 + "x", None),
    ],
)
def test_a_time_field_is_one_date_or_none(text: str, iso: str | None) -> None:
    assert resolve_date(text, MONDAY) == iso


@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "1",
        "last ",
        "three ",
        "in a ",
        "2023-",
        "三",
        "上",
        "昨天",
        "(",
        "May 7 ",
        "in 2 days ",
        "http://",
        "thirty-",
    ],
)
def test_time_is_linear_in_the_text(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = perf_counter()
        annotate(text, MONDAY, language="en")
        return perf_counter() - start

    small = min(seconds(5_000) for _ in range(3))
    assert min(seconds(40_000) for _ in range(3)) < 8 * small * 3
