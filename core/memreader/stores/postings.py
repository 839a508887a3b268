"""Which rows of one user hold which terms: sorted segments for what is old, a short unsorted tail for what is new."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memreader.records import Keys
from memreader.stores.columns import Column

TAIL = 2048
"""Most postings that are looked through one by one."""
GROWTH = 4
"""How many times as large as the next a segment is at least."""
MAX_COUNT = 65535
"""Occurrences are kept in two bytes."""


class Postings:
    """Term id -> rows and occurrences, appended to row by row. See the port `PostingIndex`.

    Six bytes a posting, sixteen a term and segment. Appending only notes; the next look-up sorts a tail that has grown
    too long into a segment, and merges segments of similar size, so that n additions cost O(n log n) and a look-up
    goes through O(log n) segments.
    """

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self._clear_tail()

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take."""
        tail = self._terms.nbytes + self._rows.nbytes + self._counts.nbytes
        return tail + sum(segment.nbytes for segment in self._segments)

    def extend(self, rows: Keys, terms: Keys, counts: Keys) -> None:
        """Append postings, arrays of equal length; rows ascend within a call and from call to call."""
        self._rows.extend(rows)
        self._terms.extend(terms)
        self._counts.extend(np.minimum(counts, MAX_COUNT))

    def get(self, term: int) -> tuple[Keys, Keys]:
        """Return the rows that hold `term`, ascending, and its occurrences in each; both empty for an unknown term."""
        if len(self._terms.values) > TAIL:
            self._sort_tail()
        found = [part for part in (segment.get(term) for segment in self._segments) if part is not None]
        new = np.flatnonzero(self._terms.values == term)
        if len(new) or not found:
            found.append((self._rows.values[new], self._counts.values[new]))
        if len(found) == 1:
            return found[0][0].astype(np.int64), found[0][1].astype(np.int64)
        return (
            np.concatenate([rows for rows, _ in found], dtype=np.int64),
            np.concatenate([counts for _, counts in found], dtype=np.int64),
        )

    def arrays(self) -> tuple[Keys, Keys, Keys]:
        """Return everything as rows, terms and counts, from which `extend` makes an equal index."""
        segments = self._segments
        rows = np.concatenate([*(one.rows for one in segments), self._rows.values], dtype=np.int64)
        terms = np.concatenate([*(one.spelled_out() for one in segments), self._terms.values])
        counts = np.concatenate([*(one.counts for one in segments), self._counts.values], dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        return rows[order], terms[order], counts[order]

    def _sort_tail(self) -> None:
        newest = _sorted(self._terms.values, self._rows.values, self._counts.values)
        self._clear_tail()
        while self._segments and len(self._segments[-1].rows) < GROWTH * len(newest.rows):
            older = self._segments.pop()
            newest = _sorted(
                np.concatenate([older.spelled_out(), newest.spelled_out()]),
                np.concatenate([older.rows, newest.rows]),
                np.concatenate([older.counts, newest.counts]),
            )
        self._segments.append(newest)

    def _clear_tail(self) -> None:
        self._terms, self._rows, self._counts = Column(np.int64), Column(np.int32), Column(np.uint16)


@dataclass(frozen=True, slots=True)
class _Segment:
    """Postings sorted by term, then row."""

    terms: Keys
    """Each term once, ascending."""
    starts: npt.NDArray[np.int64]
    """Where each term's rows begin, and the end of all."""
    rows: npt.NDArray[np.int32]
    counts: npt.NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self.starts.nbytes + self.rows.nbytes + self.counts.nbytes

    def get(self, term: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]] | None:
        at = self.terms.searchsorted(term)
        if at == len(self.terms) or self.terms[at] != term:
            return None
        part = slice(self.starts[at], self.starts[at + 1])
        return self.rows[part], self.counts[part]

    def spelled_out(self) -> Keys:
        """Return the term of every posting."""
        return np.repeat(self.terms, np.diff(self.starts))


def _sorted(terms: Keys, rows: npt.NDArray[np.int32], counts: npt.NDArray[np.uint16]) -> _Segment:
    # Stable: within a term, older rows stay before newer ones; and of two sorted halves it is a mere merge.
    order = np.argsort(terms, kind="stable")
    ordered = terms[order]
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return _Segment(ordered[starts], np.append(starts, len(ordered)), rows[order], counts[order])
