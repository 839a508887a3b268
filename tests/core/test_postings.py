"""Postings: the same answers as a dict of lists, however they came in."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.stores import postings as module
from memreader.stores.postings import Postings

TERMS = st.sampled_from([-(2**63), -5, -1, 0, 1, 7, 2**62, 2**63 - 1])
item = st.dictionaries(TERMS, st.integers(1, 9), max_size=5)


def filled(batches: list[list[dict[int, int]]]) -> tuple[Postings, dict[int, list[tuple[int, int]]]]:
    postings, model, row = Postings(), defaultdict(list), 0
    for batch in batches:
        rows, terms, counts = [], [], []
        for held in batch:
            for term, count in held.items():
                rows.append(row)
                terms.append(term)
                counts.append(count)
                model[term].append((row, count))
            row += 1
        postings.extend(np.array(rows, np.int64), np.array(terms, np.int64), np.array(counts, np.int64))
    return postings, model


@pytest.mark.parametrize("merge_at", [1, 4, 8192])
@given(batches=st.lists(st.lists(item, max_size=4), max_size=8), unknown=st.integers(-(2**63), 2**63 - 1))
def test_every_term_has_its_rows_in_order_with_their_counts(
    merge_at: int, batches: list[list[dict[int, int]]], unknown: int
) -> None:
    before, module.MERGE_AT = module.MERGE_AT, merge_at
    try:
        postings, model = filled(batches)
        for term in {*model, unknown, 0}:
            rows, counts = postings.get(term)
            assert list(zip(rows.tolist(), counts.tolist(), strict=True)) == model.get(term, [])
    finally:
        module.MERGE_AT = before


def test_a_large_batch_goes_in_at_once_beside_what_is_there() -> None:
    batches = [[{1: 2, 3: 4}], [{1: 1, term: 1} for term in range(10, 10 + module.MERGE_AT)], [{1: 9}]]
    postings, model = filled(batches)
    for term in (1, 3, 10, 9 + module.MERGE_AT, 2):
        rows, counts = postings.get(term)
        assert list(zip(rows.tolist(), counts.tolist(), strict=True)) == model.get(term, [])
