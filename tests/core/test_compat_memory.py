"""The memory of seed 001: its example runs, and MemOS's files and configurations are taken."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memreader.compat import (
    GeneralTextMemory,
    MemoryConfigFactory,
    MemoryFactory,
    translate,
)
from memreader.errors import ArchiveError, EmbedderMismatchError, InputError, ItemNotFoundError
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.testing import HashEmbedder


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "_said", set())


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

    def test_a_model_that_is_only_begun_to_be_named_is_said_to_be_none(self, caplog: pytest.LogCaptureFixture) -> None:
        for _ in range(2):
            memory = GeneralTextMemory({"extractor_llm": {"backend": "openai", "config": {}}}, embedder=HashEmbedder())
            assert len(memory.extract(CHAT)) == 2
            memory.close()
        assert caplog.text.count("extractor_llm") == 1

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
