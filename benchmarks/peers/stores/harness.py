"""What is asked of every store: the same rows, in the same steps, timed the same way.

An adapter is a file beside this one that ends in `main(ItsStore)`. The Python of its environment runs it with a task as
JSON, one step each, so that what one step breaks spoils no other.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers.stores.rows import BLOCK, Found, Row, Vector, blocks, exact, queries, rows, user_name

LEAST_SAMPLES = 3


class UnsupportedError(Exception):
    """The store has no such operation; the message says why."""


class Store(Protocol):
    """A store in a folder, which is opened, and made when absent, by the constructor."""

    def __init__(self, folder: Path, **options: Any) -> None: ...

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows of one user."""

    def flush(self) -> None:
        """Make all that was done durable: it survives kill -9 from here on."""

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        """Return the user's `k` nearest rows, best first."""

    def update(self, row: Row, /) -> None:
        """Put the row in the place of the one of its id."""

    def delete(self, row: Row, /) -> None:
        """Take a row away."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Task:
    """What the parent asks for."""

    step: str
    folder: str
    users: int = 100
    items: int = BLOCK
    """Of each user."""
    samples: int = 200
    patience_s: float = 60.0
    log: str = ""
    base: int = 0
    options: dict[str, Any] = field(default_factory=dict)


def seconds(call: Callable[[], Any]) -> float:
    """Return how long a call took, less the time that it was ready to go on but others had the processor."""
    before = _waited()
    start = time.perf_counter()
    call()
    taken = time.perf_counter() - start
    return max(taken - (_waited() - before), 1e-9)


def _waited() -> float:
    """Return the seconds that this thread has waited for a processor; always 0 where the system does not say."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def timed(calls: Iterable[Callable[[], Any]], patience_s: float, *, skip: int = 1) -> list[float]:
    """Return the seconds of each call, until `patience_s` is over; the first `skip` only warm up."""
    taken: list[float] = []
    until = time.perf_counter() + patience_s
    for call in calls:
        taken.append(seconds(call))
        if time.perf_counter() > until and len(taken) >= LEAST_SAMPLES + skip:
            break
    return taken[skip:]


def summary(taken: Sequence[float]) -> dict[str, Any]:
    """Return the median and the 95th percentile in milliseconds, and of how many."""
    ordered = sorted(1000 * seconds for seconds in taken)
    return {"ms": ordered[len(ordered) // 2], "p95": ordered[int(0.95 * (len(ordered) - 1))], "samples": len(ordered)}


def resident_mb() -> float:
    """Return the memory that this process holds; 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if statm.exists() else 0.0


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


Make = Callable[..., Any]


def bulk(make: Make, task: Task) -> dict[str, Any]:
    """Add every user's rows, and make them durable at the end; stops between two users when patience is over."""
    store = make(Path(task.folder), **task.options)
    taken: list[float] = []
    count = users = 0
    for user in range(task.users):
        for block in blocks(user, task.items):
            taken.append(seconds(partial(store.add, block)))
            count += len(block)
            say(done=count, of=task.users * task.items)
        users += 1
        if sum(taken) > task.patience_s:
            break
    flushed = seconds(store.flush)
    store.close()
    tenth = max(1, len(taken) // 10)
    each = count / len(taken)
    return {
        "per_s": count / (sum(taken) + flushed),
        "first_per_s": tenth * each / sum(taken[:tenth]),
        "last_per_s": tenth * each / sum(taken[-tenth:]),
        "users": users,
    }


def add(make: Make, task: Task) -> dict[str, Any]:
    """Add one durable row at a time, to users in turn."""
    store = make(Path(task.folder), **task.options)
    new = [rows(sample % task.users, task.items + sample, 1) for sample in range(task.samples + 1)]

    def one(row: list[Row]) -> None:
        store.add(row)
        store.flush()

    taken = timed([lambda row=row: one(row) for row in new], task.patience_s)  # type: ignore[misc]
    wrong = _not_found(store, [row[0] for row in new[: len(taken)]])
    store.close()
    return {**summary(taken), "wrong": wrong}


def search(make: Make, task: Task) -> dict[str, Any]:
    """Ask for the nearest ten rows of one user, users in turn, and compare with the exact answer."""
    store = make(Path(task.folder), **task.options)
    asked = list(queries(task.users, task.samples + task.users))
    found: list[list[Found]] = []
    calls = [lambda u=u, v=v: found.append(store.search(user_name(u), v, 10)) for u, v in asked]
    # In the first round every user's rows are loaded where a store does so; that is what "open" measures.
    taken = timed(calls, task.patience_s, skip=task.users)
    store.close()
    hits = foreign = near = count = 0
    for (user, vector), answer in list(zip(asked, found, strict=False))[-len(taken) :][
        : 50 if task.items > BLOCK else 100
    ]:
        own = [hit for hit in answer if hit.user == user_name(user)]
        hits += len(own)
        foreign += len(answer) - len(own)
        near += len(exact(user, vector, task.items) & {hit.id for hit in own})
        count += 1
    return {**summary(taken), "hits": hits / count, "foreign": foreign, "recall": near / (10 * count)}


def update(make: Make, task: Task) -> dict[str, Any]:
    """Give one row at a time other words and another vector, durably."""
    store = make(Path(task.folder), **task.options)
    new = [rows(sample % task.users, sample // task.users, 1, version=1)[0] for sample in range(_at_most(task))]

    def one(row: Row) -> None:
        store.update(row)
        store.flush()

    taken = timed([lambda row=row: one(row) for row in new], task.patience_s)  # type: ignore[misc]
    wrong = _not_found(store, new[: len(taken)])
    store.close()
    return {**summary(taken), "wrong": wrong}


def delete(make: Make, task: Task) -> dict[str, Any]:
    """Take one row away at a time, durably; those at the end, which `update` left as they were."""
    store = make(Path(task.folder), **task.options)
    doomed = [_from_the_end(sample % task.users, sample // task.users, task) for sample in range(_at_most(task))]

    def one(row: Row) -> None:
        store.delete(row)
        store.flush()

    taken = timed([lambda row=row: one(row) for row in doomed], task.patience_s)  # type: ignore[misc]
    gone = doomed[1 : len(taken) + 1][-10:]
    wrong = sum(any(hit.id == row.id for hit in store.search(row.user, row.vector, 10)) for row in gone)
    store.close()
    return {**summary(taken), "wrong": wrong}


def open_store(make: Make, task: Task) -> dict[str, Any]:
    """From opening to the first answer for one user, then to one for each; and the memory that this took."""
    with tempfile.TemporaryDirectory() as scratch:
        # What is imported at the first call counts as starting the process.
        small = make(Path(scratch), **task.options)
        small.add(rows(0, 0, 2))
        small.flush()
        small.search(user_name(0), rows(0, 0, 1)[0].vector, 1)
        small.close()
    asked = list(queries(task.users, task.users))
    gc.collect()
    before = resident_mb()
    opened: list[Any] = []

    def first() -> None:
        opened.append(make(Path(task.folder), **task.options))
        opened[0].search(user_name(0), asked[0][1], 10)

    def others() -> None:
        for user, vector in asked[1:]:
            opened[0].search(user_name(user), vector, 10)

    one = seconds(first)
    everyone = one + seconds(others)
    memory = resident_mb() - before
    opened[0].close()
    return {"one_s": one, "all_s": everyone, "memory_mb": memory}


def crash_write(make: Make, task: Task) -> dict[str, Any]:
    """Add durable rows until killed; each is acknowledged in the log once it is durable."""
    store = make(Path(task.folder), **task.options)
    log = os.open(task.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    say(ready=True)
    for number in range(task.base, task.base + 10**6):
        store.add(rows(0, number, 1))
        store.flush()
        os.write(log, f"{number}\n".encode())
    return {}


def crash_check(make: Make, task: Task) -> dict[str, Any]:
    """Look for every acknowledged row by its own vector: it comes first, with its own words."""
    numbers = [int(line) for line in Path(task.log).read_text().splitlines()]
    store = make(Path(task.folder), **task.options)
    lost = torn = 0
    for row in [*rows(0, 0, task.base), *(rows(0, number, 1)[0] for number in numbers)]:
        answer = store.search(row.user, row.vector, 1)
        if not answer or answer[0].id != row.id:
            lost += 1
        elif answer[0].text != row.text:
            torn += 1
    store.close()
    return {"acknowledged": len(numbers), "lost": lost, "torn": torn}


def _at_most(task: Task) -> int:
    """Return how many samples there are rows for, of `task.samples` and one to warm up."""
    return min(task.samples + 1, task.users * min(task.items, BLOCK) // 2)


def _from_the_end(user: int, place: int, task: Task) -> Row:
    first = (task.items - 1) // BLOCK * BLOCK
    last = rows(user, first, task.items - first)
    return last[-1 - place]


def _not_found(store: Store, written: Sequence[Row]) -> int:
    """Return how many of the last ten rows don't come first when asked for by their own vector."""
    answers = [(row, store.search(row.user, row.vector, 1)) for row in written[-10:]]
    return sum(not answer or answer[0].id != row.id or answer[0].text != row.text for row, answer in answers)


STEPS: dict[str, Callable[[Make, Task], dict[str, Any]]] = {
    "bulk": bulk, "search": search, "open": open_store, "add": add, "update": update, "delete": delete,
    "crash-write": crash_write, "crash-check": crash_check,
}  # fmt: skip


def main(make: Make) -> None:
    """Do the step that the first argument asks for; the last line says what was measured."""
    task = Task(**json.loads(sys.argv[1]))
    try:
        say(result=STEPS[task.step](make, task))
    except UnsupportedError as error:
        say(unsupported=str(error))
