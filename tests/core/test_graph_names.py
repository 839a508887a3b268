"""Which spellings of a name are one, and how Chinese names are written in Latin letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.graph.names import bare_name, entity_key, same_name
from memreader.graph.pinyin import is_name_in_pinyin, readings, reads_as, sounds

names = st.text(st.sampled_from("aAbBéÉßıİﬀ'’\"“”.-‐·•张三ｚ王 \u200b\u3000!+#") | st.characters(), max_size=20)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zhang San", "zhang san"),
        ("Zhang San", "ＺＨＡＮＧ\u3000 SAN"),
        ("Ana", "Ana's"),
        ("Ana", "“Ana’s”"),
        ("Ana", "(Ana),"),
        ("张三", "张 三"),
        ("三体", "《三体》"),
        ("O'Brien", "O’Brien"),
        ("Jean-Luc", "Jean‐Luc"),
        ("玛丽·居里", "玛丽•居里"),
        ("Mr. Smith", "Mr Smith"),
        ("Acme Inc.", "Acme Inc"),
        ("McDonald's", "McDonald’s"),
        ("ana", "a\u200bna"),
    ],
)
def test_two_spellings_are_one_name(one: str, other: str) -> None:
    assert same_name(one, other)
    assert same_name(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "Anna"),
        ("张三", "张三丰"),
        ("张三", "Zhang San"),
        ("Mr. Smith", "Mrs. Smith"),
        ("王先生", "王女士"),
        ("José", "Jose"),
        ("C", "C++"),
        ("C", "C#"),
        ("NET", ".NET"),
        ("Zhang San", "San Zhang"),
        ("McDonald's", "McDonald"),
        ("James", "Jame"),
        ("", ""),
    ],
)
def test_two_names_stay_two(one: str, other: str) -> None:
    assert not same_name(one, other)


@given(names)
def test_a_key_is_its_own_key(name: str) -> None:
    key = entity_key(name)
    assert entity_key(key) == key
    assert key == " ".join(key.split())


@given(
    st.text(st.sampled_from("aAbBzZ张三王 -"), min_size=1, max_size=12).filter(lambda name: any(map(str.isalnum, name)))
)
def test_case_quotes_and_an_owner_make_no_other_name(name: str) -> None:
    key = entity_key(name)
    for other in (
        f" “{name}” ",
        name.upper(),
        name.lower(),
        f"《{name}》",
        name + ("'s" if name[-1].isalnum() else ""),
    ):
        assert entity_key(other) == key


@given(st.text(st.sampled_from("!?.,;:'\"-"), min_size=1, max_size=5))
def test_a_name_of_nothing_but_punctuation_keeps_it(name: str) -> None:
    assert entity_key(name)


def test_a_name_without_a_visible_character_has_no_key() -> None:
    assert [entity_key(name) for name in ("", "  ", "\u200b", "\x00", "\ud800")] == [""] * 5


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("Dr. Wu", "wu"),
        ("Prof. Elena Petrova", "elena petrova"),
        ("张三先生", "张三"),
        ("王先生", "王先生"),
        ("Missy", "missy"),
    ],
)
def test_titles_go_only_for_suggestions(name: str, bare: str) -> None:
    assert bare_name(name) == bare


@pytest.mark.parametrize(
    ("name", "latin"),
    [
        ("张三", "Zhang San"),
        ("张三", "ZHANG SAN"),
        ("张三", "San Zhang"),
        ("张三", "Zhāng Sān"),
        ("王小明", "Wang Xiaoming"),
        ("王小明", "Wang Xiao-ming"),
        ("王小明", "Xiaoming Wang"),
        ("欧阳娜娜", "Ouyang Nana"),
        ("吕布", "Lü Bu"),
        ("吕布", "Lv Bu"),
        ("曾国藩", "Zeng Guofan"),
        ("重庆", "Chongqing"),
        ("张偉", "Zhang Wei"),
        ("李静怡", "Li Jing'yi"),
        ("北京", "Beijing"),
    ],
)
def test_pinyin_reads_as_its_name(name: str, latin: str) -> None:
    assert reads_as(name, latin)


@pytest.mark.parametrize(
    ("name", "latin"),
    [
        ("张三", "Zhang Si"),
        ("张三", "Zhang"),
        ("张三", "Zhang San Feng"),
        ("张", "Zhang"),
        ("张三", ""),
        ("张鱻", "Zhang Xian"),
        ("张鱻", "Zhang"),
        ("张三", "Zhang 3"),
        ("北京", "Peking"),
        ("Ana", "Ana"),
        ("张三", "z" * 10_000),
    ],
)
def test_other_letters_are_no_pinyin_of_it(name: str, latin: str) -> None:
    assert not reads_as(name, latin)


def test_characters_are_read_by_their_place_in_the_standard() -> None:
    assert [readings(character)[0] for character in "啊座女略虐绿轩"] == ["a", "zuo", "nu", "lue", "nue", "lu", "xuan"]
    assert [readings(character) for character in "aあ亍😀"] == [(), (), (), ()]


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=2, max_size=4))
def test_what_a_name_sounds_like_reads_as_it(name: str) -> None:
    assert all(reads_as(name, sound) for sound in list(sounds(name))[:8])


def test_a_chinese_name_in_pinyin_is_known_by_its_surname() -> None:
    assert is_name_in_pinyin(["zhang", "xiaoming"])
    assert not is_name_in_pinyin(["zhang"])
    assert not is_name_in_pinyin(["new", "york"])
