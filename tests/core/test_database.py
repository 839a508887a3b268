"""The SQLite file: opened safely, one writer, as many readers as read at once, errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from memreader.errors import StoreBusyError, StoreClosedError, StoreCorruptError
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


def half_done(database: Database, error: BaseException, *, given_up: bool = False) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES ('half', '')")
        if given_up:
            db.execute("ROLLBACK")  # as SQLite does by itself when the disk is full
        raise error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()], ids=repr)
def test_an_error_takes_the_whole_transaction_back(
    database: Database, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.1)
    other = Database(database.path.parent)
    with pytest.raises(type(error)):
        half_done(database, error)
    remember(other, "another")  # at once: no lock was left behind
    other.close()
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
    with database.transaction():
        # Opening and reading wait for nobody.
        another = Database(tmp_path / "mem")
        assert known(another)
        another.close()
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


def setting(database: Database, name: str) -> list[object]:
    """Return what the pragma says on the writer, on two readers, and on those that are made when these are closed."""
    found = []
    for _ in range(2):
        with database.transaction() as db:
            found.append(db.execute(f"PRAGMA {name}").fetchone()[0])
        with database.reading() as one, database.reading() as two:
            found.extend(db.execute(f"PRAGMA {name}").fetchone()[0] for db in (one, two))
        database.before_fork(busy=False)
    return found


def test_every_connection_is_set_up_alike(database: Database) -> None:
    for name, value in {"foreign_keys": 1, "secure_delete": 1, "temp_store": 2, "journal_mode": "wal"}.items():
        assert setting(database, name) == [value] * 6


def test_durability_is_sqlites_normal_or_full_synchronous_and_may_be_raised_later(tmp_path: Path) -> None:
    normal, full = Database(tmp_path), Database(tmp_path, durability="power")
    assert setting(normal, "synchronous") == [1] * 6
    assert setting(full, "synchronous") == [2] * 6
    remember(normal, "a")
    normal.durability = "power"
    assert normal.durability == "power"
    with normal.transaction() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    for wrong in ("", "full", None):
        with pytest.raises(ValueError, match="'process' or 'power'"):
            Database(tmp_path / "never", durability=wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'process' or 'power'"):
            normal.durability = wrong  # type: ignore[assignment]
    assert not (tmp_path / "never").exists()
    normal.close()
    full.close()


def test_every_connection_knows_the_functions_that_are_registered(tmp_path: Path) -> None:
    database = Database(tmp_path, register=lambda db: db.create_function("twice", 1, lambda x: 2 * x))
    for _ in range(2):
        with database.transaction() as db:
            assert db.execute("SELECT twice(21)").fetchone() == (42,)
        with database.reading() as one, database.reading() as two:
            assert one.execute("SELECT twice(21)").fetchone() == two.execute("SELECT twice(21)").fetchone() == (42,)
        database.before_fork(busy=False)
    database.close()


def test_a_store_has_an_id_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    databases = [Database(tmp_path / name) for name in ("a", "b", "a")]
    ids = [database.store_id for database in databases]
    assert ids[0] == ids[2] != ids[1]
    assert all(len(store_id) == 32 for store_id in ids)
    with databases[0].reading() as db:
        assert db.execute("SELECT * FROM counters").fetchall() == [(1, 0, 0)]
    for database in databases:
        database.close()


def test_a_transaction_inside_another_is_a_part_of_it(database: Database, tmp_path: Path) -> None:
    other = Database(tmp_path / "mem")
    with database.transaction() as outer:
        remember(database, "a")
        with database.transaction() as inner:
            assert inner is outer
        remember(database, "b")
        assert known(other) & {"a", "b"} == set()
    assert known(other) >= {"a", "b"}
    other.close()


def nested(database: Database, *, caught: bool) -> None:
    with database.transaction():
        remember(database, "before")
        with suppress(LookupError) if caught else nullcontext(), database.transaction():
            remember(database, "inside")
            raise KeyError
        remember(database, "after")


def test_an_error_that_leaves_the_outermost_takes_everything_back(database: Database) -> None:
    with pytest.raises(KeyError):
        nested(database, caught=False)
    assert known(database) & {"before", "inside", "after"} == set()
    remember(database, "works")


def test_an_error_that_is_caught_inside_takes_nothing_back(database: Database) -> None:
    nested(database, caught=True)
    assert known(database) >= {"before", "inside", "after"}


def test_a_transaction_is_its_threads_own(database: Database) -> None:
    thread = threading.Thread(target=remember, args=(database, "other"))

    def fail() -> None:
        with database.transaction():
            thread.start()
            remember(database, "mine")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    thread.join()
    assert known(database) & {"other", "mine"} == {"other"}


def test_closing_inside_a_transaction_waits_for_its_end(database: Database, tmp_path: Path) -> None:
    with database.transaction():
        remember(database, "a")
        database.close()
        with pytest.raises(StoreClosedError), database.reading():
            pass
    with pytest.raises(StoreClosedError):
        remember(database, "b")
    again = Database(tmp_path / "mem")
    assert known(again) & {"a", "b"} == {"a"}
    again.close()


def test_a_reading_that_failed_reads_on_nowhere(database: Database) -> None:
    """A query left half read would keep the log from being emptied."""

    def fail() -> None:
        with database.reading() as db:
            db.execute("SELECT * FROM meta, sqlite_master").fetchone()
            db.execute("BEGIN")
            db.execute("SELECT * FROM meta").fetchall()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    remember(database, "a")
    assert database.purge(timeout_s=1) == ""


def test_faults_of_the_statement_are_not_dressed_up(database: Database) -> None:
    remember(database, "a")
    with pytest.raises(sqlite3.IntegrityError):
        remember(database, "a")
    with pytest.raises(sqlite3.OperationalError, match="no such table"), database.reading() as db:
        db.execute("SELECT * FROM absent")
    with pytest.raises(sqlite3.ProgrammingError), database.transaction() as db:
        db.execute("SELECT ?", ())


def test_another_database_of_the_same_file_takes_no_locks_off_it(tmp_path: Path) -> None:
    # Closing a file by another way than SQLite's takes off all locks; another process would then delete the log.
    database = Database(tmp_path)
    remember(database, "a")
    for _ in range(2):
        Database(tmp_path).close()
        code = (
            "import sys; from pathlib import Path; from memreader.stores.database import Database;"
            "Database(Path(sys.argv[1])).close()"
        )
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
        assert (tmp_path / "memory.db-wal").exists()
    remember(database, "b")
    database.close()
    again = Database(tmp_path)
    assert known(again) >= {"a", "b"}
    again.close()


INTERRUPTED = """
import gc, sys
from pathlib import Path
from memreader.stores import forking
from memreader.stores.database import Database

database = Database(Path(sys.argv[1]))
ours = str(Path(forking.__file__).parent)

class Interrupter:
    def __init__(self, at): self.left = at
    def __call__(self, frame, event, argument):
        # As Ctrl-C does: it comes where a function begins, at the earliest.
        name = frame.f_code.co_filename
        if event == "call" and (name.startswith(ours) or name.endswith("contextlib.py")):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

def work(key):
    with database.snapshot() as db, database.reading() as other:
        db.execute("SELECT * FROM meta").fetchall()
        other.execute("SELECT 1").fetchone()
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES (?, '')", (key,))
        with database.transaction():
            db.execute("INSERT INTO meta VALUES (?, '')", (key + " more",))
    database.purge(timeout_s=1)

at, kept = 0, 0
while True:
    at += 1
    sys.settrace(Interrupter(at))
    try:
        work(f"key {at}")
    except KeyboardInterrupt:
        interrupted = True
    else:
        interrupted = False
    finally:
        sys.settrace(None)
    gc.collect()
    assert forking._gate.inside == {}, (at, forking._gate.inside)
    # Whatever was left behind: the next write is kept, alone, and nothing stands in the way of a purge.
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES (?, '')", (f"next {at}",))
    other = Database(Path(sys.argv[1]))
    with other.reading() as db:
        keys = {key for (key,) in db.execute("SELECT key FROM meta WHERE key GLOB ?", (f"*{at}*",))}
        assert f"next {at}" in keys
        assert (f"key {at}" in keys) == (f"key {at} more" in keys)
    other.close()
    assert database.purge(timeout_s=1) == "", at
    if not interrupted:
        break
assert at > 30, at
database.close()
print("fine")
"""


def test_ctrl_c_at_the_begin_of_any_function_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr[-2000:]


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
