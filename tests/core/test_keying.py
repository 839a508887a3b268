"""A store from before statements had keys gets them when it is opened, and its names are folded as today's are."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memreader import Memory, TextualMemoryItem
from memreader.reconciling import statement_keys
from memreader.stores import Store, describing
from memreader.testing import HashEmbedder
from other_process import end, heard, say, start

EMBEDDER = HashEmbedder()
FACTS = (("a", "Ana works at Acme.", "Ana’s"), ("b", "Ana lives in Oslo.", "Ana"), ("c", "Bo has a boat.", "Bo"))


def query(folder: Path, sql: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(folder / "memory.db")) as db, db:
        return db.execute(sql, values).fetchall()


def item(item_id: str, text: str, name: str) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=text, metadata={"entities": [name], "memory_time": "2024-05-01"})


@pytest.fixture
def aged(tmp_path: Path) -> Path:
    return made_old(tmp_path / "mem")


def made_old(folder: Path, *more: TextualMemoryItem) -> Path:
    """Return a store as schema 4 left it: no keys, and a name in every spelling for itself."""
    with Memory.open(folder, embedder=EMBEDDER) as memory:
        memory.add([*(item(*fact) for fact in FACTS), *more], user_id="ana", reconcile=not more)
        memory.add([item(*FACTS[0])], user_id="ben")
    with closing(sqlite3.connect(folder / "memory.db")) as db, db:
        for table in ("statement_keys", "settled", "standing", "aliases", "feedback", "withheld", "rejected"):
            db.execute(f"DROP TABLE {table}")
        for index in ("items_expiring", "items_activated", "items_pending"):
            db.execute(f"DROP INDEX {index}")
        db.execute("ALTER TABLE items DROP COLUMN expires")
        db.execute("UPDATE entities SET key = 'ana’s' WHERE name = 'Ana’s'")
        db.execute("INSERT INTO entities (user_id, key, name) VALUES ('ana', 'ana', 'Ana')")
        db.execute(
            "UPDATE mentions SET entity = last_insert_rowid() WHERE item = (SELECT id FROM items WHERE item_id = 'b')"
        )
        # Both spellings in one item, and a relation of each.
        db.execute(
            "INSERT INTO mentions SELECT last_insert_rowid(), id FROM items WHERE item_id = 'a' AND user_id = 'ana'"
        )
        names = "SELECT heads.id, ?, tails.id, items.id FROM items, entities AS heads, entities AS tails "
        where = "WHERE item_id = 'a' AND items.user_id = 'ana' AND heads.user_id = 'ana' AND tails.user_id = 'ana' "
        for relation, key in (("works", "ana’s"), ("works", "ana"), ("lives", "ana")):
            db.execute(
                f"INSERT INTO relations (head, relation, tail, item) {names}{where}AND heads.key = ? AND tails.key = ?",
                (relation, key, "bo"),
            )
        db.execute("PRAGMA user_version = 4")
    return folder


def keys(folder: Path) -> list[Any]:
    return query(folder, "SELECT * FROM statement_keys ORDER BY user_id, item, key")


def test_every_statement_gets_the_keys_that_it_would_have_today(aged: Path, tmp_path: Path) -> None:
    Memory.open(aged, embedder=EMBEDDER).close()
    with Memory.open(tmp_path / "new", embedder=EMBEDDER) as memory:
        memory.add([item(*fact) for fact in FACTS], user_id="ana")
        memory.add([item(*FACTS[0])], user_id="ben")
    assert keys(aged) == keys(tmp_path / "new") != []
    assert query(aged, "SELECT * FROM meta WHERE key = 'unkeyed'") == []


def test_what_is_said_again_then_finds_what_was_there(aged: Path) -> None:
    with Memory.open(aged, embedder=EMBEDDER) as memory:
        report = memory.add([item("d", "ana works at ACME", "Ana")], user_id="ana")
        assert [one.other for one in report.decisions] == ["a"]
        assert len(memory.get_all(user_id="ana")) == len(FACTS)


def test_two_spellings_become_one_name_with_all_that_is_said_of_both(aged: Path) -> None:
    with Memory.open(aged, embedder=EMBEDDER):
        pass
    assert query(aged, "SELECT user_id, key, name FROM entities ORDER BY id") == [
        ("ana", "ana", "Ana’s"), ("ana", "bo", "Bo"), ("ben", "ana", "Ana’s"),
    ]  # fmt: skip
    mentioned = (
        "SELECT key, item_id FROM mentions JOIN entities ON entity = entities.id JOIN items ON item = items.id "
        "WHERE items.user_id = 'ana' ORDER BY item_id"
    )
    assert query(aged, mentioned) == [("ana", "a"), ("ana", "b"), ("bo", "c")]
    related = "SELECT heads.key, relation FROM relations JOIN entities AS heads ON heads.id = head ORDER BY relation"
    assert query(aged, related) == [("ana", "lives"), ("ana", "works")]
    assert query(aged, "PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("whole", [0, 1, 2])
def test_it_goes_on_where_it_was_interrupted(aged: Path, monkeypatch: pytest.MonkeyPatch, whole: int) -> None:
    monkeypatch.setattr(describing, "PART", 1)

    def failing() -> Callable[[TextualMemoryItem], tuple[str, ...]]:
        left = [None] * whole

        def keys_of(item: TextualMemoryItem) -> tuple[str, ...]:
            if not left:
                raise KeyboardInterrupt
            left.pop()
            return statement_keys(item)

        return keys_of

    store = Store.open(aged)
    with pytest.raises(KeyboardInterrupt):
        store.give_keys(failing(), progress=lambda done, total: None)
    store.close()
    assert query(aged, "SELECT count(DISTINCT item) FROM statement_keys") == [(whole,)]
    assert query(aged, "SELECT value FROM meta WHERE key = 'unkeyed'") == [("1",)]
    seen: list[tuple[int, int]] = []
    again = Store.open(aged)
    again.give_keys(statement_keys, progress=lambda done, total: seen.append((done, total)))
    again.give_keys(failing(), progress=lambda done, total: None)
    again.close()
    assert seen == [(n, 4) for n in (1, 2, 3, 4)]
    assert query(aged, "SELECT count(DISTINCT item) FROM statement_keys") == [(4,)]


def test_two_that_do_it_at_once_leave_what_one_would(aged: Path) -> None:
    store = Store.open(aged)

    # The second begins when the first is through with the items, and ends before it.
    def at_the_end(done: int, total: int) -> None:
        if done == total:
            store.give_keys(statement_keys, progress=lambda done, total: None)

    store.give_keys(statement_keys, progress=at_the_end)
    store.close()
    assert query(aged, "SELECT count(DISTINCT item) FROM statement_keys") == [(4,)]
    assert query(aged, "SELECT count(*) FROM entities") == [(3,)]
    assert query(aged, "SELECT * FROM meta WHERE key = 'unkeyed'") == []


OPENER = """
import os
import sys
from memreader import Memory
from memreader.testing import HashEmbedder

print("ready", flush=True)
sys.stdin.readline()
with Memory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    said = {"id": f"said {os.getpid()}", "memory": "ANA works at acme!", "metadata": {"entities": ["Ana"]}}
    report = memory.add([said], user_id="ana", at="2024-05-01")
    print(len(report.added), len(memory.get_all(user_id="ana")), len(memory.graph.entities(user_id="ana")), flush=True)
"""


def test_processes_that_open_an_old_store_at_once_leave_what_one_would(tmp_path: Path) -> None:
    more = [item(f"n{number}", f"Ana visited town number {number}.", "Ana") for number in range(2100)]
    aged = made_old(tmp_path / "mem", *more)
    shutil.copytree(aged, tmp_path / "alone")
    Memory.open(tmp_path / "alone", embedder=EMBEDDER).close()
    processes = [start(OPENER, aged) for _ in range(3)]
    try:
        assert [heard(process) for process in processes] == ["ready"] * 3
        for process in processes:
            say(process)
        # Each finds its statement said before, whoever gave that its key.
        assert [heard(process) for process in processes] == [f"0 {len(FACTS) + len(more)} 2"] * 3
        assert [process.wait(timeout=60) for process in processes] == [0] * 3
    finally:
        for process in processes:
            end(process)
    own = query(aged, "SELECT id FROM items WHERE item_id LIKE 'said %'")
    assert [row for row in keys(aged) if (row[2],) not in own] == keys(tmp_path / "alone")
    assert len(own) == 3
    assert query(aged, "SELECT user_id, key, name FROM entities") == query(
        tmp_path / "alone", "SELECT user_id, key, name FROM entities"
    )
    for check in ("PRAGMA foreign_key_check", "SELECT * FROM meta WHERE key = 'unkeyed'"):
        assert query(aged, check) == []
    assert query(aged, "PRAGMA integrity_check") == [("ok",)]
