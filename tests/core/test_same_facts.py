"""When two statements say the same: a repetition is stored once, and nothing that differs is lost."""

from __future__ import annotations

import string
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.extract.fine import Found, PassageReading
from memreader.extract.passage import Line, Passage
from memreader.extract.same import SameFacts, merged
from memreader.extract.words import normalised, same_fact, support, words_of
from memreader.items import SourceMessage
from memreader.types import Candidate

statements = st.text(st.sampled_from("abAB 12,.-我不们。'é"), max_size=40)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea", "likes  TEA."),
        ("Likes ｔｅａ!", "likes tea"),
        ("Ana has a cat called Biscuit.", "Ana has a cat whose name is Biscuit."),
        ("Ana moved to Lisbon in May.", "Ana moves to Lisbon in May."),
        ("安娜在上海的一家医院工作。", "安娜在上海一家医院工作"),
        ("Ana doesn't eat fish at home.", "Ana does not eat fish at home."),
    ],
)
def test_the_same_in_other_words_is_the_same(one: str, other: str) -> None:
    assert same_fact(one, other)
    assert same_fact(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana has worked there for 5 years.", "Ana has worked there for 6 years."),
        ("The flat costs 1,200 euros a month.", "The flat costs 1,300 euros a month."),
        ("The meeting is at 10:30 in the hall.", "The meeting is at 11:30 in the hall."),
        ("Ana eats fish at home.", "Ana never eats fish at home."),
        ("Ana smokes in the evening.", "Ana stopped smoking in the evening."),
        ("Her brother Ben lives in Rome.", "Her brother Tom lives in Rome."),
        ("Ana moved to Lisbon in May.", "Ana moved to Lisbon in June."),
        ("My friend Ana likes Ben a lot.", "My friend Ben likes Ana a lot."),
        ("The assistant advised to swim every day.", "The user will swim every day, as advised."),
        ("It is -5 °C in the cellar.", "It is 5 °C in the cellar."),
        ("Ana pays 5 € for it.", "Ana pays 5 $ for it."),
        ("Ana writes C++", "Ana writes C#"),
        ("Ana feels 😀", "Ana feels 😢"),
        ("安娜养了三只猫。", "安娜养了四只猫。"),
        ("安娜喜欢吃鱼和米饭。", "安娜不喜欢吃鱼和米饭。"),
        ("他住在北京市朝阳区。", "他没住在北京市朝阳区。"),
        ("Ana likes tea.", "Ana likes coffee."),
    ],
)
@pytest.mark.parametrize("of_one_reply", [True, False])
def test_another_number_name_negation_or_person_is_another_fact(one: str, other: str, of_one_reply: bool) -> None:
    assert not same_fact(one, other, of_one_reply=of_one_reply)
    assert not same_fact(other, one, of_one_reply=of_one_reply)


def test_what_one_reply_tells_apart_stays_apart() -> None:
    one, other = "Ana has a red car and a boat.", "Ana has a blue car and a boat."
    assert not same_fact(one, other, of_one_reply=True)
    assert same_fact("The user likes tea.", "User likes tea", of_one_reply=True)


@given(statements, statements)
def test_it_does_not_matter_which_comes_first(one: str, other: str) -> None:
    for of_one_reply in (True, False):
        assert same_fact(one, other, of_one_reply=of_one_reply) == same_fact(other, one, of_one_reply=of_one_reply)
    assert not same_fact(one, other, of_one_reply=True) or same_fact(one, other) or len(words_of(one)) < 2


@given(statements)
def test_a_statement_is_the_same_as_itself_in_other_dress(text: str) -> None:
    assert same_fact(text, f"  {text.upper()} ...")
    assert normalised(normalised(text)) == normalised(text)


@given(st.text(string.digits, min_size=1, max_size=5), st.text(string.digits, min_size=1, max_size=5))
def test_two_numbers_are_two_facts(one: str, other: str) -> None:
    first, second = (f"Ana keeps the key of her old house in locker {number}" for number in (one, other))
    assert same_fact(first, second) == (one == other)


@given(st.lists(statements, max_size=5), statements)
def test_support_is_a_share(lines: list[str], statement: str) -> None:
    found = support(statement, lines)
    assert len(found) == len(lines)
    assert all(0 <= share <= 1 + 1e-9 for share in found)
    assert support(statement, [statement]) == ([pytest.approx(1)] if words_of(statement) else [0])


def test_a_rare_word_supports_more_than_one_that_all_lines_hold() -> None:
    tea, coffee = support("Ana drinks coffee", ["Ana drinks tea", "Ana drinks coffee"])
    assert coffee > tea > 0


def line(index: int, *, state: str = "fresh") -> Line:
    return Line(f"line {index}", (SourceMessage(index=index, content=f"line {index}"),), (f"m:{index}",), state=state)  # type: ignore[arg-type]


def reading(lines: list[Line], *found: tuple[str, list[int]]) -> PassageReading:
    """A passage of the lines, and memories with the positions of the lines they rest on."""
    made = []
    for text, places in found:
        cited = tuple(lines[place] for place in places)
        sources = tuple(source for one in cited for source in one.sources)
        keys = tuple(key for one in cited for key in one.source_keys)
        candidate = Candidate(text, sources, "k", "UserMemory", (text[:3],), source_keys=keys, entities=(text[-4:],))
        made.append(Found(candidate, cited))
    return PassageReading(Passage(tuple(lines)), tuple(made))


def indexes(found: Found) -> list[int | None]:
    return [source.index for source in found.candidate.sources]


def test_a_repetition_in_shared_lines_adds_its_sources() -> None:
    one = reading([line(0), line(1)], ("Ana has a cat called Biscuit.", [1]))
    two = reading([line(1, state="carried"), line(2)], ("Ana has a cat whose name is Biscuit.", [0, 1]))
    (found,), dropped = merged([one, two])
    assert found.candidate.text == "Ana has a cat called Biscuit."
    assert indexes(found) == [1, 2]
    assert found.candidate.source_keys == ("m:1", "m:2")
    assert dropped == []


def test_nearly_the_same_in_other_lines_is_another_memory() -> None:
    one = reading([line(0), line(1)], ("Ana has a cat called Biscuit.", [1]))
    two = reading([line(2), line(3)], ("Ana has a cat whose name is Biscuit.", [0]))
    assert len(merged([one, two])[0]) == 2


def test_the_same_words_anywhere_in_a_conversation_are_one_memory() -> None:
    readings = [reading([line(n)], ("Ana likes tea.", [0])) for n in range(9)]
    (found,), _ = merged(readings)
    assert indexes(found) == list(range(9))


def test_what_rests_on_lines_read_before_alone_is_dropped_and_told() -> None:
    one = reading([line(0, state="context"), line(1)], ("Ana sings.", [0]), ("Ana reads.", [0, 1]))
    found, (dropped,) = merged([one])
    assert [other.candidate.text for other in found] == ["Ana reads."]
    assert dropped.text == "Ana sings."
    assert dropped.reason


def test_what_only_carried_lines_say_is_new_if_the_passage_before_missed_it() -> None:
    one = reading([line(0), line(1)])
    two = reading([line(1, state="carried"), line(2)], ("Ana sings.", [0]))
    assert len(merged([one, two])[0]) == 1


def test_memories_are_numbered_in_the_order_they_come() -> None:
    same = SameFacts()
    new, repeats, _ = same.sort(reading([line(0)], ("A cat.", [0]), ("A dog.", [0]), ("a cat", [0])))
    assert [one.candidate.text for one in new] == ["A cat.", "A dog."]
    assert [number for number, _ in repeats] == [0]
    new, repeats, _ = same.sort(reading([line(1)], ("A cow.", [0]), ("a dog", [0]), ("A COW", [0])))
    assert [one.candidate.text for one in new] == ["A cow."]
    assert [number for number, _ in repeats] == [1, 2]


def test_whatever_order_repetitions_come_in_all_sources_are_kept() -> None:
    for order in permutations(range(3)):
        (found,), _ = merged([reading([line(n)], ("Ana likes tea.", [0])) for n in order])
        assert indexes(found) == list(order)


def test_two_facts_of_one_reply_that_differ_in_a_word_are_two_memories() -> None:
    red, blue = "Ana has a red car and a boat.", "Ana has a blue car and a boat."
    assert [one.candidate.text for one in merged([reading([line(0)], (red, [0]), (blue, [0]))])[0]] == [red, blue]
    one, two = reading([line(0)], (red, [0])), reading([line(0, state="carried"), line(1)], (blue, [0]))
    assert len(merged([one, two])[0]) == 1
