"""Our own stores keep the contracts that memreader ships."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memreader.ports import GraphStore, ItemStore, PostingIndex, VectorIndex
from memreader.stores import filter_sql
from memreader.stores.database import Database
from memreader.stores.faiss_index import FlatVectors
from memreader.stores.postings import Postings
from memreader.stores.sqlite_graph import SqliteGraph
from memreader.stores.sqlite_items import SqliteItems
from memreader.testing import GraphStoreContract, ItemStoreContract, PostingIndexContract, VectorIndexContract
from memreader.testing.store_contracts import DIMENSION


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path, register=filter_sql.register)
    yield database
    database.close()


class TestSqliteItems(ItemStoreContract):
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
