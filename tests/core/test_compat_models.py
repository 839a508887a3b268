"""Models and embedders of MemOS's configurations: built as configured, asked only when used."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from memreader import MiniLMEmbedder, OpenAIChatModel, OpenAIEmbedder
from memreader.compat import GeneralTextMemory, MemoryFactory, MemReaderFactory, translate
from memreader.compat.models import ADDRESSES, IN_PROCESS, chat_model_for, chat_models_for, embedder_for
from memreader.embedding import SentenceTransformerEmbedder
from memreader.testing import HashEmbedder, ScriptedChatModel
from openai_server import Answer, OpenAIServer, Request

KEY = "sk-very-secret-key"
INFO = {"user_id": "u1", "session_id": "s1"}
CHAT = [[{"role": "user", "content": "I moved to Lisbon."}]]
FOUND = json.dumps(
    {"memory list": [{"key": "home", "value": "The user moved to Lisbon.", "lines": [1]}], "summary": "s"}
)


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "_said", set())
    monkeypatch.delenv("SIMPLE_STRUCT_ADD_FILTER", raising=False)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimension=64) as server:
        server.reply = lambda request: Answer(FOUND)
        yield server


def asked(server: OpenAIServer, model: Any) -> Request:
    """The request that a model makes."""
    assert isinstance(model, OpenAIChatModel)
    model.complete([{"role": "user", "content": "hi"}])
    model.close()
    return server.requests[-1]


class TestChatModels:
    @pytest.mark.parametrize("backend", [name for name in ADDRESSES if name != "azure"])
    def test_every_backend_is_asked_where_the_configuration_says(self, server: OpenAIServer, backend: str) -> None:
        config = {"model_name_or_path": "small", "api_key": KEY, "api_base": server.url, "temperature": 0.6}
        config |= {"max_tokens": 99, "top_p": 0.9, "top_k": 50, "default_headers": {"X-Team": "a"}}
        request = asked(server, chat_model_for({"backend": backend, "config": config}, "llm"))
        assert request.path == "/v1/chat/completions"
        assert (request.headers["authorization"], request.headers["x-team"]) == (f"Bearer {KEY}", "a")
        assert (request.body["model"], request.body["temperature"]) == ("small", 0.6)
        assert (request.body["max_tokens"], request.body["top_p"]) == (99, 0.9)

    def test_azure_is_asked_in_its_own_way(self, server: OpenAIServer) -> None:
        config = {"model_name_or_path": "mine", "api_key": KEY, "base_url": server.url.removesuffix("/v1")}
        request = asked(server, chat_model_for({"backend": "azure", "config": config}, "llm"))
        assert request.path.startswith("/openai/deployments/mine/chat/completions?api-version=2024-03-01-preview")

    def test_ollamas_own_address_gets_the_path_of_the_compatible_interface(self, server: OpenAIServer) -> None:
        config = {"model_name_or_path": "small", "api_base": server.url.removesuffix("/v1") + "/"}
        request = asked(server, chat_model_for({"backend": "ollama", "config": config}, "llm"))
        assert request.path == "/v1/chat/completions"

    @pytest.mark.parametrize(
        ("backend", "where"),
        [
            ("openai", "api.openai.com"),
            ("qwen", "dashscope-intl.aliyuncs.com"),
            ("deepseek", "api.deepseek.com"),
            ("minimax", "api.minimax.io"),
            ("ark", "ark.cn-beijing.volces.com"),
            ("vllm", "localhost:8088"),
            ("ollama", "localhost:11434"),
            ("azure", "api.openai.azure.com"),
        ],
    )
    def test_without_an_address_it_is_the_backends_own(self, backend: str, where: str) -> None:
        config = {"model_name_or_path": "small", "api_key": KEY}
        model = chat_model_for({"backend": backend, "config": config}, "llm")
        assert repr(model) == f"OpenAIChatModel('small' at {where})"

    def test_openai_without_key_and_address_goes_by_the_settings_of_the_sdk(
        self, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        request = asked(server, chat_model_for({"backend": "openai", "config": {"model_name_or_path": "m"}}, "llm"))
        assert request.headers["authorization"] == "Bearer of-the-environment"

    def test_a_configured_key_is_never_sent_where_the_environment_points(
        self, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        config = {"model_name_or_path": "m", "api_key": KEY}
        assert "api.openai.com" in repr(chat_model_for({"backend": "openai", "config": config}, "llm"))

    @pytest.mark.parametrize(
        ("backend", "thinking", "sent"),
        [
            ("qwen", False, {"enable_thinking": False, "x": 1}),
            ("vllm", True, {"chat_template_kwargs": {"enable_thinking": True}, "x": 1}),
            ("ollama", False, {"reasoning_effort": "none", "x": 1}),
            ("ollama", True, {"x": 1}),
            ("openai", None, {"x": 1}),
        ],
    )
    def test_thinking_is_switched_as_each_backend_wants_it(
        self, server: OpenAIServer, backend: str, thinking: bool | None, sent: dict[str, Any]
    ) -> None:
        config = {"model_name_or_path": "m", "api_key": KEY, "api_base": server.url, "enable_thinking": thinking}
        request = asked(
            server, chat_model_for({"backend": backend, "config": config | {"extra_body": {"x": 1}}}, "llm")
        )
        assert request.body.items() >= sent.items()
        assert request.body.keys() - sent.keys() == {"model", "messages", "temperature"}

    @pytest.mark.parametrize("backend", IN_PROCESS)
    def test_a_model_in_the_process_is_said_once_to_be_impossible(
        self, backend: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        for _ in range(2):
            assert chat_model_for({"backend": backend, "config": {"model_name_or_path": "m"}}, "llm") is None
        assert caplog.text.count(backend) == 1

    @pytest.mark.parametrize("value", [None, {}, {...}, {"backend": None}])
    def test_none_is_none(self, value: Any, caplog: pytest.LogCaptureFixture) -> None:
        assert chat_model_for(value, "llm") is None
        assert caplog.text == ""

    @pytest.mark.parametrize(
        ("value", "named"),
        [
            ({"backend": "crystal_ball", "config": {"model_name_or_path": "m"}}, "crystal_ball.*general_llm"),
            ({"backend": "openai", "config": {"api_key": KEY}}, "model_name_or_path"),
            ({"backend": "openai", "config": {"model_name_or_path": "m", "api_key": KEY, "api_base": "x"}}, "base_url"),
            ({"backend": "qwen", "config": {"model_name_or_path": "m"}}, "api_key"),
            ("openai", "str"),
        ],
    )
    def test_what_makes_no_sense_is_refused_by_name(self, value: Any, named: str) -> None:
        with pytest.raises(ValueError, match=named) as caught:
            chat_model_for(value, "general_llm")
        assert KEY not in str(caught.value)

    def test_a_second_endpoint_is_said_not_to_be_used(self, caplog: pytest.LogCaptureFixture) -> None:
        config = {"model_name_or_path": "m", "api_key": KEY, "backup_client": True, "backup_api_key": KEY}
        chat_model_for({"backend": "openai", "config": config}, "llm")
        assert "backup_client" in caplog.text
        assert KEY not in caplog.text

    def test_each_task_gets_its_model_and_falls_back_as_in_memos(self) -> None:
        def named(name: str) -> dict[str, Any]:
            return {"backend": "ollama", "config": {"model_name_or_path": name}}

        def names(settings: dict[str, Any]) -> dict[str, str | None]:
            return {task: model and model.name for task, model in chat_models_for(settings).items()}  # type: ignore[attr-defined]

        assert names({"llm": named("a"), "general_llm": named("b")}) == {
            "llm": "a",
            "general_llm": "b",
            "preference_llm": "b",
            "image_llm": "b",
            "document_llm": None,
        }
        own = {
            "preference_extractor_llm": named("c"),
            "image_parser_llm": named("d"),
            "document_parser_llm": named("e"),
        }
        assert names({"llm": named("a"), **own}) == {
            "llm": "a",
            "general_llm": None,
            "preference_llm": "c",
            "image_llm": "d",
            "document_llm": "e",
        }


class TestEmbedders:
    @pytest.mark.parametrize(
        ("backend", "config"),
        [
            ("ark", {"api_base": "{url}/", "api_key": KEY, "chunk_size": 2}),
            ("ollama", {"api_base": "{root}"}),
            ("universal_api", {"provider": "openai", "base_url": "{url}", "api_key": KEY}),
        ],
    )
    def test_every_backend_is_asked_where_the_configuration_says(
        self, server: OpenAIServer, backend: str, config: dict[str, Any]
    ) -> None:
        root = server.url.removesuffix("/v1")
        places = {
            name: value.format(url=server.url, root=root) if isinstance(value, str) else value
            for name, value in config.items()
        }
        embedder = embedder_for({"backend": backend, "config": {"model_name_or_path": "small", **places}})
        assert isinstance(embedder, OpenAIEmbedder)
        assert server.requests == []
        texts = ["tea", "coffee", "tax"]
        np.testing.assert_allclose(embedder.embed(texts), HashEmbedder(dimension=64).embed(texts), atol=1e-6)
        assert {request.path for request in server.requests} == {"/v1/embeddings"}
        assert server.requests[0].body["model"] == "small"
        assert len(server.requests) == (2 if "chunk_size" in config else 1)
        embedder.close()

    def test_azure_is_a_provider_of_the_universal_one(self, server: OpenAIServer) -> None:
        config = {"provider": "azure", "base_url": server.url.removesuffix("/v1"), "api_key": KEY}
        embedder = embedder_for({"backend": "universal_api", "config": {"model_name_or_path": "mine", **config}})
        embedder.embed(["tea"])
        assert server.requests[0].path.startswith("/openai/deployments/mine/embeddings?api-version=")

    def test_a_configured_length_needs_no_request(self) -> None:
        config = {"model_name_or_path": "small", "embedding_dims": 768, "max_tokens": 512}
        embedder = embedder_for({"backend": "ollama", "config": config})
        assert (embedder.dimension, embedder.max_tokens) == (768, 512)

    def test_ollama_has_a_model_of_its_own(self) -> None:
        assert embedder_for({"backend": "ollama", "config": {}}).name == "nomic-embed-text:latest"

    def test_a_sentence_transformer_is_built_and_loaded_when_it_is_used(self) -> None:
        embedder = embedder_for({"backend": "sentence_transformer", "config": {"model_name_or_path": "bge"}})
        assert isinstance(embedder, SentenceTransformerEmbedder)
        assert embedder.name == "bge"

    @pytest.mark.parametrize("value", [None, {}, {...}, {"backend": "minilm"}])
    def test_none_is_the_embedded_model(self, value: Any) -> None:
        assert isinstance(embedder_for(value), MiniLMEmbedder)

    @pytest.mark.parametrize(
        ("value", "named"),
        [
            ({"backend": "crystal_ball"}, "crystal_ball"),
            ({"backend": "universal_api", "config": {"model_name_or_path": "m", "api_key": KEY}}, "provider"),
            (
                {
                    "backend": "universal_api",
                    "config": {"model_name_or_path": "m", "provider": "openai", "base_url": "https://x.invalid"},
                },
                "api_key",
            ),
            ({"backend": "ark", "config": {"api_key": KEY}}, "model_name_or_path"),
            (
                {"backend": "ark", "config": {"model_name_or_path": "m", "api_key": KEY, "multi_modal": True}},
                "multi_modal",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused_by_name(self, value: Any, named: str) -> None:
        with pytest.raises(ValueError, match=named) as caught:
            embedder_for(value)
        assert KEY not in str(caught.value)


def config_of(server: OpenAIServer, **more: Any) -> dict[str, Any]:
    place = {"api_key": KEY, "api_base": server.url}
    return {
        "llm": {"backend": "openai", "config": {"model_name_or_path": "reads", **place}},
        "embedder": {
            "backend": "universal_api",
            "config": {"provider": "openai", "model_name_or_path": "e", "base_url": server.url, "api_key": KEY},
        },
        **more,
    }


class TestReaders:
    def test_a_configured_reader_reads_fine_with_the_configured_models(self, server: OpenAIServer) -> None:
        reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": config_of(server)})
        assert server.requests == []
        items = reader.get_memory(CHAT, type="chat", info=INFO)[0]
        assert [item.memory for item in items] == ["The user moved to Lisbon."]
        assert [body["model"] for body in server.chats] == ["reads"]
        assert items[0].metadata.embedding is not None
        assert len(items[0].metadata.embedding) == 64

    def test_a_given_model_takes_the_place_of_all_configured_ones(self, server: OpenAIServer) -> None:
        config = {"backend": "strategy_struct", "config": config_of(server, general_llm=config_of(server)["llm"])}
        mine = ScriptedChatModel([FOUND])
        reader = MemReaderFactory.from_config(config, embedder=HashEmbedder(), llm=mine)
        assert len(reader.get_memory(CHAT, type="chat", info=INFO)[0]) == 1
        assert len(mine.prompts) == 1
        assert server.requests == []

    @pytest.mark.parametrize(("value", "gates"), [("true", ("hallucination",)), ("false", ()), ("", ()), (None, ())])
    def test_the_switch_of_memos_has_memories_checked(
        self, monkeypatch: pytest.MonkeyPatch, value: str | None, gates: tuple[str, ...]
    ) -> None:
        if value is not None:
            monkeypatch.setenv("SIMPLE_STRUCT_ADD_FILTER", value)
        for backend in ("simple_struct", "strategy_struct"):
            reader = MemReaderFactory.from_config({"backend": backend, "config": {}}, embedder=HashEmbedder())
            assert reader.options.gates == gates

    def test_the_switch_makes_another_reader(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config, mine = {"backend": "simple_struct", "config": {}}, HashEmbedder()
        before = MemReaderFactory.from_config(config, embedder=mine)
        monkeypatch.setenv("SIMPLE_STRUCT_ADD_FILTER", "true")
        checked = MemReaderFactory.from_config(config, embedder=mine)
        assert checked is not before
        assert MemReaderFactory.from_config(config, embedder=mine) is checked

    def test_no_key_is_shown_by_what_was_built(self, server: OpenAIServer, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": config_of(server)})
        reader.get_memory(CHAT, type="chat", info=INFO)
        assert KEY not in f"{reader!r} {vars(reader)} {vars(reader.embedder)} {MemReaderFactory._made} {caplog.text}"


class TestGeneralMemory:
    def test_the_configured_model_extracts_and_what_it_found_is_added(self, server: OpenAIServer) -> None:
        config = config_of(server)
        config["extractor_llm"] = config.pop("llm")
        memory = MemoryFactory.from_config({"backend": "general_text", "config": config})
        assert server.chats == []
        memories = memory.extract(CHAT[0])
        assert [item.memory for item in memories] == ["The user moved to Lisbon."]
        memory.add(memories)
        assert [item.memory for item in memory.search("Lisbon", 1)] == ["The user moved to Lisbon."]
        assert len(server.chats) == 1
        memory.close()

    def test_a_known_length_of_the_vectors_lets_it_open_without_a_request(self, server: OpenAIServer) -> None:
        config = config_of(server)
        config["embedder"]["config"]["embedding_dims"] = 64
        memory = GeneralTextMemory(config)
        assert server.requests == []
        memory.close()

    def test_a_given_model_takes_the_place_of_the_configured_one(self, server: OpenAIServer) -> None:
        mine = ScriptedChatModel([FOUND])
        memory = MemoryFactory.from_config(
            {"backend": "general_text", "config": {"extractor_llm": config_of(server)["llm"]}},
            embedder=HashEmbedder(),
            llm=mine,
        )
        assert len(memory.extract(CHAT[0])) == 1
        assert (len(mine.prompts), server.requests) == (1, [])
        memory.close()
