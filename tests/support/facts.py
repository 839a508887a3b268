"""Facts with numbers, a model that finds each of them, and what a memory must hold of them however it was refined.

Run as `python facts.py FOLDER POINT N` it refines what is raw in a folder and kills itself at the N-th time that it
comes to a point, see `kill_at`; as `python facts.py FOLDER busy N` it adds, refines and deletes, see `be_busy`.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import memreader.refining.writing as of_windows
import memreader.stores.writing as of_batches
from fine_replies import memory as found
from fine_replies import reply, shown
from memreader import Memory, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.testing import FunctionChatModel, HashEmbedder
from stored import table

_NUMBER = re.compile(r"F\d{4}")
OPTIONS = ReadOptions(window_tokens=130, window_overlap=30)
"""Windows of some six messages."""
POINTS = ("asked", "linking", "linked", "written", "committed")
"""Where a process can be killed: the model reads a window; it is about to be linked; is linked; is all written, but not
committed; is committed."""


def message_of(number: int) -> dict[str, Any]:
    """A message that states one fact."""
    return {"role": "user", "content": f"F{number:04} says lamp {number} is green.", "id": f"m{number}"}


def chat_of_facts(numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Messages that state one fact each."""
    return [message_of(number) for number in numbers]


def finding(messages: list[dict[str, Any]]) -> str:
    """A memory of each fact in the new lines."""
    facts = [(line.number, _NUMBER.search(line.words)) for line in shown(messages).new]
    return reply(*[found(f"Known is {fact[0]}.", [number]) for number, fact in facts if fact])


def open_facts(folder: Path, script: Callable[[list[dict[str, Any]]], str] = finding, **options: Any) -> Memory:
    """The memory in a folder, with a model that finds facts."""
    given: dict[str, Any] = {"embedder": HashEmbedder(dimension=32), "read_options": OPTIONS}
    return Memory.open(folder, llm=FunctionChatModel(script), **(given | options))


def facts_in(items: Iterable[TextualMemoryItem]) -> Counter[int]:
    """How often each fact stands in items."""
    return Counter(int(fact[1:]) for item in items for fact in _NUMBER.findall(item.memory))


def assert_facts(memory: Memory, user: str, raw: Iterable[int], *, refined: Iterable[int] | None = None) -> int:
    """Every fact is there once as it was said, and once refined or not at all, linked both ways; how many are refined.

    Args:
        memory: Whose items are looked at.
        user: Likewise.
        raw: The facts that were said and not deleted.
        refined: Those that a model must have found; None for any.
    """
    items = {item.id: item for item in memory.get_all(user_id=user)}
    made = {item.id: item for item in items.values() if item.metadata.evolve_from}
    said = {item.id: item for item in items.values() if item.id not in made}
    assert facts_in(said.values()) == Counter(raw), "a fact was lost, or is there twice"
    known = facts_in(made.values())
    assert not [fact for fact, count in known.items() if count > 1], "a fact was refined twice"
    if refined is not None:
        assert known == Counter(refined)
    for item in said.values():
        children, fact = item.metadata.evolve_to, facts_in([item])
        assert item.metadata.is_fast is not bool(children), "an item is neither raw nor refined, or both"
        for child in children:
            assert made[child].metadata.evolve_from == [item.id], "a link goes one way"
            assert facts_in([made[child]]) == fact
        assert len(children) < 2
    for item in made.values():
        for parent in item.metadata.evolve_from:
            assert parent not in said or said[parent].metadata.evolve_to == [item.id], "a link goes one way"
    left = {raw.item.id for raw in memory._store.raw(user)}
    assert left == {item.id for item in said.values() if item.metadata.is_fast}
    marked = table(
        memory, "SELECT substr(source_key, 3) FROM ledger WHERE user_id = ? AND reading_key = 'refined'", user
    )
    assert {name for (name,) in marked} <= set(items), "the ledger knows an item that is gone"
    return len(known)


def kill_at(point: str, number: int) -> Callable[[list[dict[str, Any]]], str]:
    """Have this process killed at the `number`-th time that it comes to a point; return what its model answers."""
    left = Counter({point: number})

    def passing(here: str) -> None:
        left[here] -= 1
        if here == point and left[here] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    link = of_batches.link_refined
    write = of_batches.BatchWriter.write

    def linking(*args: Any) -> None:
        passing("linking")
        link(*args)
        passing("linked")

    def writing(self: of_batches.BatchWriter) -> Any:
        written = write(self)
        passing("written")
        return written

    def answering(messages: list[dict[str, Any]]) -> str:
        passing("asked")
        return finding(messages)

    take = of_windows.Writing.take

    def taking(*args: Any) -> None:
        take(*args)
        passing("committed")

    of_batches.link_refined = linking
    of_batches.BatchWriter.write = writing  # type: ignore[method-assign]
    of_windows.Writing.take = taking  # type: ignore[method-assign]
    return answering


def be_busy(memory: Memory, first: int, *, threads: int, rounds: int = 6) -> tuple[set[int], set[int]]:
    """Have threads add facts to one session, refine, and delete what they added; return what was added and deleted.

    Args:
        memory: Where.
        first: The number of the first fact; each thread has 100 numbers of its own.
        threads: How many.
        rounds: How often each thread adds three facts and deletes one of them.
    """
    added, deleted = set[int](), set[int]()
    begin = threading.Barrier(threads)

    def work(thread: int) -> None:
        chance = random.Random(first + thread)
        begin.wait(60)
        for round_ in range(rounds):
            start = first + 100 * thread + 3 * round_
            ids = memory.add(chat_of_facts(range(start, start + 3)), user_id="ana", session_id="s", mode="fast").added
            added.update(range(start, start + 3))
            if chance.random() < 0.7:
                memory.refine(user_id="ana", limit=chance.choice([None, 10, 20]))
            place = chance.randrange(3)
            assert memory.delete(ids[place], user_id="ana") == [ids[place]]
            deleted.add(start + place)

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, thread) for thread in range(threads)]:
            future.result()
    return added, deleted


def main() -> None:
    """Refine until killed, or be busy."""
    folder, point, number = sys.argv[1:]
    busy = point == "busy"
    with open_facts(Path(folder), finding if busy else kill_at(point, int(number))) as memory:
        memory.warm_up()
        print("ready", flush=True)
        if busy:
            sys.stdin.readline()
            print(json.dumps([sorted(facts) for facts in be_busy(memory, int(number), threads=4)]), flush=True)
        else:
            memory.refine(user_id="ana")
            print("done", flush=True)


if __name__ == "__main__":
    main()
