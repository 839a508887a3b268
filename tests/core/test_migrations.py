"""Older stores are brought up to date in one step that can't be half done; newer ones and strangers' are left alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.errors import StoreCorruptError, StoreVersionError
from memreader.stores.database import SCHEMA_VERSION, Database
from memreader.stores.schema import OLDEST

GOLDEN = Path(__file__).parent / "golden"
OPEN = "import sys; from pathlib import Path; from memreader.stores.database import Database; "


def make_version_1(folder: Path) -> sqlite3.Connection:
    """Return a connection to an empty store as the first release made it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    db = sqlite3.connect(folder / "memory.db", isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.executescript((GOLDEN / "schema_1.sql").read_text(encoding="utf-8"))
    facts = {"store_id": "0123456789abcdef", "embedder": "hash", "dimension": "8", "lexicon": "stems"}
    db.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
    db.execute("PRAGMA user_version = 1")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA journal_mode = WAL")
    return db


def add_item(db: sqlite3.Connection, user: str, item_id: str, *, size: int = 32) -> int:
    """Add an item as version 1 did, and return its number."""
    metadata = json.dumps({"user_id": user, "entities": ["Ana"]})
    values = (user, item_id, "s1", None, "activated", "private", "conversation", f"words of {item_id}", metadata)
    blobs = (item_id.encode() * (size // len(item_id) + 1), b"t" * 16, b"c" * 4)
    marks = ",".join("?" * 12)
    query = (
        "INSERT INTO items (user_id, item_id, session_id, agent_id, status, visibility, source, memory, metadata,"
        f" embedding, term_ids, term_counts) VALUES ({marks})"
    )
    number = db.execute(query, values + blobs).lastrowid
    assert number is not None
    db.execute("INSERT INTO item_sources VALUES (?, ?)", (number, f"source of {item_id}"))
    db.execute("INSERT INTO changes (user_id, item) VALUES (?, ?)", (user, number))
    return number


def delete_item(db: sqlite3.Connection, user: str, number: int) -> None:
    db.execute("DELETE FROM items WHERE id = ?", (number,))
    db.execute("INSERT INTO changes (user_id, item) VALUES (?, ?)", (user, number))


def rows(db: sqlite3.Connection, query: str) -> list[Any]:
    return db.execute(query).fetchall()


def everything(database: Database) -> dict[str, list[Any]]:
    """Return the content of each table, sorted."""
    with database.snapshot() as db:
        tables = [name for (name,) in rows(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {table: sorted(rows(db, f"SELECT * FROM {table}"), key=repr) for table in tables}


def schema(database: Database) -> dict[tuple[str, str], str]:
    """Return what the schema says of each table and index, without regard to spaces."""
    with database.reading() as db:
        found = rows(db, "SELECT type, name, coalesce(sql, '') FROM sqlite_master")
        return {(kind, name): re.sub(r"\s*([,()]|\s)\s*", r"\1", sql) for kind, name, sql in found}


def test_version_1_comes_out_as_it_would_be_written_today(tmp_path: Path) -> None:
    with closing(make_version_1(tmp_path)) as db:
        a, b, c = (add_item(db, "ana", item_id) for item_id in "abc")
        d, e = (add_item(db, "bob", item_id) for item_id in "ad")
        delete_item(db, "ana", b)
        delete_item(db, "bob", e)
        db.execute("INSERT INTO ledger VALUES ('ana', 'source of a', 'key')")
        db.execute(
            "INSERT INTO messages (user_id, session_id, position, source_key, digest, role, content, time_inferred,"
            " flags) VALUES ('ana', 's1', 0, 'source of a', 'x', 'user', 'hello', 0, '[]')"
        )
        db.execute(
            "INSERT INTO documents (user_id, doc_key, source_key, doc_path, sha256, media_type, page_starts, context,"
            " text) VALUES ('ana', '/d', 'source of c', 'd', 'f', 'text/plain', '[]', '', 'text')"
        )
        kept = ("meta", "messages", "documents", "item_sources", "ledger")
        before = {table: sorted(rows(db, f"SELECT * FROM {table}"), key=repr) for table in kept}
        old = rows(db, "SELECT id, memory, metadata, embedding, term_ids, term_counts FROM items ORDER BY id")
    database = Database(tmp_path)
    after = everything(database)
    # What recall looks at is made when a memory opens the store.
    after["meta"].remove(("undescribed", "1"))
    after["meta"].remove(("unkeyed", "1"))
    assert {table: after[table] for table in kept} == before
    with database.reading() as db:
        assert old == rows(
            db,
            "SELECT id, memory, metadata, embedding, term_ids, term_counts FROM items JOIN evidence ON item = id "
            "ORDER BY id",
        )
        assert rows(db, "SELECT user_id, item_id, seq, id FROM items ORDER BY id") == [
            ("ana", "a", 1, a), ("ana", "c", 3, c), ("bob", "a", 4, d),
        ]  # fmt: skip
        assert rows(db, "PRAGMA foreign_key_check") == []
        assert rows(db, "PRAGMA integrity_check") == [("ok",)]
    assert after["gone"] == [(6, "ana", b), (7, "bob", e)]
    assert after["counters"] == [(1, 7, 0)]
    graph, statements = ("entities", "mentions", "relations"), ("statement_keys", "settled", "standing")
    for table in ("history", "erased", "staged", *graph, *statements):
        assert after[table] == []
    assert database.store_id == "0123456789abcdef"
    database.close()


def test_the_tables_are_those_of_a_new_store(tmp_path: Path) -> None:
    make_version_1(tmp_path / "old").close()
    old, new = Database(tmp_path / "old"), Database(tmp_path / "new")
    assert schema(old) == schema(new)
    for database in (old, new):
        with database.reading() as db:
            assert rows(db, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
            assert rows(db, "SELECT * FROM counters") == [(1, 0, 0)]
        database.close()


def test_the_number_of_a_deleted_item_is_not_given_out_again(tmp_path: Path) -> None:
    with closing(make_version_1(tmp_path)) as db:
        last = [add_item(db, "ana", item_id) for item_id in "abc"][-1]
        delete_item(db, "ana", last)
    database = Database(tmp_path)
    with database.transaction() as writer:
        insert = (
            "INSERT INTO items (user_id, item_id, seq, status, visibility, memory, metadata) "
            "VALUES ('ana', 'new', 9, '', '', '', '')"
        )
        assert writer.execute(insert).lastrowid == last + 1
    database.close()


def test_deleting_an_item_takes_along_what_belongs_to_it_as_in_a_new_store(tmp_path: Path) -> None:
    with closing(make_version_1(tmp_path)) as db:
        a, b = (add_item(db, "ana", item_id) for item_id in "ab")
    database = Database(tmp_path)
    with database.transaction() as writer:
        writer.execute("DELETE FROM items WHERE id = ?", (a,))
        assert rows(writer, "SELECT item FROM evidence") == rows(writer, "SELECT item FROM item_sources") == [(b,)]
    database.close()


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.booleans()), max_size=25))
def test_whoever_follows_the_changes_learns_the_same_from_both_versions(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with closing(make_version_1(folder)) as db:
        alive: dict[tuple[str, str], int] = {}
        db.execute("BEGIN")
        for user, name, keep in steps:
            number = alive.pop((user, str(name)), None)
            if number is not None:
                delete_item(db, user, number)
            if keep:
                alive[user, str(name)] = add_item(db, user, str(name))
        query = "SELECT user_id, item, max(seq) FROM changes GROUP BY user_id, item"
        last = {(user, item): seq for user, item, seq in rows(db, query)}
        db.execute("COMMIT")
    database = Database(folder)
    with database.snapshot() as new:
        items = {(user, item): seq for user, item, seq in rows(new, "SELECT user_id, id, seq FROM items")}
        gone = {(user, item): seq for user, item, seq in rows(new, "SELECT user_id, item, seq FROM gone")}
        (newest,) = new.execute("SELECT seq FROM counters").fetchone()
    database.close()
    assert {number for _, number in items} == set(alive.values())
    assert items | gone == last
    assert not set(items) & set(gone)
    assert newest == max(last.values(), default=0)


def test_a_newer_version_is_refused_and_its_folder_untouched(tmp_path: Path) -> None:
    Database(tmp_path).close()
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        db.commit()
    path.chmod(0o640)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreVersionError, match="Install") as caught:
            Database(tmp_path)
        assert (caught.value.found, caught.value.known) == (SCHEMA_VERSION + 1, SCHEMA_VERSION)
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]
        assert path.stat().st_mode & 0o777 == 0o640


def test_a_newer_version_that_crashed_keeps_its_log(tmp_path: Path) -> None:
    """The log may hold what only the newer version understands; not a byte of it is written back."""
    code = OPEN + (
        "import os, signal\n"
        "database = Database(Path(sys.argv[1]))\n"
        "with database.transaction() as db: db.execute('PRAGMA user_version = 99')\n"
        "database.purge()\n"
        "with database.transaction() as db: db.execute(\"INSERT INTO meta VALUES ('newer', 'words')\")\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert b"words" in files["memory.db-wal"]
    with pytest.raises(StoreVersionError):
        Database(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == files


def test_a_version_that_never_was_is_refused(tmp_path: Path) -> None:
    Database(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as db:
        db.execute(f"PRAGMA user_version = {OLDEST - 1}")
    with pytest.raises(StoreVersionError):
        Database(tmp_path)


def test_another_programs_file_of_a_high_version_is_not_taken_for_a_newer_store(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "memory.db")) as db:
        db.execute("CREATE TABLE customers (name)")
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreCorruptError, match="another program"):
        Database(tmp_path)


def test_an_old_store_that_does_not_fit_the_migration_stays_as_it_was(tmp_path: Path) -> None:
    with closing(make_version_1(tmp_path)) as db:
        add_item(db, "ana", "a")
        db.execute("CREATE TABLE evidence (x)")
    for _ in range(2):
        with pytest.raises(StoreCorruptError, match="evidence already exists"):
            Database(tmp_path)
    with closing(sqlite3.connect(tmp_path / "memory.db")) as db:
        assert rows(db, "PRAGMA user_version") == [(1,)]
        assert rows(db, "SELECT item_id, embedding FROM items") == [("a", b"a" * 33)]


def many_items(folder: Path, count: int) -> None:
    with closing(make_version_1(folder)) as db:
        db.execute("BEGIN")
        for number in range(count):
            add_item(db, f"user{number % 7}", f"item {number}", size=1536)
        db.execute("COMMIT")


def check_many_items(folder: Path, count: int) -> None:
    database = Database(folder)
    with database.snapshot() as db:
        assert rows(db, "SELECT count(*), count(DISTINCT user_id), max(seq) FROM items") == [(count, 7, count)]
        wrong = (
            "SELECT item_id FROM items LEFT JOIN evidence ON item = id WHERE embedding IS NULL"
            " OR substr(embedding, 1, length(item_id)) != CAST(item_id AS BLOB)"
        )
        assert rows(db, wrong) == []
        assert rows(db, "PRAGMA integrity_check") == [("ok",)]
    database.close()


def test_processes_that_open_an_old_store_at_once_all_get_it_up_to_date(tmp_path: Path) -> None:
    many_items(tmp_path, 2000)
    code = OPEN + (
        "sys.stdin.readline()\n"
        "database = Database(Path(sys.argv[1]))\n"
        "with database.transaction() as db: db.execute('INSERT INTO meta VALUES (?, 1)', (sys.argv[2],))\n"
        "with database.reading() as db: print(db.execute('SELECT count(*) FROM evidence').fetchone()[0])"
    )
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), f"p{number}"], stdin=pipe, stdout=pipe, text=True)
        for number in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[0] for process in processes] == ["2000\n"] * 4
    database = Database(tmp_path)
    with database.reading() as db:
        assert rows(db, "SELECT count(*) FROM meta WHERE key GLOB 'p*'") == [(4,)]
    database.close()
    check_many_items(tmp_path, 2000)


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_a_migration_that_is_killed_is_done_by_the_next_to_open(tmp_path: Path) -> None:
    count = 4000
    many_items(tmp_path / "a", count)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    thousands = []
    Database(tmp_path / "b", register=lambda db: db.set_progress_handler(lambda: thousands.append(1), 1000)).close()
    code = OPEN + (
        "import os, signal\n"
        "thousands = []\n"
        "def count():\n"
        "    thousands.append(1)\n"
        "    if len(thousands) == int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)\n"
        "Database(Path(sys.argv[1]), register=lambda db: db.set_progress_handler(count, 1000))"
    )
    path = tmp_path / "a" / "memory.db"
    written = []
    for share in (0.01, 0.5, 0.85, 0.95):
        end = str(int(len(thousands) * share) + 1)
        done = subprocess.run([sys.executable, "-c", code, str(path.parent), end], capture_output=True, timeout=60)
        assert done.returncode == -signal.SIGKILL, done.stderr
        written.append(path.with_name("memory.db-wal").stat().st_size)
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            assert rows(db, "PRAGMA user_version") == [(1,)]
    # Killed far enough on for a part of the new tables to be in the log.
    assert max(written) > 1_000_000
    check_many_items(path.parent, count)
