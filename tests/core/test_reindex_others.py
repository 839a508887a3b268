"""A reindexing, and everybody else who has the store open: other processes, memories and threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memreader.errors import EmbedderMismatchError, ReindexInterruptedError
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.records import Batch, ItemRecord
from memreader.reindexing import facts_of, reindex_store
from memreader.stores import Store
from memreader.testing import HashEmbedder
from reindexed import LARGER, OLD, OTHERS, WORDS, Turned, alone, assert_made_for, assert_searched_by, filled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mem"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with filled(folder) as memory:
        yield memory


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memreader.reindexing.PART", 4)


@pytest.mark.parametrize("embedder", OTHERS)
def test_another_process_with_the_old_embedder_is_told(memory: Memory, folder: Path, embedder: HashEmbedder) -> None:
    elsewhere = alone(folder, OLD)
    vector, terms = OLD.embed_query("thing"), {1: 1.0}
    assert len(elsewhere.search("ana", vector, terms).keys) == 20
    memory.admin.reindex(embedder)
    (item,) = memory.get_all(user_id="ana")[:1]
    record = ItemRecord(item.model_copy(update={"id": "new"}), vector, {1: 1})
    for call in (
        lambda: elsewhere.search("ana", vector, terms),
        lambda: elsewhere.search("ben", vector, terms),
        lambda: elsewhere.write(Batch("ana", items=(record,))),
    ):
        with pytest.raises(EmbedderMismatchError):
            call()
    assert memory.get("new", user_id="ana") is None
    elsewhere.close()
    with Memory.open(folder, embedder=embedder) as again:
        assert_searched_by(again, embedder)


@pytest.mark.parametrize("embedder", OTHERS)
def test_another_memory_of_this_process_with_the_old_embedder_is_told(
    memory: Memory, folder: Path, tmp_path: Path, embedder: HashEmbedder
) -> None:
    with Memory.open(folder, embedder=OLD) as other:
        assert_searched_by(other, OLD)
        memory.admin.export(tmp_path / "all.zip")
        memory.dump(tmp_path, user_id="ana")
        memory.admin.reindex(embedder)
        ids = [item.id for item in other.get_all(user_id="ana")]
        calls: list[Callable[[], object]] = [
            lambda: other.search("thing", user_id="ana"),
            lambda: other.context("thing", user_id="ana"),
            lambda: other.add("A new fact.", user_id="ana"),
            lambda: other.add({"id": "x", "memory": "A new fact."}, user_id="ana"),
            lambda: other.update(ids[0], "A new fact.", user_id="ana"),
            lambda: other.load(tmp_path, user_id="cem", rescope=True),
            lambda: other.admin.import_(tmp_path / "all.zip", on_conflict="replace"),
        ]
        for call in calls:
            with pytest.raises(EmbedderMismatchError):
                call()
        # What needs no vector goes on.
        assert other.delete(ids[0], user_id="ana") == [ids[0]]
        assert len(other.get_all(user_id="ana")) == 19
    assert_searched_by(memory, embedder, 19)
    assert memory.admin.users() == ["ana", "ben"]


def test_a_reindexing_with_the_same_embedder_disturbs_nobody(memory: Memory, folder: Path) -> None:
    elsewhere = alone(folder, OLD)
    with Memory.open(folder, embedder=OLD) as other:
        assert_searched_by(other, OLD)
        vector = OLD.embed_query("thing")
        assert len(elsewhere.search("ana", vector, {}).keys) == 20
        memory.admin.reindex()
        memory.add("Fact number 20 is about thing 3.", user_id="ana")
        assert_searched_by(other, OLD, 21)
        assert len(elsewhere.search("ana", vector, {}).keys) == 21
    elsewhere.close()


@pytest.mark.parametrize("same", [True, False])
def test_of_two_at_once_one_stops_and_the_store_is_whole(memory: Memory, folder: Path, same: bool) -> None:
    other = LARGER if same else Turned()
    elsewhere = alone(folder, OLD)

    def meanwhile(stage: str, done: int, total: int) -> None:
        if done == 12:
            reindex_store(elsewhere, other)

    with pytest.raises(ReindexInterruptedError):
        memory.admin.reindex(LARGER, progress=meanwhile)
    elsewhere.close()
    with pytest.raises(EmbedderMismatchError):
        memory.search("thing", user_id="ana")
    memory.close()
    assert_made_for(folder, other)
    with Memory.open(folder, embedder=other) as again:
        assert_searched_by(again, other)


def test_searches_in_threads_get_right_answers_or_the_error(memory: Memory) -> None:
    done = threading.Event()
    spoken = [f"user: {words}" for words in WORDS]
    right = [dict(zip(spoken, one.embed(spoken) @ one.embed_query("thing"), strict=True)) for one in (OLD, LARGER)]

    def search() -> int:
        count = 0
        while not done.is_set():
            try:
                hits = memory.search("thing", user_id="ana", threshold=0, top_k=99)
            except EmbedderMismatchError:
                continue
            count += 1
            assert len(hits) == 20
            said = {hit.item.memory: hit.similarity for hit in hits}
            assert any(said == pytest.approx(cosines, abs=1e-5) for cosines in right)
        return count

    with ThreadPoolExecutor(3) as pool:
        searching = [pool.submit(search) for _ in range(3)]
        for embedder in (LARGER, OLD, LARGER, OLD, LARGER):
            memory.admin.reindex(embedder)
        done.set()
        assert sum(one.result(timeout=60) for one in searching) > 0
    assert_searched_by(memory, LARGER)


def large(folder: Path) -> Store:
    """A store whose users' indexes are large enough for checkpoints, one at a time in memory."""
    return Store(folder, facts_of(OLD), checkpoint_above=5, max_resident_mb=1e-6)


def cosines(store: Store, user: str, embedder: HashEmbedder) -> list[float]:
    return sorted(store.search(user, embedder.embed_query("thing"), {}).similarity.tolist())


def test_checkpoints_of_the_old_embedder_are_never_used(folder: Path) -> None:
    store = large(folder)
    for user in ("ana", "ben"):
        made = zip(WORDS, OLD.embed(WORDS), strict=True)
        items = [ItemRecord(TextualMemoryItem(id=words, memory=words), vector, {1: 1}) for words, vector in made]
        store.write(Batch(user, items=tuple(items)))
        cosines(store, user, OLD)
    (checkpoint,) = folder.glob("indexes/*.ckpt")
    before = checkpoint.read_bytes()
    elsewhere = large(folder)
    cosines(elsewhere, "ana", OLD)
    reindex_store(store, LARGER)
    expected = pytest.approx(sorted((LARGER.embed(WORDS) @ LARGER.embed_query("thing")).tolist()), abs=1e-5)
    assert [cosines(store, user, LARGER) for user in ("ana", "ben", "ana")] == [expected] * 3
    assert checkpoint.read_bytes() != before
    # Another that still holds the old index writes nothing down, and closes as ever.
    with pytest.raises(EmbedderMismatchError):
        cosines(elsewhere, "ben", OLD)
    elsewhere.close()
    store.close()
    again = Store(folder, facts_of(LARGER), checkpoint_above=5)
    assert [cosines(again, user, LARGER) for user in ("ana", "ben")] == [expected] * 2
    again.close()


@pytest.mark.parametrize("embedder", OTHERS)
def test_what_another_process_reindexed_can_be_opened_here(
    memory: Memory, folder: Path, tmp_path: Path, embedder: HashEmbedder
) -> None:
    elsewhere = alone(folder, OLD)
    reindex_store(elsewhere, embedder)
    elsewhere.close()
    with pytest.raises(EmbedderMismatchError):
        memory.search("thing", user_id="ana")
    with pytest.raises(EmbedderMismatchError):
        memory.admin.export(tmp_path / "all.zip")
    assert not (tmp_path / "all.zip").exists()
    with pytest.raises(EmbedderMismatchError):
        Memory.open(folder, embedder=OLD)
    with Memory.open(folder, embedder=embedder) as other:
        assert_searched_by(other, embedder)
        with pytest.raises(EmbedderMismatchError):
            memory.search("thing", user_id="ana")
