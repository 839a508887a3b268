"""Two names of one: stated in a text, or only suggested."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_time import cpu_seconds
from memreader.graph.aliases import alias_pairs, suggestions
from memreader.graph.names import entity_key

texts = st.lists(
    st.sampled_from(
        [
            "张三",
            "李四",
            " (",
            ")",
            "（",
            "）",
            "Zhang San",
            "Bob",
            ", a.k.a. ",
            "又名",
            "，",
            "也叫",
            "\n",
            "“",
            "A.",
            " ",
        ]
    )
    | st.characters(),
    max_size=30,
).map("".join)
some_names = st.lists(
    st.sampled_from(
        ["张三", "Zhang San", "zhang san", "Bob", "Robert", "Ana", "Ana Souza", "J. Souza", "NYC", "New York City", ""]
    )
    | st.text(max_size=8),
    max_size=12,
)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("张三 (Zhang San) 来了。", ("张三", "Zhang San")),
        ("我的朋友张三（Zhang San）来了。", ("张三", "Zhang San")),
        ("My friend Zhang San（张三）called.", ("Zhang San", "张三")),
        ("昨天见到欧阳娜娜 (Ouyang Nana) 了", ("欧阳娜娜", "Ouyang Nana")),
        ("我去了北京 (Beijing)。", ("北京", "Beijing")),
        ("Robert, a.k.a. Bob, left.", ("Robert", "Bob")),
        ("Robert (aka Bob) left.", ("Robert", "Bob")),
        ("Yesterday Robert, also known as Bob, left.", ("Robert", "Bob")),
        ("Robert is also known as “Bob”.", ("Robert", "Bob")),
        ("Dwayne Johnson, better known as The Rock, acts.", ("Dwayne Johnson", "The Rock")),
        ("Bob (short for Robert) is here.", ("Bob", "Robert")),
        ("Alexandra, or Alex for short, is here.", ("Alexandra", "Alex")),
        ("Elizabeth goes by Liz.", ("Elizabeth", "Liz")),
        ("Élodie, nicknamed Lolo, sings.", ("Élodie", "Lolo")),
        ("张三，又名张小三。", ("张三", "张小三")),
        ("李四（又名李小四）很忙。", ("李四", "李小四")),
        ("我的朋友王磊，外号“胖子”，来了。", ("王磊", "胖子")),
        ("北京大学（简称北大）", ("北京大学", "北大")),
        ("张伟的英文名叫David。", ("张伟", "David")),
        ("王芳，也叫芳芳。", ("王芳", "芳芳")),
    ],
)
def test_a_text_states_two_names(text: str, pair: tuple[str, str]) -> None:
    assert alias_pairs(text) == (pair,)


@pytest.mark.parametrize(
    "text",
    [
        "We flew to Paris (France).",
        "Alice (28) is here.",
        "Anna (my sister) called.",
        "Apple (the company) sells phones.",
        "Dr. Wu (cardiologist) called.",
        "Tom (Jerry's friend) left.",
        "Lisbon (Portugal), Porto (Portugal)",
        "张三 (Li Si) 来了。",
        "张三（北京）和李四（上海）",
        "张三（28岁）",
        "张三（我同事）",
        "Zhang San（李四）",
        "张伟，也叫外卖。",
        "他也叫了外卖。",
        "我也叫她一起去。",
        "Ann and Anna are two.",
        "zhang san and Zhang San, a.k.a. zhang san",
        "`张三 (Zhang San)`",
        "Bob, short for money, left.",
        "He is also known to be late.",
        "",
    ],
)
def test_a_text_states_no_second_name(text: str) -> None:
    assert alias_pairs(text) == ()


def test_every_pair_comes_once_in_the_order_of_the_text() -> None:
    text = "Robert, a.k.a. Bob. 张三 (Zhang San). Robert, aka Bob."
    assert alias_pairs(text) == (("Robert", "Bob"), ("张三", "Zhang San"))


@given(texts)
def test_no_text_is_too_odd_for_aliases(text: str) -> None:
    for one, other in alias_pairs(text):
        assert one in text
        assert other in text
        assert entity_key(one) != entity_key(other)


@pytest.mark.parametrize(
    "piece",
    [
        "A (B) ",
        "张三（",
        "(",
        "A ",
        "Robert, aka ",
        "王",
        "又名",
        "a. ",
        "Aa Bb Cc Dd Ee, ",
        "Aa of ",
        "张三 (Zhang San)",
        "“A",
    ],
)
def test_aliases_of_a_long_text_take_linear_time(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    assert cpu_seconds(lambda: alias_pairs(text), rounds=1) < 2


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("张三", "Zhang San", "pinyin"),
        ("San Zhang", "张三", "pinyin"),
        ("Bob", "Robert", "nickname"),
        ("Ben Carter", "Benjamin Carter", "nickname"),
        ("Ana", "Ana Souza", "part"),
        ("Souza", "Ana Souza", "part"),
        ("J. Lima", "José Lima", "initials"),
        ("NYC", "New York City", "initials"),
        ("José", "Jose", "accents"),
        ("Dr. Wu", "Mrs. Wu", "title"),
        ("张三", "张三先生", "title"),
        ("Johansson", "Johanson", "spelling"),
        ("Johansson", "Johnasson", "spelling"),
    ],
)
def test_a_pair_is_suggested_with_its_reason(one: str, other: str, reason: str) -> None:
    (suggestion,) = suggestions([one, other])
    assert (suggestion.one, suggestion.other, suggestion.reason) == (one, other, reason)
    assert 0 < suggestion.score < 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "Anna"),
        ("张三", "李四"),
        ("张三", "Zhang Si"),
        ("张三", "张四"),
        ("Robert Smith", "Bob Jones"),
        ("Paris", "Parma"),
        ("Room 1001", "Room 1002"),
        ("Zhang San", "zhang san"),
        ("Ana Souza", "Ben Souza"),
    ],
)
def test_a_pair_is_not_suggested(one: str, other: str) -> None:
    assert suggestions([one, other]) == []


def test_what_is_decided_is_not_suggested_again() -> None:
    assert suggestions(["张三", "Zhang San"], [("zhang san", "张三")]) == []


@given(some_names)
def test_suggestions_hold_each_pair_once_best_first(names: list[str]) -> None:
    found = suggestions(names)
    pairs = [frozenset((entity_key(each.one), entity_key(each.other))) for each in found]
    assert len(set(pairs)) == len(pairs)
    assert all(len(pair) == 2 for pair in pairs)
    assert all(each.one in names and each.other in names for each in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_thousands_of_names_are_compared_by_what_they_share() -> None:
    names = [
        f"{chr(97 + at % 26)}{at:04x}".translate(str.maketrans("0123456789", "ghijklmnop")) + " Ng"
        for at in range(4000)
    ]
    assert cpu_seconds(lambda: suggestions(names), rounds=1) < 6
