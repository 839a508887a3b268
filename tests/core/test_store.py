"""The store: one transaction or nothing, and nobody sees what is another's."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memreader.errors import DimensionMismatchError, EmbedderMismatchError, StoreClosedError, StoreCorruptError
from memreader.items import SourceMessage, TextualMemoryItem, TextualMemoryMetadata
from memreader.stores import Batch, DocumentRecord, Facts, ItemRecord, MessageRecord, Selection, Store
from memreader.types import Document, Message

HOSTILE = [
    "'; DROP TABLE items; --",
    '" OR 1=1 --',
    "%",
    "_",
    "\\",
    "a\nb",
    "a:b?c",
    "名字",
    "🙂",
    " lead and trail ",
    "x" * 5000,
    "é",  # NFD
    "é",  # NFC
]
VECTOR = np.array([1, 0, 0, 0], np.float32)
FACTS = Facts(dimension=4, embedder="words", lexicon="terms-1")


def everything(store: Store, user_id: str) -> list[TextualMemoryItem]:
    return store.read(user_id)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "mem", FACTS)
    yield store
    store.close()


def record(item_id: str, memory: str = "words", *, vector: np.ndarray = VECTOR, **rest: Any) -> ItemRecord:
    metadata = rest.pop("metadata", TextualMemoryMetadata())
    return ItemRecord(TextualMemoryItem(id=item_id, memory=memory, metadata=metadata), vector, {1: 1}, **rest)


def message(key: str, content: str = "words", digest: str = "d") -> MessageRecord:
    return MessageRecord(Message("user", content), key, digest)


def table(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store._database.reading() as db:
        return db.execute(query).fetchall()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_user_id_is_just_a_name(store: Store, name: str) -> None:
    store.write(Batch(name, items=(record("a"),)))
    store.write(Batch("ana", items=(record("a"),)))
    assert len(everything(store, name)) == len(everything(store, "ana")) == 1
    assert len(store.search(name, VECTOR, {1: 1.0}).keys) == 1
    assert [item.id for item in store.read(name)] == ["a"]
    assert store.delete(name, ["a"]).ids == ["a"]
    assert len(everything(store, "ana")) == 1


@pytest.mark.parametrize("name", [name for name in HOSTILE if len(name) <= 256])
def test_a_hostile_item_id_is_just_a_name(store: Store, name: str) -> None:
    store.write(Batch("ana", items=(record(name), record("other"))))
    assert [item and item.id for item in store.fetch("ana", [name])] == [name]
    assert store.delete("ana", [name]).ids == [name]
    assert store.fetch("ana", [name, "other"])[0] is None
    assert len(everything(store, "ana")) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_label_is_just_a_label(store: Store, name: str) -> None:
    labelled = TextualMemoryMetadata(session_id=name, agent_id=name)
    store.write(Batch("ana", name, messages=(message("m:1"),), items=(record("a", metadata=labelled), record("b"))))
    assert [item.id for item in store.read("ana", Selection(name, name))] == ["a"]
    assert len(store.search("ana", VECTOR, {1: 1.0}, session_id=name, isolate=True).keys) == 1
    assert len(store.search("ana", VECTOR, {1: 1.0}, agent_id=name).keys) == 1


@pytest.mark.parametrize("other", ["Ana", "ana ", " ana", "an", "anaa", "a%", "___", "ANA"])
def test_user_ids_are_compared_exactly(store: Store, other: str) -> None:
    store.write(Batch("ana", items=(record("a", source_keys=("m:1",)),), read=("m:1",), reading_key="r"))
    (key,) = store.search("ana", VECTOR, {1: 1.0}).keys.tolist()
    assert everything(store, other) == []
    assert not store.has_items(other)
    assert store.fetch(other, ["a"]) == [None]
    assert store.fetch(other, np.array([key])) == [None]
    assert store.read(other) == []
    assert store.items_of(other, ["m:1"]) == []
    assert store.delete(other, ["a"]).ids == []
    assert len(store.search(other, VECTOR, {1: 1.0}).keys) == 0
    assert store.unread(other, {"m:1": None}, "r") == {"m:1"}
    assert len(everything(store, "ana")) == 1


def test_two_users_may_have_items_and_sources_of_one_id(store: Store) -> None:
    for user, words in (("ana", "likes tea"), ("ben", "likes coffee")):
        store.write(
            Batch(user, "s", messages=(message("m:1", words),), items=(record("a", words, source_keys=("m:1",)),))
        )
    assert [store.fetch(user, ["a"])[0].memory for user in ("ana", "ben")] == ["likes tea", "likes coffee"]  # type: ignore[union-attr]
    store.delete("ana", ["a"])
    assert store.fetch("ben", ["a"])[0] is not None
    assert table(store, "SELECT user_id, content FROM messages ORDER BY user_id") == [
        ("ana", ""),
        ("ben", "likes coffee"),
    ]


@pytest.mark.parametrize("item_id", ["\ud800", "a\udfff"])
def test_an_id_that_cannot_be_stored_is_absent(store: Store, item_id: str) -> None:
    store.write(Batch("ana", items=(record("?"), record("a?"))))
    assert store.fetch("ana", [item_id]) == [None]
    assert store.delete("ana", [item_id]).ids == []


def test_a_batch_that_fails_leaves_nothing(store: Store) -> None:
    store.write(Batch("ana", "s", messages=(message("m:0"),), items=(record("old", source_keys=("m:0",)),)))
    names = ("messages", "items", "evidence", "ledger", "gone", "counters")
    before = {name: table(store, f"SELECT * FROM {name}") for name in names}
    batch = Batch(
        "ana",
        "s",
        messages=(message("m:0", "edited", digest="e"), message("m:1")),
        documents=(DocumentRecord(Document("text", "a.md", "00"), "a.md", "d:1"),),
        items=(record("new"), record("bad", vector=np.ones(3, np.float32))),
        read=("m:1",),
        reading_key="r",
    )
    with pytest.raises(DimensionMismatchError, match="expected 4-dimensional vectors, got 3"):
        store.write(batch)
    assert {name: table(store, f"SELECT * FROM {name}") for name in before} == before
    assert table(store, "SELECT * FROM documents") == []


def test_positions_go_on_over_writes_and_sources_are_numbered_by_them(store: Store) -> None:
    store.write(Batch("ana", "s", messages=(message("m:0"), message("m:1"))))
    cited = TextualMemoryMetadata(sources=[SourceMessage(index=0, content="words")])
    store.write(
        Batch(
            "ana",
            "s",
            messages=(message("m:1"), message("m:2")),
            items=(record("a", metadata=cited, source_keys=("m:2",)),),
        )
    )
    store.write(Batch("ana", "t", messages=(message("m:3"),)))
    assert table(store, "SELECT session_id, position, source_key FROM messages ORDER BY id") == [
        ("s", 0, "m:0"),
        ("s", 1, "m:1"),
        ("s", 2, "m:2"),
        ("t", 0, "m:3"),
    ]
    (item,) = store.fetch("ana", ["a"])
    assert item is not None
    assert item.metadata.sources[0].index == 2


def test_a_deleted_items_words_are_erased_and_its_place_stays(store: Store) -> None:
    kept = [message("m:0", "my secret"), message("m:1", "harmless")]
    items = (record("a", "my secret", source_keys=("m:0",)), record("b", "harmless", source_keys=("m:1",)))
    store.write(Batch("ana", "s", messages=tuple(kept), items=items, read=("m:0", "m:1"), reading_key="r"))
    store.delete("ana", ["a"])
    assert table(store, "SELECT position, content, deleted FROM messages ORDER BY position") == [
        (0, "", 1),
        (1, "harmless", 0),
    ]
    assert store.unread("ana", {"m:0": "d", "m:1": "d"}, "r") == {"m:0"}
    store.close()
    for file in store.folder.iterdir():
        assert b"my secret" not in file.read_bytes()


def test_a_source_that_another_item_cites_stays(store: Store) -> None:
    items = (record("a", source_keys=("m:0",)), record("b", source_keys=("m:0",)))
    store.write(Batch("ana", "s", messages=(message("m:0", "shared"),), items=items))
    store.delete("ana", ["a"])
    assert table(store, "SELECT content FROM messages") == [("shared",)]
    store.delete("ana", ["b"])
    assert table(store, "SELECT content FROM messages") == [("",)]


def test_an_id_deleted_twice_in_a_call_goes_once(store: Store) -> None:
    store.write(Batch("ana", items=(record("a"),)))
    assert store.delete("ana", ["a", "a", "b"]).ids == ["a"]


def test_an_item_is_kept_or_replaced_as_its_record_says(store: Store) -> None:
    store.write(Batch("ana", items=(record("a", "first"),)))
    kept = store.write(Batch("ana", items=(record("a", "second"),)))
    assert (kept.added, kept.existing, kept.replaced) == ([], ["a"], [])
    replaced = store.write(Batch("ana", items=(record("a", "third", replaces=True),)))
    assert (replaced.added, replaced.existing, replaced.replaced) == (["a"], [], ["a"])
    assert [item.memory for item in store.read("ana")] == ["third"]
    assert len(store.search("ana", VECTOR, {1: 1.0}).keys) == 1


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"embedder": "sentences"}, ("words", "sentences")),
        ({"dimension": 5}, ("4", "5")),
        ({"lexicon": "terms-2"}, ("terms-1", "terms-2")),
    ],
)
def test_another_embedder_is_refused_and_both_are_named(
    store: Store, other: dict[str, Any], named: tuple[str, str]
) -> None:
    with pytest.raises(EmbedderMismatchError) as caught:
        Store(store.folder, replace(FACTS, **other))
    assert named[0] in caught.value.stored
    assert named[1] in caught.value.given
    Store(store.folder, FACTS).close()


def test_a_query_of_another_length_is_refused(store: Store) -> None:
    with pytest.raises(DimensionMismatchError):
        store.search("ana", np.ones(5, np.float32), {})


def test_two_stores_on_one_folder_see_each_others_writes(store: Store) -> None:
    other = Store(store.folder, FACTS)
    for number in range(6):
        (store if number % 2 else other).write(Batch("ana", items=(record(f"i{number}"),)))
        assert (
            len(store.search("ana", VECTOR, {1: 1.0}).keys)
            == len(other.search("ana", VECTOR, {1: 1.0}).keys)
            == number + 1
        )
    other.delete("ana", ["i0"])
    assert len(store.search("ana", VECTOR, {1: 1.0}).keys) == 5
    other.close()


def test_every_verb_of_a_closed_store_says_that_it_is_closed(store: Store) -> None:
    store.close()
    store.close()
    for call in (
        lambda: store.write(Batch("ana")),
        lambda: store.fetch("ana", ["a"]),
        lambda: store.read("ana"),
        lambda: store.delete("ana", ["a"]),
        lambda: store.search("ana", VECTOR, {1: 1.0}),
        lambda: store.has_items("ana"),
        lambda: store.unread("ana", {"m:1": None}, "r"),
        lambda: store.items_of("ana", ["m:1"]),
        lambda: store.fetch("ana", np.array([1])),
    ):
        with pytest.raises(StoreClosedError):
            call()


def test_nothing_is_pickled(store: Store) -> None:
    store.write(Batch("ana", items=(record("a"),)))
    with sqlite3.connect(store.folder / "memory.db") as db:
        (embedding, terms) = db.execute("SELECT embedding, term_ids FROM evidence").fetchone()
    db.close()
    assert np.frombuffer(embedding, "<f4").tolist() == VECTOR.tolist()
    assert np.frombuffer(terms, "<i8").tolist() == [1]


@pytest.mark.parametrize("loaded_before", [False, True])
def test_a_load_that_broke_off_leaves_no_half_filled_index(store: Store, loaded_before: bool) -> None:
    rows = [np.eye(4, dtype=np.float32)[number] for number in range(4)]
    if loaded_before:
        store.write(Batch("ana", items=(record("i0", vector=rows[0]),)))
        store.search("ana", rows[3], {1: 1.0})
    store.write(Batch("ana", items=tuple(record(f"i{n}", vector=row) for n, row in enumerate(rows))))
    with store._database.transaction() as db:
        db.execute("UPDATE evidence SET embedding = x'00' WHERE item = (SELECT id FROM items WHERE item_id = 'i2')")
    for _ in range(2):
        with pytest.raises(StoreCorruptError, match="wrong length"):
            store.search("ana", rows[3], {1: 1.0})
    with store._database.transaction() as db:
        query = "UPDATE evidence SET embedding = ? WHERE item = (SELECT id FROM items WHERE item_id = 'i2')"
        db.execute(query, (rows[2].tobytes(),))
    assert store.search("ana", rows[3], {1: 1.0}).similarity.tolist() == [0, 0, 0, 1]


def test_no_verb_by_id_or_source_walks_all_of_a_users_rows(store: Store) -> None:
    """What SQLite plans for every statement of a delete, a second add and an edit."""
    seen: list[str] = []
    store._database._writer.set_trace_callback(seen.append)
    with store._database.reading() as db:
        db.set_trace_callback(seen.append)
    documents = (DocumentRecord(Document("text", "a.md", "00"), "a.md", "d:1"),)
    items = (record("a", source_keys=("m:1",)), record("b", source_keys=("d:1",)))
    batch = Batch("ana", "s", (message("m:1"),), documents, items, read=("m:1", "d:1"), reading_key="r")
    store.write(batch)
    store.unread("ana", {"m:1": "d", "d:1": None}, "r")
    store.unread("ana", {"m:1": "edited"}, "r")
    store.items_of("ana", ["m:1", "d:1"])
    store.write(Batch("ana", "s", (message("m:1", "edited", digest="e"),), items=items[:1]))
    store.fetch("ana", ["a"])
    store.fetch("ana", np.arange(1, 41), until=5)
    store.tokens.claim("m")
    store.tokens.of("ana", "m", range(1, 41))
    store.has_items("ana")
    store.delete("ana", ["a", "b"])
    with store._database.reading() as db:
        db.set_trace_callback(None)
        plans = {
            f"{statement[:80]}: {detail}"
            for statement in set(seen)
            if statement.split(" ", 1)[0] in ("SELECT", "UPDATE", "DELETE")
            for *_, detail in db.execute(f"EXPLAIN QUERY PLAN {statement}")
        }
    assert len(plans) > 10
    walks = [plan for plan in plans if plan.endswith(("(user_id=?)", "(user_id=? AND seq<?)")) or "SCAN" in plan]
    # What the user decided about names is little, and has its own index.
    walks = [plan for plan in walks if "INDEX aliases_decided " not in plan]
    # These two stop at the first row, and sort nothing.
    assert sorted(plan.split(" WHERE")[0] for plan in walks) == ["SELECT 1 FROM items", "SELECT 1 FROM tokens"]
    assert all(" LIMIT 1:" in plan for plan in walks)
    assert not any("TEMP B-TREE" in plan for plan in plans if plan.startswith("SELECT 1 "))


def test_a_folder_that_was_deleted_under_an_open_store_can_be_opened_anew(tmp_path: Path) -> None:
    folder = tmp_path / "mem"
    old = Store.open(folder, FACTS)
    old.write(Batch("ana", items=(record("a"),)))
    old.delete("ana", ["a"])
    shutil.rmtree(folder)
    new = Store.open(folder, FACTS)
    assert new is not old
    new.write(Batch("ana", items=(record("b"),)))
    old.close()
    assert [item.id for item in everything(new, "ana")] == ["b"]
    new.close()
