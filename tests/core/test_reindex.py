"""Another embedder for a store: the old index serves until the new one is whole, and nobody mixes the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memreader.errors import EmbedderMismatchError, InvalidVectorsError
from memreader.memory import Memory
from memreader.recall import term_counts
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.testing import HashEmbedder
from memreader.types import Vectors
from reindexed import LARGER, OLD, OTHERS, WORDS, Turned, assert_made_for, assert_searched_by, filled, stop_at


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


class Meanwhile(HashEmbedder):
    """Does something once, while it embeds."""

    __slots__ = ()
    todo: list[Callable[[], object]] = []  # noqa: RUF012

    def embed(self, texts: Any) -> Vectors:
        while self.todo:
            self.todo.pop()()
        return HashEmbedder.embed(self, texts)


def test_words_that_change_while_the_old_ones_are_embedded_are_embedded_again(memory: Memory) -> None:
    ids = [item.id for item in memory.get_all(user_id="ana")]
    Meanwhile.todo.append(lambda: memory.update(ids[1], "Fact number 1 is another one.", user_id="ana"))
    embedder = Meanwhile(dimension=32)
    assert memory.admin.reindex(embedder).items == 22
    assert_searched_by(memory, HashEmbedder(dimension=32))


def test_it_does_not_end_before_every_item_is_done(memory: Memory) -> None:
    job = memory._store.reindexing(facts_of(LARGER))

    def stage() -> int:
        count = 0
        while part := job.next(10):
            job.stage(part, LARGER.embed([one.memory for one in part]), [term_counts(one.memory) for one in part])
            count += len(part)
        return count

    assert not job.finish()
    assert stage() == 21
    memory.add("A new fact.", user_id="ana")
    assert not job.finish()
    assert stage() == 1
    assert job.progress() == (22, 22)
    assert job.finish()


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


def test_an_admin_goes_on_with_the_new_embedder(memory: Memory, tmp_path: Path) -> None:
    admin = memory.admin
    admin.dump(tmp_path)
    admin.reindex(LARGER)
    memory.delete_all(user_id="ana")
    assert len(admin.load(tmp_path, on_conflict="skip").added) == 20
    assert_searched_by(memory, LARGER)
