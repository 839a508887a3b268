"""One user's items in memory, ready to be searched, kept in step with the database by change seq."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.ports import Vectors
from memreader.stores.faiss_index import FlatVectors, Rows
from memreader.stores.postings import Postings

COMPACT_AT = 0.5
"""Share of dead rows at which the index is built anew."""

_COLUMNS = "id, embedding, term_ids, term_counts, session_id, agent_id, visibility, status, source"
_BOUND = 500
"""Ids in one IN (...): below SQLite's oldest limit on bound values."""

_Row: TypeAlias = tuple[int, bytes, bytes, bytes, str | None, str | None, str, str, str | None]
Mask: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
NOBODY = -1
"""Code of a label that no item has; -2 is no label."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a query finds in one user's index, rows ascending; arrays of equal length."""

    keys: Rows
    """Database ids of the candidate items."""
    lexical: Floats
    """BM25 of each candidate, >= 0."""
    coverage: Floats
    """Share of the query's idf that a candidate's terms make up, in [0, 1]; 0 for a query without terms."""
    similarity: Vectors
    """Cosine of each candidate with the query's vector."""


class UserIndex:
    """Vectors, postings and labels of one user; not thread-safe, its owner holds a lock."""

    def __init__(self, user_id: str, dimension: int) -> None:
        self.user_id = user_id
        self.seq = 0
        self._dimension = dimension
        self._clear()

    def __len__(self) -> int:
        return len(self._row_of)

    def catch_up(self, db: sqlite3.Connection) -> None:
        """Take in every change since the last call; loads everything the first time."""
        newest = db.execute("SELECT max(seq) FROM changes WHERE user_id = ?", (self.user_id,)).fetchone()[0] or 0
        if newest == self.seq:
            return
        if self.seq == 0:
            self._load_all(db)
        else:
            query = "SELECT DISTINCT item FROM changes WHERE user_id = ? AND seq > ? ORDER BY item"
            changed = [key for (key,) in db.execute(query, (self.user_id, self.seq))]
            self._drop(changed)
            for start in range(0, len(changed), _BOUND):
                part = changed[start : start + _BOUND]
                marks = ",".join("?" * len(part))
                self._append(db.execute(f"SELECT {_COLUMNS} FROM items WHERE id IN ({marks}) ORDER BY id", part))
            if len(self._vectors) - len(self._row_of) > max(64, COMPACT_AT * len(self._vectors)):
                self._clear()
                self._load_all(db)
        self.seq = newest

    def search(
        self,
        vector: Vectors,
        terms: Mapping[int, float],
        *,
        session_id: str | None,
        agent_id: str | None,
        isolate: bool,
    ) -> Evidence:
        """Return every candidate's evidence for a query.

        Args:
            vector: The query's, shape (d,).
            terms: The query's term ids, and how much each counts.
            isolate: Only items of this `session_id`.
        """
        rows = np.flatnonzero(self._visible(session_id, agent_id, isolate=isolate))
        everything = len(rows) == len(self._vectors)
        similarity = self._vectors.similarities(vector, None if everything else rows)
        bm25, coverage = self._bm25(terms)
        return Evidence(self._keys.values[rows], bm25[rows], coverage[rows], similarity)

    def _bm25(self, terms: Mapping[int, float], *, k1: float = 0.9, b: float = 0.4) -> tuple[Floats, Floats]:
        """Return BM25 (Robertson and Zaragoza 2009; idf as in Lucene) and idf-weighted coverage of every row.

        A length is measured against the mean of its kind: beside short turns every document chunk would look too long.
        """
        alive, count = self._alive.values, len(self._row_of)
        score, covered, total = np.zeros(len(alive)), np.zeros(len(alive)), 0.0
        norm = k1 * (1 - b + b * self._relative_length())
        for term, weight in terms.items():
            rows, counts = self._postings.get(term)
            frequency = int(alive[rows].sum())
            idf = weight * float(np.log1p((count - frequency + 0.5) / (frequency + 0.5)))
            score[rows] += idf * counts * (k1 + 1) / (counts + norm[rows])
            covered[rows] += idf
            total += idf
        return score, covered / total if total else covered

    def _relative_length(self) -> Floats:
        """Return each row's length in terms, divided by the mean length of the living rows of its kind."""
        alive, lengths, in_file = self._alive.values, self._length.values.astype(np.float64), self._in_file.values
        for kind in (in_file, ~in_file):
            living = kind & alive
            if living.any():
                lengths[kind] /= max(lengths[living].mean(), 1.0)
        return lengths

    def _visible(self, session_id: str | None, agent_id: str | None, *, isolate: bool) -> Mask:
        mask: Mask = self._alive.values & ~self._archived.values
        same_session = self._session.values == self._codes.get(session_id, NOBODY)
        mask &= same_session if isolate else same_session | ~self._session_only.values
        if agent_id is not None:
            mask &= self._agent.values == self._codes.get(agent_id, NOBODY)
        return mask

    def _clear(self) -> None:
        self._vectors = FlatVectors(self._dimension)
        self._postings = Postings()
        self._row_of: dict[int, int] = {}
        self._codes: dict[str | None, int] = {}
        self._keys, self._length = Column(np.int64), Column(np.int64)
        self._session, self._agent = Column(np.int64), Column(np.int64)
        self._alive, self._archived = Column(np.bool_), Column(np.bool_)
        self._session_only, self._in_file = Column(np.bool_), Column(np.bool_)

    def _load_all(self, db: sqlite3.Connection) -> None:
        self._append(db.execute(f"SELECT {_COLUMNS} FROM items WHERE user_id = ? ORDER BY id", (self.user_id,)))

    def _drop(self, keys: Sequence[int]) -> None:
        for key in keys:
            row = self._row_of.pop(key, None)
            if row is not None:
                self._alive.values[row] = False

    def _code(self, label: str | None) -> int:
        return NOBODY - 1 if label is None else self._codes.setdefault(label, len(self._codes))

    def _append(self, found: Iterable[_Row]) -> None:
        records = list(found)
        if not records:
            return
        keys, embeddings, ids, occurrences, sessions, agents, visibilities, statuses, kinds = zip(*records, strict=True)
        first = len(self._keys.values)
        self._row_of.update(zip(keys, range(first, first + len(records)), strict=True))
        self._keys.extend(keys)
        self._alive.extend([True] * len(records))
        self._archived.extend([status in ("archived", "deleted") for status in statuses])
        self._session_only.extend([visibility == "session" for visibility in visibilities])
        self._session.extend([self._code(label) for label in sessions])
        self._agent.extend([self._code(label) for label in agents])
        self._in_file.extend([kind == "file" for kind in kinds])
        self._vectors.add(np.frombuffer(b"".join(embeddings), "<f4").reshape(len(records), self._dimension))
        counts = np.frombuffer(b"".join(occurrences), "<u2").astype(np.int64)
        sizes = np.array([len(blob) // 2 for blob in occurrences], np.int64)
        rows = np.repeat(np.arange(first, first + len(records)), sizes)
        self._length.extend(np.bincount(rows - first, weights=counts, minlength=len(records)).astype(np.int64))
        self._postings.extend(rows, np.frombuffer(b"".join(ids), "<i8").astype(np.int64), counts)


class Column:
    """An array that grows: appending is amortised O(1), `values` is a view of what is filled."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._data = np.zeros(64, kind)
        self._size = 0

    @property
    def values(self) -> npt.NDArray[Any]:
        """The filled part; writing to it changes the column."""
        return self._data[: self._size]

    def extend(self, values: Sequence[Any] | npt.NDArray[Any]) -> None:
        """Append values."""
        size = self._size + len(values)
        if size > len(self._data):
            grown = np.zeros(max(size, 2 * len(self._data)), self._data.dtype)
            grown[: self._size] = self.values
            self._data = grown
        self._data[self._size : size] = values
        self._size = size
