"""The folder of a store: private whatever the umask, on a disk of this machine, with no link that leads out of it."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest

from memreader.errors import NetworkFolderError, StoreCorruptError
from memreader.stores.connecting import use_wal
from memreader.stores.database import Database
from memreader.stores.folder import NETWORK, NETWORK_FUSE, Mount, is_network, mount_of, network_mount, prepare

posix = pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")

MOUNTINFO = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:40 / /home rw,relatime shared:1 master:2 - nfs4 server:/export/home rw,vers=4.2
41 40 0:41 / /home/ana/fast rw,relatime - xfs /dev/nvme0n1 rw
42 27 0:42 / /mnt/my\040share rw,relatime - cifs //server/share rw
43 27 0:43 / /mnt/ssh rw,relatime - fuse.sshfs ana@server: rw
44 27 0:44 / /mnt/pool rw,relatime - fuse.mergerfs pool rw
45 27 0:45 / /data rw,relatime - nfs server:/data rw
46 45 8:1 / /data rw,relatime - ext4 /dev/sda1 rw
47 27 0:47 / /home2 rw,relatime - ceph server:/ rw
broken line
48 27
"""


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_something(folder: Path) -> None:
    """Leave a store in `folder` open long enough that all of its files are there, and look at their modes."""
    database = Database(folder)
    with database.transaction() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('k', 'v')")
    with database.reading() as db:
        db.execute("SELECT * FROM meta").fetchall()
    assert {file.name for file in folder.iterdir()} == {"memory.db", "memory.db-wal", "memory.db-shm"}
    assert {file.name: mode(file) for file in folder.iterdir() if mode(file) != 0o600} == {}
    database.close()


@posix
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277])
def test_folder_and_files_are_the_owners_alone_whatever_the_umask(tmp_path: Path, umask: None, mask: int) -> None:
    os.umask(mask)
    write_something(tmp_path / "mem")
    assert mode(tmp_path / "mem") == 0o700


@posix
def test_files_that_others_could_read_are_closed_to_them_on_opening(tmp_path: Path, umask: None) -> None:
    write_something(tmp_path / "mem")
    (tmp_path / "mem" / "memory.db").chmod(0o664)
    write_something(tmp_path / "mem")


@posix
def test_a_folder_that_was_there_keeps_its_mode_and_is_named_in_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    with caplog.at_level(logging.WARNING, logger="memreader.stores"):
        write_something(folder)
    assert mode(folder) == 0o755
    assert [str(folder) in record.getMessage() for record in caplog.records] == [True]


@posix
def test_a_private_folder_gives_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        write_something(tmp_path / "mem")
        write_something(tmp_path / "mem")
    assert caplog.records == []


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "mem").write_text("a letter")
    for folder in (tmp_path / "mem", tmp_path / "mem" / "deeper"):
        with pytest.raises(NotADirectoryError, match="mem"):
            Database(folder)
    assert (tmp_path / "mem").read_text() == "a letter"


@posix
def test_a_folder_may_be_reached_by_a_link_even_one_that_leads_to_nothing_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    database = Database(tmp_path / "link")
    assert database.path == tmp_path.resolve() / "real" / "memory.db"
    # From now on the link is of no interest.
    (tmp_path / "link").unlink()
    with database.reading() as one, database.reading() as another:
        assert one.execute("SELECT count(*) FROM items").fetchone() == another.execute("SELECT 0").fetchone()
    database.close()


@posix
@pytest.mark.parametrize("name", ["memory.db", "memory.db-wal", "memory.db-shm", "memory.db-journal"])
def test_a_link_in_place_of_a_file_is_refused_and_what_it_leads_to_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / "mem").mkdir(mode=0o700)
    precious = tmp_path / "precious"
    precious.write_text("words of somebody else")
    precious.chmod(0o644)
    (tmp_path / "mem" / name).symlink_to(precious)
    with pytest.raises(StoreCorruptError, match=f"{name} is a link"):
        Database(tmp_path / "mem")
    assert (precious.read_text(), mode(precious)) == ("words of somebody else", 0o644)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    with pytest.raises(StoreCorruptError, match=r"memory\.db is a folder"):
        Database(tmp_path)


def test_a_relative_path_means_the_same_file_after_the_working_folder_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    database = Database(Path("mem"))
    with database.transaction() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('k', 'v')")
    monkeypatch.chdir(tmp_path / "b")
    with database.reading() as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'k'").fetchone() == ("v",)
    database.close()
    assert list((tmp_path / "b").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["with space", "100%", "a?b=c", "a#b", "ü-记忆", "quote'\"", "%41", "file:x", "semi;colon"]
)
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    if os.name == "nt" and set('?":') & set(name):
        pytest.skip("no such names on Windows")
    write_something(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/tmp/mem", Mount("/", "ext4")),
        ("/home", Mount("/home", "nfs4")),
        ("/home/ana/mem", Mount("/home", "nfs4")),
        ("/home/ana/fast/mem", Mount("/home/ana/fast", "xfs")),
        ("/home2/mem", Mount("/home2", "ceph")),
        ("/home3/mem", Mount("/", "ext4")),
        ("/mnt/my share/mem", Mount("/mnt/my share", "cifs")),
        ("/mnt/ssh/mem", Mount("/mnt/ssh", "fuse.sshfs")),
        ("/mnt/pool/mem", Mount("/mnt/pool", "fuse.mergerfs")),
        ("/data/mem", Mount("/data", "ext4")),
    ],
)
def test_a_path_is_on_the_mount_with_the_longest_name_that_leads_to_it_and_of_equals_the_last(
    path: str, expected: Mount
) -> None:
    assert mount_of(PurePosixPath(path), MOUNTINFO) == expected


def test_nothing_is_known_without_mounts() -> None:
    assert mount_of(PurePosixPath("/tmp"), "") is None


@pytest.mark.parametrize(
    "filesystem",
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "NFS", "fuse.sshfs"],
)
def test_a_network_file_system_is_known_by_its_type(filesystem: str) -> None:
    assert is_network(filesystem)


@pytest.mark.parametrize(
    "filesystem",
    ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "9p", "virtiofs", "fuseblk", "fuse", "fuse.nfsd", ""],
)
def test_a_file_system_of_this_machine_is_none(filesystem: str) -> None:
    assert not is_network(filesystem)


def test_no_type_is_listed_twice_over() -> None:
    assert not any(name.startswith("fuse") for name in NETWORK | NETWORK_FUSE)


@posix
def test_a_folder_on_a_network_is_refused_by_name_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "mem"
    mounts = f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / {tmp_path.resolve()} rw shared:5 - nfs4 server:/x rw\n"
    with pytest.raises(NetworkFolderError, match="nfs4") as caught:
        prepare(folder, mounts)
    error = caught.value
    assert (error.path, error.filesystem, error.mount_point) == (str(folder), "nfs4", str(tmp_path.resolve()))
    assert str(folder) in str(error)
    assert "local disk" in str(error)
    assert isinstance(error, OSError)
    assert not folder.exists()
    assert network_mount(folder, mounts.replace("nfs4", "xfs")) is None


@posix
def test_this_test_runs_on_no_network() -> None:
    assert network_mount(Path(__file__).resolve().parent) is None


@posix
def test_a_file_that_shares_no_memory_between_processes_is_refused(tmp_path: Path) -> None:
    # This way of locking has no shared memory, as a network has none.
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(f"{path.as_uri()}?vfs=unix-dotfile", uri=True, isolation_level=None)) as db:
        db.execute("CREATE TABLE t (x)")
        with pytest.raises(NetworkFolderError, match="without shared memory"):
            use_wal(db, path, timeout_s=1)
