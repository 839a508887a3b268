"""Another embedder for a store: the old index serves until the new one is whole, and nobody mixes the two."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memreader.errors import EmbedderMismatchError, InvalidVectorsError, ReindexInterruptedError
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.recall import term_counts
from memreader.records import Batch, ItemRecord
from memreader.reindexing import facts_of, reindex_store
from memreader.stores import Store
from memreader.testing import HashEmbedder
from memreader.types import Vectors

OLD, LARGER = HashEmbedder(dimension=64), HashEmbedder(dimension=128)
WORDS = [f"Fact number {n} is about thing {n % 7}." for n in range(20)]


@dataclass(frozen=True, slots=True)
class Turned(HashEmbedder):
    """Another embedder of the same dimension: its vectors are the old ones, turned round."""

    dimension: int = 64

    @property
    def name(self) -> str:
        return "turned"

    def embed(self, texts: Any) -> Vectors:
        return np.roll(HashEmbedder.embed(self, texts), 7, axis=1)


OTHERS = [Turned(), LARGER]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mem"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory.open(folder, embedder=OLD) as memory:
        memory.add(WORDS, user_id="ana", session_id="s")
        memory.add("Something of ben's.", user_id="ben")
        yield memory


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memreader.reindexing.PART", 4)


def alone(folder: Path, embedder: HashEmbedder) -> Store:
    """A store of its own on the folder, as in another process."""
    return Store(folder, facts_of(embedder))


def assert_searched_by(memory: Memory, embedder: HashEmbedder, count: int = 20) -> None:
    """What a search says of every item is the cosine of this embedder."""
    query = "thing number 3"
    hits = memory.search(query, user_id="ana", threshold=0, top_k=99)
    assert len(hits) == count
    for hit in hits:
        cosine = float(embedder.embed([hit.item.memory])[0] @ embedder.embed_query(query))
        assert hit.similarity == pytest.approx(cosine, abs=1e-5)


def assert_made_for(folder: Path, embedder: HashEmbedder) -> None:
    with Memory.open(folder, embedder=embedder) as memory:
        assert len(memory.search("thing", user_id="ana", threshold=0, top_k=99)) == 20
        assert table(memory._store, "SELECT count(*) FROM staged") == [(0,)]
        assert table(memory._store, "SELECT count(*) FROM meta WHERE key LIKE 'reindex%'") == [(0,)]


def table(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store._database.reading() as db:
        return db.execute(query).fetchall()


def stop_at(number: int, error: type[BaseException] = InterruptedError) -> Callable[[str, int, int], None]:
    def stop(stage: str, done: int, total: int) -> None:
        if done >= number:
            raise error

    return stop


@pytest.mark.parametrize("embedder", OTHERS)
def test_everything_is_found_by_the_new_embedder(memory: Memory, folder: Path, embedder: HashEmbedder) -> None:
    items = memory.get_all(user_id="ana")
    assert_searched_by(memory, OLD)
    told: list[tuple[str, int, int]] = []
    report = memory.admin.reindex(embedder, progress=lambda *step: told.append(step))
    assert (report.items, report.resumed, report.embedder) == (21, 0, facts_of(embedder).embedder)
    assert [step[1:] for step in told] == [(n, 21) for n in (4, 8, 12, 16, 20, 21)]
    assert memory.get_all(user_id="ana") == items
    assert_searched_by(memory, embedder)
    assert memory.reader.embedder == embedder
    assert memory.add(WORDS, user_id="ana", session_id="s").added == []
    memory.add("Fact number 20 is about thing 3.", user_id="ana")
    assert_searched_by(memory, embedder, 21)
    memory.close()
    with pytest.raises(EmbedderMismatchError, match="reindex=True"):
        Memory.open(folder, embedder=OLD)


def test_without_another_embedder_everything_is_made_anew(memory: Memory) -> None:
    with memory._store._database.transaction() as db:
        db.execute("UPDATE evidence SET term_ids = x'', term_counts = x'', embedding = zeroblob(256)")
    assert memory.admin.reindex().items == 21
    assert_searched_by(memory, OLD)
    assert memory.search("thing number 3", user_id="ana")[0].parts != {}


def test_an_empty_store_goes_over_at_once(folder: Path) -> None:
    with Memory.open(folder, embedder=OLD) as memory:
        assert memory.admin.reindex(LARGER).items == 0
    with Memory.open(folder, embedder=LARGER) as memory:
        memory.add("I like tea.", user_id="ana")
        assert len(memory.search("tea", user_id="ana")) == 1


@pytest.mark.parametrize("embedder", OTHERS)
def test_an_interrupted_one_goes_on_where_it_stopped(memory: Memory, folder: Path, embedder: HashEmbedder) -> None:
    with pytest.raises(InterruptedError):
        memory.admin.reindex(embedder, progress=stop_at(9))
    assert_searched_by(memory, OLD)
    memory.close()
    with Memory.open(folder, embedder=OLD) as memory:
        assert_searched_by(memory, OLD)
        report = memory.admin.reindex(embedder)
        assert (report.items, report.resumed) == (9, 12)
        assert_searched_by(memory, embedder)
    assert_made_for(folder, embedder)


def test_one_for_yet_another_embedder_begins_anew(memory: Memory, folder: Path) -> None:
    with pytest.raises(InterruptedError):
        memory.admin.reindex(LARGER, progress=stop_at(9))
    report = memory.admin.reindex(Turned())
    assert (report.items, report.resumed) == (21, 0)
    assert_searched_by(memory, Turned())


@pytest.mark.parametrize("embedder", OTHERS)
def test_what_happens_meanwhile_is_in(memory: Memory, embedder: HashEmbedder) -> None:
    ids = [item.id for item in memory.get_all(user_id="ana")]
    fresh: list[str] = []

    def meanwhile(stage: str, done: int, total: int) -> None:
        if done == 12 and not fresh:
            # Of what is staged already and of what is not: changed, labelled, deleted, and new ones.
            memory.update(ids[1], "Fact number 1 is another one.", user_id="ana")
            memory.update(ids[2], {"tags": ["t"]}, user_id="ana")
            memory.update(ids[18], "Fact number 18 is another one.", user_id="ana")
            memory.delete([ids[0], ids[19]], user_id="ana")
            fresh.extend(memory.add(["A new fact.", "Another new fact."], user_id="ana", session_id="t").added)
            assert_searched_by(memory, OLD)

    memory.admin.reindex(embedder, progress=meanwhile)
    assert_searched_by(memory, embedder)
    assert {item.id for item in memory.get_all(user_id="ana")} == {*ids, *fresh} - {ids[0], ids[19]}
    assert memory.search("another one", user_id="ana")[0].item.id in (ids[1], ids[18])
    assert memory.get(ids[2], user_id="ana").metadata.tags == ["t"]  # type: ignore[union-attr]


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


def test_opening_may_reindex(memory: Memory, folder: Path) -> None:
    memory.close()
    told: list[int] = []
    with Memory.open(folder, embedder=LARGER, reindex=True, progress=lambda _, done, __: told.append(done)) as other:
        assert told[-1] == 21
        assert_searched_by(other, LARGER)
    with Memory.open(folder, embedder=LARGER, reindex=True, progress=stop_at(0)) as other:
        assert_searched_by(other, LARGER)
    with Memory.open(folder.parent / "new", embedder=LARGER, reindex=True) as other:
        assert other.admin.users() == []


def test_an_opening_that_is_interrupted_leaves_the_store_as_it_was(memory: Memory, folder: Path) -> None:
    memory.close()
    with pytest.raises(InterruptedError):
        Memory.open(folder, embedder=LARGER, reindex=True, progress=stop_at(9))
    assert folder.resolve() not in Store._open
    with Memory.open(folder, embedder=OLD) as other:
        assert_searched_by(other, OLD)


def test_another_way_to_make_terms_needs_a_reindexing(memory: Memory, folder: Path) -> None:
    memory.close()
    newer = replace(facts_of(OLD), lexicon="terms of tomorrow")
    with pytest.raises(EmbedderMismatchError, match="terms of tomorrow"):
        Store(folder, newer)
    store = Store(folder, None)
    job = store.reindexing(newer)
    while part := job.next(10):
        job.stage(part, OLD.embed([one.memory for one in part]), [term_counts(one.memory) for one in part])
    assert job.finish()
    store.adopt(newer)
    assert len(store.search("ana", OLD.embed_query("thing"), {}).keys) == 20
    store.close()
    Store(folder, newer).close()
    with pytest.raises(EmbedderMismatchError):
        Store(folder, facts_of(OLD))


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


class Broken(HashEmbedder):
    """Can't embed fact 13."""

    __slots__ = ()

    def embed(self, texts: Any) -> Vectors:
        if any("13" in text for text in texts):
            raise RuntimeError("unlucky")
        return HashEmbedder.embed(self, texts)


def test_an_item_that_cannot_be_embedded_leaves_the_store_as_it_was(memory: Memory) -> None:
    with pytest.raises(InvalidVectorsError, match="stays as it was"):
        memory.admin.reindex(Broken(dimension=32))
    assert_searched_by(memory, OLD)
    assert memory.admin.reindex(HashEmbedder(dimension=32)).resumed == 12


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
        assert sum(one.result(timeout=60) for one in searching) > 3
    assert_searched_by(memory, LARGER)


def test_an_admin_goes_on_with_the_new_embedder(memory: Memory, tmp_path: Path) -> None:
    admin = memory.admin
    admin.dump(tmp_path)
    admin.reindex(LARGER)
    memory.delete_all(user_id="ana")
    assert len(admin.load(tmp_path, on_conflict="skip").added) == 20
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
