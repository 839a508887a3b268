"""LangChain's embeddings under our port, and ours under LangChain's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_tests.unit_tests import EmbeddingsUnitTests

from langchain_memreader import MemReaderEmbeddings, as_embedder
from memreader import Memory, MiniLMEmbedder
from memreader.errors import DimensionMismatchError, EmbedderMismatchError, InvalidVectorsError
from memreader.ports import Embedder
from memreader.testing import EmbedderContract, HashEmbedder


class Cutting(Embeddings):
    """Sees the first hundred words of a text only, and gives vectors of any length."""

    model = "short-sighted"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(texts)
        rows = HashEmbedder().embed([" ".join(text.split()[:100]) for text in texts])
        return [[7 * value for value in row] for row in rows.tolist()]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class TestHashedWords(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return as_embedder(MemReaderEmbeddings(HashEmbedder()))


class TestAModelThatCuts(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return as_embedder(Cutting(), max_tokens=64)


class TestOursInLangChain(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemReaderEmbeddings


def test_the_name_tells_class_and_model() -> None:
    assert as_embedder(Cutting()).name == "Cutting(short-sighted)"
    assert as_embedder(DeterministicFakeEmbedding(size=8)).name == "DeterministicFakeEmbedding"
    assert as_embedder(Cutting(), name="mine").name == "mine"


def test_two_models_or_two_lengths_have_two_fingerprints() -> None:
    def fingerprint(size: int, name: str | None = None) -> str:
        return as_embedder(DeterministicFakeEmbedding(size=size), name=name).fingerprint

    assert fingerprint(8) == fingerprint(8)
    assert len({fingerprint(8), fingerprint(16), fingerprint(8, "mine")}) == 3


def test_the_length_of_vectors_is_measured_once_and_not_at_all_when_it_is_given() -> None:
    given, asked = Cutting(), Cutting()
    assert as_embedder(given, dimension=256).dimension == 256
    assert given.calls == []
    embedder = as_embedder(asked)
    assert asked.calls == []
    assert embedder.dimension == embedder.dimension == 256
    assert len(asked.calls) == 1


def test_texts_are_embedded_in_one_call() -> None:
    model = Cutting()
    as_embedder(model, dimension=256).embed(["a", "b", "c"])
    assert model.calls == [["a", "b", "c"]]


def test_vectors_of_another_length_or_number_are_an_error() -> None:
    class Miscounting(Cutting):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents([*texts, "one more"])

    with pytest.raises(DimensionMismatchError):
        as_embedder(Cutting(), dimension=10).embed(["a"])
    with pytest.raises(InvalidVectorsError):
        as_embedder(Miscounting(), dimension=256).embed(["a"])


def test_a_memory_works_with_it_and_knows_it_again(tmp_path: Path) -> None:
    for _ in range(2):
        with Memory.open(tmp_path, embedder=as_embedder(Cutting())) as memory:
            memory.add([{"role": "user", "content": "I keep bees.", "message_id": "1"}], user_id="ana")
            assert len(memory.search("bees", user_id="ana")) == 1
    with pytest.raises(EmbedderMismatchError):
        Memory.open(tmp_path, embedder=as_embedder(DeterministicFakeEmbedding(size=256)))


async def test_our_model_gives_langchain_the_vectors_it_gives_us(minilm: MiniLMEmbedder) -> None:
    ours = MemReaderEmbeddings(minilm)
    assert np.array(ours.embed_documents(["a b", "c"])) == pytest.approx(minilm.embed(["a b", "c"]))
    assert np.array(await ours.aembed_query("a b")) == pytest.approx(minilm.embed_query("a b"))
    assert isinstance(ours.embed_query("a b")[0], float)
