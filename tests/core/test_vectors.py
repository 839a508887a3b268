"""FlatVectors: exact cosines for all rows or some, in their order."""

from __future__ import annotations

import os
import subprocess
import sys

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


@pytest.mark.parametrize("count", [0, 1, 700])
def test_the_rows_can_be_had_as_a_copy_that_survives_an_add(count: int) -> None:
    vectors, rows = FlatVectors(8), unit_rows(count, 8, 3)
    vectors.add(rows)
    copy = vectors.vectors()
    vectors.add(unit_rows(50_000, 8, 2))
    assert (copy == rows).all()
    copy[:] = 0
    assert (vectors.vectors()[:count] == rows).all()
    assert vectors.nbytes == (count + 50_000) * 8 * 4


def test_queries_that_are_no_block_of_floats_in_a_row_are_understood() -> None:
    vectors, rows = FlatVectors(8), unit_rows(40, 8, 4)
    vectors.add(np.asfortranarray(rows).astype(np.float64))
    query = unit_rows(8, 8, 5)[:, 0]
    for some in (None, np.arange(0, 40, 2)[::-1], np.array([3, 3, 1], np.int32)):
        np.testing.assert_allclose(
            vectors.similarities(query, some), rows[slice(None) if some is None else some] @ query, atol=1e-5
        )
        np.testing.assert_allclose(
            vectors.similarities(query.astype(np.float64), some), vectors.similarities(query, some)
        )


SEARCHES = """
import os, sys, time
import faiss, numpy as np
from memreader.stores.faiss_index import FlatVectors

faiss.omp_set_num_threads(4)
rows = np.random.default_rng(0).normal(size=(5000, 64)).astype(np.float32)
vectors = FlatVectors(64)
vectors.add(rows)

def search():
    for some in (None, np.arange(10), np.arange(0, 5000, 9), np.arange(1, 4000)):
        found = vectors.similarities(rows[1], some)
        assert np.allclose(found, (rows if some is None else rows[some]) @ rows[1], atol=1e-3)
    assert len(vectors.vectors()) == 5000

def threads():
    return len(os.listdir("/proc/self/task"))
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SEARCHES + code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")
def test_a_search_starts_no_thread_and_leaves_the_setting_of_others_alone() -> None:
    code = """
before = threads()
search()
print(threads() - before, faiss.omp_get_max_threads())
vectors._index.search(rows[:100], 5)
print(threads() > before)
"""
    assert run(code).split() == ["0", "4", "True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("others", ["", "vectors._index.search(rows[:100], 5)"])
def test_a_forked_child_searches_after_its_parent_has(others: str) -> None:
    code = f"""
search()
{others}
child = os.fork()
if not child:
    search()
    vectors.add(rows)
    os._exit(0 if len(vectors.similarities(rows[0])) == 10_000 else 1)
limit = time.monotonic() + 20
while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < limit:
    time.sleep(0.01)
if ended == (0, 0):
    os.kill(child, 9)
    os.waitpid(child, 0)
print(ended[1] if ended != (0, 0) else "hangs")
search()
"""
    assert run(code) == "0"
