"""Terms: what counts as a word when memories are searched."""

from __future__ import annotations

import random
import string
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.recall import term_counts
from memreader.recall.lexical import _word_terms, characters, is_mostly_cjk, query_weights, term_id, terms
from memreader.recall.words import BASE_FORMS, STOP_WORDS

GOLDEN: list[tuple[str, list[str]]] = [
    ("", []),
    ("   \n\t .,!?", []),
    ("the of and to", []),
    ("Where does she live?", ["live"]),
    ("She lives; he lived", ["live", "live"]),
    ("The train leaves; when did it leave? It left.", ["train", "leav", "leav", "leav"]),
    ("I went running with my children", ["go", "run", "child"]),
    ("a check-up", ["check", "checkup"]),
    ("state-of-the-art", ["state", "art", "stateoftheart"]),
    ("Ana's dog's bowl, the dogs' bowls", ["ana", "dog", "bowl", "dog", "bowl"]),
    ("I don't, you won't, we've, it’s", []),
    ("O'Brien", ["brien"]),
    ("café CAFÉ cafe\u0301", ["cafe", "cafe", "cafe"]),
    ("Straße naïve", ["straße", "naiv"]),
    ("1,024 3.14 12:30 2024-05-01", ["1024", "3.14", "12:30", "2024", "05", "01"]),
    ("iPhone15 x86", ["iphon", "15", "x", "86"]),
    ("ＡＢＣ１２３", ["abc", "123"]),
    ("我住在上海", ["住在", "在上", "上海"]),
    ("猫", []),
    ("我的猫", []),
    ("我喜欢喝绿茶和咖啡", ["喜欢", "欢喝", "喝绿", "绿茶", "咖啡"]),
    ("用Python写代码", ["python", "写代", "代码"]),
    ("カタカナ ひらがな", ["カタ", "タカ", "カナ", "ひら", "らが", "がな"]),
    ("한국어", ["한국", "국어"]),
    ("emoji 🙂 stays out", ["emoji", "stay"]),
    ("snake_case and kebab-case", ["snake", "case", "kebab", "case", "kebabcas"]),
    ("\ud800broken", ["break"]),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_a_text_has_these_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_line_break_parts_terms_and_nothing_else(one: str, other: str) -> None:
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)


@given(st.text(string.ascii_letters + " '-", max_size=60))
def test_case_does_not_matter(text: str) -> None:
    assert terms(text.upper()) == terms(text.lower())


@given(st.text(max_size=80))
def test_every_term_is_lower_case_and_without_spaces(text: str) -> None:
    for term in terms(text):
        assert term
        assert term == "".join(term.split())
        assert term not in STOP_WORDS or term in BASE_FORMS.values()


@given(st.text(max_size=80))
def test_counts_are_of_the_terms_and_their_ids_fit_sqlite(text: str) -> None:
    counted = term_counts(text)
    everything = [*terms(text), *characters(text)]
    assert sum(counted.values()) == len(everything)
    assert set(counted) == {term_id(term) for term in everything}
    assert all(-(2**63) <= number < 2**63 for number in counted)


@given(st.text(max_size=80))
def test_a_question_weighs_only_what_a_text_of_the_same_words_holds(text: str) -> None:
    weights = query_weights(text)
    assert weights.keys() <= term_counts(text).keys()
    assert all(0 < weight <= 1 for weight in weights.values())


def test_single_characters_count_in_short_questions_only() -> None:
    cat = term_id("猫")
    assert query_weights("我的猫叫什么？")[cat] == 0.3
    assert query_weights("猫")[cat] == 1.0
    assert cat not in query_weights("今天下午我们带着猫去公园散步然后遇见老朋友一起吃晚饭")


def test_words_of_asking_count_less_than_what_is_asked_for() -> None:
    weights = query_weights("What kinds of tea did she mention recently, and how many times?")
    assert weights[term_id("tea")] == 1.0
    assert {weights[term_id(term)] for term in ("kind", "mention", "recent", "mani", "time")} == {0.3}
    assert term_counts("many kinds")[term_id("kind")] == 1


def test_ids_are_the_same_on_every_machine() -> None:
    assert [term_id(term) for term in ("tea", "上海")] == [-8015135494872013382, -6396279247433070986]


def test_threads_find_the_same_terms() -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("aeiouslrtngd", k=chance.randint(3, 12))) for _ in range(4000)]
    text = " ".join(words)
    _word_terms.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(terms, [text] * 8))
    _word_terms.cache_clear()
    assert found == [terms(text)] * 8


@pytest.mark.parametrize(
    ("text", "mostly"),
    [
        ("", False),
        ("12 + 30", False),
        ("where is my cat", False),
        ("我的猫在哪里", True),
        ("我用 Python", True),
        ("I met 张三 at the office", False),
        ("カタカナ", True),
        ("한국어를 배워요", True),
        ("Привет, как дела", False),
    ],
)
def test_a_text_is_cjk_when_its_characters_outnumber_the_words(text: str, mostly: bool) -> None:
    assert is_mostly_cjk(text) is mostly


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "-a" * 100_000, "'" * 200_000, "上" * 100_000, "1," * 100_000, "é" * 50_000]
)
def test_a_text_without_a_space_takes_linear_time(text: str) -> None:
    terms(text)
