"""What is said of a memory's use moves it among its neighbours, for a while, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boiler import BOILER, WEIGHT, WHERE, Clock, found, ids, opened, part_of
from fine_replies import Shown, answering, chat_of, echoing, reply
from fine_replies import memory as note
from memreader import Memory, MiniLMEmbedder, RecallOptions
from memreader.recall.feedback import DAY, asked_of, contributions
from memreader.recall.fuse import QueryForm
from memreader.stores.feedback_rows import Asked, Given
from memreader.testing import FunctionChatModel, HashEmbedder
from stored import table


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    """A memory of a boiler."""
    with opened(clock) as memory:
        memory.add(BOILER, user_id="ana")
        yield memory


# What it does to a search.


def test_one_click_swaps_neighbours_is_shown_and_fades(memory: Memory, clock: Clock) -> None:
    before = ids(found(memory))
    report = memory.feedback(before[0], user_id="ana", useful=False, query=WHERE)
    assert (report.id, report.useful, report.useless) == (before[0], 0, 1)
    hits = found(memory)
    assert ids(hits) == [before[1], before[0], *before[2:]]
    assert [hit.parts["feedback"] for hit in hits] == pytest.approx([0, -WEIGHT * np.tanh(1), 0, 0])
    clock.now += 30 * DAY
    assert part_of(memory, before[0]) == pytest.approx(-WEIGHT * np.tanh(0.5))
    clock.now += 300 * DAY
    assert ids(found(memory)) == before
    assert 0 > part_of(memory, before[0]) > -0.001


def test_useful_lifts_as_useless_lowers_and_both_together_do_nothing(memory: Memory) -> None:
    before = ids(found(memory))
    memory.feedback(before[1], user_id="ana", useful=True, query=WHERE)
    assert ids(found(memory))[:2] == [before[1], before[0]]
    assert part_of(memory, before[1]) == pytest.approx(WEIGHT * np.tanh(1))
    report = memory.feedback(before[1], user_id="ana", useful=False, query=WHERE)
    assert (report.useful, report.useless) == (1, 1)
    assert ids(found(memory)) == before
    assert part_of(memory, before[1]) == 0


def test_what_is_said_of_one_question_says_nothing_about_another(memory: Memory) -> None:
    colour = "Which colour has the boiler?"
    first = ids(found(memory, colour))[0]
    for _ in range(10):
        memory.feedback(first, user_id="ana", useful=True, query=colour)
    assert part_of(memory, first, "Does my sister sail?") == 0
    assert part_of(memory, first, colour) > 0.99 * WEIGHT


def test_without_a_question_it_counts_for_every_question_but_less(memory: Memory) -> None:
    first = ids(found(memory))[0]
    memory.feedback(first, user_id="ana", useful=True)
    for query in (WHERE, "Does my sister sail?"):
        assert part_of(memory, first, query) == pytest.approx(WEIGHT * np.tanh(0.3))


def test_the_like_of_a_question_is_told_from_another_about_the_same_thing(minilm: MiniLMEmbedder, clock: Clock) -> None:
    with opened(clock, embedder=minilm) as memory:
        memory.add(["My cat is called Biscuit.", "My cat eats herring.", "We live in Aarhus."], user_id="ana")
        asked = "What is my cat called?"
        name = ids(found(memory, asked))[0]
        memory.feedback(name, user_id="ana", useful=True, query=asked)
        same, like, other, far = (
            part_of(memory, name, query)
            for query in (asked, "What's the name of my cat?", "What does my cat eat?", "Where do we live?")
        )
        assert same == pytest.approx(WEIGHT * np.tanh(1), rel=1e-2)
        assert same > like > 0.4 * WEIGHT
        assert other == far == 0


def test_a_language_that_the_embedder_does_not_know_is_compared_by_words(minilm: MiniLMEmbedder, clock: Clock) -> None:
    with opened(clock, embedder=minilm) as memory:
        memory.add(["我的猫叫饼干。", "锅炉在地下室。"], user_id="ana")
        cat = ids(found(memory, "我的猫叫什么名字？"))[0]
        memory.feedback(cat, user_id="ana", useful=True, query="我的猫叫什么名字？")
        assert part_of(memory, cat, "我的猫叫什么名字？") == pytest.approx(WEIGHT * np.tanh(1))
        assert part_of(memory, cat, "锅炉在地下室吗？") == 0
        assert table(memory, "SELECT vector FROM feedback") == [(None,)]


@pytest.mark.parametrize("query", [None, WHERE])
def test_a_hundred_times_useless_removes_nothing_and_the_floor_stays(memory: Memory, query: str | None) -> None:
    only = "What does my sister do?"
    before, everything = found(memory, only, threshold=None), found(memory)
    assert before
    for item_id in ids(everything):
        for _ in range(100 if item_id == before[0].item.id else 1):
            memory.feedback(item_id, user_id="ana", useful=False, query=query and only)
    after = found(memory, only, threshold=None)
    assert before[0].item.id in ids(after)
    assert set(ids(after)) == set(ids(before))
    assert {hit.parts["margin"] for hit in after} == {hit.parts["margin"] for hit in before}
    assert sorted(ids(found(memory))) == sorted(ids(everything))
    assert all(-WEIGHT <= hit.parts["feedback"] <= 0 for hit in after)


def test_nothing_said_changes_nothing_and_what_others_said_either(memory: Memory) -> None:
    before = found(memory)
    assert all("feedback" not in hit.parts for hit in before)
    (ben,) = memory.add("The boiler is broken.", user_id="ben").added
    memory.feedback(ben, user_id="ben", useful=False)
    assert found(memory) == before


def test_turned_off_it_does_nothing(memory: Memory, clock: Clock) -> None:
    before = found(memory)
    memory.feedback(before[0].item.id, user_id="ana", useful=False, query=WHERE)
    with Memory.open(memory.folder, embedder=HashEmbedder(), recall_options=RecallOptions(feedback_weight=0)) as off:
        assert found(off) == before


def test_scores_are_those_of_the_evidence_and_never_rise(memory: Memory) -> None:
    worth = {hit.item.id: hit.parts["relevance"] for hit in found(memory)}
    memory.feedback(ids(found(memory))[0], user_id="ana", useful=False, query=WHERE)
    hits = found(memory)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert {hit.item.id: hit.parts["relevance"] for hit in hits} == worth


TOLD = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), st.integers(0, 100)), max_size=12)


@given(told=TOLD, weight=st.sampled_from([0.02, 0.1, 0.5]))
def test_only_what_lies_close_together_changes_places(told: Any, weight: float) -> None:
    clock = Clock()
    with opened(clock, recall_options=RecallOptions(feedback_weight=weight)) as memory:
        memory.add(BOILER, user_id="ana")
        before = found(memory)
        for number, useful, named, days in told:
            memory.feedback(before[number].item.id, user_id="ana", useful=useful, query=WHERE if named else None)
            clock.now += days * DAY
        after = found(memory)
    place = {hit.item.id: number for number, hit in enumerate(after)}
    fused = {hit.item.id: hit.parts["fused"] for hit in before}
    assert place.keys() == fused.keys()
    for one in fused:
        for other in fused:
            if fused[one] - fused[other] > 2 * weight:
                assert place[one] < place[other]
    for hit in after:
        part = hit.parts.get("feedback", 0.0)
        assert abs(part) <= weight
        assert hit.parts["fused"] == pytest.approx(fused[hit.item.id] + part)
        assert hit.parts["margin"] == before[0].parts["margin"]


# The formula.


def said(*times: tuple[int, bool, float]) -> Given:
    """What was said: number of an item, useful or not, days ago; about no question."""
    return Given(
        useful=np.array([useful for _, useful, _ in times], np.bool_),
        at=np.array([-age * DAY for *_, age in times], np.int64),
        terms=(None,) * len(times),
        vectors=np.zeros((len(times), 2), np.float16),
        keys=np.array([key for key, *_ in times], np.int64),
        times=np.arange(len(times)),
    )


def parts(given: Given, keys: Sequence[int], options: RecallOptions | None = None) -> list[float]:
    asked = Asked(frozenset())
    options = options or RecallOptions()
    return contributions(given, asked, np.array(keys, np.int64), chance=0.0, now=0.0, options=options).tolist()


EVENTS = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.floats(-1e4, 1e5)), min_size=1, max_size=300)


@given(events=EVENTS, keys=st.permutations(range(8)), weight=st.floats(0, 10), general=st.floats(0, 1))
def test_any_number_of_times_moves_by_no_more_than_the_weight(
    events: Any, keys: list[int], weight: float, general: float
) -> None:
    moved = parts(said(*events), keys, RecallOptions(feedback_weight=weight, feedback_general=general))
    named = {key for key, *_ in events}
    for key, part in zip(keys, moved, strict=True):
        assert abs(part) <= weight
        kinds = {useful for one, useful, _ in events if one == key}
        if key not in named:
            assert part == 0
        elif len(kinds) == 1:
            assert part >= 0 if kinds == {True} else part <= 0


@given(events=EVENTS, useful=st.booleans())
def test_once_more_never_moves_the_other_way(events: Any, useful: bool) -> None:
    before, after = (parts(said(*events, *more), range(6)) for more in ((), ((0, useful, 0.0),)))
    assert after[1:] == before[1:]
    assert after[0] >= before[0] if useful else after[0] <= before[0]


def test_what_is_said_counts_half_after_a_half_life_and_never_more_than_now() -> None:
    options = RecallOptions(feedback_half_life_days=10, feedback_general=0.5, feedback_weight=2)
    (now, half, later) = (parts(said((3, True, age)), [3], options)[0] for age in (0, 10, -99))
    assert (now, half) == pytest.approx((2 * np.tanh(0.5), 2 * np.tanh(0.25)))
    assert later == now


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("feedback_weight", -0.1), ("feedback_weight", float("nan")), ("feedback_half_life_days", 0),
        ("feedback_half_life_days", float("inf")), ("feedback_general", 1.1),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        RecallOptions(**{name: value})


def test_the_words_of_asking_do_not_make_questions_alike() -> None:
    form = QueryForm(cjk=False, embedder_knows=True)
    asked = asked_of({1: 1.0, 2: 0.3, 3: 1.0}, np.ones(2, np.float32), form=form, embedder=HashEmbedder())
    assert asked.terms == {1, 3}
    assert asked_of({}, np.ones(2, np.float32), form=form, embedder=HashEmbedder()).terms == frozenset()


# For which memories it counts.


def test_what_is_said_of_a_turn_or_of_what_was_made_of_it_counts_for_the_hit(clock: Clock) -> None:
    for of_raw in (False, True):
        with opened(clock, llm=FunctionChatModel(echoing)) as memory:
            memory.add(chat_of("The boiler is in the cellar.", "My sister sails."), user_id="ana")
            hit = found(memory)[0]
            assert len(hit.raw) == 1
            memory.feedback(hit.raw[0] if of_raw else hit.item.id, user_id="ana", useful=True, query=WHERE)
            again = found(memory)[0]
            assert (again.item.id, again.raw) == (hit.item.id, hit.raw)
            assert again.parts["feedback"] == pytest.approx(WEIGHT * np.tanh(1))


def test_what_was_made_of_a_turn_does_not_keep_the_place_of_the_turn_when_it_is_useless(clock: Clock) -> None:
    def renamed(seen: Shown) -> str:
        return reply(*(note(f"Something else, number {line.number}.", [line.number]) for line in seen.new))

    with opened(clock, llm=FunctionChatModel(answering(otherwise=renamed))) as memory:
        memory.add(chat_of(*BOILER), user_id="ana")
        before = found(memory)
        # Its own words have nothing to do with the question: it stands where the turn is found.
        assert "boiler" not in before[0].item.memory
        memory.feedback(before[0].item.id, user_id="ana", useful=False, query=WHERE)
        after = found(memory)
        assert ids(after)[:2] == [before[1].item.id, before[0].item.id]
        assert after[1].parts["feedback"] == pytest.approx(-WEIGHT * np.tanh(1))


def fact(item_id: str, words: str, time: str) -> dict[str, Any]:
    return {"id": item_id, "memory": words, "metadata": {"memory_time": time}}


def test_what_is_said_of_a_repeated_memory_counts_for_the_one_in_front(memory: Memory) -> None:
    memory.add(fact("one", "Ana works at Acme.", "2022-01-01"), user_id="ana")
    memory.feedback("one", user_id="ana", useful=False)
    memory.add(fact("two", "ana works at ACME", "2022-02-01"), user_id="ana")
    memory.feedback("two", user_id="ana", useful=False)
    front = [hit.item.id for hit in found(memory, "Ana works at") if "Acme" in hit.item.memory]
    assert len(front) == 1
    assert part_of(memory, front[0], "Ana works at") == pytest.approx(-WEIGHT * np.tanh(0.6))
    memory.delete_by_source(user_id="ana", document="none")
    (behind,) = {"one", "two"} - set(front)
    memory.restore(behind, 1, user_id="ana")
    assert part_of(memory, behind, "Ana works at") == pytest.approx(-WEIGHT * np.tanh(0.3))


def test_what_is_said_of_the_one_in_front_counts_in_the_session_that_repeats_it(memory: Memory) -> None:
    for session in ("one", "two"):
        memory.add(fact(session, "Ana works at Acme.", "2022-01-01"), user_id="ana", session_id=session)
    (front,) = [hit.item.id for hit in found(memory, "Ana works at") if "Acme" in hit.item.memory]
    memory.feedback(front, user_id="ana", useful=False)
    for session in ("one", "two"):
        hits = found(memory, "Ana works at", session_id=session, recall="session")
        assert [hit.parts["feedback"] for hit in hits] == pytest.approx([-WEIGHT * np.tanh(0.3)])


def test_a_new_version_keeps_it_and_a_deletion_ends_it(memory: Memory) -> None:
    first = ids(found(memory))[0]
    memory.feedback(first, user_id="ana", useful=False)
    memory.update(first, "The boiler is not blue any more.", user_id="ana")
    assert part_of(memory, first) < 0
    memory.delete(first, user_id="ana")
    assert all("feedback" not in hit.parts for hit in found(memory))
    assert table(memory, "SELECT count(*) FROM feedback") == [(0,)]
    memory.add(BOILER, user_id="ana")
    assert first in ids(found(memory))
    assert all("feedback" not in hit.parts for hit in found(memory))
