"""A purge leaves no byte of what was deleted in any file of the folder, or says what was in the way."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.stores.database import Database
from memreader.stores.scrub import RawFile

OTHER_PROCESS = """
import sys
from pathlib import Path
from memreader.stores.database import Database
database = Database(Path(sys.argv[1]))
with database.snapshot() as db:
    print(db.execute("SELECT count(*) FROM items").fetchone()[0], flush=True)
    sys.stdin.readline()
with database.transaction() as db:
    db.execute("DELETE FROM items WHERE seq % 5 = 1")
print("let go", flush=True)
sys.stdin.readline()
# It has pages in memory as they were before the purge, and writes to each.
with database.transaction() as db:
    db.execute("UPDATE items SET memory = memory || '.', item_id = item_id || '.'")
print("wrote", flush=True)
sys.stdin.readline()
"""

BUSY_PROCESS = """
import random, sys, time
from pathlib import Path
from memreader.stores.database import Database
database = Database(Path(sys.argv[1]))
first, chance, alive = int(sys.argv[2]), random.Random(sys.argv[2]), []
query = "INSERT INTO items (user_id, item_id, seq, status, visibility, memory, metadata) "
query += "VALUES ('ana', ?, ?, '', '', ?, '')"
until, number = time.monotonic() + 3, first
while time.monotonic() < until:
    with database.transaction() as db:
        for _ in range(30):
            number += 1
            db.execute(query, (f"{chance.random()}", number, f"<word{number:06}>" * chance.randint(1, 300)))
            alive.append(number)
        for _ in range(28):
            doomed = alive.pop(chance.randrange(len(alive)))
            db.execute("DELETE FROM items WHERE user_id = 'ana' AND seq = ?", (doomed,))
print(alive)
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "mem")
    yield database
    database.close()


def mark(number: int) -> str:
    return f"<word{number:06}>"


def add(database: Database, numbers: range, *, words: int) -> None:
    """Add items whose words and vectors are full of their marks."""
    chance = random.Random(1)
    with database.transaction() as db:
        for number in numbers:
            text = mark(number) * chance.randint(1, words)
            query = "INSERT INTO items (user_id, item_id, seq, status, visibility, memory, metadata) VALUES "
            values = (f"u{number % 9}", f"{chance.getrandbits(64):x}{mark(number)}", number, text)
            key = db.execute(query + "(?, ?, ?, '', '', ?, '')", values).lastrowid
            vector = (mark(number)[::-1] * chance.randint(1, words)).encode()
            db.execute("INSERT INTO evidence VALUES (?, ?, ?, ?, ?)", (key, vector, b"t", b"c", b"r"))


def delete(database: Database, numbers: list[int]) -> None:
    with database.transaction() as db:
        db.execute("DELETE FROM items WHERE seq IN (SELECT value FROM json_each(?))", (json.dumps(numbers),))


def marks(folder: Path) -> set[int]:
    """Return the marks that are in any file of the folder, forwards or backwards."""
    data = b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    forwards = {int(found) for found in re.findall(rb"<word(\d{6})>", data)}
    return forwards | {int(found[::-1]) for found in re.findall(rb">(\d{6})drow<", data)}


@pytest.mark.parametrize("words", [1, 6, 60, 600, 3000])
def test_nothing_of_deleted_rows_is_in_the_files_whatever_their_size(database: Database, words: int) -> None:
    folder = database.path.parent
    count = 4000 if words < 100 else 600
    add(database, range(count), words=words)
    deleted = sorted(random.Random(2).sample(range(count), count // 2))
    delete(database, deleted)
    assert marks(folder) & set(deleted)
    assert database.purge() == ""
    assert marks(folder) == set(range(count)) - set(deleted)
    with database.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert {seq for (seq,) in db.execute("SELECT seq FROM items")} == set(range(count)) - set(deleted)
    with database.transaction() as db:
        # To every page; not from what was in memory of it before.
        db.execute("UPDATE items SET memory = memory || '.', item_id = item_id || '.'")
    with database.reading() as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert marks(folder) == set(range(count)) - set(deleted)
    delete(database, list(range(count)))
    assert database.purge() == ""
    assert marks(folder) == set()


def test_secure_delete_alone_would_leave_copies_of_rows_that_moved(database: Database) -> None:
    """Why there is more to it; when SQLite does better one day, this fails and the wiping can go."""
    add(database, range(4000), words=60)
    deleted = random.Random(2).sample(range(4000), 2000)
    delete(database, deleted)
    with database.reading() as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert marks(database.path.parent) & set(deleted)


def test_after_a_purge_the_log_is_empty_and_rows_that_stay_are_as_they_were(database: Database) -> None:
    add(database, range(500), words=40)
    delete(database, list(range(0, 500, 3)))
    with database.reading() as db:
        before = db.execute("SELECT * FROM items JOIN evidence ON item = items.id ORDER BY items.id").fetchall()
    assert database.purge() == ""
    assert database.path.with_name("memory.db-wal").stat().st_size == 0
    with database.reading() as db:
        assert before == db.execute("SELECT * FROM items JOIN evidence ON item = items.id ORDER BY items.id").fetchall()


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2500), st.booleans()), max_size=40))
def test_whatever_was_done_a_purge_leaves_the_living_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    database = Database(folder)
    alive: dict[int, int] = {}
    for step, (number, size, keep) in enumerate(steps):
        with database.transaction() as db:
            db.execute("DELETE FROM meta WHERE key = ?", (f"k{number}",))
            alive.pop(number, None)
            if keep:
                db.execute("INSERT INTO meta VALUES (?, ?)", (f"k{number}", mark(step) * (1 + size // 10)))
                alive[number] = step
    assert database.purge() == ""
    assert marks(folder) == set(alive.values())
    with database.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM meta WHERE key GLOB 'k*'").fetchone() == (len(alive),)
    database.close()


def test_another_process_that_still_reads_is_a_reason_and_when_it_let_go_nothing_is_left(database: Database) -> None:
    folder = database.path.parent
    add(database, range(1500), words=60)
    command = [sys.executable, "-c", OTHER_PROCESS, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None

        def go_on() -> None:
            assert other.stdin is not None
            other.stdin.write("\n")
            other.stdin.flush()

        assert other.stdout.readline() == "1500\n"
        deleted = {number for number in range(1500) if number % 5 in (0, 2)}
        delete(database, sorted(deleted))
        start = time.monotonic()
        assert "another process" in database.purge(timeout_s=0.3)
        assert time.monotonic() - start < 3
        assert marks(folder) & deleted
        # The store is not disturbed by that.
        add(database, range(1500, 1501), words=1)
        go_on()
        assert other.stdout.readline() == "let go\n"
        deleted |= {number for number in range(1501) if number % 5 == 1}
        assert database.purge() == ""
        assert marks(folder) & deleted == set()
        go_on()
        assert other.stdout.readline() == "wrote\n"
        with database.reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert marks(folder) & deleted == set()
        go_on()
    with database.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert {seq for (seq,) in db.execute("SELECT seq FROM items")} == set(range(1501)) - deleted


def test_a_thread_that_reads_or_writes_is_waited_for_but_not_for_long(database: Database) -> None:
    for block in (database.snapshot, database.transaction):
        inside, leave = threading.Event(), threading.Event()

        def work(block: object = block, inside: threading.Event = inside, leave: threading.Event = leave) -> None:
            with block() as db:  # type: ignore[operator]
                db.execute("SELECT * FROM meta").fetchall()
                inside.set()
                leave.wait(30)

        thread = threading.Thread(target=work)
        thread.start()
        inside.wait(30)
        with database.reading() as db:
            db.execute("SELECT 1")
        add_one = threading.Thread(target=add, args=(database, range(1)), kwargs={"words": 1})
        if block == database.snapshot:
            add_one.start()
            add_one.join()
        assert "thread" in database.purge(timeout_s=0.2)
        timer = threading.Timer(0.3, leave.set)
        timer.start()
        assert database.purge(timeout_s=20) == ""
        thread.join()
        timer.join()


def test_in_the_middle_of_a_write_it_says_so_at_once(database: Database) -> None:
    with database.transaction():
        start = time.monotonic()
        assert "middle of a write" in database.purge(timeout_s=30)
        assert time.monotonic() - start < 5
    assert database.purge() == ""


def test_a_second_purge_has_nothing_to_write(database: Database) -> None:
    add(database, range(2000), words=30)
    delete(database, list(range(0, 2000, 2)))
    assert database.purge() == ""
    before = database.path.read_bytes()
    assert database.purge() == ""
    assert database.path.read_bytes() == before


def test_writes_of_threads_while_purging_are_kept(database: Database) -> None:
    stop = threading.Event()
    wrote: list[int] = []

    def write(first: int) -> None:
        number = first
        while not stop.is_set():
            add(database, range(number, number + 3), words=20)
            delete(database, [number])
            wrote.extend((number + 1, number + 2))
            number += 3

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 200_000, 400_000)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        database.purge(timeout_s=0.5)
    stop.set()
    for thread in threads:
        thread.join()
    with database.reading() as db:
        assert {seq for (seq,) in db.execute("SELECT seq FROM items")} == set(wrote)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert database.purge() == ""
    assert marks(database.path.parent) == set(wrote)


def test_writes_of_processes_while_purging_are_kept(database: Database) -> None:
    folder = database.path.parent
    add(database, range(5000), words=300)
    delete(database, list(range(0, 5000, 2)))
    alive = set(range(1, 5000, 2))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", BUSY_PROCESS, str(folder), str(first)], stdout=subprocess.PIPE, text=True
        )
        for first in (200_000, 400_000, 600_000)
    ]
    purged = 0
    while any(process.poll() is None for process in processes):
        purged += database.purge(timeout_s=0.3) == ""
    for process in processes:
        alive |= set(json.loads(process.communicate()[0]))
    assert purged > 5
    with database.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert {seq for (seq,) in db.execute("SELECT seq FROM items")} == alive
    assert database.purge() == ""
    assert marks(folder) == alive


def test_nobody_else_can_write_while_the_file_is_wiped(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    wiped = []

    def wipe(file: RawFile) -> int:
        assert database.path.with_name("memory.db-wal").stat().st_size == 0
        with closing(sqlite3.connect(database.path, timeout=0, isolation_level=None)) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            assert other.execute("SELECT count(*) FROM items").fetchone() == (50,)
        wiped.append(real(file))
        return wiped[-1]

    real = RawFile.wipe
    monkeypatch.setattr(RawFile, "wipe", wipe)
    add(database, range(100), words=20)
    delete(database, list(range(0, 100, 2)))
    assert database.purge() == ""
    assert len(wiped) == 1


def test_a_file_of_another_layout_is_not_touched(tmp_path: Path) -> None:
    contents = {
        "letter": b"this is no database" * 500,
        "empty": b"",
        "short": b"SQLite format 3\0",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    with closing(sqlite3.connect(tmp_path / "vacuum")) as db:
        db.execute("PRAGMA auto_vacuum = FULL")
        db.execute("CREATE TABLE t (x)")
        db.commit()
    contents["vacuum"] = (tmp_path / "vacuum").read_bytes()
    for name, content in contents.items():
        file = RawFile(tmp_path / name)
        with pytest.raises(ValueError, match="layout"):
            file.wipe()
        file.close()
        assert (tmp_path / name).read_bytes() == content


def kinds_with_something_in_the_middle(data: bytes, page_size: int) -> set[int]:
    """Return the kinds of pages whose space between the cells' numbers and the cells is not all zeros."""
    found = set()
    for start in range(0, len(data), page_size):
        head = start + (100 if start == 0 else 0)
        if data[head] in (2, 5, 10, 13):
            cells, content = (int.from_bytes(data[head + at : head + at + 2], "big") for at in (3, 5))
            begin = head + (12 if data[head] in (2, 5) else 8) + 2 * cells
            if any(data[begin : start + (content or 65536)]):
                found.add(data[head])
    return found


@pytest.mark.parametrize("page_size", [512, 1024, 4096, 65536])
def test_pages_of_any_size_are_wiped_and_stay_whole(tmp_path: Path, page_size: int) -> None:
    path = tmp_path / "file"
    chance = random.Random(4)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA page_size = {page_size}")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, words TEXT)")
        db.execute("BEGIN")
        for number in range(3000):
            words = mark(number) * chance.randint(1, 40)
            db.execute("INSERT INTO t VALUES (?, ?, ?)", (number, f"{chance.random()}{mark(number)}", words))
        for number in range(0, 3000, 2):
            db.execute("DELETE FROM t WHERE id = ?", (number,))
        db.execute("COMMIT")
        before = db.execute("SELECT * FROM t").fetchall()
    assert kinds_with_something_in_the_middle(path.read_bytes(), page_size) >= {10, 13}
    file = RawFile(path)
    assert file.wipe() > 0
    assert file.wipe() == 0
    assert kinds_with_something_in_the_middle(path.read_bytes(), page_size) == set()
    assert marks(tmp_path) == set(range(1, 3000, 2))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute("SELECT * FROM t").fetchall() == before
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.execute("DELETE FROM t WHERE id > 0")
    file.wipe()
    file.close()
    assert kinds_with_something_in_the_middle(path.read_bytes(), page_size) == set()
    assert marks(tmp_path) == set()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts this process's open files")
def test_purging_leaves_no_file_open_behind(tmp_path: Path) -> None:
    def use(folder: Path) -> None:
        database = Database(folder)
        add(database, range(50), words=20)
        delete(database, list(range(0, 50, 2)))
        assert database.purge() == ""
        database.close()

    use(tmp_path / "first")
    before = len(os.listdir("/proc/self/fd"))
    for number in range(10):
        use(tmp_path / str(number))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_purge_keeps_the_locks_of_this_process(tmp_path: Path) -> None:
    """Closing a file takes a process's locks off it: then another that closes it would take the log away."""
    one, two = Database(tmp_path), Database(tmp_path)
    add(one, range(100), words=20)
    delete(one, list(range(50)))
    assert two.purge() == ""
    two.close()
    add(one, range(100, 101), words=1)
    code = (
        "import sys; from pathlib import Path; from memreader.stores.database import Database;"
        "Database(Path(sys.argv[1])).close()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    assert (tmp_path / "memory.db-wal").exists()
    add(one, range(101, 102), words=1)
    one.close()
    again = Database(tmp_path)
    with again.reading() as db:
        assert {seq for (seq,) in db.execute("SELECT seq FROM items")} == set(range(50, 102))
    again.close()
