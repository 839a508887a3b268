"""Forks: parent and child both go on with the store, whatever other threads do, and no acknowledged write is lost.

Each test's program runs in a process of its own, since what it guards against are hangs and damage.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from memreader.stores.database import Database

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

PRELUDE = """
import gc, os, signal, sys, threading, time
from pathlib import Path
from memreader.errors import *
from memreader.stores import forking
from memreader.stores.database import Database

folder = Path(sys.argv[1])
database = Database(folder)

def write(key, database=database):
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES (?, '')", (str(key),))

def count(pattern, database=database):
    with database.reading() as db:
        return db.execute("SELECT count(*) FROM meta WHERE key GLOB ?", (pattern,)).fetchone()[0]

def in_child(work, *, timeout=30, leave=os._exit):
    pid = os.fork()
    if pid == 0:
        signal.alarm(timeout)  # a hang ends the child, and the test with it
        code = 1
        try:
            work()
            code = 0
        finally:
            leave(code)
    return pid

def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def refuses(call, kind=StoreForkedError):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")
"""


def run(program: str, folder: Path, *, timeout: float = 60) -> None:
    """Run a program after the prelude; it ends by printing "fine"."""
    code = PRELUDE + program + "\nprint('fine')\n"
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr[-3000:]
    assert "Exception ignored" not in done.stderr, done.stderr[-3000:]


def test_what_a_child_writes_is_kept_even_if_the_parent_closes_first(tmp_path: Path) -> None:
    # A child that used what it inherited would hold no lock: the parent, closing, would take the log away under it.
    run(
        """
write("parent 1")
read, say = os.pipe()
def child():
    write("child 1")
    os.read(read, 1)
    for number in range(2, 30): write(f"child {number}")
pid = in_child(child)
write("parent 2")
while count("child *") == 0: time.sleep(0.005)
database.close()
os.write(say, b"x")
assert ended(pid) == 0
again = Database(folder)
assert (count("parent *", again), count("child *", again)) == (2, 29)
""",
        tmp_path,
    )


def test_eight_busy_threads_and_twenty_children_lose_nothing_and_nobody_hangs(tmp_path: Path) -> None:
    run(
        """
stop, acknowledged, problems = threading.Event(), [], []
def busy(name):
    number = 0
    while not stop.is_set():
        write(f"thread {name} {number}"); acknowledged.append(1); number += 1
        assert count(f"thread {name} *") == number
        with database.snapshot() as db:
            query = "SELECT count(*) FROM meta"
            assert db.execute(query).fetchone() == db.execute(query).fetchone()
told = threading.excepthook
threading.excepthook = lambda died: (problems.append(died.exc_value), told(died))
threads = [threading.Thread(target=busy, args=(name,)) for name in range(8)]
for thread in threads: thread.start()
pids, waits = [], []
for child in range(20):
    def work():
        for number in range(20):
            write(f"child {child} {number}")
            assert count(f"child {child} *") == number + 1
    start = time.monotonic(); pids.append(in_child(work)); waits.append(time.monotonic() - start)
assert [ended(pid) for pid in pids] == [0] * 20
stop.set()
for thread in threads: thread.join(30)
assert not problems and not any(thread.is_alive() for thread in threads)
assert count("child *") == 400
assert count("thread *") == len(acknowledged) > 0
assert max(waits) < forking.WAIT_S, waits
with database.reading() as db: assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
""",
        tmp_path,
        timeout=180,
    )


def test_threads_that_fork_at_once_and_children_that_fork_again(tmp_path: Path) -> None:
    run(
        """
def grandchild(name):
    write(f"grandchild {name}")
def child(name):
    write(f"child {name}")
    assert ended(in_child(lambda: grandchild(name))) == 0
    write(f"child again {name}")
codes = []
def fork_one(name):
    codes.append(ended(in_child(lambda: child(name))))
threads = [threading.Thread(target=fork_one, args=(name,)) for name in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
assert codes == [0] * 6, codes
assert (count("child [0-9]"), count("grandchild *"), count("child again *")) == (6, 6, 6)
""",
        tmp_path,
    )


def test_a_child_forked_in_a_reading_refuses_the_store_and_the_parent_goes_on(tmp_path: Path) -> None:
    run(
        """
write("before")
def child():
    refuses(lambda: count("*"))
    refuses(lambda: write("child"))
    refuses(lambda: Database(folder))
    assert ended(in_child(lambda: refuses(lambda: count("*")))) == 0
with database.snapshot() as db:
    assert db.execute("SELECT count(*) FROM meta WHERE key = 'before'").fetchone() == (1,)
    pid = in_child(child)
    write("meanwhile")
    assert db.execute("SELECT count(*) FROM meta WHERE key = 'meanwhile'").fetchone() == (0,)
assert ended(pid) == 0
write("after")
assert count("[bma]e*") >= 2 and ended(in_child(lambda: write("later child"))) == 0
assert count("later child") == 1
""",
        tmp_path,
    )


def test_a_child_forked_in_a_transaction_can_neither_commit_it_nor_hurt_it(tmp_path: Path) -> None:
    # 20 MB: a part of it is in the log already, where a child that rolled back would take it away from the parent.
    run(
        """
import sqlite3
write("before")
def child():
    refuses(lambda: db.execute("INSERT INTO meta VALUES ('by child', '')"), sqlite3.DatabaseError)
    refuses(lambda: db.execute("COMMIT"), sqlite3.DatabaseError)
    refuses(lambda: count("*"))
with database.transaction() as db:
    for number in range(5000): db.execute("INSERT INTO meta VALUES (?, ?)", (f"row {number:05}", "x" * 4000))
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        child()
        sys.exit(7)  # out of the block, and with all of Python's tidying up
    assert ended(pid) == 7
    for number in range(5000, 6000): db.execute("INSERT INTO meta VALUES (?, ?)", (f"row {number:05}", "x" * 4000))
assert count("row *") == 6000 and count("by child") == 0
with database.reading() as db: assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
""",
        tmp_path,
    )


def test_a_child_that_reaches_the_end_of_its_parents_transaction_gets_an_error(tmp_path: Path) -> None:
    run(
        """
try:
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES ('row', '')")
        pid = os.fork()
        if pid == 0: signal.alarm(30)
except StoreForkedError as error:
    assert pid == 0 and "spawn" in str(error)
    os._exit(5)
assert ended(pid) == 5
assert count("row") == 1
""",
        tmp_path,
    )


def test_a_fork_waits_only_so_long_for_other_threads_and_the_child_then_refuses_the_store(tmp_path: Path) -> None:
    run(
        """
forking.WAIT_S = 0.5
reading, done = threading.Event(), threading.Event()
other = Database(folder.with_name("other"))
def read_on():
    with database.snapshot() as db:
        db.execute("SELECT * FROM meta").fetchall()
        reading.set(); done.wait(30)
thread = threading.Thread(target=read_on); thread.start(); reading.wait()
def child():
    refuses(lambda: count("*"))
    refuses(lambda: Database(folder))
    write("x", other)  # which nobody was using
    gc.collect()
start = time.monotonic()
pid = in_child(child)
assert 0.4 < time.monotonic() - start < 5
write("meanwhile")
assert ended(pid) == 0
done.set(); thread.join()
assert count("meanwhile") == 1 and count("x", other) == 1
assert ended(in_child(lambda: write("later"))) == 0 and count("later") == 1
""",
        tmp_path / "mem",
    )


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs a list of this process's open files")
@pytest.mark.parametrize(
    "holder",
    [
        "with database.reading() as db: kept = db.execute('SELECT * FROM meta, sqlite_master'); kept.fetchone()",
        "import sqlite3; kept = sqlite3.connect(database.path); kept.execute('SELECT * FROM meta').fetchall()",
        "kept = Database(folder).snapshot(); kept.__enter__()",
    ],
    ids=["a cursor", "a connection of somebody else", "another object"],
)
def test_whatever_keeps_the_file_open_in_the_parent_makes_the_child_refuse_it(tmp_path: Path, holder: str) -> None:
    run(
        f"""
write("before")
{holder}
def child():
    refuses(lambda: write("child"))
    refuses(lambda: Database(folder))
assert ended(in_child(child)) == 0
write("parent")
if hasattr(kept, "__exit__"): kept.__exit__(None, None, None)
del kept
gc.collect()
assert ended(in_child(lambda: write("later child"))) == 0
assert count("later child") == count("parent") == 1
""",
        tmp_path,
    )


def test_two_objects_of_one_file_are_both_fine_in_a_child(tmp_path: Path) -> None:
    run(
        """
other = Database(folder)
write("a"); write("b", other)
assert database.purge() == other.purge() == ""
def child():
    write("child"); write("other child", other)
    assert database.purge() == ""
for _ in range(3):
    assert ended(in_child(child if count("child") == 0 else lambda: count("*", other))) == 0
assert count("*child", other) == 2
other.close()
assert ended(in_child(lambda: write("last"))) == 0 and count("last") == 1
""",
        tmp_path,
    )


def test_a_thread_that_waits_for_another_process_holds_no_fork_up(tmp_path: Path) -> None:
    run(
        """
import sqlite3, subprocess
code = (
    "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute('BEGIN IMMEDIATE');"
    "print(); sys.stdin.read(); db.execute('ROLLBACK')"
)
holder = subprocess.Popen([sys.executable, "-c", code, str(database.path)], stdin=-1, stdout=-1)
holder.stdout.readline()
thread = threading.Thread(target=write, args=("waited",)); thread.start()
time.sleep(0.3)
start = time.monotonic()
pid = in_child(lambda: count("*"))
assert time.monotonic() - start < 2
assert ended(pid) == 0
assert thread.is_alive()
holder.communicate()
thread.join(30)
assert count("waited") == 1
""",
        tmp_path,
    )


def test_every_kind_of_process_can_open_the_folder_and_only_a_forked_one_can_use_the_object(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        """
import multiprocessing, sys
from pathlib import Path
from memreader.stores.database import Database

def write(target, key):
    database = Database(Path(target)) if isinstance(target, str) else target
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES (?, '')", (key,))

if __name__ == "__main__":
    folder = sys.argv[1]
    database = Database(Path(folder))
    for kind in ("fork", "forkserver", "spawn"):
        context = multiprocessing.get_context(kind)
        targets = [folder, database] if kind == "fork" else [folder]
        for number, target in enumerate(targets):
            process = context.Process(target=write, args=(target, f"{kind} {number}"))
            process.start()
            process.join(60)
            assert process.exitcode == 0, (kind, process.exitcode)
        if kind != "fork":
            try:
                context.Process(target=write, args=(database, "no")).start()
            except TypeError as error:
                assert "open it there" in str(error), error
            else:
                raise AssertionError("was pickled")
    with database.reading() as db:
        keys = {key for (key,) in db.execute("SELECT key FROM meta WHERE key GLOB '*[01]'")}
    assert keys >= {"fork 0", "fork 1", "forkserver 0", "spawn 0"}, keys
    print("fine")
""",
        encoding="utf-8",
    )
    command = [sys.executable, str(program), str(tmp_path / "mem")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr[-3000:]


def test_an_open_database_is_not_pickled_or_copied(tmp_path: Path) -> None:
    database = Database(tmp_path)
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="give the other process the folder"):
            act(database)
    database.close()


def test_the_owner_is_told_in_the_child_only_and_only_while_it_lives(tmp_path: Path) -> None:
    run(
        """
class Owner:
    def __init__(self, name): self.name, self.told = name, 0
    def forget(self):
        self.told += 1
        write(f"{self.name} told in {os.getpid()}")
kept, dropped = Owner("kept"), Owner("dropped")
database.on_fork(kept.forget)
database.on_fork(dropped.forget)
del dropped
def grandchild():
    assert kept.told == 2
def child():
    assert kept.told == 1
    assert ended(in_child(grandchild)) == 0
pid = in_child(child)
assert ended(pid) == 0
assert kept.told == 0
assert (count(f"kept told in {pid}"), count("kept *"), count("dropped *")) == (1, 2, 0)
""",
        tmp_path,
    )


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists this process's open files")
def test_a_child_inherits_no_open_file_of_the_store(tmp_path: Path) -> None:
    # A daemon closes all files that it knows nothing of; others get their numbers.
    run(
        """
def files():
    links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return [os.readlink(link) for link in links if link.is_symlink() and "memory.db" in os.readlink(link)]
def some_use():
    with database.reading(), database.reading(): count("*")
    write(os.urandom(9).hex())
    assert database.purge() == ""
some_use()
assert len(files()) >= 4
def child():
    assert files() == []
    some_use()
assert ended(in_child(child)) == 0
some_use()
""",
        tmp_path,
    )


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists this process's open files")
def test_a_child_that_may_not_use_the_store_closes_none_of_its_parents_files(tmp_path: Path) -> None:
    run(
        """
assert database.purge() == ""
def child():
    before = os.listdir("/proc/self/fd")
    database.close()
    assert os.listdir("/proc/self/fd") == before
with database.transaction():
    pid = in_child(child)
assert ended(pid) == 0
""",
        tmp_path,
    )


def test_an_interrupt_at_any_moment_leaves_no_thread_inside_and_no_transaction_open(tmp_path: Path) -> None:
    run(
        """
def interrupt(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
hits = 0
for round_ in range(1500):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0000005 * (round_ % 400) + 0.000001)
        while True:
            with database.reading() as db: db.execute("SELECT 1").fetchone()
            write(f"k {round_} {time.perf_counter_ns()}")
    except KeyboardInterrupt:
        hits += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
assert hits == 1500
# Interrupted in the last moment of a reading, this name may be all that keeps its connection open.
db = None
gc.collect()
assert forking._gate.inside == {}, forking._gate.inside
write("still works")
assert ended(in_child(lambda: write("child works"))) == 0
assert count("* works") == 2
""",
        tmp_path,
    )


def test_a_closed_database_and_one_that_is_gone_are_no_bother_to_a_fork(tmp_path: Path) -> None:
    run(
        """
others = [Database(folder.with_name(f"other {number}")) for number in range(5)]
others[0].close()
del others[1]
gc.collect()
def child():
    refuses(lambda: write("x", others[0]), StoreClosedError)
    write("x", others[1])
    others[2].close()
assert ended(in_child(child)) == 0
write("y", others[2])
assert count("x", others[1]) == 1
""",
        tmp_path / "mem",
    )
