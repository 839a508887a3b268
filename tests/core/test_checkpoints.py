"""Checkpoints of indexes: the right answer or none at all, whatever became of the file, and nothing deleted in any."""

from __future__ import annotations

import errno
import json
import logging
import os
import random
import re
import resource
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from fake_items import PLAIN, FakeItems, Held, unit
from memreader.stores.checkpoint_format import read_header
from memreader.stores.checkpoints import Checkpoints, Header
from memreader.stores.user_index import UserIndex

DIMENSION = 8
USER = "ana of the secret garden"
SUPPORT = Path(__file__).parents[1] / "support"


def checkpoints(
    folder: Path, store_id: str = "store", *, embedder: str = "e 1", dimension: int = DIMENSION
) -> Checkpoints:
    return Checkpoints(folder, store_id, dimension=dimension, embedder=embedder, more_than=10)


def index_of(items: FakeItems, user_id: str = USER) -> UserIndex:
    index = UserIndex(user_id, items.dimension)
    index.catch_up(items.changes)
    return index


def save(kept: Checkpoints, index: UserIndex, items: FakeItems, *, epoch: int = 3) -> bool:
    return kept.save(index, epoch=epoch, changes=items.changes, current=lambda: items.last_deletion)


def load(kept: Checkpoints, items: FakeItems, user_id: str = USER, *, epoch: int = 3) -> UserIndex | None:
    return kept.load(user_id, epoch=epoch, seq_now=items.seq)


def answer(index: UserIndex) -> dict[int, tuple[float, ...]]:
    found = index.search(unit(5, DIMENSION), {1: 1.0, 102: 0.3}, session_id=None, agent_id=None, isolate=False)
    numbers = zip(found.keys.tolist(), found.lexical, found.coverage, found.similarity, strict=True)
    return {key: tuple(np.round(rest, 5).tolist()) for key, *rest in numbers}


def names(folder: Path) -> list[str]:
    return sorted(path.suffix or path.name for path in (folder / "indexes").iterdir())


@pytest.fixture
def items() -> FakeItems:
    items = FakeItems(DIMENSION)
    items.fill(40)
    items.delete(3, 4)
    items.put(Held(unit(41, DIMENSION), {1: 2}, ("a session", "an agent", "session", "archived", "file")), 7)
    return items


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    return checkpoints(tmp_path)


@pytest.fixture
def file(kept: Checkpoints, items: FakeItems) -> Path:
    assert save(kept, index_of(items), items)
    return kept.path(USER)


def test_what_was_saved_is_loaded_by_another_object(tmp_path: Path, items: FakeItems, file: Path) -> None:
    index = load(checkpoints(tmp_path), items)
    assert index is not None
    assert (index.user_id, index.seq, len(index)) == (USER, items.seq, 38)
    assert answer(index) == answer(index_of(items))


def test_a_stale_one_catches_up(kept: Checkpoints, items: FakeItems, file: Path) -> None:
    items.fill(20)
    items.delete(1, 2, 45)
    items.put(Held(unit(1, DIMENSION), {1: 5}), 9)
    index = load(kept, items)
    assert index is not None
    assert index.seq < items.seq
    index.catch_up(items.changes)
    assert answer(index) == answer(index_of(items))


def test_it_is_named_by_a_hash_and_open_to_the_owner_only(tmp_path: Path, kept: Checkpoints, items: FakeItems) -> None:
    (tmp_path / "indexes").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        assert save(kept, index_of(items), items)
    finally:
        os.umask(before)
    assert names(tmp_path) == [".ckpt", "lock"]
    assert re.fullmatch("[0-9a-f]{32}", kept.path(USER).stem)
    assert stat.S_IMODE((tmp_path / "indexes").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "indexes").iterdir()} == {0o600}
    assert kept.path(USER) != kept.path("ben")
    assert kept.path(USER) != checkpoints(tmp_path, "other").path(USER)
    assert USER.encode() not in kept.path(USER).read_bytes()


def test_a_small_one_is_not_saved_and_one_that_became_small_is_removed(kept: Checkpoints, items: FakeItems) -> None:
    small = FakeItems(DIMENSION)
    small.fill(10)
    assert not save(kept, index_of(small), small)
    assert not kept.folder.exists()
    index = index_of(items)
    assert save(kept, index, items)
    items.delete(*list(items.held)[:28])
    assert not save(kept, index, items)
    assert not kept.path(USER).exists()
    small.fill(1)
    assert save(kept, index_of(small), small)


def test_one_that_hardly_changed_is_left_alone(tmp_path: Path, items: FakeItems) -> None:
    items.fill(160)
    kept, index = checkpoints(tmp_path), index_of(items)
    assert save(kept, index, items)

    def is_rewritten(index: UserIndex) -> bool:
        before = kept.path(USER).stat().st_ino if kept.path(USER).exists() else None
        os.link(kept.path(USER), tmp_path / f"{time.monotonic_ns()}") if before else None
        assert save(kept, index, items)
        return kept.path(USER).stat().st_ino != before

    assert not is_rewritten(index)
    items.fill(5)
    assert not is_rewritten(index)
    items.fill(10)
    assert is_rewritten(index)
    items.delete(9)
    assert is_rewritten(index)
    loaded = load(kept, items)
    assert loaded is not None
    assert not is_rewritten(loaded)
    items.put(Held(unit(1, DIMENSION), {}), 20)
    assert is_rewritten(loaded)
    kept.path(USER).unlink()
    assert is_rewritten(loaded)
    items.fill(1)
    assert save(checkpoints(tmp_path), index_of(items), items)
    assert is_rewritten(loaded)


def test_a_damaged_one_is_written_again(kept: Checkpoints, items: FakeItems, file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-40] + b"x" + whole[-39:])
    assert load(kept, items) is None
    assert save(kept, index_of(items), items)
    assert load(kept, items) is not None
    assert len(file.read_bytes()) == len(whole)


def test_one_cut_off_anywhere_is_none(kept: Checkpoints, items: FakeItems, file: Path) -> None:
    whole = file.read_bytes()
    for size in [*range(700), *range(700, len(whole), 13), len(whole) - 1]:
        file.write_bytes(whole[:size])
        assert load(kept, items) is None, size
    file.write_bytes(whole + b"\0")
    assert load(kept, items) is None
    file.write_bytes(whole)
    assert load(kept, items) is not None


def test_one_with_a_wrong_byte_anywhere_is_none(kept: Checkpoints, items: FakeItems, file: Path) -> None:
    whole = file.read_bytes()
    for at in [*range(700), *range(700, len(whole), 11), *range(len(whole) - 40, len(whole))]:
        file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        assert load(kept, items) is None, at
    block = random.Random(0).randbytes(512)
    for at in range(0, len(whole), 512):
        for torn in (block, bytes(512)):
            file.write_bytes((whole[:at] + torn + whole[at + 512 :])[: len(whole)])
            assert load(kept, items) is None, at


def test_one_of_another_store_user_embedder_or_time_is_none(
    tmp_path: Path, kept: Checkpoints, items: FakeItems, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    whole = file.read_bytes()
    other_store, other_embedder = checkpoints(tmp_path, "other"), checkpoints(tmp_path, embedder="e 2")
    other_store.path(USER).write_bytes(whole)
    assert load(other_store, items) is None
    kept.path("ben").write_bytes(whole)
    assert load(kept, items, "ben") is None
    assert load(other_embedder, items) is None
    assert load(checkpoints(tmp_path, dimension=9), items) is None
    assert load(kept, items, epoch=2) is load(kept, items, epoch=4) is None
    assert kept.load(USER, epoch=3, seq_now=items.seq - 1) is None
    reasons = [re.sub(".*not used: ", "", record.getMessage()) for record in caplog.records]
    assert reasons == [
        "it is of another store",
        "it is of another user",
        "it is of another embedder",
        "it is of another embedder",
        "the store was reindexed",
        "the store was reindexed",
        "it is newer than the store",
    ]
    assert load(kept, items) is not None


def test_one_that_the_database_does_not_know_of_is_none(kept: Checkpoints, items: FakeItems) -> None:
    tokens: list[str] = []
    for _ in range(2):
        index = index_of(items)
        assert kept.save(
            index,
            epoch=3,
            changes=items.changes,
            current=lambda: items.last_deletion,
            remember=tokens.append,
        )
    assert tokens[0] != tokens[1]
    loaded = [kept.load(USER, epoch=3, seq_now=items.seq, token=token) for token in ("", *tokens, None)]
    assert [index is not None for index in loaded] == [False, False, True, True]


@pytest.mark.parametrize("version", [0, 1, 2, 2**32 - 1])
def test_one_of_another_format_is_none(kept: Checkpoints, items: FakeItems, file: Path, version: int) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:8] + struct.pack("<I", version) + whole[12:])
    assert load(kept, items) is None


def forged(values: object, body: bytes = b"") -> bytes:
    """A file whose header and digest are right as far as they go."""
    text = values if isinstance(values, bytes) else json.dumps(values).encode()
    whole = struct.pack("<8sIII", b"MRINDEX\n", 3, len(text), zlib.crc32(text)) + text + body
    return whole + blake2b(whole, digest_size=32).digest()


def header_values(file: Path) -> dict[str, object]:
    data = file.read_bytes()
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size])


def test_a_hostile_header_costs_no_memory_and_is_none(
    kept: Checkpoints, items: FakeItems, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    good, whole = header_values(file), file.read_bytes()
    body = whole[20 + len(json.dumps(good)) : -32]
    arrays = good["arrays"]
    assert forged(good, body) == whole

    def sized(sizes: dict[str, list[object]]) -> dict[str, object]:
        return good | {"arrays": [[name, kind, sizes.get(name, shape)] for name, kind, shape in arrays]}

    hostile = (
        sized({"vectors": [2**40, DIMENSION]}),
        sized({"terms": [2**62], "counts": [2**62]}),
        sized({"terms": [2**63]}),
        sized({"keys": [-1]}),
        sized({"keys": [38.0]}),
        sized({"keys": ["38"]}),
        sized({"keys": [-1], "names": [len(body)]}),
        sized({"keys": []}),
        sized({"keys": [38, 1]}),
        sized({"vectors": [38]}),
        sized({"vectors": [38 * DIMENSION, 1]}),
        sized({"keys": 38}),
        good | {"arrays": arrays[:-1]},
        good | {"arrays": arrays[::-1]},
        good | {"arrays": [*arrays, ["more", "|u1", [0]]]},
        good | {"arrays": [[name, "|O" if name == "keys" else kind, shape] for name, kind, shape in arrays]},
        good | {"arrays": [[name, "<f4" if kind == "<i4" else kind, shape] for name, kind, shape in arrays]},
        good | {"arrays": None},
        good | {"seq": "1"},
        good | {"seq": -1},
        good | {"epoch": 3.0},
        good | {"store_id": ["store"]},
        good | {"embedder": None},
        good | {"user": "zz"},
        good | {"user": 5},
        {key: value for key, value in good.items() if key != "seq"},
        [good],
        None,
        b"[" * 500_000,
        b"\xff\xfe",
        b"1" * 10_000,
        b'{"seq": NaN}',
        b"",
    )
    for values in hostile:
        file.write_bytes(forged(values, body))
        assert load(kept, items) is None, values
    assert len(caplog.records) == len(hostile)
    file.write_bytes(whole[:12] + struct.pack("<I", 2**32 - 1) + whole[16:])
    assert load(kept, items) is None
    file.write_bytes(whole)
    os.truncate(file, 2**40)
    assert load(kept, items) is None


def test_arrays_that_don_t_belong_together_are_none_though_the_digest_is_right(
    kept: Checkpoints, items: FakeItems, file: Path
) -> None:
    values, whole = header_values(file), file.read_bytes()
    body = whole[20 + len(json.dumps(values)) : -32]
    file.write_bytes(forged(values, body[:8] + body[:8] + body[16:]))
    assert load(kept, items) is None


def test_what_is_no_plain_file_is_none_and_stays(
    tmp_path: Path, kept: Checkpoints, items: FakeItems, file: Path
) -> None:
    whole = file.rename(tmp_path / "elsewhere")
    file.mkdir()
    assert load(kept, items) is None
    assert not save(kept, index_of(items), items)
    assert kept.remove_all()
    assert file.is_dir()
    file.rmdir()
    file.symlink_to(whole)
    assert load(kept, items) is None
    file.unlink()
    os.mkfifo(file)
    assert load(kept, items) is None
    file.unlink()
    file.symlink_to(file)
    assert load(kept, items) is None
    assert kept.remove(USER)
    assert names(tmp_path) == ["lock"]
    assert whole.exists()


@contextmanager
def without_power(folder: Path) -> Iterator[None]:
    """Be somebody who is held back by permissions, and own the folder."""
    if os.geteuid():
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, -1)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder below others that everybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_without_permission_there_is_none_and_a_purge_says_so(
    open_folder: Path, items: FakeItems, caplog: pytest.LogCaptureFixture
) -> None:
    kept = checkpoints(open_folder)
    assert save(kept, index_of(items), items)
    file = kept.path(USER)
    with without_power(open_folder):
        file.chmod(0)
        assert load(kept, items) is None
        kept.folder.chmod(0o500)
        assert not kept.remove_all()
        assert not kept.remove_stale(lambda header: True, timeout_s=0)
        items.fill(9)
        index = index_of(items)
        assert not save(kept, index, items)
        kept.folder.chmod(0)
        assert load(kept, items) is None
        assert not save(kept, index, items)
        assert not kept.remove_all()
        kept.folder.chmod(0o700)
        assert file.exists()
        assert save(kept, index, items)
        assert load(kept, items) is not None
        open_folder.chmod(0o500)
        assert kept.remove_all()
        kept.folder.chmod(0o700)
        open_folder.chmod(0o700)
    assert "secret" not in caplog.text
    assert {record.levelname for record in caplog.records} == {"WARNING"}


def test_a_file_where_the_folder_should_be_is_left_alone(tmp_path: Path, kept: Checkpoints, items: FakeItems) -> None:
    (tmp_path / "indexes").write_text("mine")
    assert not save(kept, index_of(items), items)
    assert load(kept, items) is None
    assert kept.remove_all()
    assert (tmp_path / "indexes").read_text() == "mine"


def test_a_full_disk_leaves_the_old_one_and_no_rest(
    tmp_path: Path, kept: Checkpoints, items: FakeItems, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = file.read_bytes()
    items.fill(100)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole), hard))
    try:
        assert not save(kept, index_of(items), items)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.strerror(errno.EFBIG) in caplog.text
    assert file.read_bytes() == whole
    assert names(tmp_path) == [".ckpt", "lock"]
    index = load(kept, items)
    assert index is not None
    index.catch_up(items.changes)
    assert answer(index) == answer(index_of(items))


def test_an_error_of_the_store_passes_and_leaves_no_rest(
    tmp_path: Path, kept: Checkpoints, items: FakeItems, file: Path
) -> None:
    def fail(*after: int) -> int:
        raise RuntimeError("the store is closed")

    items.delete(20)
    index = index_of(items)
    with pytest.raises(RuntimeError):
        kept.save(index, epoch=3, changes=items.changes, current=fail)
    with pytest.raises(RuntimeError):
        kept.save(index, epoch=3, changes=fail, current=lambda: 0)
    assert names(tmp_path) == [".ckpt", "lock"]
    assert save(kept, index, items)


def test_what_a_killed_writer_left_is_removed(tmp_path: Path, kept: Checkpoints, items: FakeItems, file: Path) -> None:
    for remove in (
        lambda: kept.remove("nobody"),
        lambda: kept.remove_stale(lambda header: True, timeout_s=0),
        lambda: save(kept, index_of(items), items),
    ):
        (tmp_path / "indexes" / "0123.abcd.tmp").write_bytes(b"half")
        assert remove()
        assert names(tmp_path) == [".ckpt", "lock"]


def test_removal_takes_what_it_should(tmp_path: Path, kept: Checkpoints, items: FakeItems, file: Path) -> None:
    assert save(kept, index_of(items, "ben"), items)
    (tmp_path / "indexes" / "readme.txt").write_text("mine")
    assert kept.remove("nobody")
    assert kept.remove(USER)
    assert not file.exists()
    assert load(kept, items, "ben") is not None
    assert save(kept, index_of(items), items)
    assert kept.remove_all()
    assert names(tmp_path) == [".txt", "lock"]
    assert checkpoints(tmp_path / "nowhere").remove_all()
    assert not (tmp_path / "nowhere").exists()


def test_stale_and_unreadable_ones_are_removed_fresh_ones_stay(
    tmp_path: Path, kept: Checkpoints, items: FakeItems
) -> None:
    seen: list[Header] = []

    def rule(header: Header) -> bool:
        seen.append(header)
        return header.seq >= 50

    old = items.seq
    assert save(kept, index_of(items, "old"), items)
    items.fill(20)
    assert save(kept, index_of(items, "new"), items)
    (tmp_path / "indexes" / "damaged.ckpt").write_bytes(kept.path("new").read_bytes()[:100])
    (tmp_path / "indexes" / "another-format.ckpt").write_bytes(b"MRINDEX\n\1" + kept.path("new").read_bytes()[9:])
    assert kept.remove_stale(rule, timeout_s=0)
    assert {path.name for path in kept.folder.glob("*.ckpt")} == {kept.path("new").name}
    assert sorted(header.seq for header in seen) == [old, items.seq]
    assert {(header.store_id, header.epoch, header.dimension, header.embedder) for header in seen} == {
        ("store", 3, DIMENSION, "e 1")
    }
    assert {header.user.hex()[:32] for header in seen} == {kept.path(user).stem for user in ("old", "new")}


def test_what_is_deleted_during_the_writing_is_not_written(tmp_path: Path, kept: Checkpoints, items: FakeItems) -> None:
    vector = items.held[20][1].vector.tobytes()
    index = index_of(items)

    def current() -> int:
        assert any(vector in path.read_bytes() for path in kept.folder.glob("*.tmp"))
        items.delete(20)
        return items.last_deletion

    assert not kept.save(index, epoch=3, changes=items.changes, current=current)
    assert names(tmp_path) == ["lock"]
    assert save(kept, index, items)
    assert vector not in kept.path(USER).read_bytes()


def test_nobody_can_purge_between_the_catching_up_and_the_end(
    tmp_path: Path, kept: Checkpoints, items: FakeItems
) -> None:
    purger, looks = checkpoints(tmp_path), []

    def meanwhile(answer: Callable[..., object]) -> Callable[..., object]:
        def asked(*arguments: int) -> object:
            looks.append(purger.remove_stale(lambda header: False, timeout_s=0))
            return answer(*arguments)

        return asked

    assert kept.save(
        index_of(items), epoch=3, changes=meanwhile(items.changes), current=meanwhile(lambda: items.last_deletion)
    )
    assert looks == [False, False]
    assert purger.remove_stale(lambda header: False, timeout_s=0)


def test_an_old_index_is_brought_up_to_date_before_it_is_written(kept: Checkpoints, items: FakeItems) -> None:
    vector = items.held[20][1].vector.tobytes()
    index = index_of(items)
    items.delete(20)
    assert save(kept, index, items)
    assert index.seq == items.seq
    assert vector not in kept.path(USER).read_bytes()


def test_dead_rows_and_labels_of_the_dead_are_in_no_file(kept: Checkpoints, items: FakeItems) -> None:
    doomed = Held(unit(99, DIMENSION), {424242: 1}, ("the doomed session", None, *PLAIN[2:]))
    key = items.put(doomed)
    index = index_of(items)
    items.delete(key)
    assert save(kept, index, items)
    data = kept.path(USER).read_bytes()
    assert b"a session" in data
    for part in (doomed.vector.tobytes(), b"doomed", np.int64(424242).tobytes()):
        assert part not in data


def test_after_a_purge_no_file_ever_holds_what_was_deleted(tmp_path: Path, items: FakeItems) -> None:
    """One thread saves all the time, from an index that is mostly behind; the other deletes and purges."""
    lock, over, chance = threading.Lock(), threading.Event(), random.Random(0)
    saver, purger = checkpoints(tmp_path), checkpoints(tmp_path)
    items.fill(400)
    saved, purged = [0], []

    def slowly(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: int) -> object:
            with lock:
                found = call(*arguments)
            # Whatever can happen between an answer and its use, shall.
            time.sleep(chance.choice([0, 0.001, 0.004]))
            return found

        return wrapped

    changes, current = slowly(items.changes), slowly(lambda: items.last_deletion)

    def keep_saving() -> None:
        index = index_of(items)
        while not over.is_set():
            saved[0] += saver.save(index, epoch=3, changes=changes, current=current)
            time.sleep(chance.choice([0.002, 0.01]))

    def assert_gone() -> None:
        for path in list(saver.folder.iterdir()):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            assert not any(vector in data for vector in purged)

    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(keep_saving)
        try:
            while not saved[0]:
                assert not saving.done()
            for key in chance.sample(list(items.held), 100):
                time.sleep(chance.choice([0, 0.002, 0.01]))
                vector = items.held[key][1].vector.tobytes()
                with lock:
                    items.delete(key)
                    last = items.last_deletion
                assert purger.remove_stale(lambda header, last=last: header.seq >= last, timeout_s=10)
                purged.append(vector)
                assert_gone()
        finally:
            over.set()
        saving.result(20)
    assert_gone()
    assert saved[0] > 3


CHILD = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import random, time
from pathlib import Path
import numpy as np
from fake_items import FakeItems, Held, unit
from memreader.stores.checkpoints import Checkpoints
from memreader.stores.user_index import UserIndex

items = FakeItems({DIMENSION})
items.fill(3000)
kept = Checkpoints(Path(sys.argv[1]), "store", dimension={DIMENSION}, embedder="e 1", more_than=10)
index = UserIndex({USER!r}, {DIMENSION})
index.catch_up(items.changes)

def save():
    index.lost = 1
    return kept.save(index, epoch=3, changes=items.changes, current=lambda: 0)
"""


def child(folder: Path, code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CHILD + code, str(folder)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def childs_items() -> FakeItems:
    items = FakeItems(DIMENSION)
    items.fill(3000)
    return items


def test_nobody_writes_or_removes_while_another_process_is_at_it(tmp_path: Path, childs_items: FakeItems) -> None:
    (tmp_path / "indexes").mkdir()
    code = """
with kept._locked(0):
    print("held", flush=True)
    sys.stdin.readline()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", CHILD + code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        kept, index = checkpoints(tmp_path), index_of(childs_items)
        start = time.monotonic()
        assert not save(kept, index, childs_items)
        assert not kept.remove(USER)
        assert not kept.remove_all()
        assert time.monotonic() - start < 2
        assert not kept.remove_stale(lambda header: False, timeout_s=0.3)
        assert time.monotonic() - start >= 0.3
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(kept.remove_stale, lambda header: False, timeout_s=30)
            time.sleep(0.1)
            assert holder.stdin is not None
            holder.stdin.write("\n")
            holder.stdin.flush()
            assert waiting.result(30)
    assert save(kept, index, childs_items)


def test_two_processes_that_save_at_once_leave_a_whole_one(tmp_path: Path, childs_items: FakeItems) -> None:
    code = """
done = 0
for _ in range(60):
    done += save()
    time.sleep(random.uniform(0, 0.005))
print(done, flush=True)
"""
    kept, expected, loads = checkpoints(tmp_path), answer(index_of(childs_items)), 0
    both = [child(tmp_path, code) for _ in range(2)]
    while any(process.poll() is None for process in both):
        index = load(kept, childs_items)
        if index is not None:
            loads += 1
            assert answer(index) == expected
    for process in both:
        with process:
            assert process.returncode == 0
            assert process.stdout is not None
            assert int(process.stdout.read()) > 0
    index = load(kept, childs_items)
    assert index is not None
    assert answer(index) == expected
    assert names(tmp_path) == [".ckpt", "lock"]
    assert loads


@pytest.mark.parametrize("kills", [5, pytest.param(60, marks=pytest.mark.long)])
def test_a_writer_killed_at_any_time_leaves_a_whole_one_or_none(
    tmp_path: Path, childs_items: FakeItems, kills: int
) -> None:
    kept, expected, chance = checkpoints(tmp_path), answer(index_of(childs_items)), random.Random(0)
    rests = 0
    for _ in range(kills):
        process = child(tmp_path, "print('ready', flush=True)\nwhile True: save()")
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
        rests += ".tmp" in names(tmp_path) if kept.folder.exists() else 0
        index = load(kept, childs_items)
        assert index is None or answer(index) == expected
    assert save(checkpoints(tmp_path), index_of(childs_items), childs_items)
    assert names(tmp_path) == [".ckpt", "lock"]
    index = load(kept, childs_items)
    assert index is not None
    assert answer(index) == expected
    assert kills < 60 or rests > 0


def test_threads_of_one_process_save_and_load_side_by_side(tmp_path: Path, items: FakeItems) -> None:
    kept = checkpoints(tmp_path)
    users = [f"user {number}" for number in range(6)]
    indexes = {user: index_of(items, user) for user in users}
    expected = answer(indexes[users[0]])

    def work(user: str) -> int:
        good = 0
        for _ in range(30):
            indexes[user].lost = 1
            good += save(kept, indexes[user], items)
            loaded = load(kept, items, user)
            assert loaded is None or (loaded.user_id == user and answer(loaded) == expected)
        return good

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, users)) > 0
    assert set(names(tmp_path)) == {".ckpt", "lock"}


def test_a_header_can_be_read_alone(file: Path, items: FakeItems) -> None:
    with open(file, "rb") as opened:
        header = read_header(opened)
    assert header.as_bytes() == file.read_bytes()[: len(header.as_bytes())]
    assert (header.seq, header.shapes["keys"]) == (items.seq, (38,))
