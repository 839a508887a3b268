"""How much a term of a question tells turns apart: little, if every session holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memreader import Memory
from memreader.recall import RecallOptions
from memreader.stores.around import Around, around_of, term_rarity
from memreader.testing import HashEmbedder
from memreader.traits import STATEMENT


def around(groups: list[int], statements: tuple[int, ...] = ()) -> Around:
    """Turns of these sessions (-1 for none), some of them statements."""
    count = len(groups)
    marks = np.zeros(count, np.uint16)
    marks[list(statements)] = STATEMENT
    return around_of(
        groups=np.array(groups, np.int32),
        orders=np.arange(count),
        days=np.zeros(count, np.int32),
        marks=marks,
        lengths=np.ones(count, np.int32),
        living=np.ones(count, np.bool_),
        speakers=np.full(count, -1, np.int32),
        names=(),
    )


def rarity_of(turns: Around, *holders: list[int]) -> list[float]:
    found = [(np.array(rows, np.int64), np.ones(len(rows), np.int64)) for rows in holders]
    return [round(float(value), 3) for value in term_rarity(turns, found)]


class TestRarity:
    def test_a_term_of_every_session_counts_for_little_and_one_of_some_in_full(self):
        turns = around([session for session in range(10) for _ in range(3)])
        everywhere, half, once = list(range(0, 30, 3)), list(range(15)), [4]
        assert rarity_of(turns, everywhere, half, once, []) == [0.155, 1.0, 1.0, 1.0]

    def test_often_in_a_session_is_no_more_than_once(self):
        turns = around([0, 0, 0, 1, 1, 1])
        assert rarity_of(turns, [0, 1, 2, 3, 4, 5], [0, 3]) == [0.608, 0.608]

    def test_without_sessions_every_term_counts_in_full(self):
        assert rarity_of(around([-1, -1, -1]), [0, 1, 2], [0]) == [1.0, 1.0]
        assert rarity_of(around([]), []) == [1.0]

    def test_statements_make_no_term_common(self):
        turns = around([0, 0, 1, 1, 2, 2], statements=(1, 3, 5))
        assert rarity_of(turns, [1, 3, 5], [0, 2, 4]) == [1.0, 0.445]

    @given(st.lists(st.integers(-1, 5), max_size=30), st.data())
    def test_a_term_that_more_turns_hold_never_counts_more(self, groups: list[int], data: st.DataObject):
        rows = sorted(data.draw(st.sets(st.integers(0, len(groups) - 1))) if groups else set())
        fewer = sorted(data.draw(st.sets(st.sampled_from(rows))) if rows else set())
        many, few = rarity_of(around(groups), rows, fewer)
        assert 0 < many <= few <= 1


def test_a_name_that_is_in_every_session_counts_for_little_and_in_one_session_as_any_word():
    options = RecallOptions().without_vectors()
    with Memory.in_memory(embedder=HashEmbedder(), recall_options=options) as memory:
        for session in range(6):
            said = ["Ana, good morning", "grey weather today", *(["a violin lesson"] if session == 5 else [])]
            memory.add([{"role": "user", "content": text} for text in said], user_id="u", session_id=f"s{session}")

        def share(**scope: Any) -> float:
            """BM25 of the turn with the name, of that with the rare word."""
            hits = memory.search("Ana, violin", user_id="u", session_id="s5", top_k=20, threshold=0, **scope)
            words = {hit.item.memory.removeprefix("user: "): hit.parts["lexical"] for hit in hits}
            return words["Ana, good morning"] / words["a violin lesson"]

        everywhere, alone = share(), share(recall="session")
    assert everywhere < 0.1
    assert everywhere < alone / 3
