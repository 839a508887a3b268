"""Unit vectors of one user in a flat FAISS index; the only place that imports faiss."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from memreader.errors import DimensionMismatchError
from memreader.ports import Vectors

Rows = npt.NDArray[np.int64]


class FlatVectors:
    """Row-numbered unit vectors; exact inner products (= cosines) with a query.

    Not thread-safe: the owner keeps `add` and `similarities` of one object apart. Rows are never removed or moved; the
    owner marks them dead and builds a new object when many are.
    """

    def __init__(self, dimension: int) -> None:
        self._index: Any = faiss.IndexFlatIP(dimension)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return int(self._index.d)

    def add(self, vectors: Vectors) -> None:
        """Append rows, float32, shape (n, dimension)."""
        if vectors.shape[1] != self.dimension:
            raise DimensionMismatchError(expected=self.dimension, got=vectors.shape[1])
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def similarities(self, query: Vectors, rows: Rows | None = None) -> Vectors:
        """Return the inner product of `query`, shape (dimension,), with `rows` (all rows when None), in their order."""
        if query.shape != (self.dimension,):
            raise DimensionMismatchError(expected=self.dimension, got=query.shape[-1])
        if rows is None:
            # A view of FAISS memory that does not outlive this line: an add may move the block.
            block = faiss.rev_swig_ptr(self._index.get_xb(), len(self) * self.dimension)
            whole: Vectors = block.reshape(len(self), self.dimension) @ query
            return whole
        labels = np.ascontiguousarray(rows, np.int64)
        out = np.empty(len(labels), np.float32)
        if len(labels):
            wanted = np.ascontiguousarray(query, np.float32)
            self._index.compute_distance_subset(
                1, faiss.swig_ptr(wanted), len(labels), faiss.swig_ptr(out), faiss.swig_ptr(labels)
            )
        return out
