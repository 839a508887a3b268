"""The rows that every store is given: random unit vectors, words from a vocabulary, one chat source; from a seed.

Knows nothing of memreader, and needs numpy only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

DIMENSION = 384
SEED = 7
BLOCK = 1_000
"""Rows that are made, and given to a store, at once."""
WORDS = [first + middle + last for first in "bdfgklmnprstvz" for middle in "aeiou" for last in ("n", "rel", "st", "mo")]
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Row:
    """One item: what it says, whose it is, where it comes from, and its vector."""

    id: str
    user: str
    text: str
    source: dict[str, Any]
    vector: Vector


@dataclass(frozen=True, slots=True)
class Found:
    """One hit of a search."""

    id: str
    text: str
    user: str


def user_name(user: int) -> str:
    return f"u{user:05}"


def rows(user: int, first: int, count: int, *, version: int = 0) -> list[Row]:
    """Return rows `first`, `first + 1`, ... of a user; equal arguments give equal rows."""
    rng = np.random.default_rng([SEED, user, first, version])
    vectors = rng.standard_normal((count, DIMENSION), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    name = user_name(user)
    made = []
    for number, words in enumerate(rng.integers(0, len(WORDS), (count, 11)).tolist(), first):
        row_id = f"{name}-{number:07}"
        text = f"{' '.join([WORDS[word] for word in words])} {row_id}v{version}"
        source = {
            "type": "chat", "role": "user", "name": "Ana", "content": text, "chat_time": "2024-05-03T08:12:00",
            "message_id": f"m{number}", "session_id": f"s{number // 100}", "start": 0, "end": len(text),
        }  # fmt: skip
        made.append(Row(row_id, name, text, source, vectors[number - first]))
    return made


def blocks(user: int, count: int) -> Iterator[list[Row]]:
    """Yield the rows 0 .. count of a user, `BLOCK` at a time."""
    for first in range(0, count, BLOCK):
        yield rows(user, first, min(BLOCK, count - first))


_VECTORS: dict[int, tuple[list[str], Vector]] = {}


def exact(user: int, vector: Vector, count: int) -> set[str]:
    """Return the ids of the ten of a user's rows 0 .. count that are nearest."""
    if user not in _VECTORS:
        made = [([row.id for row in block], np.stack([row.vector for row in block])) for block in blocks(user, count)]
        _VECTORS[user] = [row_id for ids, _ in made for row_id in ids], np.concatenate([part for _, part in made])
    ids, vectors = _VECTORS[user]
    return {ids[place] for place in np.argsort(-(vectors @ vector))[:10].tolist()}


def queries(users: int, samples: int) -> Iterator[tuple[int, Vector]]:
    """Yield users in turn, with a random question each."""
    rng = np.random.default_rng([SEED, 10**6])
    for sample in range(samples):
        vector = rng.standard_normal(DIMENSION, np.float32)
        yield sample % users, vector / np.linalg.norm(vector)
