"""Questions: what a query asks for, its dates and its people."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.recall.dates_in import CalendarDate, DaySpan, dates_in
from memreader.recall.question import Question, read_question

TODAY = date(2023, 6, 10)
FLAGS = ("list", "infer", "when", "how_many", "who", "where")


def ask(text: str, today: date | None = None) -> Question:
    return read_question(text, today=today)


def flags(text: str) -> set[str]:
    question = ask(text)
    return {name for name in FLAGS if getattr(question, name)}


def days(*dates: str) -> np.ndarray:
    return np.array([date.fromisoformat(each).toordinal() if each else 0 for each in dates], np.int64)


def scores(text: str, *dates: str, today: date | None = None) -> list[float]:
    return ask(text, today).date_scores(days(*dates)).round(3).tolist()


class TestForm:
    @pytest.mark.parametrize(
        "text",
        [
            "What does Ana like?",
            "she lives where?",
            "where does she live",
            "In which town does she live",
            "tell me about the trip to Rome",
            "她住在哪儿",
            "她叫什么名字",
            "她几岁了",
        ],
    )
    def test_a_short_question_is_one(self, text: str):
        assert not ask(text).utterance

    @pytest.mark.parametrize(
        "text",
        [
            "I just got back from the clinic and feel tired",
            "今天天气真好，我去公园散步了",
            "",
            "Why? " + "harbour boats sail north " * 4,
            "我昨天在公司附近新开的餐厅吃了一顿特别好吃的晚饭，然后和老朋友一起去江边散步看夜景，你觉得怎么样？",
        ],
    )
    def test_something_said_is_none(self, text: str):
        assert ask(text).utterance
        assert flags(text) == set()

    @pytest.mark.parametrize(("text", "cjk"), [("我用 Python 写代码吗", True), ("Who is 张三?", False), ("", False)])
    def test_the_script_is_that_of_most_words(self, text: str, cjk: bool):
        assert ask(text).cjk is cjk

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("What books has she read?", {"list"}),
            ("What are her hobbies?", {"list"}),
            ("Which old tools did they use", {"list"}),
            ("What kinds of bread do they sell?", {"list"}),
            ("List the ships", {"list"}),
            ("Which song helps her when she is tired?", set()),
            ("What does she do?", set()),
            ("What was his address?", set()),
            ("What is Ana's job?", set()),
            ("What happens in May?", set()),
            ("Is she married?", {"infer"}),
            ("Would she move abroad?", {"infer"}),
            ("Could you please tell me where she lives?", {"where"}),
            ("Do you remember who called?", {"who"}),
            ("hi, I'd like to know when it opened", {"when"}),
            ("Since when is she ill?", {"when"}),
            ("What year did it open?", {"when"}),
            ("What day of the week was it?", {"when"}),
            ("Which year?", {"when"}),
            ("Which time management method helps her?", set()),
            ("What season ticket did she buy?", set()),
            ("How long ago did it open?", {"when"}),
            ("How long is the pier?", {"how_many"}),
            ("How much did it cost?", {"how_many"}),
            ("With whom did she go?", {"who"}),
            ("What is the name of the man who fixed it?", set()),
            ("In which city is it?", {"where"}),
            ("What is the state of the project?", set()),
            ("Whenever", set()),
            ("¿Dónde vive?", set()),
        ],
    )
    def test_what_english_asks_for(self, text: str, expected: set[str]):
        assert flags(text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("他们去过哪些公园？", {"list"}),
            ("她会不会喜欢猫？", {"infer"}),
            ("她喜歡貓嗎？", {"infer"}),
            ("什么时候开门？", {"when"}),
            ("多久以前搬的家？", {"when"}),
            ("她住了多久？", {"how_many"}),
            ("猫几岁了？", {"how_many"}),
            ("几乎没有人来。", set()),
            ("几个月前她说了什么？", set()),
            ("谁来了？", {"who"}),
            ("谁都没来。", set()),
            ("她住在哪儿？", {"where"}),
            ("在哪个城市？", {"where"}),
            ("哪里都不想去。", set()),
            ("今天去散步。", set()),
        ],
    )
    def test_what_chinese_asks_for(self, text: str, expected: set[str]):
        assert flags(text) == expected

    def test_names_are_the_capitals_inside_sentences(self):
        assert ask("When did Ana's brother see Porto? Bo's car. He left").names == ("Ana", "Porto", "Bo")
        assert ask("WHEN DID ANA LEAVE?").names == ask("when did ana leave?").names == ask("她在哪").names == ()


class TestDates:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("What happened on May 7?", CalendarDate(None, 5, 7)),
            ("on 7th of May, 2023", CalendarDate(2023, 5, 7)),
            ("Sept. 3rd", CalendarDate(None, 9, 3)),
            ("in may", CalendarDate(None, 5)),
            ("that January", CalendarDate(None, 1)),
            ("during June 2022", CalendarDate(2022, 6)),
            ("2023-05-07", CalendarDate(2023, 5, 7)),
            ("in 2022", CalendarDate(2022)),
            ("last May", CalendarDate(None, 5)),
            ("2023年5月说了什么", CalendarDate(2023, 5)),
            ("二〇二三年五月七日", CalendarDate(2023, 5, 7)),
            ("5月7日", CalendarDate(None, 5, 7)),
            ("十二月份", CalendarDate(None, 12)),
            ("去年五月", CalendarDate(None, 5)),
            ("summer of 2022", DaySpan(date(2022, 6, 1).toordinal(), date(2022, 8, 31).toordinal())),
        ],
    )
    def test_explicit_dates_need_no_today(self, text: str, expected: object):
        assert dates_in(text, None) == (expected,)

    @pytest.mark.parametrize(
        "text",
        [
            "May I ask?", "she may march", "what did April say", "Who did June and August meet?", "Jan likes tea",
            "Marching", "room 2023b", "the $2000 bill", "2000 dollars", "12:30", "a 3 month stay", "maybe",
            "3个月", "月亮", "几月", "last summer", "two weeks ago", "两周前", "去年", "yesterday",
        ],
    )  # fmt: skip
    def test_what_is_no_date_or_needs_today_is_left_out(self, text: str):
        assert dates_in(text, None) == ()

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("last summer", DaySpan(date(2022, 6, 1).toordinal(), date(2022, 8, 31).toordinal())),
            ("yesterday", DaySpan(date(2023, 6, 9).toordinal(), date(2023, 6, 9).toordinal())),
            ("两周前我说了什么", DaySpan(date(2023, 5, 22).toordinal(), date(2023, 5, 28).toordinal())),
            ("上个月", CalendarDate(2023, 5)),
            ("last year", CalendarDate(2022)),
            ("last May", CalendarDate(2023, 5)),
            ("去年五月", CalendarDate(2022, 5)),
            ("May 7", CalendarDate(None, 5, 7)),
            ("the 7th of May", CalendarDate(None, 5, 7)),
            ("5月7日", CalendarDate(None, 5, 7)),
        ],
    )
    def test_relative_dates_are_counted_from_today(self, text: str, expected: object):
        assert dates_in(text, TODAY) == (expected,)

    def test_a_month_is_worth_one_and_the_next_a_little(self):
        found = scores(
            "in May 2023", "2023-05-01", "2023-05-31", "2023-06-01", "2023-04-30", "2022-05-09", "2023-07-01"
        )
        assert found == [1, 1, 0.3, 0, 0, 0]
        assert scores("in December 2022", "2023-01-05", "2022-01-05", "2023-12-05") == [0.3, 0, 0]

    def test_a_month_without_a_year_is_that_of_any(self):
        assert scores("in December", "1999-12-05", "2023-01-05", "2023-11-30") == [1, 0.3, 0]

    def test_a_day_is_worth_more_the_nearer_it_is_in_its_month(self):
        near = scores("on May 7", "2023-05-07", "2023-05-11", "2023-05-03", "2023-05-31", "2023-04-30")
        assert near == [2, round(1 + np.exp(-1), 3), round(1 + np.exp(-1), 3), round(1 + np.exp(-6), 3), 0]

    def test_a_year_alone_is_worth_a_little(self):
        assert scores("in 2022", "2022-01-01", "2022-12-31", "2023-01-01") == [0.3, 0.3, 0]

    def test_a_span_is_worth_one_and_falls_off_outside(self):
        inside, edge, near, far = scores(
            "last summer", "2022-07-01", "2022-08-31", "2022-09-10", "2023-06-01", today=TODAY
        )
        assert inside == edge == 1 > near > 0.5 > far

    def test_the_nearest_of_several_dates_counts(self):
        assert scores("in May 2023 or July 2023", "2023-05-02", "2023-06-02", "2023-07-02") == [1, 0.3, 1]

    def test_an_unknown_day_is_near_to_nothing(self):
        for text in ("in December", "in January", "yesterday", "in 0001", "last year"):
            assert scores(text, "", today=date(1, 2, 2)) == [0]

    def test_no_date_gives_zeros(self):
        assert scores("where?", "2023-05-07", "") == [0, 0]
        assert ask("in May").date_scores(days()).shape == (0,)

    @given(st.sampled_from(["May 7", "in 2022", "last summer", "yesterday", "31 December 2022", "上周"]), st.data())
    def test_every_day_is_worth_0_to_2(self, text: str, data: st.DataObject):
        some = data.draw(st.lists(st.integers(0, date.max.toordinal()), max_size=20))
        found = ask(text, TODAY).date_scores(np.array(some, np.int64))
        assert found.shape == (len(some),)
        assert ((found >= 0) & (found <= 2)).all()

    @given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
    def test_the_named_day_is_the_nearest_of_all(self, day: date):
        around = np.arange(day.toordinal() - 400, day.toordinal() + 400)
        for words in (f"{day.day} {day:%B} {day.year}", day.isoformat(), f"{day.year}年{day.month}月{day.day}日"):
            assert around[ask(words).date_scores(around).argmax()] == day.toordinal()


class TestSpeaker:
    @pytest.mark.parametrize(
        ("text", "names", "place"),
        [
            ("What does Bo like?", ["Ana", "Bo"], 1),
            ("what does bo like?", ["Ana", "Bo"], 1),
            ("WHAT DOES BO LIKE?", ["Ana", "Bo"], 1),
            ("When is bo's birthday? I forgot", ["Ana", "Bo"], 1),
            ("Bo’s cat", ["Ana", "Bo"], 1),
            ("Does Bo know Ana?", ["Ana", "Bo"], 1),
            ("What did Ana suggest that Bo try?", ["Ana", "Bo"], 0),
            ("What did Bo's cat bring to Ana?", ["Ana", "Bo"], 1),
            ("What did Ana tell Bo and Cy?", ["Ana", "Bo", "Cy"], 0),
            ("Do Bo and Ana ski?", ["Ana", "Bo"], None),
            ("When did Bo, Cy and Ana ski?", ["Ana", "Bo"], None),
            ("Is Ana older than Bo?", ["Ana", "Bo"], None),
            ("What does Ann like?", ["Anna"], None),
            ("the banana", ["Ana"], None),
            ("Jean-Luc went", ["Jean"], None),
            ("Jean-Luc went", ["Jean-Luc", "Jean"], 0),
            ("Ana's cat", ["Ana Lima", "Bo"], 0),
            ("Ana's cat", ["Ana Lima", "Ana Silva"], None),
            ("Ana Silva's cat", ["Ana Lima", "Ana Silva"], 1),
            ("Does Smith come?", ["Dr. Smith"], 0),
            ("Jose ate", ["José García"], 0),
            ("Ｂｏ ate", ["Bo"], 0),
            ("What did Speaker A say?", ["Speaker A", "Speaker B"], 0),
            ("What did the speaker say?", ["Speaker A"], None),
            ("a cat I saw", ["A", "I"], None),
            ("Did you see it?", ["You", "It"], None),
            ("小明去哪里了？", ["小红", "小明"], 1),
            ("王小明去哪里了？", ["小明", "王小明"], 1),
            ("小明和小红去哪里了？", ["小红", "小明"], None),
            ("小明送给小红什么？", ["小红", "小明"], 1),
            ("我和Bo去哪里了？", ["Bo"], 0),
            ("王府井在哪？", ["王"], None),
            ("민수는 어디 있어?", ["민수"], 0),
            ("Who won?", [], None),
            ("Who won?", [""], None),
            ("a (b", ["(b", "[x"], 0),
        ],
    )
    def test_the_one_that_is_named(self, text: str, names: list[str], place: int | None):
        assert ask(text).speaker_of(names) == place

    @pytest.mark.parametrize(
        "text", ["Will it rain?", "will you go?", "May I go?", "Mark my words", "I hope so", "what may come. Will it?"]
    )
    def test_a_word_is_no_name(self, text: str):
        assert ask(text).speaker_of(["Will", "May", "Mark", "Hope"]) is None

    @pytest.mark.parametrize(("text", "place"), [("Did Will go?", 0), ("Mark's dog", 2), ("Where was May?", 1)])
    def test_a_name_that_is_a_word_shows_by_its_capital(self, text: str, place: int):
        assert ask(text).speaker_of(["Will", "May", "Mark"]) == place

    @given(st.text(max_size=60), st.lists(st.text(max_size=10), max_size=4))
    def test_any_names_can_be_looked_for(self, text: str, names: list[str]):
        place = ask(text).speaker_of(names)
        assert place is None or names[place].strip()


@given(st.text(max_size=200), st.sampled_from([None, TODAY, date.min, date.max]))
def test_any_text_can_be_read(text: str, today: date | None):
    question = read_question(text, today=today)
    assert question.text == text
    assert question.date_scores(days("2023-05-07")).shape == (1,)


@pytest.mark.parametrize(
    "words", ["?", "what is ", "of the ", "may ", "5月", "2023年", "Ana's ", "hi, ", "a-", "哪", "("]
)
def test_a_long_row_of_anything_is_read_in_one_go(words: str):
    # What took time by the square of the length would not end.
    question = ask("what " + words * 100_000, TODAY)
    assert question.speaker_of(["Ana", "张三", "may"]) in (0, None)
