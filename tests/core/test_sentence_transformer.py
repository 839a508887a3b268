"""Models of sentence-transformers under our port; the library itself is not needed here."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from memreader.embedding import SentenceTransformerEmbedder
from memreader.errors import MissingExtraError
from memreader.ports import Embedder
from memreader.testing import EmbedderContract, HashEmbedder

HASHED = HashEmbedder(dimension=64)


class Words:
    """A tokenizer whose tokens are words."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [0] * (len(text.split()) + 2 * add_special_tokens)


class Model:
    """What of a SentenceTransformer counts: it cuts texts that are too long."""

    max_seq_length: int | None = 40

    def __init__(self) -> None:
        self.tokenizer = Words()
        self.seen: list[list[str]] = []

    def get_sentence_embedding_dimension(self) -> int:
        return 64

    def encode(self, sentences: list[str], **settings: Any) -> Any:
        assert settings["convert_to_numpy"]
        self.seen.append(sentences)
        return 3 * HASHED.embed([" ".join(text.split()[: (self.max_seq_length or 512) - 2]) for text in sentences])


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return SentenceTransformerEmbedder(Model())


def test_a_long_text_is_embedded_in_pieces_that_fit_with_their_prefix() -> None:
    model = Model()
    embedder = SentenceTransformerEmbedder(model, text_prefix="passage: ", query_prefix="query: ")
    assert embedder.max_tokens == 40
    rows = embedder.embed(["tea", "word " * 76])
    assert rows.shape == (2, 64)
    assert all(text.startswith("passage: ") and len(text.split()) <= 38 for text in model.seen[0])
    embedder.embed_query("tea?")
    assert model.seen[1] == ["query: tea?"]
    np.testing.assert_allclose(rows[0], HASHED.embed(["passage: tea"])[0], atol=1e-6)


def test_a_model_that_names_no_limit_has_512() -> None:
    model = Model()
    model.max_seq_length = None
    assert SentenceTransformerEmbedder(model).max_tokens == 512


def test_what_changes_the_vectors_changes_the_fingerprint() -> None:
    longer = Model()
    longer.max_seq_length = 80
    embedders = [
        SentenceTransformerEmbedder(Model()),
        SentenceTransformerEmbedder(Model(), query_prefix="q"),
        SentenceTransformerEmbedder(Model(), text_prefix="q"),
        SentenceTransformerEmbedder(longer),
    ]
    assert len({embedder.fingerprint for embedder in embedders}) == 4
    assert embedders[0].name == "Model"


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="it is installed")
def test_without_the_library_the_first_call_says_what_to_install() -> None:
    embedder = SentenceTransformerEmbedder("BAAI/bge-small-en-v1.5")
    assert embedder.name == "BAAI/bge-small-en-v1.5"
    for use in (embedder.warm_up, lambda: embedder.embed(["tea"]), lambda: embedder.dimension):
        with pytest.raises(MissingExtraError, match="pip install sentence-transformers"):
            use()
