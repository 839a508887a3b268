"""Names found by rules: what is found is a name."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_time import cpu_seconds
from graph_sentences import CHINESE, ENGLISH
from memreader.graph.find import entities_in

texts = st.lists(
    st.sampled_from(
        [
            *"王李张《》“”`<>#@.'’ \n\t(",
            "老师",
            "叫",
            "在",
            "市",
            "Ana",
            "Will",
            "The ",
            "of ",
            "Dr. ",
            "'s",
            "I ",
            "A.",
            " " * 20,
        ]
    )
    | st.characters(),
    max_size=40,
).map("".join)


def measured(rows: list[tuple[str, str]]) -> tuple[float, float]:
    """Precision and recall over labelled sentences."""
    right = wrong = missed = 0
    for text, labels in rows:
        sure, _, optional = labels.partition("?")
        wanted, allowed = set(filter(None, sure.split("|"))), set(filter(None, optional.split("|")))
        found = {each.name for each in entities_in(text)}
        right += len(found & wanted)
        wrong += len(found - wanted - allowed)
        missed += len(wanted - found)
    return right / (right + wrong), right / (right + missed)


@pytest.mark.parametrize("rows", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_what_is_found_is_a_name(rows: list[tuple[str, str]]) -> None:
    assert len(rows) >= 120
    precision, recall = measured(rows)
    print(f"precision {precision:.3f}, recall {recall:.3f} of {len(rows)} sentences")
    assert precision >= 0.95
    assert recall >= 0.9


@pytest.mark.parametrize(
    "text",
    [
        "Wow. Will you come? May I? Mark my words.",
        "It was fun, Will you come again?",
        "How To Make Bread At Home",
        "## Notes on Bread",
        "I really WANT this and YOU know it",
        "run `Foo Bar` with https://Example.org/Foo from Ana@Example.org",
        "We went to the place                     Today was fine.",
        "他马上就来，我和高兴的人在一起，跟周末没关系。",
        "高兴，黄色，方便，马上，周末，王者，小心。",
        "语文老师和对方律师，任课老师，高级经理。",
        "他叫马上过来，别叫高兴得太早。",
        "和张罗的人聊，跟李子有关。",
        "和林业的人说，找张开的门。",
        "在一家医院，去公司，到附近公园，在儿童医院，去外资银行。",
        "她变成都市白领，今日本店休息。",
        "我跟王明明星一样。",
    ],
)
def test_a_trap_is_no_name(text: str) -> None:
    assert entities_in(text) == ()


@given(
    texts,
    st.lists(st.sampled_from(["Ana", "user", "李雷", "", "Will", "a"]), max_size=3),
    st.sampled_from([None, "de"]),
)
def test_no_text_is_too_odd_and_offsets_are_exact(text: str, speakers: list[str], language: str | None) -> None:
    found = entities_in(text, speakers=speakers, language=language)
    for each in found:
        assert text[each.start : each.end] == each.name
        assert each.name.strip()
    assert all(one.end <= other.start for one, other in pairwise(found))


PIECES = """
    Ana·met·Ben.·王老师和张三。|A|Ana·|of·|王|"|《|`|<a|A.·|a_|张三老师|⏎#·A|def·|{|在北京|A-|x.|“Aa|Aa·of·|@a|和张|/a|😀A|
    [image·|叫王伟。|阿·|from·Ana·(
"""


@pytest.mark.parametrize("piece", [piece.strip() for piece in PIECES.split("|")])
def test_a_long_text_takes_linear_time(piece: str) -> None:
    piece = piece.replace("·", " ").replace("⏎", "\n")
    text = piece * (40_000 // len(piece))
    assert cpu_seconds(lambda: entities_in(text), rounds=1) < 2


def test_many_different_names_cost_no_more_than_one() -> None:
    given_names = "伟芳娜秀英敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂玲辉鹏华红玉梅建国文斌志宇浩轩"
    text = "".join(f"我叫王{one}{other}。" for one in given_names for other in given_names) * 8
    assert cpu_seconds(lambda: entities_in(text), rounds=1) < 2


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("My friend Okonkwo lives in Ouagadougou.", ["person", "place"]),
        ("I work at Zyntrix with Dr. Wu and Zhang San.", ["organisation", "person", "person"]),
        ("Stanford University is near Lake Garda.", ["organisation", "place"]),
        ('We watched "Spirited Away" and it was good.', ["work"]),
        ("I like Radiohead.", ["other"]),
        ("王老师在清华大学，昨天去了杭州，看了《三体》。", ["person", "organisation", "place", "work"]),
    ],
)
def test_a_kind_is_told_where_the_text_tells_it(text: str, kinds: list[str]) -> None:
    assert [each.kind for each in entities_in(text)] == kinds


def test_a_name_inside_a_sentence_vouches_for_one_at_its_start() -> None:
    assert [each.name for each in entities_in("Zorblax is late. I told Zorblax.")] == ["Zorblax", "Zorblax"]
    assert entities_in("Zorblax is late.") == ()


def test_a_word_that_stands_there_small_too_is_no_name() -> None:
    assert entities_in("We like the Sprocket, a sprocket is round.") == ()


def test_speakers_are_known_at_the_start_of_a_sentence() -> None:
    assert [each.name for each in entities_in("Zorblax, are you there?", speakers=["Zorblax"])] == ["Zorblax"]
    assert [each.name for each in entities_in("李雷你好", speakers=["李雷"])] == ["李雷"]
    assert entities_in("user: hi. User is typing. Will you?", speakers=["user", "Will"]) == ()


def test_german_nouns_are_no_names() -> None:
    text = "Ich habe gestern mit Anna den neuen Film im Kino gesehen und danach ein Eis auf dem Platz gegessen."
    assert [each.name for each in entities_in(text)] == ["Anna"]
    assert [each.name for each in entities_in("Gestern kam Anna mit Kuchen.", language="de")] == ["Anna"]


def test_a_chinese_name_is_found_again_without_a_cue() -> None:
    found = entities_in("我叫林小羽。林小羽来自杭州，大家都夸林小羽。")
    assert [each.name for each in found] == ["林小羽", "林小羽", "杭州", "林小羽"]


def test_the_full_name_beats_the_title() -> None:
    assert [each.name for each in entities_in("王小明老师和王老师")] == ["王小明", "王老师"]


def test_an_owner_is_no_part_of_the_name() -> None:
    assert [each.name for each in entities_in("It is Ana’s car, near St. Mary's Hospital.")] == [
        "Ana",
        "St. Mary's Hospital",
    ]
