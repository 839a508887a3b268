"""Unit vectors of one user in a flat FAISS index; the only place that imports faiss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np

from memreader.errors import DimensionMismatchError
from memreader.ports import Vectors
from memreader.records import Keys

_swig: Any = faiss
"""Its type stubs leave out the plain functions."""


class FlatVectors:
    """Row-numbered unit vectors; exact inner products (= cosines) with a query. See the port `VectorIndex`.

    A query is answered by the calling thread alone, without Python's lock. A team of OpenMP threads makes a search of
    0.6 ms take 13 to 44 ms on a busy machine, and after a fork the child waits forever for a team that it hasn't got.
    """

    def __init__(self, dimension: int) -> None:
        self._index: Any = faiss.IndexFlatIP(dimension)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return int(self._index.d)

    @property
    def nbytes(self) -> int:
        """Memory that the rows take."""
        return len(self) * self.dimension * 4

    def add(self, vectors: Vectors) -> None:
        """Append rows, float32, shape (n, dimension)."""
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension:
            raise DimensionMismatchError(expected=self.dimension, got=vectors.shape[-1])
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def similarities(self, query: Vectors, rows: Keys | None = None) -> Vectors:
        """Return the inner product of `query`, shape (dimension,), with `rows` (all rows when None), in their order."""
        if query.shape != (self.dimension,):
            raise DimensionMismatchError(expected=self.dimension, got=query.shape[-1])
        wanted = np.ascontiguousarray(query, np.float32)
        if rows is None:
            return self._all(wanted)
        if 2 * len(rows) > len(self):
            # Memory read front to back is twice as fast as memory read in leaps.
            whole: Vectors = self._all(wanted)[rows]
            return whole
        labels = np.ascontiguousarray(rows, np.int64)
        out = np.empty(len(labels), np.float32)
        if len(labels):
            with _alone():
                self._index.compute_distance_subset(
                    1, faiss.swig_ptr(wanted), len(labels), faiss.swig_ptr(out), faiss.swig_ptr(labels)
                )
        return out

    def vectors(self) -> Vectors:
        """Return a copy of all rows, shape (len, dimension)."""
        out = np.empty((len(self), self.dimension), np.float32)
        if len(self):
            # A view of FAISS memory that does not outlive this line: an add may move the block.
            out[:] = faiss.rev_swig_ptr(self._index.get_xb(), out.size).reshape(out.shape)
        return out

    def _all(self, query: Vectors) -> Vectors:
        out = np.empty(len(self), np.float32)
        if len(out):
            # Plain code of one thread, unlike numpy's product, whose threads wait for each other.
            _swig.fvec_inner_products_ny(
                faiss.swig_ptr(out), faiss.swig_ptr(query), self._index.get_xb(), self.dimension, len(out)
            )
        return out


@contextmanager
def _alone() -> Iterator[None]:
    """Let the calling thread start no OpenMP team; the setting is a thread's own, so that nobody else notices."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
