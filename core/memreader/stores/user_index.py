"""One user's items in memory, ready to be searched, kept in step with the truth by change sequence number."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.ports import PostingIndex, VectorIndex, Vectors
from memreader.records import Changes, Keys
from memreader.stores.around import Around, group_scores, term_rarity
from memreader.stores.columns import ALIVE, CODED, K1, NO_LABEL, Arrays, Columns, distinct
from memreader.stores.faiss_index import FlatVectors
from memreader.stores.postings import Postings

Floats: TypeAlias = npt.NDArray[np.float64]

ARRAYS: dict[str, str] = {
    "keys": "<i8", "vectors": "<f4", "sessions": "<i4", "agents": "<i4", "flags": "|u1", "sizes": "<i4",
    "terms": "<i8", "counts": "<u2", "names": "|u1", "groups": "<i4", "speakers": "<i4", "orders": "<i8",
    "days": "<i4", "marks": "<u2", "expires": "<i8",
}  # fmt: skip
"""What `UserIndex.arrays` consists of, and the kinds of numbers."""
COMPACT_AT = 0.5
"""Share of dead rows above which the index is built anew,"""
FEWEST_DEAD = 64
"""if there are more of them than this."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a query finds in one user's index, rows ascending; arrays of equal length."""

    keys: Keys
    """The store's numbers of the candidate items, in the order of their last change."""
    lexical: Floats
    """BM25 of each candidate, >= 0; what is in every session counts for little in it, see `term_rarity`."""
    coverage: Floats
    """Share of the query's idf that a candidate's terms make up, in [0, 1]; 0 for a query without terms."""
    similarity: Vectors
    """Cosine of each candidate with the query's vector."""
    around: Around
    """Who said the candidates and when, and what stands beside them."""
    group: Floats
    """BM25 of each candidate's session or section as a whole, in [0, 1]."""
    seq: int = 0
    """Number of the last change that this takes into account."""


class UserIndex:
    """Vectors, postings and labels of one user; not thread-safe, its owner holds a lock.

    An error or Ctrl-C during `catch_up` leaves it half filled: then it must be thrown away.

    Args:
        user_id: Whose items these are.
        dimension: Length of the vectors.
        vectors: Makes an empty vector index of a dimension.
        postings: Makes an empty posting index.
    """

    def __init__(
        self,
        user_id: str,
        dimension: int,
        *,
        vectors: Callable[[int], VectorIndex] = FlatVectors,
        postings: Callable[[], PostingIndex] = Postings,
    ) -> None:
        self.user_id = user_id
        self.dimension = dimension
        self.seq = 0
        """Number of the last change taken in."""
        self.gained = self.lost = 0
        """Items taken in and dropped since it was last written down (`saved`) or made of what was."""
        self._make_vectors, self._make_postings = vectors, postings
        self._clear()

    @classmethod
    def from_arrays(
        cls,
        user_id: str,
        dimension: int,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        seq: int,
        vectors: Callable[[int], VectorIndex] = FlatVectors,
        postings: Callable[[], PostingIndex] = Postings,
    ) -> UserIndex:
        """Return an index equal to the one whose `arrays` were taken at `seq`.

        Raises:
            ValueError: The arrays don't belong together.
        """
        index = cls(user_id, dimension, vectors=vectors, postings=postings)
        _check(arrays, dimension)
        index._restore(arrays)
        index.seq = seq
        index.saved()
        return index

    def __len__(self) -> int:
        return self._columns.living

    @property
    def nbytes(self) -> int:
        """Memory that all arrays take."""
        return self._columns.nbytes + self._vectors.nbytes + self._postings.nbytes

    def saved(self) -> None:
        """Begin to count anew what is gained and lost."""
        self.gained = self.lost = 0

    def catch_up(self, changes: Callable[[int], Changes]) -> None:
        """Take in every change since the last call; everything the first time.

        Args:
            changes: Gives the next part of what changed after a change sequence number.
        """
        more = True
        while more:
            part = changes(self.seq)
            if part.restart:
                self.lost += len(self)
                self._clear()
            self.lost += self._columns.drop(part.gone)
            self.gained += len(part.keys)
            self._append(part)
            self.seq, more = part.seq, part.more
        size = len(self._columns)
        if size - len(self) > max(FEWEST_DEAD, COMPACT_AT * size):
            arrays = self.arrays()
            self._clear()
            self._restore(arrays)

    def arrays(self) -> Arrays:
        """Return the living items as arrays that `from_arrays` makes an equal index of; of dead ones nothing is left.

        n items: keys, labels, traits and sizes (n,), vectors (n, d), terms and counts (sum of sizes,); names are the
        JSON text of the list of names that the codes in sessions, agents, groups and speakers stand for.
        """
        alive = self._columns.alive
        rows, terms, counts = self._postings.arrays()
        kept = alive[rows]
        vectors = self._vectors.vectors()
        arrays = self._columns.arrays() | {
            "vectors": vectors if alive.all() else vectors[alive],
            "sizes": np.bincount((np.cumsum(alive) - 1)[rows[kept]], minlength=len(self)),
            "terms": terms[kept],
            "counts": counts[kept],
        }
        return {name: arrays[name].astype(kind, copy=False) for name, kind in ARRAYS.items()}

    def search(
        self,
        vector: Vectors,
        terms: Mapping[int, float],
        *,
        session_id: str | None,
        agent_id: str | None,
        isolate: bool,
        allowed: Keys | None = None,
        archived: bool = False,
        repeated: bool = False,
        now: float = -math.inf,
    ) -> Evidence:
        """Return every candidate's evidence for a query.

        How rare a term is, is counted over all of the user's items, whatever the candidates; in how many sessions it
        is, over those of the candidates.

        Args:
            vector: The query's, shape (d,).
            terms: The query's term ids, and how much each counts.
            session_id: Whose items of visibility "session" are seen.
            agent_id: Only items of this agent, unless None.
            isolate: Only items of this `session_id`.
            allowed: Only items of these keys, in any order; those that aren't here don't count.
            archived: Archived items, too.
            repeated: Statements that those of other sessions stand for, too; with `isolate` they are found anyway.
            now: Without items that have expired by then, in Unix seconds.
        """
        rows = self._columns.candidates(
            session_id, agent_id, isolate=isolate, allowed=allowed, archived=archived, repeated=repeated, now=now
        )
        similarity = self._vectors.similarities(vector, rows)
        found = [self._postings.get(term) for term in terms]
        weights = np.fromiter(terms.values(), np.float64, len(terms))
        around = self._columns.around(rows)
        keys = self._columns.keys.values
        if rows is None:
            lexical, coverage = self._bm25(found, weights, term_rarity(around, found))
            group = group_scores(around, found, weights)
            return Evidence(keys.copy(), lexical, coverage, similarity, around, group, self.seq)
        place = np.full(len(keys), -1, np.int64)
        place[rows] = np.arange(len(rows))
        among = [(place[holders], counts) for holders, counts in found]
        among = [(at[at >= 0], counts[at >= 0]) for at, counts in among]
        lexical, coverage = self._bm25(found, weights, term_rarity(around, among))
        group = group_scores(around, among, weights)
        return Evidence(keys[rows], lexical[rows], coverage[rows], similarity, around, group, self.seq)

    def _bm25(self, found: list[tuple[Keys, Keys]], weights: Floats, rarity: Floats) -> tuple[Floats, Floats]:
        """Return BM25 (Robertson and Zaragoza 2009; idf as in Lucene) and idf-weighted coverage of every row.

        Args:
            found: Rows and occurrences of each term of the query.
            weights: Of each.
            rarity: What each counts for in BM25 besides, by `term_rarity`.
        """
        size = len(self._columns)
        sizes = np.array([len(rows) for rows, _ in found], np.int64)
        if not sizes.any():
            return np.zeros(size), np.zeros(size)
        facts = self._columns.facts
        rows = np.concatenate([rows for rows, _ in found])
        counts = np.concatenate([counts for _, counts in found]).astype(np.float64)
        frequency = sizes
        if len(self) < size:
            before = np.append(0, np.cumsum(facts.alive[rows]))
            ends = np.cumsum(sizes)
            frequency = before[ends] - before[ends - sizes]
        idf = weights * np.log1p((len(self) - frequency + 0.5) / (frequency + 0.5))
        parts = np.repeat(idf, sizes)
        covered = np.bincount(rows, parts, size)
        # Summed one by one like the parts, so that whoever holds every term is covered to exactly 1.
        total = sum(idf.tolist())
        parts *= np.repeat(rarity, sizes) * counts * (K1 + 1) / (counts + facts.norm[rows])
        lexical: Floats = np.bincount(rows, parts, size).astype(np.float64, copy=False)
        return lexical, covered / total if total else covered.astype(np.float64, copy=False)

    def _clear(self) -> None:
        self._vectors = self._make_vectors(self.dimension)
        self._postings = self._make_postings()
        self._columns = Columns()

    def _append(self, part: Changes) -> None:
        arrays: Arrays = {"keys": part.keys, "vectors": part.vectors, "sizes": part.sizes, "terms": part.terms}
        count = len(part.keys)
        coded = self._columns.coded(part.labels, part.traits or (b"",) * count, part.expires or (None,) * count)
        self._extend(arrays | {"counts": part.counts} | coded)

    def _restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._columns = Columns(json.loads(arrays["names"].tobytes()))
        self._extend(arrays)

    def _extend(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        count, counts = len(arrays["keys"]), arrays["counts"]
        if count:
            self._vectors.add(arrays["vectors"])
            rows = np.repeat(np.arange(count), arrays["sizes"])
            self._postings.extend(rows + len(self._columns), arrays["terms"], counts)
            self._columns.extend(arrays, np.bincount(rows, counts, count))


def _check(arrays: Mapping[str, npt.NDArray[Any]], dimension: int) -> None:
    """Raise ValueError unless the arrays belong together."""
    one, each = (len(arrays["keys"]),), (len(arrays["terms"]),)
    shapes = dict.fromkeys(ARRAYS, one) | {"terms": each, "counts": each, "names": arrays["names"].shape}
    for name, kind in ARRAYS.items():
        shape = (*one, dimension) if name == "vectors" else shapes[name]
        if arrays[name].shape != shape or arrays[name].dtype != np.dtype(kind):
            raise ValueError(f"array {name!r} is {arrays[name].dtype} {arrays[name].shape}, not {kind} {shape}")
    names = json.loads(arrays["names"].tobytes())
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of the labels are no list of strings")
    for codes in (arrays[name] for name in CODED):
        if codes.size and not NO_LABEL <= codes.min() <= codes.max() < len(names):
            raise ValueError("a label has no name")
    sizes = arrays["sizes"]
    if sizes.min(initial=0) < 0 or sizes.sum(dtype=np.int64) != each[0]:
        raise ValueError("the sizes of the items don't add up to the postings")
    if not (arrays["flags"] & ALIVE).all() or len(distinct(arrays["keys"])) != one[0]:
        raise ValueError("an item is dead, or there twice")
