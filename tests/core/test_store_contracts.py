"""Our own stores keep the contracts that memreader ships."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memreader.errors import DimensionMismatchError
from memreader.memory import Memory
from memreader.ports import GraphStore, ItemStore, PostingIndex, VectorIndex, Vectors
from memreader.reader import MemReader
from memreader.recall import RecallOptions
from memreader.records import Keys
from memreader.reindexing import facts_of
from memreader.stores import Store, filter_sql
from memreader.stores.database import Database
from memreader.stores.faiss_index import FlatVectors
from memreader.stores.postings import Postings
from memreader.stores.sqlite_graph import SqliteGraph
from memreader.stores.sqlite_items import SqliteItems
from memreader.testing import (
    GraphStoreContract,
    HashEmbedder,
    ItemStoreContract,
    PostingIndexContract,
    RefiningContract,
    VectorIndexContract,
)
from memreader.testing.store_records import DIMENSION


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path, register=filter_sql.register)
    yield database
    database.close()


class TestSqliteItems(ItemStoreContract, RefiningContract):
    @pytest.fixture
    def items(self, database: Database) -> ItemStore:
        return SqliteItems(database, {"embedder": "e", "dimension": str(DIMENSION), "lexicon": "l"})


class TestSqliteGraph(GraphStoreContract):
    @pytest.fixture
    def items(self, database: Database) -> ItemStore:
        return SqliteItems(database, {"embedder": "e", "dimension": str(DIMENSION), "lexicon": "l"})

    @pytest.fixture
    def graph(self, database: Database) -> GraphStore:
        return SqliteGraph(database)


class TestFlatVectors(VectorIndexContract):
    @pytest.fixture
    def vectors(self) -> VectorIndex:
        return FlatVectors(DIMENSION)


class TestPostings(PostingIndexContract):
    @pytest.fixture
    def postings(self) -> PostingIndex:
        return Postings()


class Rows:
    """Somebody else's vector index: a plain array."""

    def __init__(self, dimension: int) -> None:
        self._rows = np.zeros((0, dimension), np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def dimension(self) -> int:
        return int(self._rows.shape[1])

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes)

    def add(self, vectors: Vectors) -> None:
        if vectors.shape[1] != self.dimension:
            raise DimensionMismatchError(expected=self.dimension, got=vectors.shape[1])
        self._rows = np.concatenate([self._rows, vectors])

    def similarities(self, query: Vectors, rows: Keys | None = None) -> Vectors:
        if query.shape != (self.dimension,):
            raise DimensionMismatchError(expected=self.dimension, got=query.shape[-1])
        found: Vectors = (self._rows if rows is None else self._rows[rows]) @ query
        return found

    def vectors(self) -> Vectors:
        return self._rows.copy()


class TestRows(VectorIndexContract):
    @pytest.fixture
    def vectors(self) -> VectorIndex:
        return Rows(DIMENSION)


def test_a_memory_can_be_made_with_another_vector_index(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    made: list[Rows] = []

    def make(dimension: int) -> Rows:
        made.append(Rows(dimension))
        return made[-1]

    store = Store.open(tmp_path, facts_of(embedder), vectors=make)
    with Memory(store, MemReader(embedder=embedder), RecallOptions()) as memory:
        memory.add(["I like tea.", "The roof leaks."], user_id="ana")
        assert memory.search("tea", user_id="ana")[0].item.memory == "user: I like tea."
    assert [len(rows) for rows in made] == [2]
