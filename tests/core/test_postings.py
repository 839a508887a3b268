"""Postings: the same answers as a dict of lists, however they came in and whenever they were asked."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.stores import postings as module
from memreader.stores.postings import Postings

TERMS = st.sampled_from([-(2**63), -5, -1, 0, 1, 7, 2**62, 2**63 - 1])
Model = dict[int, list[tuple[int, int]]]
item = st.dictionaries(TERMS, st.integers(1, 9), max_size=5)


def extend(postings: Postings, model: Model, batch: list[dict[int, int]], first: int) -> int:
    rows, terms, counts = [], [], []
    for row, held in enumerate(batch, first):
        for term, count in held.items():
            rows.append(row)
            terms.append(term)
            counts.append(count)
            model[term].append((row, count))
    postings.extend(np.array(rows, np.int64), np.array(terms, np.int64), np.array(counts, np.int64))
    return first + len(batch)


def assert_answers(postings: Postings, model: Model, *others: int) -> None:
    for term in {*model, *others}:
        rows, counts = postings.get(term)
        assert rows.dtype == counts.dtype == np.int64
        assert list(zip(rows.tolist(), counts.tolist(), strict=True)) == model.get(term, [])


@pytest.mark.parametrize("tail", [0, 4, 2048])
@given(
    batches=st.lists(st.tuples(st.lists(item, max_size=4), st.booleans()), max_size=12),
    unknown=st.integers(-(2**63), 2**63 - 1),
)
def test_every_term_has_its_rows_in_order_with_their_counts(
    tail: int, batches: list[tuple[list[dict[int, int]], bool]], unknown: int
) -> None:
    postings, model, row = Postings(), defaultdict(list), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TAIL", tail)
        for batch, look in batches:
            row = extend(postings, model, batch, row)
            if look:
                assert_answers(postings, model, unknown)
        assert_answers(postings, model, unknown, 0)
        again = Postings()
        again.extend(*postings.arrays())
        assert_answers(again, model, unknown, 0)
        assert (np.diff(postings.arrays()[0]) >= 0).all()


def test_an_empty_one_holds_nothing() -> None:
    postings = Postings()
    assert [len(part) for part in (*postings.get(3), *postings.arrays())] == [0] * 5


def test_more_occurrences_than_two_bytes_hold_are_as_many_as_they_hold() -> None:
    postings = Postings()
    postings.extend(np.array([0, 1]), np.array([5, 5]), np.array([65_535, 65_536]))
    assert postings.get(5)[1].tolist() == [65_535, 65_535]


def test_a_look_up_goes_through_few_segments_however_the_postings_came() -> None:
    postings, model, chance = Postings(), defaultdict(list), random.Random(0)
    row = 0
    while row < 30_000:
        batch = [{chance.randint(0, 500): 1, -1: 2} for _ in range(chance.choice([1, 50, 3000]))]
        row = extend(postings, model, batch, row)
        postings.get(1)
    assert len(postings._segments) <= 4
    assert_answers(postings, model, 501)


def test_it_takes_six_bytes_a_posting_and_sixteen_a_term() -> None:
    postings, model = Postings(), defaultdict(list)
    extend(postings, model, [dict.fromkeys(range(row % 10, 1000, 10), 1) for row in range(1000)], 0)
    postings.get(0)
    assert 100_000 * 6 + 1000 * 16 <= postings.nbytes < 100_000 * 6 + 1000 * 16 + 2000
