"""One process of the stress test: threads that add, search, update and delete, and keep a record of what was confirmed.

Run as `python busy_process.py FOLDER NAME THREADS SECONDS RECORD`, or call `work` in a forked child.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memreader.memory import Memory
from memreader.testing import HashEmbedder

USERS = [f"user {number}" for number in range(6)]


@dataclass
class Record:
    """What the store confirmed to one process."""

    kept: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Item id -> user, words."""
    deleted: dict[str, str] = field(default_factory=dict)
    """Item id -> user."""
    confirmed: int = 0
    searches: int = 0
    problems: list[str] = field(default_factory=list)


def work(memory: Memory, name: str, *, threads: int, seconds: float) -> Record:
    """Keep `threads` threads busy on `memory`; two of them share a user, and all users share the object."""
    record, lock = Record(), threading.Lock()
    until = time.monotonic() + seconds
    workers = [
        threading.Thread(
            target=_thread, args=(memory, f"{name}t{number}", USERS[number % len(USERS)], until, record, lock)
        )
        for number in range(threads)
    ]
    # A thread that dies is a problem that the parent process must learn of.
    threading.excepthook = lambda died: record.problems.append(f"{died.thread}: {died.exc_value!r}")
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return record


def _thread(memory: Memory, name: str, user: str, until: float, record: Record, lock: threading.Lock) -> None:
    chance = random.Random(name)
    mine: list[tuple[str, str]] = []
    number = 0
    while time.monotonic() < until:
        words = f"token{name}n{number} was seen by {user}"
        number += 1
        (item_id,) = memory.add(words, user_id=user, session_id=name).added
        mine.append((item_id, memory.get_by_ids([item_id], user_id=user)[0].memory))  # type: ignore[union-attr]
        step = chance.random()
        if step < 0.15:
            _look(memory, user, chance.choice(mine), record, lock)
        elif step < 0.25:
            place = chance.randrange(len(mine))
            item_id = mine[place][0]
            mine[place] = (item_id, memory.update(item_id, f"changed{name}n{number}", user_id=user).memory)
            _look(memory, user, mine[place], record, lock)
        elif step < 0.35:
            item_id, _ = mine.pop(chance.randrange(len(mine)))
            if memory.delete(item_id, user_id=user) != [item_id] or memory.get(item_id, user_id=user) is not None:
                record.problems.append(f"{item_id} is there after its deletion")
            with lock:
                record.deleted[item_id] = user
                record.confirmed += 1
        with lock:
            record.confirmed += 1
    with lock:
        record.kept.update({item_id: (user, text) for item_id, text in mine})


def _look(memory: Memory, user: str, wanted: tuple[str, str], record: Record, lock: threading.Lock) -> None:
    item_id, words = wanted
    hits = memory.search(words, user_id=user, top_k=3, threshold=0)
    with lock:
        record.searches += 1
        if item_id not in [hit.item.id for hit in hits]:
            record.problems.append(f"{words!r} is not found")
        if any(hit.item.metadata.user_id != user for hit in hits):
            record.problems.append(f"{user} sees {hits}")


def write_record(record: Record, path: Path) -> None:
    """Keep a record for the parent process."""
    path.write_text(json.dumps(asdict(record)), encoding="utf-8")


def main() -> None:
    """Work as the command line says."""
    folder, name, threads, seconds, path = sys.argv[1:]
    with Memory.open(folder, embedder=HashEmbedder(dimension=64)) as memory:
        write_record(work(memory, name, threads=int(threads), seconds=float(seconds)), Path(path))


if __name__ == "__main__":
    main()
