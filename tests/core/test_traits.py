"""Traits: what recall looks at in an item beside its words and its vector."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.items import SourceMessage, TextualMemoryItem
from memreader.recall.describing import traits_of
from memreader.recall.marks import content_words, spoken_marks, told_marks
from memreader.traits import (
    CAPITAL,
    HAS_QUESTION,
    IN_DOCUMENT,
    NUMBER,
    QUESTION_END,
    REACTION,
    SHORT,
    STATEMENT,
    TIME,
    Traits,
    unpack_many,
)

ASKS = QUESTION_END | HAS_QUESTION
MOVES = QUESTION_END | HAS_QUESTION | SHORT | REACTION

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
some_traits = st.builds(
    Traits,
    names,
    st.integers(-(2**63), 2**63 - 1),
    names,
    st.integers(0, date.max.toordinal()),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFF),
)


@given(some_traits)
def test_unpacking_undoes_packing(traits: Traits):
    assert Traits.unpack(traits.pack()) == traits


@given(st.lists(some_traits, max_size=20))
def test_many_are_unpacked_as_one_by_one(many: list[Traits]):
    rows, groups, speakers = unpack_many([traits.pack() for traits in many])
    read = [
        Traits(group, int(row["order"]), speaker, int(row["day"]), int(row["marks"]), int(row["words"]))
        for row, group, speaker in zip(rows, groups, speakers, strict=True)
    ]
    assert read == many


@given(some_traits, st.data())
def test_a_torn_form_is_an_error(traits: Traits, data: st.DataObject):
    packed = traits.pack()
    cut = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(ValueError):
        Traits.unpack(packed[:cut])
    with pytest.raises(ValueError):
        Traits.unpack(packed + b"x")


def test_a_torn_form_is_not_made_up_for_by_a_longer_one():
    packed = Traits("group").pack()
    with pytest.raises(ValueError, match="torn"):
        unpack_many([packed[:20], b"\x01" + packed])


def test_another_version_is_an_error():
    with pytest.raises(ValueError, match="version"):
        Traits.unpack(b"\x02" + Traits("s").pack()[1:])


@pytest.mark.parametrize("traits", [Traits("g" * 65536), Traits(order=2**63), Traits(words=-1), Traits(marks=1 << 16)])
def test_what_is_out_of_range_is_not_packed(traits: Traits):
    with pytest.raises(ValueError, match="range"):
        traits.pack()


def test_equal_names_are_kept_once():
    packed = [Traits("session", place, "Ana").pack() for place in range(3)]
    _, groups, speakers = unpack_many(packed)
    assert len({id(group) for group in groups}) == len({id(name) for name in speakers}) == 1


def turn(words: str, *, name: str | None = "Ana", role: str = "participant", **fields: object) -> TextualMemoryItem:
    source = {"role": role, "name": name, "content": words, "session_id": "s1", "index": 4, "start": 0}
    metadata = {"is_fast": True, "memory_time": "2023-05-08T13:56:00+02:00", "sources": [{**source, **fields}]}
    return TextualMemoryItem(memory=f"{name or role}: {words}", metadata=metadata)


def chunk(words: str, *, headers: list[str] | None = None, start: int = 0) -> TextualMemoryItem:
    source = SourceMessage(type="doc", doc_path="guide.md", content=words, start=start, end=start + len(words))
    info = {"headers": headers} if headers else {}
    return TextualMemoryItem(memory=words, metadata={"is_fast": True, "sources": [source], "info": info})


class TestPlace:
    def test_a_turn_belongs_to_its_session(self):
        first, second = traits_of(turn("hi")), traits_of(turn("hello", index=5))
        assert first.group == second.group != ""
        assert first.order < second.order
        assert traits_of(turn("hi", session_id="s2")).group != first.group

    def test_pieces_of_a_turn_are_in_order(self):
        pieces = [traits_of(turn("words", start=start)) for start in (0, 50, 10**9)]
        assert pieces[0].order < pieces[1].order < pieces[2].order < traits_of(turn("next", index=5)).order

    def test_without_a_session_the_day_is_the_session(self):
        monday = turn("hi", session_id=None)
        tuesday = monday.model_copy(
            update={"metadata": monday.metadata.model_copy(update={"memory_time": "2023-05-09"})}
        )
        assert traits_of(monday).group not in ("", traits_of(tuesday).group)

    def test_a_chunk_belongs_to_its_section(self):
        one, two = chunk("a", headers=["Guide", "Setup", "Linux"]), chunk("b", headers=["Guide", "Setup"], start=90)
        assert traits_of(one).group == traits_of(two).group
        assert traits_of(one).order < traits_of(two).order
        assert traits_of(chunk("c", headers=["Guide", "Use"])).group != traits_of(one).group
        assert traits_of(chunk("c")).group not in ("", traits_of(one).group)

    def test_headers_of_the_callers_own_are_not_read_as_sections(self):
        item = chunk("a")
        item.metadata.info["headers"] = {"x-request": 1}
        assert traits_of(item).group == traits_of(chunk("a")).group

    def test_a_session_and_a_document_of_one_name_are_two(self):
        assert traits_of(turn("hi", session_id="guide.md")).group != traits_of(chunk("hi")).group

    def test_what_nothing_is_known_of_stands_alone(self):
        assert traits_of(TextualMemoryItem(memory="likes tea")) == Traits(marks=STATEMENT, words=2)

    def test_a_long_name_of_a_group_is_kept_short(self):
        long, other = turn("hi", session_id="s" * 70_000), turn("hi", session_id="s" * 70_001)
        assert len(traits_of(long).group) < 100
        assert traits_of(long).group == traits_of(long).group != traits_of(other).group

    @given(st.integers(0, 2**80), st.integers(0, 2**80), st.sampled_from(["chat", "doc"]))
    def test_any_place_can_be_packed(self, index: int, start: int, kind: str):
        traits = traits_of(turn("hi", type=kind, index=index, start=start, doc_path="a"))
        assert Traits.unpack(traits.pack()) == traits


class TestSpeaker:
    def test_the_name_is_the_speaker(self):
        assert traits_of(turn("hi")).speaker == "Ana"

    @pytest.mark.parametrize(
        ("name", "role"),
        [
            (None, "user"),
            ("User", "user"),
            ("assistant", "user"),
            ("AI", "assistant"),
            ("用户", "user"),
            ("x" * 81, "user"),
        ],
    )
    def test_a_bare_role_is_nobody(self, name: str | None, role: str):
        assert traits_of(turn("hi", name=name, role=role)).speaker == ""

    def test_several_speakers_are_nobody(self):
        item = turn("hi")
        both = [*item.metadata.sources, SourceMessage(role="participant", name="Bo", index=5)]
        assert traits_of(TextualMemoryItem(memory="hi", metadata={"sources": both})).speaker == ""
        assert traits_of(chunk("Ana: hi")).speaker == ""


class TestMarks:
    def test_the_speaker_is_no_part_of_what_was_said(self):
        plain = traits_of(turn("we met there in the old harbour, all five families", name="Great May"))
        assert plain.marks == NUMBER
        assert traits_of(turn("wow, great!", name=None, role="user")).marks == REACTION | SHORT

    def test_a_window_of_turns_shows_only_what_is_told(self):
        lines = [
            {"role": "user", "content": "Wow, did you?", "index": 1},
            {"role": "assistant", "content": "and we went to Porto?", "index": 2},
        ]
        words = "user: [01:56 PM on 08 May, 2023]: Wow, did you?\nassistant: [...]: and we went to Porto?\n"
        item = TextualMemoryItem(memory=words, metadata={"is_fast": True, "sources": lines})
        assert traits_of(item).marks == CAPITAL

    def test_in_a_document_nobody_asks_reacts_or_is_brief(self):
        for words in ("Great! Really?", "Thanks. Ok?", "谢谢。好吗？", "see the Alps"):
            assert traits_of(chunk(words)).marks == IN_DOCUMENT
        assert traits_of(chunk("Founded two years ago.")).marks == IN_DOCUMENT | TIME | NUMBER

    def test_a_statement_neither_asks_nor_is_brief(self):
        item = turn("Great, is it?")
        for changes in ({"is_fast": False}, {"evolve_from": ["raw"]}):
            metadata = item.metadata.model_copy(update=changes)
            assert traits_of(item.model_copy(update={"metadata": metadata})).marks == STATEMENT

    def test_a_turn_that_was_refined_is_no_statement(self):
        item = turn("Great!")
        metadata = item.metadata.model_copy(update={"is_fast": False, "tags": ["mode:fast"], "evolve_to": ["x"]})
        assert traits_of(item.model_copy(update={"metadata": metadata})).marks == REACTION | SHORT

    @pytest.mark.parametrize("end", ["?", "??", "?!", "？", '?"', "? 😀", "?)", " ? "])
    def test_a_question_is_seen_at_the_end(self, end: str):
        assert spoken_marks(f"Did you ever see that harbour again{end}", "en") & ASKS == ASKS

    def test_a_question_is_seen_before_more_words(self):
        assert spoken_marks("How was the trip? Mine was long and tiring.", "en") & ASKS == HAS_QUESTION
        assert spoken_marks("你去哪里了？我一直在家里等着你回来吃晚饭", "zh") & ASKS == HAS_QUESTION
        assert spoken_marks("你昨天去那家新开的医院看医生了吗", "zh") & ASKS == ASKS

    def test_an_address_asks_nothing(self):
        words = "the timetable of all local trains stands printed at https://a.org/now?id=5"
        assert (spoken_marks(words, "en"), told_marks(words, "en")) == (0, 0)
        assert spoken_marks("https://a.org/harbour/boats/sail/north/again", "en") == SHORT
        assert spoken_marks("have you seen https://a.org/boats?", "en") & QUESTION_END

    @pytest.mark.parametrize(
        "words", ["哇，真漂亮", "谢谢你", "好的，没问题", "好。", "哈哈", "嗯嗯", "對啊", "太棒了"]
    )
    def test_chinese_reactions(self, words: str):
        assert spoken_marks(words, "zh") & REACTION

    @pytest.mark.parametrize(
        "words", ["好几个朋友都来了", "对面开了一家新的咖啡店", "行李箱丢在机场了", "我们去上海看了外滩"]
    )
    def test_chinese_words_that_only_begin_like_a_reaction(self, words: str):
        assert not spoken_marks(words, "zh") & REACTION

    @pytest.mark.parametrize("words", ["wowed by it", "Goodall wrote it", "higher up", "yesterday", "okra", "Oslo"])
    def test_english_words_that_only_begin_like_a_reaction(self, words: str):
        assert not spoken_marks(words, "en") & REACTION

    @pytest.mark.parametrize(
        ("words", "marks"),
        [
            ("我昨天去了医院", TIME),
            ("去年搬的家", TIME),
            ("上個月剛搬來", TIME),
            ("她养了两只猫", NUMBER),
            ("三年前", TIME | NUMBER),
            ("ｉＰｈｏｎｅ １５", NUMBER),
            ("我们一起去散步", 0),
            ("她用 Python 写代码", 0),
            ("他十分高兴", 0),
        ],
    )
    def test_chinese_times_and_numbers(self, words: str, marks: int):
        assert told_marks(words, "zh") == marks

    @pytest.mark.parametrize(
        ("words", "marks"),
        [
            ("we left last week", TIME),
            ("she may march on", 0),
            ("it was in march", TIME),
            ("leaves fall", 0),
            ("twice", NUMBER),
            ("back in 2019", TIME | NUMBER),
            ("she met Jo", CAPITAL),
            ("Porto. Lisbon", 0),
        ],
    )
    def test_english_times_numbers_and_names(self, words: str, marks: int):
        assert told_marks(words, "en") == marks

    def test_in_another_language_only_figures_are_read(self):
        words = "Wow, last fall: die Katze von Frau Meier?"
        assert (told_marks(words, "de"), spoken_marks(words, "de")) == (0, 0)
        assert told_marks("Er wurde 1969 in Bern geboren.", "de") == TIME | NUMBER
        german = traits_of(turn("Ich habe gestern die Katze von Frau Meier gesehen, ja? Danke!"))
        assert german.marks == 0

    def test_chinese_is_as_short_as_its_words_not_its_terms(self):
        assert content_words("我喜欢猫") < 5 <= content_words("昨天我们在上海的外滩看夜景")

    @given(st.text(max_size=200), st.sampled_from(["en", "zh", "de", "und"]))
    def test_any_text_can_be_read(self, words: str, language: str):
        marks = spoken_marks(words, language)
        assert marks | told_marks(words, language) <= MOVES | TIME | NUMBER | CAPITAL
        assert marks & HAS_QUESTION or not marks & QUESTION_END


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80).filter(str.strip))
def test_words_beyond_the_cap_are_not_counted_and_everything_packs(words: str):
    traits = traits_of(turn(words))
    assert Traits.unpack(traits.pack()) == traits
    assert traits.day == date(2023, 5, 8).toordinal()


def test_the_number_of_words_is_capped():
    assert traits_of(turn("harbour " * 70_000)).words == 0xFFFF


@pytest.mark.parametrize(
    "words", ["?", "? ", "一", "三", "上", "ha", "哇", "a?", "www.", " A", "1", "a, B", "？吗", "in may ", "([", "去年"]
)
def test_a_long_row_of_anything_is_read_in_one_go(words: str):
    # What took time by the square of the length would not end.
    for text in (words * 100_000, words * 100_000 + "x"):
        for language in ("en", "zh", "de"):
            assert spoken_marks(text, language) | told_marks(text, language) <= MOVES | TIME | NUMBER | CAPITAL
