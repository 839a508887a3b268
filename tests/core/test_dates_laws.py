"""What holds for the dates of every text and every day."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.dates import annotate, find_dates, resolve_date

PIECES = """
yesterday | today | last week | next Friday | last Tues. | this weekend | in two days | two weeks ago | 3 days ago
May 7 | May 7, 2023 | 2023-05-07 | 昨天 | 上周三 | 去年五月 | 三天前 | 后天 | 5月7日 | 2023年5月 | 上个月5号
再过三天 | 一年半前 | last | (2023-05-07) | （2023-05-07） | (2023-05-01 to 2023-05-07) | ( | ) | （ | ） | 's
, | . | and | of | or | about | finished | on | birthday | 生日 | 大约 | 的 | 天 | 三 | 以 | 12 | - | /
https://example.com/ | we met | 我们见面了 | the | my
"""
pieces = st.sampled_from([piece.strip() for piece in PIECES.replace("\n", "|").split("|") if piece.strip()])
joints = st.sampled_from(["", " ", "  ", "\n", ", ", "，"])
collages = st.lists(st.tuples(pieces, joints), max_size=12).map(lambda pairs: "".join(a + b for a, b in pairs))
texts = collages | st.text(max_size=80)
bases = st.dates()
languages = st.sampled_from(["en", "zh", "ja", ""])
YEAR_OF_DAYS = [date(2023, 12, 20) + timedelta(days=i) for i in range(370)]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@given(texts, bases)
def test_offsets_cut_the_words_out_again_in_order(text: str, base: date) -> None:
    end = 0
    for found in find_dates(text, base):
        assert end <= found.start < found.end <= len(text)
        assert text[found.start : found.end] == found.words
        assert found.first <= found.last
        assert found.is_day == (found.first == found.last)
        end = found.end


@given(texts, bases)
def test_day_only_is_a_filter(text: str, base: date) -> None:
    assert find_dates(text, base, day_only=True) == [found for found in find_dates(text, base) if found.is_day]


@given(texts, st.datetimes())
def test_a_time_of_day_changes_nothing(text: str, base: datetime) -> None:
    assert find_dates(text, base) == find_dates(text, base.date())


@given(texts, bases, languages)
def test_annotating_twice_is_annotating_once(text: str, base: date, language: str) -> None:
    once = annotate(text, base, language=language)
    assert annotate(once, base, language=language) == once


@given(texts, bases, languages)
def test_annotating_only_adds(text: str, base: date, language: str) -> None:
    rest = iter(annotate(text, base, language=language))
    assert all(character in rest for character in text)


@given(texts, bases)
def test_what_resolves_is_iso_and_resolves_to_itself(text: str, base: date) -> None:
    iso = resolve_date(text, base)
    if iso is not None:
        assert resolve_date(iso, base) == iso
        for part in iso.split("/"):
            datetime.fromisoformat(part + "-01-01"[: 10 - len(part)] if len(part) < 10 else part)


@given(st.integers(-5000, 5000), st.sampled_from(WEEKDAYS), st.sampled_from(["last", "this", "next", "this coming"]))
def test_a_week_later_a_weekday_is_a_week_later(shift: int, weekday: str, which: str) -> None:
    base = date(2023, 5, 8) + timedelta(days=shift)
    now, later = (find_dates(f"{which} {weekday}", day)[0].first for day in (base, base + timedelta(days=7)))
    assert later - now == timedelta(days=7)


@pytest.mark.parametrize("number", range(7))
def test_weekdays_keep_their_rule_through_a_year(number: int) -> None:
    chinese = "一二三四五六日"[number]
    for base in YEAR_OF_DAYS:
        monday = base - timedelta(days=base.weekday())

        def day(words: str, base: date = base) -> date:
            (found,) = find_dates(words, base)
            assert found.is_day
            assert found.first.weekday() == number
            return found.first

        assert 1 <= (base - day(f"last {WEEKDAYS[number]}")).days <= 7
        assert 1 <= (day(f"this coming {WEEKDAYS[number]}") - base).days <= 7
        assert day(f"this {WEEKDAYS[number]}") == day(f"这周{chinese}") == monday + timedelta(days=number)
        assert day(f"next {WEEKDAYS[number]}") == day(f"下周{chinese}") == monday + timedelta(days=7 + number)
        assert day(f"上周{chinese}") == day(f"上個禮拜{chinese}") == monday + timedelta(days=number - 7)


@given(st.dates(date(100, 1, 1)), st.integers(2, 300))
def test_days_and_weeks_ago_agree_with_the_calendar(base: date, count: int) -> None:
    for words in (f"{count} days ago", f"{count}天前"):
        (found,) = find_dates(words, base)
        assert found.first == found.last == base - timedelta(days=count)
    for words in (f"{count} weeks ago", f"{count}周前"):
        (found,) = find_dates(words, base)
        assert found.first <= base - timedelta(weeks=count) <= found.last
        assert (found.first.weekday(), (found.last - found.first).days) == (0, 6)


@given(st.integers(1, 999))
def test_chinese_numerals_say_what_figures_say(count: int) -> None:
    figures = "零一二三四五六七八九"
    hundreds, tens, ones = count // 100, count // 10 % 10, count % 10
    words = f"{figures[hundreds]}百" if hundreds else ""
    words += f"{figures[tens]}十" if tens else ("零" if hundreds and ones else "")
    words += figures[ones] if ones else ""
    base = date(2023, 5, 8)
    spoken, written = (find_dates(f"{number}天前", base)[0].first for number in (words, count))
    assert spoken == written
