"""What an implementation of an index's port must keep, as test classes: subclass one and give the fixture it names."""

# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memreader.errors import DimensionMismatchError
from memreader.ports import PostingIndex, VectorIndex
from memreader.testing.store_records import DIMENSION, TOLERANCE, raises, unit_vector


class VectorIndexContract:
    """Subclass it, and give a `vectors` fixture: an empty index of `DIMENSION`."""

    def test_it_is_a_vector_index(self, vectors: VectorIndex) -> None:
        assert isinstance(vectors, VectorIndex)
        assert (len(vectors), vectors.dimension) == (0, DIMENSION)

    def test_an_empty_one_has_nothing_similar(self, vectors: VectorIndex) -> None:
        assert vectors.similarities(unit_vector(0)).shape == (0,)
        assert vectors.vectors().shape == (0, DIMENSION)

    def test_a_vector_is_its_own_best_match_with_cosine_one(self, vectors: VectorIndex) -> None:
        rows = np.stack([unit_vector(seed) for seed in range(50)])
        vectors.add(rows)
        for row in (0, 17, 49):
            found = vectors.similarities(rows[row])
            assert int(found.argmax()) == row
            assert abs(found[row] - 1) < TOLERANCE

    def test_similarity_is_the_cosine(self, vectors: VectorIndex) -> None:
        first = unit_vector(1)
        vectors.add(np.stack([first, -first]))
        np.testing.assert_allclose(vectors.similarities(first), [1, -1], atol=TOLERANCE)
        rows = np.stack([unit_vector(seed) for seed in range(2, 12)])
        vectors.add(rows)
        np.testing.assert_allclose(vectors.similarities(first)[2:], rows @ first, atol=TOLERANCE)

    def test_some_rows_give_what_all_give(self, vectors: VectorIndex) -> None:
        vectors.add(np.stack([unit_vector(seed) for seed in range(20)]))
        query, rows = unit_vector(99), np.array([3, 0, 19, 3], np.int64)
        np.testing.assert_allclose(vectors.similarities(query, rows), vectors.similarities(query)[rows], atol=TOLERANCE)
        assert vectors.similarities(query, rows[:0]).shape == (0,)

    def test_rows_stay_where_they_are(self, vectors: VectorIndex) -> None:
        rows = np.stack([unit_vector(seed) for seed in range(300)])
        for start in range(0, 300, 7):
            vectors.add(rows[start : start + 7])
        np.testing.assert_array_equal(vectors.vectors(), rows)

    def test_a_copy_is_not_the_index(self, vectors: VectorIndex) -> None:
        vectors.add(unit_vector(1)[None])
        vectors.vectors()[:] = 0
        assert abs(vectors.similarities(unit_vector(1))[0] - 1) < TOLERANCE

    def test_another_length_is_refused(self, vectors: VectorIndex) -> None:
        with raises(DimensionMismatchError):
            vectors.add(np.zeros((1, DIMENSION + 1), np.float32))
        with raises(DimensionMismatchError):
            vectors.similarities(np.zeros(DIMENSION - 1, np.float32))


class PostingIndexContract:
    """Subclass it, and give a `postings` fixture: an empty index."""

    def test_it_is_a_posting_index(self, postings: PostingIndex) -> None:
        assert isinstance(postings, PostingIndex)

    def test_an_unknown_term_has_no_rows(self, postings: PostingIndex) -> None:
        assert self._of(postings, 5) == {}

    def test_a_term_has_its_rows_in_order(self, postings: PostingIndex) -> None:
        self._extend(postings, [(0, 5, 1), (0, 6, 2), (1, 5, 3)])
        self._extend(postings, [(2, 5, 4)])
        rows, counts = postings.get(5)
        assert (rows.tolist(), counts.tolist()) == ([0, 1, 2], [1, 3, 4])
        assert self._of(postings, 6) == {0: 2}

    def test_any_64_bit_number_is_a_term(self, postings: PostingIndex) -> None:
        terms = [-(2**63), -1, 0, 1, 2**63 - 1]
        self._extend(postings, [(row, term, 1) for row, term in enumerate(terms)])
        assert [self._of(postings, term) for term in terms] == [{row: 1} for row in range(5)]

    def test_many_small_additions_equal_one_large(self, postings: PostingIndex) -> None:
        chance = np.random.default_rng(0)
        expected: dict[int, dict[int, int]] = {}
        for row in range(3000):
            terms = np.unique(chance.integers(0, 40, 6))
            self._extend(postings, [(row, int(term), row % 5 + 1) for term in terms])
            for term in terms.tolist():
                expected.setdefault(term, {})[row] = row % 5 + 1
        assert {term: self._of(postings, term) for term in expected} == expected

    def test_its_arrays_make_an_equal_one(self, postings: PostingIndex) -> None:
        self._extend(postings, [(0, 5, 1), (0, 6, 2), (1, 5, 3)])
        rows, terms, counts = postings.arrays()
        assert sorted(zip(rows.tolist(), terms.tolist(), counts.tolist(), strict=True)) == [
            (0, 5, 1),
            (0, 6, 2),
            (1, 5, 3),
        ]

    def _extend(self, postings: PostingIndex, entries: Sequence[tuple[int, int, int]]) -> None:
        rows, terms, counts = np.array(entries, np.int64).T
        postings.extend(rows, terms, counts)

    def _of(self, postings: PostingIndex, term: int) -> dict[int, int]:
        rows, counts = postings.get(term)
        return dict(zip(rows.tolist(), counts.tolist(), strict=True))
