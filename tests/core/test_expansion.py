"""One hop through the graph: it finds what no word of the question does, and pushes out no direct evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader import Memory, RecallOptions
from memreader.recall import read_question
from memreader.recall.expansion import ENTITIES, HUB, SEEDS, expanded, share_of
from memreader.recall.question import Question
from memreader.records import Link
from memreader.testing import HashEmbedder

ASKED = Question("Which of them likes tea?")
STRONG = RecallOptions(expansion=9.0)


def link(seeds: set[int], items: set[int], *, keys: tuple[str, ...] = ("leo",), by: set[int] | None = None) -> Link:
    return Link(keys, frozenset(seeds), tuple(sorted(items)), frozenset(by or ()))


def gained(links: list[Link], fused: Any, own: Any, *, question: Question = ASKED, options: Any = STRONG) -> Any:
    fused, own = np.array(fused, np.float64), np.array(own, np.float64)
    after = expanded(
        fused, own, np.arange(len(fused)) + 100, question=question, options=options, reached=lambda _: links
    )
    return after - fused


sizes = st.integers(1, 30)
values = st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 0.5]))


@st.composite
def searches(draw: Any) -> tuple[Any, Any, list[Link]]:
    size = draw(sizes)
    fused = draw(st.lists(values, min_size=size, max_size=size))
    own = draw(st.lists(values, min_size=size, max_size=size))
    numbers = st.sets(st.integers(95, 100 + size + 3), min_size=1, max_size=8)
    made = st.builds(
        lambda seeds, items, by: link(seeds, items | seeds, by=by), numbers, numbers, numbers | st.just(set())
    )
    return np.array(fused), np.array(own), draw(st.lists(made, max_size=5))


@given(searches(), st.floats(0.01, 10))
def test_what_gains_never_passes_what_speaks_for_itself(search: tuple[Any, Any, list[Link]], weight: float) -> None:
    fused, own, links = search
    options = RecallOptions(expansion=weight)
    keys = np.arange(len(fused)) + 100
    after = expanded(fused, own, keys, question=ASKED, options=options, reached=lambda _: links)
    assert (after >= fused).all()
    before_place, after_place = (np.argsort(np.argsort(-scores, kind="stable")) for scores in (fused, after))
    for place in np.flatnonzero(own >= 0):
        behind = before_place > before_place[place]
        assert (after_place[behind] > after_place[place]).all()


@given(searches(), st.integers(1, 12))
def test_no_direct_evidence_leaves_the_first_k(search: tuple[Any, Any, list[Link]], k: int) -> None:
    fused, own, links = search
    keys = np.arange(len(fused)) + 100
    after = expanded(fused, own, keys, question=ASKED, options=STRONG, reached=lambda _: links)
    first = [place for place in np.argsort(-fused, kind="stable")[:k] if own[place] >= 0]
    assert set(first) <= set(np.argsort(-after, kind="stable")[:k].tolist())


def test_a_rare_entity_gives_more_than_a_frequent_one_and_a_hub_nothing() -> None:
    fused, own = [1.0] + [0.0] * 99, [0.5] + [-0.5] * 99
    rare, frequent, hub = (
        gained([link({100}, set(range(100, 100 + size)))], fused, own, options=RecallOptions(expansion=0.5))[1]
        for size in (2, 20, HUB + 1)
    )
    assert rare > frequent > hub == 0


def test_better_evidence_leads_further_and_none_leads_nowhere() -> None:
    fused, options = [1.0, 0.9, 0.0], RecallOptions(expansion=0.5)
    strong = gained([link({100}, {100, 102})], fused, [0.5, 0.1, -1], options=options)[2]
    weak = gained([link({101}, {101, 102})], fused, [0.5, 0.1, -1], options=options)[2]
    assert strong > weak > 0
    assert not gained([link({100}, {100, 102})], fused, [-0.1, -0.2, -1], options=options).any()


def test_what_speaks_for_itself_gains_too_up_to_the_next_that_does() -> None:
    fused, own = [1.0, 0.5, 0.4], [0.5, 0.2, -1]
    assert 0.4 < gained([link({100}, {100, 101})], fused, own)[1] < 0.5
    assert gained([link({100}, {100, 102})], fused, own)[2] < 0.1


def test_a_relation_gives_half_and_only_one_that_the_search_sees() -> None:
    fused, own, options = [1.0, 0.0, 0.0], [0.5, -1, -1], RecallOptions(expansion=0.5)
    same = gained([link({100}, {100, 101})], fused, own, options=options)[1]
    related = gained([link({100}, {101, 102}, by={102})], fused, own, options=options)[1]
    assert related == pytest.approx(same / 2)
    assert not gained([link({100}, {101, 102}, by={7})], fused, own, options=options).any()


def test_whom_the_question_names_is_no_hop_but_by_another_name() -> None:
    fused, own = [1.0, 0.0], [0.5, -1]
    named = Question("Where does Leo Marsh's sister live?")
    for keys, found in ((("leo marsh",), False), (("leo",), False), (("marsh",), False), (("mar",), True)):
        assert gained([link({100}, {100, 101}, keys=keys)], fused, own, question=named).any() == found
    assert gained([link({100}, {100, 101}, keys=("leo", "leonard"))], fused, own, question=named).any()


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("When did she move?", "specific"),
        ("Who is the landlord?", "specific"),
        ("Which books has she read?", "open"),
        ("Would Ana like the sea?", "open"),
        ("What does the landlord do?", "open"),
        ("I went to the market today.", "utterance"),
    ],
)
def test_the_form_of_a_query_decides_how_much_it_counts(text: str, share: str) -> None:
    question = read_question(text, today=None)
    assert share_of(question) == share
    gain = gained([link({100}, {100, 101})], [1.0, 0.0], [0.5, -1], question=question, options=RecallOptions())[1]
    options = RecallOptions()
    full = options.expansion / np.log2(3)
    wanted = {"specific": full * options.expansion_specific, "open": full, "utterance": 0.0}
    assert gain == pytest.approx(wanted[share])


def test_a_search_asks_the_graph_about_a_few_items_only() -> None:
    asked: list[int] = []
    fused = np.linspace(1, 0, 50)

    def reached(keys: Any) -> list[Link]:
        asked.extend(keys.tolist())
        return []

    expanded(fused, np.ones(50), np.arange(50), question=ASKED, options=STRONG, reached=reached)
    assert asked == list(range(SEEDS))
    assert ENTITIES <= 24


QUESTION = "What is the hobby of Marta's landlord?"
BRIDGE, ANSWER = "The landlord of Marta is Jorn Aldvik.", "Jorn Aldvik repairs old clocks."
NOISE = [f"{name} bought {thing}." for name in ("Piet", "Lorena", "Tomasz", "Amira") for thing in "abcdefgh"]


def remembered(answer: dict[str, Any] | None = None, **options: float) -> Memory:
    recall = replace(RecallOptions(), **options)  # type: ignore[arg-type]
    memory = Memory.in_memory(embedder=HashEmbedder(), recall_options=recall)
    memory.add([{"memory": text} for text in (BRIDGE, *NOISE)], user_id="u")
    if answer is not None:
        memory.add({"memory": ANSWER, "id": "answer", **answer}, user_id="u", session_id="there")
    return memory


def place_of_answer(memory: Memory, **how: Any) -> int | None:
    hits = memory.search(QUESTION, user_id="u", top_k=len(NOISE) + 2, threshold=0, **how)
    return next((place for place, hit in enumerate(hits) if hit.item.id == "answer"), None)


def test_an_answer_that_shares_no_word_comes_after_what_leads_to_it() -> None:
    with remembered({}, expansion=1.0) as memory:
        hits = memory.search(QUESTION, user_id="u", top_k=2, threshold=0)
        assert [hit.item.memory for hit in hits] == [BRIDGE, ANSWER]
        assert hits[1].parts["expansion"] > 0 == hits[0].parts["expansion"]
        assert sum(hits[1].parts[name] for name in hits[1].parts) >= hits[1].parts["fused"]


def test_expansion_0_turns_it_off() -> None:
    with remembered({}, expansion=0.0) as memory:
        assert place_of_answer(memory) not in (0, 1)
        hits = memory.search(QUESTION, user_id="u", top_k=2, threshold=0)
        assert not any("expansion" in hit.parts for hit in hits)


def test_what_the_search_may_not_show_is_not_brought() -> None:
    with remembered({"metadata": {"visibility": "session"}}, expansion=1.0) as memory:
        assert place_of_answer(memory) is None
        assert place_of_answer(memory, session_id="there") == 1
    with remembered({"metadata": {"status": "archived"}}, expansion=1.0) as memory:
        assert place_of_answer(memory) is None
        assert place_of_answer(memory, filter={"status": {"$in": ["archived", "activated"]}}) == 1
    with remembered({"metadata": {"tags": ["work"]}}, expansion=1.0) as memory:
        assert place_of_answer(memory) == 1
        assert place_of_answer(memory, filter={"$not": {"tags": "work"}}) is None


def test_a_deleted_memory_leads_nowhere() -> None:
    with remembered({}, expansion=1.0) as memory:
        memory.delete("answer", user_id="u")
        assert place_of_answer(memory) is None
    with remembered({}, expansion=1.0) as memory:
        (bridge,) = (item for item in memory.get_all(user_id="u") if item.memory == BRIDGE)
        memory.update(bridge.id, {"entities": ["nobody"]}, user_id="u")
        assert place_of_answer(memory) not in (0, 1)


def test_another_name_of_the_same_leads_on() -> None:
    with remembered(
        {"memory": "Jojo repairs old clocks.", "metadata": {"entities": ["Jojo"]}}, expansion=1.0
    ) as memory:
        assert place_of_answer(memory) not in (0, 1)
        memory.graph.merge_entities("Jorn Aldvik", "Jojo", user_id="u")
        assert place_of_answer(memory) == 1
