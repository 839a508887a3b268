"""LlamaIndex's embedding models under our port, and ours under LlamaIndex's."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode

from llamaindex_memreader import MemReaderEmbedding, as_embedder
from memreader import Memory, MiniLMEmbedder
from memreader.errors import DimensionMismatchError, EmbedderMismatchError
from memreader.ports import Embedder
from memreader.testing import EmbedderContract, HashEmbedder


class Cutting(BaseEmbedding):
    """Sees the first hundred words of a text only, and gives vectors of any length."""

    model_name: str = "short-sighted"
    calls: list[list[str]] = []  # noqa: RUF012 - pydantic copies the default for each model

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(texts)
        rows = HashEmbedder().embed([" ".join(text.split()[:100]) for text in texts])
        return [[7 * value for value in row] for row in rows.tolist()]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Unpicklable(HashEmbedder):
    """Holds a lock, as clients do."""

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle a lock")


class TestHashedWords(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return as_embedder(MemReaderEmbedding(embedder=HashEmbedder()))


class TestAModelThatCuts(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return as_embedder(Cutting(), max_tokens=64)


def test_name_and_dimension_tell_models_apart() -> None:
    assert as_embedder(Cutting()).name == "Cutting(short-sighted)"
    fingerprints = {as_embedder(MockEmbedding(embed_dim=size)).fingerprint for size in (8, 8, 16)}
    assert len(fingerprints) == 2
    assert as_embedder(MockEmbedding(embed_dim=8), name="mine").name == "mine"


def test_the_length_of_vectors_is_measured_once_and_not_at_all_when_it_is_given() -> None:
    given, asked = Cutting(), Cutting()
    assert as_embedder(given, dimension=256).dimension == 256
    assert given.calls == []
    embedder = as_embedder(asked)
    assert asked.calls == []
    assert embedder.dimension == embedder.dimension == 256
    assert len(asked.calls) == 1


def test_vectors_of_another_length_are_an_error() -> None:
    with pytest.raises(DimensionMismatchError):
        as_embedder(Cutting(), dimension=10).embed(["a"])


def test_a_memory_works_with_it_and_knows_it_again(tmp_path: Path) -> None:
    for _ in range(2):
        with Memory.open(tmp_path, embedder=as_embedder(Cutting())) as memory:
            memory.add([{"role": "user", "content": "I keep bees.", "message_id": "1"}], user_id="ana")
            assert len(memory.search("bees", user_id="ana")) == 1
    with pytest.raises(EmbedderMismatchError):
        Memory.open(tmp_path, embedder=as_embedder(MockEmbedding(embed_dim=256)))


async def test_our_model_gives_llama_index_the_vectors_it_gives_us(embedding: MemReaderEmbedding) -> None:
    own: MiniLMEmbedder = embedding.embedder
    texts = ["a b", "c"]
    assert embedding.get_text_embedding_batch(texts) == [pytest.approx(row) for row in own.embed(texts).tolist()]
    assert await embedding.aget_text_embedding_batch(texts) == [pytest.approx(r) for r in own.embed(texts).tolist()]
    assert embedding.get_query_embedding("a b") == pytest.approx(own.embed_query("a b").tolist())
    assert await embedding.aget_query_embedding("a b") == pytest.approx(own.embed_query("a b").tolist())
    nodes = [TextNode(text="a b"), TextNode(text="c")]
    assert [node.embedding for node in embedding(nodes)] == [pytest.approx(r) for r in own.embed(texts).tolist()]


async def test_the_async_verbs_leave_the_event_loop_free() -> None:
    task = asyncio.create_task(MemReaderEmbedding().aget_text_embedding_batch(["some words " * 200] * 8))
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert ticks > 3


def test_a_copy_by_any_road_is_the_same_model(embedding: MemReaderEmbedding) -> None:
    twins: list[Any] = [
        MemReaderEmbedding.from_dict(json.loads(json.dumps(embedding.to_dict()))),
        pickle.loads(pickle.dumps(embedding)),
        copy.deepcopy(embedding),
    ]
    for twin in twins:
        assert twin.to_dict() == embedding.to_dict()
        assert twin.get_query_embedding("a b") == pytest.approx(embedding.get_query_embedding("a b"))
    assert embedding.to_dict()["fingerprint"] == MiniLMEmbedder().fingerprint


def test_a_description_is_not_read_as_another_model() -> None:
    described = MemReaderEmbedding(embedder=HashEmbedder()).to_dict()
    with pytest.raises(ValueError, match="hashed-words-256"):
        MemReaderEmbedding.from_dict(described)
    again = MemReaderEmbedding.from_dict(described, embedder=HashEmbedder())
    assert len(again.get_query_embedding("a")) == 256


def test_an_embedder_that_cannot_be_pickled_is_an_error_and_stays_where_it_is() -> None:
    ours = MemReaderEmbedding(embedder=Unpicklable())
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(ours)
    assert len(ours.get_query_embedding("a")) == 256


def test_neither_repr_nor_a_dump_shows_the_model(embedding: MemReaderEmbedding) -> None:
    assert "embedder" not in embedding.to_dict()
    assert "MiniLMEmbedder object" not in repr(embedding)
