"""Token vectors in a memory, and random ones."""

from __future__ import annotations

import numpy as np

from memreader.memory import Memory
from memreader.testing import HashTokenEmbedder
from memreader.types import TokenVectors

TOKENS = HashTokenEmbedder()


def kept(memory: Memory, user_id: str, model: str = TOKENS.token_fingerprint) -> dict[str, TokenVectors]:
    """The token vectors of the user's items, by the items' words."""
    part = memory._store.tokens.since(user_id, model, 0, limit=10_000, at_most=10_000)
    found = [] if part is None else part.found
    items = memory._store.fetch(user_id, np.array([key for key, _ in found], np.int64))
    return {item.memory: tokens for item, (_, tokens) in zip(items, found, strict=True) if item is not None}


def same(one: dict[str, TokenVectors], other: dict[str, TokenVectors]) -> bool:
    """Whether both hold the same vectors for the same words."""
    return one.keys() == other.keys() and all(
        np.array_equal(one[key].vectors, other[key].vectors) and np.array_equal(one[key].pieces, other[key].pieces)
        for key in one
    )


def random_tokens(random: np.random.Generator, count: int, *, vocabulary: int = 9, dimension: int = 4) -> TokenVectors:
    """So many random vectors."""
    return TokenVectors(
        random.integers(0, vocabulary, count).astype(np.uint16),
        random.integers(-127, 128, (count, dimension)).astype(np.int8),
    )
