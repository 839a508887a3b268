"""Late interaction: what is compared, of whom, and what happens where there is nothing to compare."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.embedding import MiniLMEmbedder
from memreader.memory import Memory
from memreader.recall.fuse import _spread_known
from memreader.recall.late import LateIndex
from memreader.recall.maxsim import BLOCK, Tokens, compare
from memreader.testing import HashEmbedder, HashTokenEmbedder, TokenEmbedderContract
from memreader.types import Framed, Hit, TokenVectors
from other_process import end, heard, say, start
from token_vectors import TOKENS, kept, random_tokens

MODEL = TOKENS.token_fingerprint
CHAT = [
    {"role": "user", "name": name, "content": content}
    for name, content in (
        ("Ana", "Where did the whales go?"),
        ("Bo", "They swam north in spring."),
        ("Ana", "And the geese?"),
        ("Bo", "South, as always."),
        ("Ana", "I bought a green bicycle."),
        ("Bo", "Mine is at the repair shop."),
    )
]


class TestHashTokenEmbedder(TokenEmbedderContract):
    @pytest.fixture
    def token_embedder(self) -> HashTokenEmbedder:
        return HashTokenEmbedder()


class TestMiniLM(TokenEmbedderContract):
    tolerance = 0.15  # Eight-bit activations are scaled by the whole batch.

    @pytest.fixture
    def token_embedder(self, minilm: MiniLMEmbedder) -> MiniLMEmbedder:
        return minilm


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.in_memory(embedder=TOKENS) as memory:
        yield memory


def naive(query: TokenVectors, found: dict[int, TokenVectors], key: int) -> float:
    """The formula, piece by piece."""
    if key not in found:
        return float("nan")
    total = weight = 0.0
    for piece, vector in zip(query.pieces, query.vectors, strict=True):
        in_how_many = sum(piece in tokens.pieces for tokens in found.values())
        idf = np.log(1 + (len(found) - in_how_many + 0.5) / (in_how_many + 0.5))
        best = max(float(vector.astype(int) @ other.astype(int)) / 127**2 for other in found[key].vectors)
        total, weight = total + idf * best, weight + idf
    return total / weight


steps = st.lists(st.dictionaries(st.integers(1, 40), st.integers(1, 6), max_size=20), max_size=8)


@given(steps, st.integers(1, 5), st.sets(st.integers(1, 40)), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_scores_are_the_formula_however_the_vectors_came(
    steps: list[dict[int, int]], size: int, gone: set[int], seed: int
) -> None:
    random = np.random.default_rng(seed)
    tokens, found = Tokens(), dict[int, TokenVectors]()
    for step in steps:
        more = {key: random_tokens(random, count) for key, count in step.items()}
        tokens, found = tokens.grown(list(more.items()), tokens.seq + 1), found | more
    if gone & found.keys():
        found = {key: one for key, one in found.items() if key not in gone}
        tokens = tokens.grown([], tokens.seq, only=np.array(sorted(found), np.int64))
    assert len(tokens) == len(found)
    query = random_tokens(random, size)
    keys = random.permutation(np.arange(1, 45))
    expected = [naive(query, found, key) for key in keys.tolist()]
    np.testing.assert_allclose(tokens.scores(query, keys), expected, rtol=1e-5, atol=1e-6)


def test_more_vectors_than_a_block_are_compared() -> None:
    random = np.random.default_rng(1)
    query = random_tokens(random, 60, dimension=96)
    block = BLOCK // query.vectors.size
    found = {key: random_tokens(random, 9, dimension=96) for key in range(1, block // 9 + 5)}
    assert sum(len(tokens.pieces) for tokens in found.values()) % block
    keys = np.array(sorted(found), np.int64)
    scores = Tokens().grown(list(found.items()), 1).scores(query, keys)
    np.testing.assert_allclose(scores, [naive(query, found, key) for key in keys.tolist()], rtol=1e-5, atol=1e-6)


@given(steps, st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_candidates_alone_score_by_the_same_formula(steps: list[dict[int, int]], size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    found = {key: random_tokens(random, count) for step in steps for key, count in step.items()}
    query = random_tokens(random, size)
    keys = random.permutation(np.arange(1, 45)).tolist()
    packed = {key: (one.pieces.tobytes(), one.vectors.tobytes()) for key, one in found.items()}
    scores = compare(query, [packed.get(key) for key in keys])
    np.testing.assert_allclose(scores, [naive(query, found, key) for key in keys], rtol=1e-5, atol=1e-6)


def test_comparing_starts_no_threads() -> None:
    random = np.random.default_rng(1)
    found = [random_tokens(random, 30, dimension=96) for _ in range(300)]
    packed = [(one.pieces.tobytes(), one.vectors.tobytes()) for one in found]
    query = random_tokens(random, 25, dimension=96)
    compare(query, packed)
    others = time.process_time() - time.thread_time()
    for _ in range(20):
        compare(query, packed)
    assert time.process_time() - time.thread_time() - others < 0.02


def keys_of(memory: Memory, user_id: str = "ana") -> Any:
    return memory._store.tokens.keys(user_id)


def falling(keys: Any) -> Any:
    """Says that the first candidates are the likeliest."""
    return lambda: -np.arange(float(len(keys)))


def late_scores(index: LateIndex, memory: Memory, question: str, *, model: str = MODEL, user: str = "ana") -> Any:
    keys = keys_of(memory, user)
    return index.scores(user, model, TOKENS.embed_query_tokens(question), keys, falling(keys))


def test_an_answer_is_nearer_to_a_question_after_what_it_answers(minilm: MiniLMEmbedder) -> None:
    answer = Framed("Bo: South, as always.")
    asked = replace(answer, before=("Bo: They swam north.", "Ana: And the geese?"))
    tokens = Tokens().grown(list(enumerate(minilm.embed_tokens([answer, asked]), 1)), 1)
    alone, together = tokens.scores(minilm.embed_query_tokens("Where did the geese go?"), np.array([1, 2]))
    assert together > alone


def test_candidates_of_a_large_user_score_as_those_in_memory(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    whole = late_scores(LateIndex(memory._store), memory, "green bicycle")
    few = late_scores(LateIndex(memory._store, resident=3), memory, "green bicycle")
    np.testing.assert_allclose(whole, few)


def test_of_many_only_the_likely_are_looked_at(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    scores = late_scores(LateIndex(memory._store, resident=3, candidates=2), memory, "green bicycle")
    assert np.isfinite(scores[:2]).all()
    assert np.isneginf(scores[2:]).all()


def test_the_likely_are_asked_for_only_where_there_are_many(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    keys, query = keys_of(memory), TOKENS.embed_query_tokens("green bicycle")
    asked: list[int] = []

    def last() -> Any:
        asked.append(1)
        return np.arange(float(len(keys)))

    assert LateIndex(memory._store).scores("ana", MODEL, query, keys, last) is not None
    assert not asked
    scores = LateIndex(memory._store, resident=3, candidates=3).scores("ana", MODEL, query, keys, last)
    assert np.isneginf(scores).tolist() == [True] * 3 + [False] * 3  # type: ignore[arg-type]
    assert asked


def test_a_filter_to_few_of_a_large_user_does_not_load_all(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    index = LateIndex(memory._store, resident=3)
    keys = keys_of(memory)[:2]
    assert np.isfinite(index.scores("ana", MODEL, TOKENS.embed_query_tokens("whales"), keys, falling(keys))).all()  # type: ignore[arg-type]
    assert index.nbytes == 0


def test_a_filter_to_few_leaves_the_others_in_memory(memory: Memory) -> None:
    memory.add([f"fact number {n}" for n in range(150)], user_id="ana")
    index = LateIndex(memory._store)
    query, keys = TOKENS.embed_query_tokens("fact 7"), keys_of(memory)
    before = index.scores("ana", MODEL, query, keys, falling(keys))
    assert before is not None
    few = index.scores("ana", MODEL, query, keys[:2], falling(keys[:2]))
    np.testing.assert_array_equal(few, before[:2])
    np.testing.assert_array_equal(index.scores("ana", MODEL, query, keys, falling(keys)), before)


def test_memory_stays_below_the_bound_but_for_the_last_user(memory: Memory) -> None:
    index = LateIndex(memory._store, max_mb=0.7)
    for user in ("ana", "ben", "cem"):
        memory.add(CHAT, user_id=user, session_id="s")
        assert late_scores(index, memory, "whales", user=user) is not None
        assert index.nbytes < 0.7 * 2**20
    assert len(index._users) == 2
    small = LateIndex(memory._store, max_mb=1e-6)
    assert late_scores(small, memory, "whales") is not None
    assert len(small._users) == 1


def test_vectors_of_another_model_are_not_compared(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    assert late_scores(LateIndex(memory._store), memory, "whales") is not None
    assert late_scores(LateIndex(memory._store), memory, "whales", model="another") is None
    assert late_scores(LateIndex(memory._store, resident=3), memory, "whales", model="another") is None


def test_where_few_items_have_vectors_there_is_no_late_interaction(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    index, keys = LateIndex(memory._store), keys_of(memory)
    query = TOKENS.embed_query_tokens("whales")
    half = np.append(keys, np.arange(1000, 1000 + len(keys)))
    scores = index.scores("ana", MODEL, query, half, falling(half))
    assert scores is not None
    assert np.isnan(scores[len(keys) :]).all()
    fewer = np.append(half, 5000)
    assert index.scores("ana", MODEL, query, fewer, falling(fewer)) is None


def test_what_is_added_and_deleted_elsewhere_is_seen(memory: Memory) -> None:
    memory.add(CHAT[:3], user_id="ana", session_id="s")
    index = LateIndex(memory._store)
    assert late_scores(index, memory, "bicycle") is not None
    with Memory.open(memory.folder, embedder=TOKENS) as other:
        added = other.add(CHAT[3:], user_id="ana", session_id="s")
        np.testing.assert_array_equal(
            late_scores(index, memory, "bicycle"), late_scores(LateIndex(memory._store), memory, "bicycle")
        )
        other.delete(added.ids[-1:], user_id="ana")
        np.testing.assert_array_equal(
            late_scores(index, memory, "bicycle"), late_scores(LateIndex(memory._store), memory, "bicycle")
        )
    memory.delete_all(user_id="ana")
    assert index._tokens("ana", MODEL) is not None
    assert index.nbytes == 0


_ADDING = """
import sys
from memreader.memory import Memory
from memreader.testing import HashTokenEmbedder
with Memory.open(sys.argv[1], embedder=HashTokenEmbedder()) as memory:
    memory.add([{"role": "user", "content": "the violet umbrella"}], user_id="ana", session_id="s")
    print("added", flush=True)
    input()
"""


def test_another_process_adds_and_this_one_compares_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=TOKENS) as memory:
        memory.add(CHAT, user_id="ana", session_id="s")
        memory.search("violet umbrella", user_id="ana")
        other = start(_ADDING, tmp_path)
        try:
            assert heard(other) == "added"
            hits = memory.search("violet umbrella", user_id="ana", top_k=1)
            assert "violet umbrella" in hits[0].item.memory
            assert hits[0].parts["late"] > 0
            assert len(kept(memory, "ana")) == len(CHAT) + 1
            say(other)
        finally:
            end(other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_searches_and_adds(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    memory.search("whales", user_id="ana")
    child = os.fork()
    if not child:
        memory.add([{"role": "user", "content": "the violet umbrella"}], user_id="ana", session_id="s")
        found = memory.search("violet umbrella", user_id="ana", top_k=1)
        os._exit(0 if found and found[0].parts["late"] > 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert memory.search("violet umbrella", user_id="ana", top_k=1)[0].parts["late"] > 0


def found(memory: Memory) -> list[Hit]:
    return memory.search("Where did the whales go?", user_id="ana", top_k=6, threshold=0)


@pytest.mark.parametrize(
    ("embedder", "late_interaction"), [(HashEmbedder(), None), (HashEmbedder(), False), (TOKENS, False)]
)
def test_without_late_interaction_nothing_is_kept_or_compared(embedder: Any, late_interaction: bool | None) -> None:
    with Memory.in_memory(embedder=embedder, late_interaction=late_interaction) as memory:
        memory.add(CHAT, user_id="ana", session_id="s")
        assert not len(keys_of(memory))
        assert [hit.parts.get("late", 0.0) for hit in found(memory)] == [0.0] * len(CHAT)


def test_pieces_of_documents_do_not_keep_turns_from_being_compared(memory: Memory, tmp_path: Path) -> None:
    memory.add(CHAT, user_id="ana", session_id="s")
    file = tmp_path / "long.md"
    file.write_text("\n\n".join(f"# Part {n}\n\n" + f"Of whales and part {n}. " * 60 for n in range(12)))
    memory.add(file, user_id="ana")
    hits = memory.search("Where did the whales go?", user_id="ana", top_k=50, threshold=0)
    assert len(hits) > 2 * len(CHAT)
    assert any(hit.parts["late"] > 0 for hit in hits)


def test_one_without_token_vectors_counts_by_its_vector_and_one_not_looked_at_least() -> None:
    late = np.array([0.9, np.nan, 0.1, -np.inf])
    spread = _spread_known(late, np.array([0.0, 0.123, 0.0, 0.0]))
    assert spread[1] == 0.123
    assert spread[3] == spread[2] < 0 < spread[0]
