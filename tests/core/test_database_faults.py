"""What goes wrong with disks, rights and files: a clear error or the right answer, and then the store works again."""

from __future__ import annotations

import errno
import os
import pickle
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memreader.errors import (
    NetworkFolderError,
    StoreCorruptError,
    StoreError,
    StoreForkedError,
    StoreFullError,
    StoreIOError,
    StoreReadOnlyError,
)
from memreader.stores.database import Database

posix = pytest.mark.skipif(os.name == "nt", reason="limits and rights are POSIX")

PRELUDE = """
import errno, os, sys
from pathlib import Path
from memreader.errors import *
from memreader.stores.database import Database

folder = Path(sys.argv[1])

def write(database, key, size):
    with database.transaction() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, "w" * size))

def keys(database):
    with database.reading() as db:
        return {key for (key,) in db.execute("SELECT key FROM meta WHERE key GLOB '[a-z]'")}

def fails(kind, call, *words):
    try:
        call()
    except kind as error:
        assert type(error) is kind, repr(error)
        assert all(word in str(error) for word in (*words, str(folder))), str(error)
        return error
    raise AssertionError(f"no {kind.__name__}")
"""


def run(program: str, folder: Path, *, as_nobody: bool = False) -> None:
    """Run a program after the prelude; as another user, if this one may do all."""
    if as_nobody and os.getuid() == 0:
        warm = "import tempfile; Database(Path(tempfile.mkdtemp())).close()\n"  # imports what only root may read
        program = warm + "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" + program
    code = PRELUDE + program + "\nprint('fine')\n"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr[-3000:]


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=True)
    shutil.rmtree(folder)


@posix
def test_a_limit_on_file_size_is_a_full_store_and_when_it_is_raised_the_next_write_works(tmp_path: Path) -> None:
    run(
        """
import resource
database = Database(folder)
write(database, "a", 100)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
for _ in range(3):
    error = fails(StoreFullError, lambda: write(database, "b", 5_000_000), "Free some space", "large")
    assert error.errno == errno.ENOSPC and isinstance(error, OSError)
    assert keys(database) == {"a"}
write(database, "c", 10)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
write(database, "d", 5_000_000)
assert keys(database) == {"a", "c", "d"}
with database.snapshot() as db:
    db.execute("SELECT * FROM meta").fetchall()
    write(database, "d", 7_000_000)  # stays in the log
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
assert "free some space" in database.purge()
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert database.purge() == ""
database.close()
database = Database(folder)
assert keys(database) == {"a", "c", "d"}
""",
        tmp_path,
    )


@posix
def test_a_new_store_that_does_not_fit_says_so_and_can_be_made_later(tmp_path: Path) -> None:
    run(
        """
import resource
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
error = fails(StoreFullError, lambda: Database(folder))
assert str(error).count("Free some space") == 1
assert os.listdir(folder) == []
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
database = Database(folder)
write(database, "a", 100)
assert keys(database) == {"a"}
""",
        tmp_path,
    )


def test_a_database_that_may_not_grow_is_full_and_works_again_when_it_may(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.transaction() as db:
        db.execute("PRAGMA max_page_count = 1")  # the least that there are

    def write(size: int) -> None:
        with database.transaction() as db:
            db.execute("INSERT INTO meta VALUES ('a', 'kept?')")
            db.execute("INSERT INTO meta VALUES ('b', ?)", ("w" * size,))

    for _ in range(3):
        with pytest.raises(StoreFullError, match=r"memory\.db can't grow: .*full"):
            write(10**6)
    with database.transaction() as db:
        assert db.execute("SELECT count(*) FROM meta WHERE key IN ('a', 'b')").fetchone() == (0,)
        db.execute("PRAGMA max_page_count = 1000000")
    write(10**6)
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM meta WHERE key IN ('a', 'b')").fetchone() == (2,)
    database.close()


@posix
def test_a_folder_that_may_only_be_read_is_named_with_what_to_do(public: Path) -> None:
    folder = public / "mem"
    Database(folder).close()
    folder.chmod(0o555)
    (folder / "memory.db").chmod(0o444)
    run(
        """
error = fails(StoreReadOnlyError, lambda: Database(folder), "right to")
assert str(error).count("can't be used") == str(error).count("another folder") == 1
assert isinstance(error, PermissionError) and error.errno == errno.EACCES
assert os.listdir(folder) == ["memory.db"]
""",
        folder,
        as_nobody=True,
    )


@posix
def test_a_folder_in_which_none_may_be_made_is_named(public: Path) -> None:
    (public / "closed").mkdir(mode=0o555)
    run(
        "fails(StoreReadOnlyError, lambda: Database(folder), 'another folder')", public / "closed" / "m", as_nobody=True
    )
    (public / "closed").chmod(0o000)
    run(
        "fails(StoreReadOnlyError, lambda: Database(folder), 'another folder')", public / "closed" / "m", as_nobody=True
    )


@posix
def test_a_umask_that_takes_the_owners_rights_is_no_hindrance(public: Path) -> None:
    if os.getuid() == 0:
        os.chown(public, 65534, 65534)
    run("os.umask(0o277); database = Database(folder / 'm'); write(database, 'a', 1)", public, as_nobody=True)


@posix
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_file_without_rights_is_named(public: Path, mode: int) -> None:
    folder = public / "mem"
    Database(folder).close()
    folder.chmod(0o777)
    (folder / "memory.db").chmod(mode)
    if os.getuid() != 0:
        pytest.skip("the owner may give the rights back, and does")
    run(
        """
error = fails(StoreReadOnlyError, lambda: Database(folder), "memory.db")
assert str(error).count("can't be used") == str(error).count("another folder") == 1
""",
        folder,
        as_nobody=True,
    )


@posix
def test_rights_that_are_taken_away_later_are_an_error_then(public: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs two users")
    (public / "mem").mkdir()
    os.chown(public / "mem", 65534, 65534)
    run(
        """
database = Database(folder)
write(database, "a", 1)
database.before_fork(busy=False)  # so that connections are made anew
folder.chmod(0o500)
fails(StoreReadOnlyError, lambda: write(database, "b", 1), "folder")
folder.chmod(0o700)
database.path.chmod(0)
fails(StoreReadOnlyError, lambda: keys(database), "memory.db")
database.path.chmod(0o600)
folder.chmod(0)
fails(StoreReadOnlyError, lambda: keys(database))
folder.chmod(0o700)
write(database, "c", 1)
assert keys(database) == {"a", "c"}
""",
        public / "mem",
        as_nobody=True,
    )


@posix
def test_too_many_open_files_are_told_as_such_and_pass(tmp_path: Path) -> None:
    run(
        """
import resource
database = Database(folder)
write(database, "a", 1)
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))
taken = []
try:
    while True: taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError: pass
fails(StoreIOError, lambda: keys(database), "open files")
fails(StoreIOError, lambda: Database(folder / "other"), "open files")
for number in taken: os.close(number)
assert keys(database) == {"a"}
""",
        tmp_path,
    )


@posix
def test_a_store_that_is_killed_while_it_is_made_can_be_made_again(tmp_path: Path) -> None:
    code = PRELUDE + (
        "import signal\n"
        "left = int(sys.argv[2])\n"
        "def die(event, arguments):\n"
        "    global left\n"
        "    if event.startswith(('os.', 'open', 'sqlite3.')) and str(folder) in str(arguments):\n"
        "        left -= 1\n"
        "        if left == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(die)\n"
        "write(Database(folder), 'a', 1)"
    )
    killed = 0
    for left in range(1, 40):
        folder = tmp_path / str(left)
        done = subprocess.run([sys.executable, "-c", code, str(folder), str(left)], capture_output=True, timeout=60)
        assert done.returncode in (0, -9), done.stderr
        killed += done.returncode == -9
        Database(folder).close()
        if done.returncode == 0:
            break
    assert 4 < killed < 39


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    store_ids = []
    for _ in range(2):
        database = Database(tmp_path)
        store_ids.append(database.store_id)
        database.close()
    assert store_ids[0] == store_ids[1]
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


def filled(folder: Path) -> Path:
    """Make a store with items and close it."""
    database = Database(folder)
    with database.transaction() as db:
        for number in range(400):
            query = "INSERT INTO items (user_id, item_id, seq, status, visibility, memory, metadata) VALUES "
            db.execute(query + "('ana', ?, ?, '', '', ?, '{}')", (f"item {number}", number, f"words {number} " * 30))
            db.execute("INSERT INTO evidence VALUES (?, ?, x'', x'', x'')", (number + 1, b"v" * 1536))
    database.close()
    return database.path


def use(folder: Path) -> None:
    """Read everything and write."""
    database = Database(folder)
    try:
        with database.snapshot() as db:
            query = "SELECT * FROM items LEFT JOIN evidence ON item = items.id ORDER BY items.id"
            assert len(db.execute(query).fetchall()) == 400
            db.execute("SELECT seq FROM items INDEXED BY items_by_seq WHERE user_id = 'ana'").fetchall()
        with database.transaction() as db:
            db.execute("UPDATE items SET memory = memory || '.'")
            db.execute("DELETE FROM items")
    finally:
        database.close()


@pytest.mark.parametrize("size", [0, 1, 99, 100, 512, 4095, 4096, 4097, 40_000, 0.5, 0.9, -4096, -1])
def test_a_file_that_lost_its_end_is_refused_and_left_as_it_is(tmp_path: Path, size: float) -> None:
    path = filled(tmp_path)
    whole = path.read_bytes()
    length = int(len(whole) * size) if isinstance(size, float) else size % len(whole)
    path.write_bytes(whole[:length])
    with pytest.raises(StoreCorruptError, match="Restore a copy"):
        use(tmp_path)
    assert path.read_bytes() == whole[:length]


@pytest.mark.parametrize("seed", range(25))
def test_a_damaged_page_is_an_error_or_harmless_but_never_another_exception(tmp_path: Path, seed: int) -> None:
    path = filled(tmp_path)
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    page = chance.randrange(1, len(data) // 4096) * 4096
    # The head of a page, of its trees, is what SQLite looks at.
    start, length = (page, 40) if seed % 2 else (page + chance.randrange(4000), 96)
    data[start : start + length] = chance.randbytes(length)
    path.write_bytes(data)
    with suppress(StoreCorruptError):
        use(tmp_path)


def test_text_that_is_no_text_any_more_is_damage(tmp_path: Path) -> None:
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"words 7 words 7", b"words \xff words 7"))
    with pytest.raises(StoreCorruptError, match="decode"):
        use(tmp_path)


def leave_a_log(folder: Path) -> Path:
    """Make a store whose last write is in the log only, as after kill -9."""
    filled(folder / "a")
    database = Database(folder / "a")
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES ('last', 'words')")
    shutil.copytree(folder / "a", folder / "b")
    database.close()
    return folder / "b" / "memory.db"


def last(path: Path) -> list[tuple[str]]:
    database = Database(path.parent)
    with database.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = db.execute("SELECT value FROM meta WHERE key = 'last'").fetchall()
    database.close()
    use(path.parent)
    return found


def test_a_log_that_was_left_is_read(tmp_path: Path) -> None:
    assert last(leave_a_log(tmp_path)) == [("words",)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda log: b"",
        lambda log: b"noise" * 5000,
        lambda log: log[: len(log) // 2],
        lambda log: log[:20],
        lambda log: bytes(len(log)),
        lambda log: log[:40] + bytes(byte ^ 0x55 for byte in log[40:200]) + log[200:],
    ],
    ids=["empty", "noise", "half", "head", "zeros", "flipped"],
)
def test_a_damaged_log_costs_what_was_in_it_and_nothing_else(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = leave_a_log(tmp_path)
    log = path.with_name("memory.db-wal")
    log.write_bytes(damage(log.read_bytes()))
    assert last(path) == []


def test_the_log_of_another_store_is_not_taken_for_its_own(tmp_path: Path) -> None:
    path = leave_a_log(tmp_path / "one")
    other = leave_a_log(tmp_path / "two")
    shutil.copy(path.with_name("memory.db-wal"), other.with_name("memory.db-wal"))
    with closing(sqlite3.connect(other)) as db:
        before = db.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchall()
    database = Database(other.parent)
    assert [(database.store_id,)] == before
    database.close()


def test_shared_memory_that_was_left_is_not_trusted(tmp_path: Path) -> None:
    path = leave_a_log(tmp_path)
    path.with_name("memory.db-shm").write_bytes(random.Random(1).randbytes(32768))
    assert last(path) == [("words",)]


@posix
def test_a_file_that_was_moved_or_replaced_takes_no_more_writes(tmp_path: Path) -> None:
    folder = tmp_path / "mem"
    database = Database(folder)
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES ('a', '')")
    with database.reading():
        pass  # leaves a connection for the next to read
    folder.rename(tmp_path / "moved")
    for round_ in range(2):
        with pytest.raises(StoreIOError, match="moved, replaced or deleted"), database.transaction():
            pass
        with database.reading(), pytest.raises(StoreIOError, match="moved"), database.reading():
            pass  # the second needs a new connection
        if round_ == 0:
            Database(folder).close()
    database.close()
    with closing(sqlite3.connect(tmp_path / "moved" / "memory.db")) as db:
        assert db.execute("SELECT count(*) FROM meta WHERE key = 'a'").fetchone() == (1,)
    with closing(sqlite3.connect(folder / "memory.db")) as db:
        assert db.execute("SELECT count(*) FROM meta WHERE key = 'a'").fetchone() == (0,)


@posix
def test_a_folder_that_was_deleted_is_not_written_to(tmp_path: Path) -> None:
    database = Database(tmp_path / "mem")
    shutil.rmtree(tmp_path / "mem")
    for use_it in (database.transaction, database.purge):
        with pytest.raises(StoreIOError, match="deleted"):
            use_it() if use_it == database.purge else use_it().__enter__()  # type: ignore[union-attr]
    database.close()
    assert not (tmp_path / "mem").exists()


@posix
def test_a_file_that_was_deleted_is_not_made_anew(tmp_path: Path) -> None:
    database = Database(tmp_path)
    database.path.unlink()
    with pytest.raises(StoreIOError, match="deleted"), database.reading():
        pass
    assert not database.path.exists()
    database.close()


@pytest.mark.parametrize(
    ("error", "built_in", "number"),
    [
        (StoreFullError(path="p", detail="d"), OSError, errno.ENOSPC),
        (StoreReadOnlyError(path="p", detail="d"), PermissionError, errno.EACCES),
        (StoreIOError(path="p", detail="d"), OSError, errno.EIO),
        (NetworkFolderError(path="p", filesystem="nfs4", mount_point="/m"), OSError, errno.EOPNOTSUPP),
        (StoreForkedError(path="p"), RuntimeError, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_errors_have_a_built_in_base_their_number_and_path_and_cross_a_process_border(
    error: StoreError, built_in: type[Exception], number: int | None
) -> None:
    assert isinstance(error, StoreError)
    assert isinstance(error, built_in)
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert getattr(one, "errno", None) == number
        assert vars(one)["path"] == "p"
        assert str(one) == str(error)
        assert str(one).startswith("p ")
