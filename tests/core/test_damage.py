"""A damaged file is named as such, whichever verb finds it, without words of a memory; whole files are not blamed."""

from __future__ import annotations

import gc
import logging
import os
import random
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memreader import Memory
from memreader.errors import MemReaderError, StoreCorruptError
from memreader.stores.damage import damage
from memreader.stores.database import Database
from memreader.testing import HashEmbedder

EMBEDDER = HashEmbedder(dimension=16, max_tokens=60)
SECRET = "Anna likes jasmine"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    with Memory.open(folder, embedder=EMBEDDER) as memory:
        for number in range(12):
            words = f"House number {number} is blue. {SECRET} tea {number}."
            memory.add([{"role": "user", "content": words, "id": f"m{number}"}], user_id="ana")
        memory.add([{"role": "user", "content": "ben tea"}], user_id="ben")
        memory.update(first_id(memory), {"memory": f"{SECRET} no more"}, user_id="ana")
    return (folder / "memory.db").read_bytes()


def first_id(memory: Memory) -> str:
    return memory.get_all(user_id="ana", limit=1)[0].id


def ids_in(whole: bytes, folder: Path) -> list[str]:
    folder.mkdir()
    (folder / "memory.db").write_bytes(whole)
    with Memory.open(folder, embedder=EMBEDDER) as memory:
        return [item.id for item in memory.get_all(user_id="ana")]


def verbs(memory: Memory, ids: list[str], folder: Path) -> dict[str, Callable[[], Any]]:
    words = [{"role": "user", "content": "something new"}]
    return {
        "stats": memory.admin.stats,
        "get_all": lambda: memory.get_all(user_id="ana"),
        "search": lambda: memory.search("tea house", user_id="ana"),
        "history": lambda: [memory.history(item_id, user_id="ana") for item_id in ids],
        "add": lambda: memory.add(words, user_id="ana"),
        "export": lambda: memory.admin.export(folder / "all.zip"),
        "update": lambda: memory.update(ids[1], {"memory": "other words"}, user_id="ana"),
        "delete": lambda: memory.delete(ids[2:4], user_id="ana"),
        "delete_by_source": lambda: memory.delete_by_source(user_id="ana", message_id="m7"),
        "delete_all": lambda: memory.delete_all(user_id="ben"),
        "purge": lambda: memory._store.purge(timeout_s=0.1),
        "close": memory.close,
    }


@pytest.mark.parametrize("seed", range(16))
def test_random_damage_is_harmless_or_an_error_of_ours_in_every_verb(tmp_path: Path, whole: bytes, seed: int) -> None:
    ids = ids_in(whole, tmp_path / "whole")
    chance, data = random.Random(seed), bytearray(whole)
    written = [place for place, byte in enumerate(data) if byte]
    for _ in range(30):
        data[chance.choice(written) if seed % 2 else chance.randrange(len(data))] = chance.randrange(256)
    (tmp_path / "memory.db").write_bytes(data)
    with suppress(MemReaderError):
        memory = Memory.open(tmp_path, embedder=EMBEDDER)
        for verb in verbs(memory, ids, tmp_path).values():
            with suppress(MemReaderError):
                verb()


@pytest.mark.parametrize(
    ("before", "after", "finding"),
    [
        (b'"sources"', b'"sourcez"', ("get_all", "search", "history")),
        (b'"sources":', b'"sources";', ("stats", "get_all", "search", "history", "delete")),
        (b"memory     TEXT NOT NULL", b"memorz     TEXT NOT NULL", ("get_all", "history", "add", "export")),
        (b"doc_path    TEXT", b"doc_patj    TEXT", ("export", "delete_by_source")),
        (b"tea 7.", b"tea \xff.", ("get_all", "export")),
    ],
)
def test_damage_in_a_known_place_is_named_without_words(
    tmp_path: Path, whole: bytes, before: bytes, after: bytes, finding: tuple[str, ...]
) -> None:
    ids = ids_in(whole, tmp_path / "whole")
    (tmp_path / "memory.db").write_bytes(whole.replace(before, after))
    memory = Memory.open(tmp_path, embedder=EMBEDDER)
    for name in finding:
        with pytest.raises(StoreCorruptError, match=r"memory\.db is damaged") as caught:
            verbs(memory, ids, tmp_path)[name]()
        assert SECRET not in "".join(traceback.format_exception(caught.value)), name
    memory.close()


@pytest.mark.parametrize("statement", [b"CREATE TABLE items", b"CREATE TABLX items"])
def test_names_of_tables_that_are_no_text_are_damage_found_on_opening(
    tmp_path: Path, whole: bytes, statement: bytes
) -> None:
    damaged = whole.replace(b"tableitems", b"table\xfftems").replace(b"CREATE TABLE items", statement)
    (tmp_path / "memory.db").write_bytes(damaged)
    with pytest.raises(StoreCorruptError):
        Memory.open(tmp_path, embedder=EMBEDDER)


def test_an_error_about_damage_does_not_keep_the_log_from_being_emptied(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "memory.db").write_bytes(whole.replace(b"tea 7.", b"tea \xff."))
    memory = Memory.open(tmp_path, embedder=EMBEDDER)
    gc.disable()
    try:
        with suppress(StoreCorruptError):
            memory.get_all(user_id="ana")
        memory.delete_all(user_id="ben")
        assert memory._store.purge(timeout_s=0.2).complete
    finally:
        gc.enable()
    memory.close()


@pytest.mark.parametrize("fault", [KeyError("x"), ValueError("x"), sqlite3.OperationalError("no such column: x")])
def test_a_fault_of_the_code_passes_where_the_file_is_whole(tmp_path: Path, whole: bytes, fault: Exception) -> None:
    (tmp_path / "memory.db").write_bytes(whole)
    database = Database(tmp_path)
    assert damage(database.path) is None
    with pytest.raises(type(fault)) as caught, database.reading():
        raise fault
    assert caught.value is fault
    with pytest.raises(sqlite3.OperationalError, match="nothing"), database.transaction() as db:
        db.execute("SELECT nothing")
    database.close()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("DELETE FROM counters", "counters is empty"),
        ("UPDATE items SET metadata = '{'", "broken JSON"),
        ("UPDATE items SET metadata = json_set(metadata, '$.x', 1)", "not what was written"),
        ("UPDATE evidence SET embedding = x'0000'", "wrong length"),
        ("UPDATE evidence SET embedding = x'00000000' WHERE item = 3", "several lengths"),
        ("UPDATE items SET memory = x'ff'", "another type"),
        ("UPDATE items SET memory = CAST(x'ff' AS TEXT)", "decode"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM items", "item is missing"),
        ("ALTER TABLE items DROP COLUMN source", "column source of the table items is missing"),
    ],
)
def test_what_is_damaged_is_told(tmp_path: Path, whole: bytes, change: str, problem: str) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(whole)
    db = sqlite3.connect(path)
    db.executescript(change)
    db.close()
    assert problem in (damage(path) or "")
    database = Database(tmp_path)
    with pytest.raises(StoreCorruptError, match=problem) as caught, database.reading():
        raise sqlite3.OperationalError("malformed JSON")
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    database.close()


@pytest.mark.skipif(os.name == "nt", reason="limits are POSIX")
@pytest.mark.parametrize("written_back", [False, True], ids=["log", "written back"])
@pytest.mark.parametrize("close", [False, True], ids=["purge", "close"])
def test_a_full_disk_lets_the_purge_fail_and_not_the_deletion(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, close: bool, written_back: bool
) -> None:
    import resource

    memory = Memory.open(tmp_path, embedder=EMBEDDER)
    words = [{"role": "user", "content": f"{SECRET} {number}", "id": f"m{number}"} for number in range(60)]
    memory.add(words, user_id="ana")
    assert memory._store.purge(timeout_s=1).complete
    memory.delete(first_id(memory), user_id="ana")
    if written_back:
        # Then the purge fails where it clears that it is due.
        with memory._store._database.reading() as db:
            assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        assert memory._store._database.purge() == ""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with caplog.at_level(logging.WARNING):
            if close:
                memory.close()
            else:
                report = memory._store.purge(timeout_s=0.1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    if close:
        (line,) = [record for record in caplog.records if "not yet out of all files" in record.message]
        assert line.levelno == logging.WARNING
        assert "room" in line.message
        assert SECRET not in caplog.text
        memory = Memory.open(tmp_path, embedder=EMBEDDER)
    else:
        assert not report.complete
        assert "room" in report.reason
        assert "Nothing of this write" not in report.reason
    assert memory.admin.stats().purge_due
    assert len(memory.get_all(user_id="ana")) == 59
    assert memory._store.purge(timeout_s=1).complete
    memory.close()
