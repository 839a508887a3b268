"""Threads and processes on one folder: nothing is lost, nothing is torn, even when one is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memreader.memory import Memory
from memreader.testing import HashEmbedder

WRITER = """
import sys
from memreader.memory import Memory
from memreader.testing import HashEmbedder
folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory.open(folder, embedder=HashEmbedder(dimension=32)) as memory:
    memory.warm_up()
    print("ready", flush=True)
    for number in range(count):
        report = memory.add(f"{name} says number {number}", user_id="ana", session_id=name)
        print(report.added[0], flush=True)
"""


def open_it(folder: Path) -> Memory:
    return Memory.open(folder, embedder=HashEmbedder(dimension=32))


def start(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(count)], stdout=subprocess.PIPE, text=True
    )


def test_eight_threads_that_add_search_and_delete_lose_nothing(memory: Memory) -> None:
    begin = threading.Barrier(8)

    def work(worker: int) -> None:
        begin.wait()
        for number in range(12):
            words = f"worker {worker} likes dish number {number}"
            (item_id,) = memory.add(words, user_id="ana", session_id=f"s{worker}").added
            hits = memory.search(words, user_id="ana", top_k=3)
            assert item_id in [hit.item.id for hit in hits]
            if number % 3 == 2:
                assert memory.delete(item_id, user_id="ana") == [item_id]

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work, worker) for worker in range(8)]:
            future.result()
    items = memory.get_all(user_id="ana")
    assert len(items) == 8 * 8
    for worker in range(8):
        mine = [item.metadata.sources[0].index for item in items if item.metadata.session_id == f"s{worker}"]
        assert mine == [0, 1, 3, 4, 6, 7, 9, 10]
    assert len(memory.search("worker likes dish", user_id="ana", top_k=999, threshold=0)) == 64


def test_threads_that_add_the_same_chat_add_it_once(memory: Memory) -> None:
    chat = [{"role": "user", "content": f"Fact number {n}"} for n in range(20)]
    with ThreadPoolExecutor(6) as pool:
        reports = list(pool.map(lambda _: memory.add(chat, user_id="ana", session_id="s"), range(6)))
    assert sum(len(report.added) for report in reports) == len(memory.get_all(user_id="ana")) == 20
    assert all(sorted(report.ids) == sorted(reports[0].ids) for report in reports)
    assert sorted(item.metadata.sources[0].index or 0 for item in memory.get_all(user_id="ana")) == list(range(20))


def test_processes_that_write_into_one_folder_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "mem"
    with open_it(folder) as memory:
        writers = [start(folder, name, 25) for name in ("one", "two")]
        outputs = [writer.communicate(timeout=120)[0].split() for writer in writers]
        assert [writer.returncode for writer in writers] == [0, 0]
        acknowledged = {item_id for output in outputs for item_id in output[1:]}
        assert {item.id for item in memory.get_all(user_id="ana")} == acknowledged
        assert len(acknowledged) == 50
        hits = memory.search("says number", user_id="ana", top_k=99, threshold=0)
        assert {hit.item.id for hit in hits} == acknowledged


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.long)])
def test_a_writer_that_is_killed_loses_nothing_it_acknowledged(tmp_path: Path, rounds: int) -> None:
    folder = tmp_path / "mem"
    acknowledged: set[str] = set()
    for round_ in range(rounds):
        writer = start(folder, f"round {round_}", 100_000)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(0.15 + 0.07 * (round_ % 4))
        os.kill(writer.pid, signal.SIGKILL)
        written = writer.stdout.read()
        writer.stdout.close()
        writer.wait(timeout=60)
        # A line without its end was torn by the kill; what it would have acknowledged may be there or not.
        acknowledged |= set(written.split("\n")[:-1])
        with open_it(folder) as memory:
            items = {item.id: item for item in memory.get_all(user_id="ana")}
            assert acknowledged <= set(items)
            assert len(items) <= len(acknowledged) + round_ + 1
            for item in list(items.values())[-5:]:
                (hit, *_) = memory.search(item.memory, user_id="ana", top_k=1)
                assert hit.item.memory == item.memory
                assert hit.similarity == pytest.approx(1, abs=1e-4)
    assert len(acknowledged) > 8


def test_closing_while_others_work_ends_them_with_an_error_of_ours(tmp_path: Path) -> None:
    code = """
import json, sys, threading, time
from memreader.errors import StoreClosedError
from memreader.memory import Memory
from memreader.testing import HashEmbedder
endings = []
for round_ in range(5):
    memory = Memory.in_memory(embedder=HashEmbedder(dimension=32))
    memory.add([f"fact number {n}" for n in range(30)], user_id="ana")
    def work(worker):
        number = 0
        try:
            while True:
                memory.search("fact", user_id="ana")
                memory.get_all(user_id="ana")
                memory.add(f"worker {worker} number {number}", user_id="ana")
                number += 1
        except StoreClosedError:
            endings.append("closed")
    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in threads: thread.start()
    time.sleep(0.1)
    memory.close()
    for thread in threads: thread.join()
print(json.dumps(endings))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == ["closed"] * 25
