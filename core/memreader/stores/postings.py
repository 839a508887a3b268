"""Which rows of one user hold which terms: compact arrays for what is old, a small dict for what is new."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
MERGE_AT = 8192
"""Fewest new postings worth a rebuild of the arrays."""


class Postings:
    """Term id -> rows and occurrences, appended to row by row.

    The base is one sorted block (term, start) with its rows and counts; additions go to lists by term and are merged
    into the base when they are half as many, so that n additions cost O(n log n) in all.
    """

    def __init__(self) -> None:
        self._terms: Ints = np.zeros(0, np.int64)
        self._starts: Ints = np.zeros(1, np.int64)
        self._rows: Ints = np.zeros(0, np.int64)
        self._counts: Ints = np.zeros(0, np.int64)
        self._new: dict[int, tuple[list[int], list[int]]] = {}
        self._new_size = 0

    def extend(self, rows: Ints, terms: Ints, counts: Ints) -> None:
        """Append postings, arrays of equal length; rows ascend within a call and from call to call."""
        if len(rows) >= MERGE_AT:
            self._merge(rows, terms, counts)
            return
        for row, term, count in zip(rows.tolist(), terms.tolist(), counts.tolist(), strict=True):
            new_rows, new_counts = self._new.setdefault(term, ([], []))
            new_rows.append(row)
            new_counts.append(count)
        self._new_size += len(rows)
        if self._new_size >= max(MERGE_AT, len(self._rows) // 2):
            self._merge()

    def get(self, term: int) -> tuple[Ints, Ints]:
        """Return the rows that hold `term`, ascending, and its occurrences in each; empty for an unknown term."""
        at = int(np.searchsorted(self._terms, term))
        if at < len(self._terms) and self._terms[at] == term:
            part = slice(int(self._starts[at]), int(self._starts[at + 1]))
            rows, counts = self._rows[part], self._counts[part]
        else:
            rows, counts = self._rows[:0], self._counts[:0]
        if term in self._new:
            new_rows, new_counts = self._new[term]
            rows = np.concatenate([rows, np.array(new_rows, np.int64)])
            counts = np.concatenate([counts, np.array(new_counts, np.int64)])
        return rows, counts

    def _merge(self, rows: Ints | None = None, terms: Ints | None = None, counts: Ints | None = None) -> None:
        sizes = np.diff(self._starts)
        all_terms = [np.repeat(self._terms, sizes)]
        all_rows, all_counts = [self._rows], [self._counts]
        for term, (new_rows, new_counts) in self._new.items():
            all_terms.append(np.full(len(new_rows), term, np.int64))
            all_rows.append(np.array(new_rows, np.int64))
            all_counts.append(np.array(new_counts, np.int64))
        if rows is not None and terms is not None and counts is not None:
            all_terms.append(terms)
            all_rows.append(rows)
            all_counts.append(counts)
        joined = np.concatenate(all_terms)
        # Stable: within a term, older rows stay before newer ones.
        order = np.argsort(joined, kind="stable")
        self._rows = np.concatenate(all_rows)[order]
        self._counts = np.concatenate(all_counts)[order]
        self._terms, starts = np.unique(joined[order], return_index=True)
        self._starts = np.append(starts, len(joined)).astype(np.int64)
        self._new, self._new_size = {}, 0
