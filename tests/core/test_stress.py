"""Twenty threads and four processes, one of them a forked child, on one folder at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import busy_process
from busy_process import Record
from memreader.memory import Memory
from memreader.testing import HashEmbedder

FORKING = """
import os, sys, threading, time
from pathlib import Path
import busy_process
from memreader.memory import Memory
from memreader.testing import HashEmbedder
folder, seconds, own, childs = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
memory = Memory.open(folder, embedder=HashEmbedder(dimension=64))
memory.add("before the fork", user_id="user 0")
records = []
busy = threading.Thread(target=lambda: records.append(busy_process.work(memory, "f", threads=5, seconds=seconds)))
busy.start()
time.sleep(min(1, seconds / 3))
child = os.fork()
if child == 0:
    try:
        busy_process.write_record(busy_process.work(memory, "c", threads=5, seconds=seconds), childs)
        memory.close()
    finally:
        os._exit(0)
busy.join()
busy_process.write_record(records[0], own)
os.waitpid(child, 0)
memory.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("seconds", "at_least"), [(3, 150), pytest.param(30, 5000, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_threads_processes_and_a_forked_child_lose_and_mix_nothing(
    tmp_path: Path, seconds: float, at_least: int
) -> None:
    folder = tmp_path / "mem"
    names = ("own", "other", "forking", "forked")
    paths = {name: tmp_path / f"{name}.json" for name in names}
    support = Path(busy_process.__file__)
    with Memory.open(folder, embedder=HashEmbedder(dimension=64)) as memory:
        others = [
            subprocess.Popen([sys.executable, support, folder, "o", "5", str(seconds), paths["other"]]),
            subprocess.Popen(
                [sys.executable, "-c", FORKING, folder, str(seconds), paths["forking"], paths["forked"]],
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join([str(support.parent), os.environ.get("PYTHONPATH", "")]),
                },
            ),
        ]
        busy_process.write_record(busy_process.work(memory, "m", threads=5, seconds=seconds), paths["own"])
        assert [other.wait(timeout=seconds + 120) for other in others] == [0, 0]
        records = {name: _read(paths[name]) for name in names}
        _check(memory, records)
    with Memory.open(folder, embedder=HashEmbedder(dimension=64)) as again:
        _check(again, records)
    confirmed = sum(record.confirmed for record in records.values())
    print(f"{confirmed} writes confirmed, {sum(record.searches for record in records.values())} searches")
    assert confirmed >= at_least


def _read(path: Path) -> Record:
    return Record(**json.loads(path.read_text(encoding="utf-8")))


def _check(memory: Memory, records: dict[str, Record]) -> None:
    for name, record in records.items():
        assert record.problems == [], name
        assert record.searches > 0
        for item_id, (user, words) in record.kept.items():
            item = memory.get(item_id, user_id=user)
            assert item is not None
            assert (item.memory, item.metadata.user_id) == (words, user)
            stranger = busy_process.USERS[(busy_process.USERS.index(user) + 1) % len(busy_process.USERS)]
            assert memory.get(item_id, user_id=stranger) is None
        for item_id, user in record.deleted.items():
            assert memory.get(item_id, user_id=user) is None
    for user in busy_process.USERS:
        kept = {key for record in records.values() for key, (owner, _) in record.kept.items() if owner == user}
        found = memory.search("token seen", user_id=user, top_k=10**6, threshold=0)
        early = {item.id for item in memory.get_all(user_id=user) if item.memory.endswith("before the fork")}
        assert {hit.item.id for hit in found} == kept | early
