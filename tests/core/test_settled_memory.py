"""Memories that repeat or end each other, under every other verb: nothing is lost, doubled or left behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memreader import Memory, TextualMemoryItem, TextualMemoryMetadata
from memreader.testing import HashEmbedder

ARCHIVED = {"status": {"$in": ["activated", "archived"]}}


def item(item_id: str, text: str, time: str, **more: Any) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=text, metadata={"memory_time": time, "entities": ["Ana"], **more})


ACME = item("acme", "Ana works at Acme.", "2022-01-01")
AGAIN = item("again", "ana works at ACME", "2022-02-01")
GLOBEX = item("globex", "Ana works at Globex.", "2024-01-01")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "mem", embedder=HashEmbedder()) as memory:
        yield memory


def add(memory: Memory, *items: TextualMemoryItem, **labels: str) -> None:
    for one in items:
        memory.add([one.model_copy(deep=True)], user_id="ana", **labels)


def so(memory: Memory, **labels: Any) -> list[str]:
    return [one.id for one in memory.get_all(user_id="ana", **labels)]


def ended(memory: Memory) -> dict[str, str | None]:
    found = memory.get_all(user_id="ana", filter={"status": "archived"})
    return {one.id: one.metadata.valid_until for one in found}


def test_what_repeats_a_fact_ends_with_it(memory: Memory) -> None:
    add(memory, ACME, AGAIN, GLOBEX)
    assert so(memory) == ["globex"]
    assert ended(memory) == {"acme": "2024-01-01", "again": "2024-01-01"}


def test_what_repeats_a_fact_ends_with_it_even_if_it_is_told_last(memory: Memory) -> None:
    add(memory, ACME, GLOBEX, AGAIN)
    assert so(memory) == ["globex"]
    assert ended(memory) == {"acme": "2024-01-01", "again": "2024-01-01"}
    memory.delete(["acme"], user_id="ana")
    assert so(memory) == ["globex"]


def test_what_repeats_a_fact_after_its_end_does_not_end_with_it(memory: Memory) -> None:
    later = item("later", "ana works at ACME", "2025-01-01")
    add(memory, ACME, later, GLOBEX)
    assert so(memory) == ["later", "globex"]


def test_a_dump_holds_what_is_so_and_what_was_and_no_repeats(memory: Memory, tmp_path: Path) -> None:
    add(memory, ACME, GLOBEX, item("twin", "ana works at GLOBEX", "2024-01-01"))
    assert so(memory) == ["globex"]
    memory.dump(tmp_path / "dump", user_id="ana")
    with Memory.in_memory(embedder=HashEmbedder()) as other:
        assert other.load(tmp_path / "dump", user_id="ana").added == ["acme", "globex"]
        assert (so(other), ended(other)) == (["globex"], {"acme": "2024-01-01"})
        assert other.search("Ana works", user_id="ana", threshold=0, as_of="2023-01-01")[0].item.id == "acme"


@pytest.mark.parametrize("verb", ["reindex", "purge", "reopen"])
def test_the_upkeep_of_a_store_changes_nothing(memory: Memory, verb: str, tmp_path: Path) -> None:
    add(memory, ACME, AGAIN, GLOBEX)
    before = memory.get_all(user_id="ana", filter=ARCHIVED)
    if verb == "reopen":
        memory.close()
        memory = Memory.open(tmp_path / "mem", embedder=HashEmbedder())
    else:
        getattr(memory.admin, verb)()
    assert memory.get_all(user_id="ana", filter=ARCHIVED) == before
    memory.delete(["globex"], user_id="ana")
    assert so(memory) == []
    memory.close()


def test_the_same_words_in_two_sessions_are_one_memory_and_each_session_still_has_them(memory: Memory) -> None:
    add(memory, item("one", ACME.memory, "2022-01-01", session_id="one"), session_id="one")
    again = item("two", "ana works at ACME", "2022-01-01", session_id="two")
    report = memory.add([again], user_id="ana", session_id="two")
    assert [(one.action, one.other, one.keeps) for one in report.decisions] == [("merge", "one", "old")]
    assert so(memory) == ["one"]
    found = memory.search("Ana works", user_id="ana", threshold=0)
    assert [hit.item.id for hit in found] == ["one"]
    for label in ("one", "two"):
        ways: tuple[dict[str, Any], ...] = (
            {"session_id": label, "recall": "session"},
            {"filter": {"session_id": label}},
        )
        for options in ways:
            found = memory.search("Ana works", user_id="ana", threshold=0, **options)
            assert [hit.item.id for hit in found] == [label]


def test_deleting_a_session_takes_its_own_statement_and_leaves_the_others(memory: Memory) -> None:
    add(memory, item("one", ACME.memory, "2022-01-01", session_id="one"), session_id="one")
    add(memory, item("two", ACME.memory, "2022-01-01", session_id="two"), session_id="two")
    assert [so(memory, session_id=label) for label in ("one", "two")] == [["one"], ["two"]]
    found = memory.search("Ana works", user_id="ana", session_id="two", recall="session", threshold=0)
    assert [hit.item.id for hit in found] == ["two"]
    memory.delete_all(user_id="ana", session_id="one")
    assert so(memory) == ["two"]


def test_without_the_session_that_ended_a_fact_it_is_so_again(memory: Memory) -> None:
    add(memory, item("one", ACME.memory, "2022-01-01", session_id="one"), session_id="one")
    add(memory, item("two", GLOBEX.memory, "2024-01-01", session_id="two"), session_id="two")
    assert so(memory) == ["two"]
    memory.delete_all(user_id="ana", session_id="two")
    assert (so(memory), ended(memory)) == (["one"], {})


def test_new_words_for_a_repeated_memory_do_not_touch_the_one_in_front(memory: Memory) -> None:
    add(memory, ACME, AGAIN)
    memory.update("again", "Ana works at ACME in Oslo.", user_id="ana")
    assert memory.get("acme", user_id="ana").memory == ACME.memory  # type: ignore[union-attr]
    assert so(memory) == ["acme"]
    memory.restore("again", 1, user_id="ana")
    assert so(memory) == ["acme", "again"]


def test_after_delete_all_no_table_has_a_row(memory: Memory, tmp_path: Path) -> None:
    add(memory, ACME, AGAIN, item("twin", "Ana works at ACME!", "2022-01-01"))
    add(memory, GLOBEX)
    with closing(sqlite3.connect(tmp_path / "mem" / "memory.db")) as db:
        counts = {
            name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("statement_keys", "settled")
        }
        assert all(counts.values())
        memory.delete_all(user_id="ana")
        for name in ("statement_keys", "settled", "standing", "items", "history", "entities", "mentions"):
            assert db.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,), name


def test_a_block_says_until_when_something_was_so(memory: Memory) -> None:
    add(memory, ACME, GLOBEX)
    block = memory.context("Ana works", user_id="ana", threshold=0, as_of="2023-01-01")
    assert "- (no longer true since 2024-01-01) Ana works at Acme." in block
    assert "Globex" not in block


def test_what_one_call_brings_was_learned_at_one_moment(memory: Memory) -> None:
    made = [
        TextualMemoryItem(memory=text, metadata=TextualMemoryMetadata.model_construct(set(), created_at=time))
        for text, time in (("Ana works at Acme.", "2022-01-01"), ("Ana works at Globex.", "2024-01-01"))
    ]
    assert memory.add(made, user_id="ana").decisions == []
    assert len(memory.get_all(user_id="ana")) == 2


def test_what_two_agents_know_is_reconciled_for_each_alone(memory: Memory) -> None:
    add(memory, item("a", "Ana works at Acme.", "2022-01-01"), agent_id="a")
    add(memory, item("b", "Ana works at Globex.", "2024-01-01"), agent_id="b")
    assert so(memory) == ["a", "b"]
