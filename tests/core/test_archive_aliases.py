"""What the user decided about names goes into an archive and comes out of it; what is decided here stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archive_files import alias_row, item_row, small_rows, unit_vectors
from memreader import Memory
from memreader.archive import ArchiveFacts, write_archive
from memreader.reindexing import facts_of
from whole_memory import EMBEDDER, open_it

FACTS = ("Robert plays chess.", "Bob has a dog.", "Bobby sings.", "Ann and Anna are sisters.")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with open_it() as memory:
        fill(memory, "ana")
        yield memory


@pytest.fixture
def other() -> Iterator[Memory]:
    with open_it() as memory:
        yield memory


def fill(memory: Memory, user: str) -> None:
    for words in FACTS:
        names = [word for word in words.rstrip(".").split() if word[0].isupper()]
        memory.add({"id": words, "memory": words, "metadata": {"entities": names}}, user_id=user)


def names(memory: Memory, user: str = "ana") -> list[tuple[str, int]]:
    return sorted((one.name, one.items) for one in memory.graph.entities(user_id=user))


def decisions(memory: Memory) -> list[tuple[Any, ...]]:
    with memory._store._database.reading() as db:
        query = "SELECT user_id, key, entity, origin FROM aliases WHERE item IS NULL ORDER BY id"
        return list(db.execute(query))


def moved(memory: Memory, other: Memory, path: Path, **how: Any) -> None:
    memory.admin.export(path / "all.zip")
    other.admin.import_(path / "all.zip", **how)


def test_merged_and_split_names_come_back_in_their_order(memory: Memory, other: Memory, tmp_path: Path) -> None:
    graph = memory.graph
    graph.merge_entities("Robert", "Bob", user_id="ana")
    graph.merge_entities("Bobby", "Robert", user_id="ana")
    graph.merge_entities("Ann", "Anna", user_id="ana")
    graph.split_entity("Anna", user_id="ana")
    memory.add(
        {"memory": "Cassandra (aka Cass) dives.", "metadata": {"entities": ["Cassandra", "Cass"]}}, user_id="ana"
    )
    graph.split_entity("Cass", user_id="ana")
    assert ("Bobby", 3) in names(memory)
    moved(memory, other, tmp_path)
    assert names(other) == names(memory)
    assert decisions(other) == decisions(memory) != []
    assert {origin for *_, origin in decisions(other)} == {"user", "apart"}
    assert memory.admin.export(tmp_path / "all.zip").counts["aliases"] == len(decisions(memory))


def test_one_users_decisions_are_not_anothers(memory: Memory, other: Memory, tmp_path: Path) -> None:
    fill(memory, "ben")
    for user in ("ana", "ben"):
        memory.graph.merge_entities("Robert", "Bob", user_id=user)
    report = memory.admin.export(tmp_path / "ben.zip", user_id="ben")
    assert report.counts["aliases"] == 1
    other.admin.import_(tmp_path / "ben.zip")
    assert [user for user, *_ in decisions(other)] == ["ben"]


@pytest.mark.parametrize(("on_conflict", "origin"), [("skip", "apart"), ("replace", "user")])
def test_a_decision_that_is_here_stays_unless_the_archive_is_to_replace(
    memory: Memory, other: Memory, tmp_path: Path, on_conflict: str, origin: str
) -> None:
    for one in (memory, other):
        one.add(
            {"id": "alias", "memory": "Robert (aka Rob) skis.", "metadata": {"entities": ["Robert", "Rob"]}},
            user_id="ana",
        )
    memory.graph.merge_entities("Robert", "Rob", user_id="ana")
    other.graph.split_entity("Rob", user_id="ana")
    moved(memory, other, tmp_path, on_conflict=on_conflict)
    assert [row[3] for row in decisions(other)] == [origin]


def test_a_decision_about_a_name_that_nothing_mentions_is_left_out(other: Memory, tmp_path: Path) -> None:
    known = facts_of(EMBEDDER)
    bare: dict[str, Any] = {"relations": [["Ana", "knows", "Annie"]], "settled": [], "standing": None}
    rows = small_rows(
        messages=[],
        documents=[],
        items=[item_row("a", source_keys=[], **bare)],
        ledger=[],
        history=[],
        aliases=[alias_row(), alias_row(key="deleted name")],
        vectors=[unit_vectors(1, known.dimension)],
    )
    facts = ArchiveFacts("2024-05-01T12:00:00+00:00", known.embedder, known.dimension, known.lexicon)
    write_archive(tmp_path / "a.zip", facts, rows)
    other.admin.import_(tmp_path / "a.zip")
    assert decisions(other) == [("ana", "annie", "ana", "user")]


def test_a_deleted_name_is_in_no_archive(memory: Memory, tmp_path: Path) -> None:
    memory.graph.merge_entities("Robert", "Bobby", user_id="ana")
    memory.delete("Bobby sings.", user_id="ana")
    assert memory.admin.export(tmp_path / "all.zip").counts["aliases"] == 0
