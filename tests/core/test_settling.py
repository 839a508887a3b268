"""Statements that repeat or end each other, in the store: the order of events counts, and nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.records import Batch, ItemRecord, Selection
from memreader.stores import Store
from memreader.stores.facts import Facts
from toy_facts import SAID, Said, add, current, ends, fact, state, year_is_one_value


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path, Facts(embedder="hash", dimension=16, lexicon="lexicon"))


def test_the_same_said_twice_is_one_with_both_sources(store: Store) -> None:
    add(store, fact("home", "lisbon", 2020, 1, ["Lisbon"]))
    written = add(store, fact("home", "Lisbon!", 2021, 2, ["Portugal"]))
    assert (written.added, written.existing) == ([], ["f1"])
    (decided,) = written.decisions
    assert (decided.item_id, decided.action, decided.other, decided.reason) == ("f2", "merge", "f1", "same words")
    (item,) = current(store)
    assert item.memory == "home is lisbon"
    assert [source.index for source in item.metadata.sources] == [1, 2]
    assert item.metadata.entities == ["Lisbon", "Portugal"]
    assert {entity.name for entity in store.graph.entities("ana")} == {"Lisbon", "Portugal"}
    assert store.graph.mentions("ana", ["Portugal"]) == ["f1", "f2"]


def test_of_two_sources_each_takes_its_own_words_along(store: Store, tmp_path: Path) -> None:
    for place, gone in enumerate(("k1", "k2")):
        add(store, fact("home", "lisbon", 2020, 1, ["Tagus"]))
        add(store, fact("home", "Lisbon!", 2021, 2, ["Portugal"]))
        store.delete("ana", Selection(source_keys=(gone,)), cause="delete_by_source")
        (item,) = current(store)
        assert item.memory == ("home is Lisbon!", "home is lisbon")[place]
        assert [source.index for source in item.metadata.sources] == [(2, 1)[place]]
        assert item.metadata.entities == [("Portugal", "Tagus")[place]]
        assert item.metadata.status == "activated"
        with closing(sqlite3.connect(tmp_path / "memory.db")) as db:
            text = "\n".join(db.iterdump())
        assert ("source 1", "source 2")[place] not in text
        assert ("Tagus", "Portugal")[place] not in text
        store.delete("ana", Selection())


def test_who_deletes_a_memory_deletes_all_that_say_the_same(store: Store) -> None:
    add(store, fact("home", "lisbon", 2020, 1))
    add(store, fact("home", "Lisbon!", 2021, 2))
    assert store.delete("ana", ["f1"]).ids == ["f1"]
    assert store.read("ana", Selection()) == []


def test_what_is_superseded_ends_when_the_next_began(store: Store) -> None:
    for number, (value, year) in enumerate([("porto", 2020), ("faro", 2024), ("lisbon", 2022)]):
        add(store, fact("home", value, year, number))
    assert state(store)[0] == {("home", "faro")}
    assert ends(store) == {
        ("home", "porto", "2020-01-01", "2022-01-01"),
        ("home", "lisbon", "2022-01-01", "2024-01-01"),
    }
    causes = [version.cause for version in store.history("ana", "f0")]
    assert causes == ["add", "supersede: f1: home is another", "supersede: f2: home is another"]


def test_what_came_back_is_so_again(store: Store) -> None:
    for number, (value, year) in enumerate([("porto", 2020), ("faro", 2022), ("Porto!", 2024)]):
        add(store, fact("home", value, year, number))
    assert [item.id for item in current(store)] == ["f2"]


def test_without_what_superseded_it_a_fact_is_so_again(store: Store) -> None:
    add(store, fact("home", "porto", 2020, 1))
    add(store, fact("home", "faro", 2022, 2))
    store.delete("ana", Selection(source_keys=("k2",)), cause="delete_by_source")
    (item,) = current(store)
    assert (item.id, item.metadata.valid_until, item.metadata.status) == ("f1", None, "activated")


def test_who_deletes_a_fact_does_not_want_the_one_before_back(store: Store) -> None:
    add(store, fact("home", "porto", 2020, 1))
    add(store, fact("home", "faro", 2022, 2))
    store.delete("ana", ["f2"])
    assert current(store) == []
    assert ends(store) == {("home", "porto", "2020-01-01", "2022-01-01")}


def test_a_new_version_of_one_that_stands_for_others_keeps_theirs(store: Store) -> None:
    add(store, fact("home", "lisbon", 2020, 1))
    add(store, fact("home", "Lisbon!", 2021, 2))
    (item,) = current(store)
    changed = item.model_copy(update={"metadata": item.metadata.model_copy(update={"tags": ["city"]})})
    store.write(Batch("ana", items=(ItemRecord(changed, None, {1: 1}, base_version=item.metadata.version),)))
    store.delete("ana", Selection(source_keys=("k2",)), cause="delete_by_source")
    (item,) = current(store)
    assert (item.metadata.tags, [source.index for source in item.metadata.sources]) == (["city"], [1])


@settings(max_examples=100, deadline=None)
@given(st.lists(SAID, min_size=1, max_size=9).filter(year_is_one_value), st.randoms(use_true_random=False))
def test_the_order_of_telling_does_not_count(
    tmp_path_factory: pytest.TempPathFactory, said: list[Said], random
) -> None:  # type: ignore[no-untyped-def]
    facts = [fact(*one, number) for number, one in enumerate(said)]
    found = []
    for _ in range(2):
        store = Store.open(tmp_path_factory.mktemp("store"), Facts(embedder="hash", dimension=16, lexicon="lexicon"))
        for item in facts:
            add(store, item)
        found.append(state(store))
        store.close()
        random.shuffle(facts)
    assert found[0][:2] == found[1][:2]
    latest = {what: max(said_of for said_of in said if said_of[0] == what)[1:] for what, _, _ in said}
    assert {what for what, _ in found[0][0]} == set(latest)


@settings(max_examples=100, deadline=None)
@given(st.lists(SAID, min_size=1, max_size=9).filter(year_is_one_value), st.data())
def test_what_is_deleted_might_never_have_been_said(
    tmp_path_factory: pytest.TempPathFactory, said: list[Said], data: st.DataObject
) -> None:
    facts = [fact(*one, number) for number, one in enumerate(said)]
    gone = data.draw(st.sets(st.sampled_from([item.id for item in facts])))
    store = Store.open(tmp_path_factory.mktemp("store"), Facts(embedder="hash", dimension=16, lexicon="lexicon"))
    other = Store.open(tmp_path_factory.mktemp("store"), Facts(embedder="hash", dimension=16, lexicon="lexicon"))
    for item in facts:
        add(store, item)
        if item.id not in gone:
            add(other, item)
    for item_id in sorted(gone):
        keys = (f"k{item_id[1:]}",)
        store.delete("ana", Selection(source_keys=keys), cause="delete_by_source")
    assert state(store)[0] == state(other)[0]
    assert state(store)[1] == state(other)[1]
    with closing(sqlite3.connect(store.folder / "memory.db")) as db:
        text = "\n".join(db.iterdump())
    assert all(f"source {item_id[1:]} " not in text for item_id in gone)
    store.close()
    other.close()
