"""A store and embedders to go over to, and whether a search is by one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memreader.memory import Memory
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.testing import HashEmbedder
from memreader.types import Vectors
from stored import table

OLD, LARGER = HashEmbedder(dimension=64), HashEmbedder(dimension=128)
WORDS = [f"Fact number {n} is about thing {n % 7}." for n in range(20)]


@dataclass(frozen=True, slots=True)
class Turned(HashEmbedder):
    """Another embedder of the same dimension: its vectors are the old ones, turned round."""

    dimension: int = 64

    @property
    def name(self) -> str:
        return "turned"

    def embed(self, texts: Any) -> Vectors:
        return np.roll(HashEmbedder.embed(self, texts), 7, axis=1)


OTHERS = [Turned(), LARGER]


def alone(folder: Path, embedder: HashEmbedder) -> Store:
    """A store of its own on the folder, as in another process."""
    return Store(folder, facts_of(embedder))


def assert_searched_by(memory: Memory, embedder: HashEmbedder, count: int = 20) -> None:
    """What a search says of every item is the cosine of this embedder."""
    query = "thing number 3"
    hits = memory.search(query, user_id="ana", threshold=0, top_k=99)
    assert len(hits) == count
    for hit in hits:
        cosine = float(embedder.embed([hit.item.memory])[0] @ embedder.embed_query(query))
        assert hit.similarity == pytest.approx(cosine, abs=1e-5)


def assert_made_for(folder: Path, embedder: HashEmbedder) -> None:
    with Memory.open(folder, embedder=embedder) as memory:
        assert len(memory.search("thing", user_id="ana", threshold=0, top_k=99)) == 20
        assert table(memory, "SELECT count(*) FROM staged") == [(0,)]
        assert table(memory, "SELECT count(*) FROM meta WHERE key LIKE 'reindex%'") == [(0,)]


def stop_at(number: int, error: type[BaseException] = InterruptedError) -> Callable[[str, int, int], None]:
    def stop(stage: str, done: int, total: int) -> None:
        if done >= number:
            raise error

    return stop


def filled(folder: Path) -> Memory:
    """A memory of the old embedder: all of WORDS are ana's, and one item is ben's."""
    memory = Memory.open(folder, embedder=OLD)
    memory.add(WORDS, user_id="ana", session_id="s")
    memory.add("Something of ben's.", user_id="ben")
    return memory
