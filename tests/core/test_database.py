"""The SQLite file: opened safely, private, one writer, as many readers as read at once."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memreader.errors import StoreBusyError, StoreClosedError, StoreCorruptError, StoreVersionError
from memreader.stores import database as module
from memreader.stores.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "mem")
    yield database
    database.close()


def remember(database: Database, key: str) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES (?, '')", (key,))


def known(database: Database) -> set[str]:
    with database.reading() as db:
        return {key for (key,) in db.execute("SELECT key FROM meta")}


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_nobody_else_may_read_the_folder_or_its_files(database: Database) -> None:
    remember(database, "a")
    folder = database.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert {file.name for file in folder.iterdir()} >= {"memory.db", "memory.db-wal"}


def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    database = Database(tmp_path / "a" / "b")
    remember(database, "a")
    database.close()
    again = Database(tmp_path / "a" / "b")
    assert "a" in known(again)
    again.close()


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE customers (name TEXT)")
    db.close()


def noise(path: Path) -> None:
    path.write_bytes(b"this is no database, it is a letter to a friend" * 100)


def torn(path: Path) -> None:
    Database(path.parent).close()
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("make", [foreign, noise, torn])
def test_a_file_that_is_none_of_ours_is_refused_and_left_as_it_was(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError, match=r"memory\.db"):
        Database(tmp_path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.transaction() as db:
        db.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreVersionError) as caught:
        Database(tmp_path)
    assert (caught.value.found, caught.value.known) == (99, module.SCHEMA_VERSION)


def half_done(database: Database, error: BaseException, *, given_up: bool = False) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES ('half', '')")
        if given_up:
            db.execute("ROLLBACK")  # as SQLite does by itself when the disk is full
        raise error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()], ids=repr)
def test_an_error_takes_the_whole_transaction_back(database: Database, error: BaseException) -> None:
    with pytest.raises(type(error)):
        half_done(database, error)
    remember(database, "whole")
    assert known(database) & {"half", "whole"} == {"whole"}


def test_a_transaction_that_sqlite_gave_up_does_not_block_the_next(database: Database) -> None:
    with pytest.raises(OSError, match="disk full"):
        half_done(database, OSError("disk full"), given_up=True)
    remember(database, "whole")
    assert "half" not in known(database)


def test_a_lock_that_is_held_too_long_is_an_error_that_says_so(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.1)
    impatient = Database(tmp_path / "mem")
    with database.transaction(), pytest.raises(StoreBusyError, match="Try again") as caught:
        remember(impatient, "a")
    assert caught.value.timeout_s == 0.1
    with database.transaction(), pytest.raises(StoreBusyError):
        Database(tmp_path / "mem")
    remember(impatient, "a")
    impatient.close()


def test_a_closed_one_says_so_and_can_be_closed_again(database: Database) -> None:
    database.close()
    database.close()
    for use in (database.reading, database.snapshot, database.transaction):
        with pytest.raises(StoreClosedError, match=r"Memory\.open"), use():
            pass


def test_threads_that_open_a_new_folder_at_once_all_get_it(tmp_path: Path) -> None:
    for round_ in range(15):
        start = threading.Barrier(6)

        def open_it(start: threading.Barrier = start, folder: Path = tmp_path / str(round_)) -> Database:
            start.wait()
            return Database(folder)

        with ThreadPoolExecutor(6) as pool:
            opened = [future.result() for future in [pool.submit(open_it) for _ in range(6)]]
        for database in opened:
            database.close()


def test_a_snapshot_sees_one_state_while_others_write(database: Database) -> None:
    with database.snapshot() as db:
        query = "SELECT count(*) FROM meta"
        before = db.execute(query).fetchone()
        remember(database, "meanwhile")
        assert db.execute(query).fetchone() == before
    assert "meanwhile" in known(database)


def test_threads_that_write_lose_nothing(database: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: remember(database, f"k{number}"), range(200)))
    assert known(database) >= {f"k{number}" for number in range(200)}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts this process's open files")
def test_threads_that_come_and_go_leave_no_file_open(database: Database) -> None:
    known(database)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        thread = threading.Thread(target=known, args=(database,))
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before + 4


def test_closing_while_others_read_and_write_does_not_crash(tmp_path: Path) -> None:
    # In a process of its own: what it guards against ends the process.
    code = """
import sys, threading, time
from pathlib import Path
from memreader.errors import StoreClosedError
from memreader.stores.database import Database
for round_ in range(12):
    database = Database(Path(sys.argv[1]) / str(round_))
    endings = []
    def work():
        try:
            while True:
                with database.snapshot() as db:
                    db.execute("SELECT * FROM meta, sqlite_master").fetchall()
                with database.transaction() as db:
                    db.execute("INSERT OR REPLACE INTO meta VALUES ('k', 'v')")
        except StoreClosedError:
            endings.append("closed")
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads: thread.start()
    time.sleep(0.03)
    database.close()
    for thread in threads: thread.join()
    assert endings == ["closed"] * 6, endings
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr[-2000:]
