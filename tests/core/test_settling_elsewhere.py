"""Statements that stand behind others, taken to another store: who stands behind whom comes along."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.items import TextualMemoryItem
from memreader.records import Selection, Version
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.transfer import ImportReport, export_archive, import_archive
from toy_facts import EMBEDDER, SAID, Said, add, current, fact, state, year_is_one_value

SAME = [("home", "a", 2020), ("home", "a!", 2021)]
MOVED = [("home", "a", 2020), ("home", "b", 2022)]


def opened(folder: Path, said: Sequence[Said] = ()) -> Store:
    store = Store.open(folder, facts_of(EMBEDDER))
    for number, one in enumerate(said):
        add(store, fact(*one, number, ["Ana"] if number % 2 else ["Bo"]))
    return store


def taken(store: Store, file: Path, on_conflict: str = "error") -> ImportReport:
    return import_archive(store, file, embedder=EMBEDDER, on_conflict=on_conflict, max_unpacked_mb=100)


def exported(store: Store, file: Path) -> Path:
    return export_archive(store, file).path


def all_of(store: Store) -> tuple[list[TextualMemoryItem], list[TextualMemoryItem], list[list[Version]]]:
    items = store.read("ana", Selection())
    return current(store), items, [store.history("ana", item.id) for item in items]


def delete_source(store: Store, number: int) -> None:
    store.delete("ana", Selection(source_keys=(f"k{number}",)), cause="delete_by_source")


@settings(max_examples=40, deadline=None)
@given(st.lists(SAID, min_size=1, max_size=7).filter(year_is_one_value), st.data())
def test_an_archive_gives_the_same_store_and_the_same_future(
    tmp_path_factory: pytest.TempPathFactory, said: list[Said], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    store, other = opened(folder / "a", said), opened(folder / "b")
    for number in data.draw(st.sets(st.sampled_from(range(len(said))), max_size=2)):
        delete_source(store, number)
    file = exported(store, folder / "all.zip")
    taken(other, file)
    assert all_of(other) == all_of(store)
    for number in data.draw(st.permutations(range(len(said)))):
        delete_source(store, number)
        delete_source(other, number)
        assert state(other) == state(store)
    store.close()
    other.close()


@pytest.mark.parametrize("said", [SAME, MOVED], ids=["merged", "superseded"])
@pytest.mark.parametrize("missing", [0, 1])
def test_what_comes_without_its_other_end_stands_by_itself(tmp_path: Path, said: list[Said], missing: int) -> None:
    store, other = opened(tmp_path / "a", said), opened(tmp_path / "b")
    file = exported(store, tmp_path / "all.zip")
    item = fact("other", "words", 2020, missing)
    add(other, item)
    report = taken(other, file, "skip")
    assert (report.added, report.existing) == (1, 1)
    (alone,) = [one for one in current(other) if one.id != item.id]
    assert alone.id == f"f{1 - missing}"
    assert (alone.metadata.status, alone.metadata.valid_until) == ("activated", None)
    assert [source.index for source in alone.metadata.sources] == [1 - missing]
    assert alone.metadata.entities == (["Bo"] if missing else ["Ana"])


@pytest.mark.parametrize("said", [SAME, MOVED], ids=["merged", "superseded"])
@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_what_is_there_already_stays_as_it_is(tmp_path: Path, said: list[Said], on_conflict: str) -> None:
    store = opened(tmp_path / "a", said)
    before = all_of(store)
    taken(store, exported(store, tmp_path / "all.zip"), on_conflict)
    assert all_of(store) == before


def test_the_front_may_come_later_in_the_file(tmp_path: Path) -> None:
    # The second statement stands behind the first in one store, and in front of it in the other.
    for place, said in enumerate((MOVED, MOVED[::-1])):
        store, other = opened(tmp_path / f"a{place}", said), opened(tmp_path / f"b{place}")
        taken(other, exported(store, tmp_path / f"{place}.zip"))
        assert all_of(other) == all_of(store)
        assert [item.metadata.memory_time for item in current(other)] == ["2022-01-01"]


def test_an_end_that_no_item_of_the_archive_is_leaves_no_row(tmp_path: Path) -> None:
    store, other = opened(tmp_path / "a", MOVED), opened(tmp_path / "b")
    with store.exporting() as rows:
        rows_of: list[dict[str, Any]] = list(rows.items())
    assert [[one[:3] for one in row["settled"]] for row in rows_of] == [[["f1", "supersede", "2022-01-01"]], []]
    assert [row["standing"] for row in rows_of] == [None, None]
    store.close()
    merged = opened(tmp_path / "c", SAME)
    with merged.exporting() as rows:
        rows_of = list(rows.items())
    assert [[one[:3] for one in row["settled"]] for row in rows_of] == [[], [["f0", "merge", ""]]]
    assert json.loads(rows_of[0]["standing"])["entities"] == ["Bo"]
    other.close()
