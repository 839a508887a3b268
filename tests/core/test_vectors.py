"""FlatVectors: exact cosines for all rows or some, in their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.errors import DimensionMismatchError
from memreader.stores.faiss_index import FlatVectors


def unit_rows(count: int, dimension: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.lists(st.integers(0, 40), max_size=4), st.integers(1, 33), st.integers(0, 2**32 - 1), st.data())
def test_similarities_are_the_inner_products(sizes: list[int], dimension: int, seed: int, data: st.DataObject) -> None:
    vectors, rows = FlatVectors(dimension), unit_rows(sum(sizes), dimension, seed)
    start = 0
    for size in sizes:
        vectors.add(rows[start : start + size])
        start += size
    query = unit_rows(1, dimension, seed + 1)[0]
    assert len(vectors) == len(rows)
    np.testing.assert_allclose(vectors.similarities(query), rows @ query, atol=1e-5)
    some = np.array(
        data.draw(st.lists(st.integers(0, max(len(rows) - 1, 0)), max_size=9)) if len(rows) else [], np.int64
    )
    np.testing.assert_allclose(vectors.similarities(query, some), rows[some] @ query, atol=1e-5)


def test_what_was_returned_survives_an_add() -> None:
    vectors, query = FlatVectors(8), unit_rows(1, 8, 0)[0]
    vectors.add(unit_rows(3, 8, 1))
    before = vectors.similarities(query)
    copy = before.copy()
    vectors.add(unit_rows(50_000, 8, 2))
    assert (before == copy).all()


def test_an_empty_one_finds_nothing() -> None:
    assert FlatVectors(8).similarities(unit_rows(1, 8, 0)[0]).shape == (0,)


@pytest.mark.parametrize("rows", [None, np.array([0], np.int64)])
def test_another_length_is_refused_with_both(rows: np.ndarray | None) -> None:
    vectors = FlatVectors(8)
    vectors.add(unit_rows(1, 8, 0))
    with pytest.raises(DimensionMismatchError, match="expected 8-dimensional vectors, got 9"):
        vectors.similarities(np.ones(9, np.float32), rows)
    with pytest.raises(DimensionMismatchError, match="expected 8-dimensional vectors, got 7"):
        vectors.add(np.ones((1, 7), np.float32))
