"""A source of changes that works like a store's: items with numbers for life, change numbers, and what is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from memreader.records import Changes, Label

PLAIN: Label = (None, None, "private", "activated", "conversation")


def unit(seed: int, dimension: int) -> np.ndarray:
    row = np.random.default_rng(seed).normal(size=dimension).astype(np.float32)
    return row / np.linalg.norm(row)


@dataclass(frozen=True)
class Held:
    vector: np.ndarray
    terms: Mapping[int, int]
    label: Label = PLAIN


@dataclass
class FakeItems:
    """The items of one user."""

    dimension: int
    seq: int = 0
    erased: int = 0
    next_key: int = 1
    held: dict[int, tuple[int, Held]] = field(default_factory=dict)
    gone: list[tuple[int, int]] = field(default_factory=list)

    def put(self, held: Held, key: int | None = None) -> int:
        """Add an item, or change the one of this key."""
        self.seq += 1
        if key is None:
            key, self.next_key = self.next_key, self.next_key + 1
        self.held[key] = (self.seq, held)
        return key

    def fill(self, count: int, *, terms: int = 3) -> list[int]:
        """Add items with words and vectors of their own."""
        keys = []
        for _ in range(count):
            number = self.next_key
            words = {number % 7: 1 + number % 3, **{100 + (number * n) % 50: n for n in range(1, terms)}}
            keys.append(self.put(Held(unit(number, self.dimension), words)))
        return keys

    def delete(self, *keys: int) -> None:
        for key in keys:
            self.seq += 1
            del self.held[key]
            self.gone.append((self.seq, key))

    def erase(self) -> None:
        """Delete everything, without a trace."""
        self.seq += 1
        self.held.clear()
        self.gone.clear()
        self.erased = self.seq

    @property
    def last_deletion(self) -> int:
        return max([self.erased, *(seq for seq, _ in self.gone)])

    def changes(self, after: int, limit: int = 1000) -> Changes:
        restart = 0 < after < self.erased
        after = 0 if restart else after
        found = sorted((seq, key) for key, (seq, _) in self.held.items() if seq > after)[:limit]
        more = len(found) == limit
        upto = found[-1][0] if more else self.seq
        keys = [key for _, key in found]
        gone = [key for seq, key in self.gone if after < seq <= upto]
        records = [self.held[key][1] for key in keys]
        vectors = [record.vector for record in records]
        return Changes(
            seq=upto,
            more=more,
            restart=restart,
            gone=np.array([*gone, *keys] if after else [], np.int64),
            keys=np.array(keys, np.int64),
            vectors=np.array(vectors, np.float32).reshape(len(keys), self.dimension),
            sizes=np.array([len(record.terms) for record in records], np.int64),
            terms=np.array([term for record in records for term in record.terms], np.int64),
            counts=np.array([count for record in records for count in record.terms.values()], np.int64),
            labels=tuple(record.label for record in records),
        )
