"""What a writer does until it is killed: one small function for each phase, over the public verbs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.crashes.words import Log, Name, State, parse, text_of
from memreader import Memory
from memreader.errors import EmbedderMismatchError
from memreader.testing import HashEmbedder

EMBEDDERS = (HashEmbedder(dimension=128), HashEmbedder(dimension=96))
"""The one a store is made with, and the one that the reindexing phase goes over to and back from."""
USER = "ana"
BASE = 300
"""Items of each writer that are there before."""
LARGE = 21_000
"""Items that a checkpoint is written for."""
DUMPED = "guest"


@contextmanager
def opened(folder: Path) -> Iterator[Memory]:
    """Give the memory of a folder, by whichever of the embedders it is for now."""
    memory = open_any(folder)
    try:
        yield memory
    finally:
        memory.close()


def open_any(folder: Path) -> Memory:
    """Return the memory of a folder, by whichever of the embedders it is for now."""
    try:
        return Memory.open(folder, embedder=EMBEDDERS[0])
    except EmbedderMismatchError:
        return Memory.open(folder, embedder=EMBEDDERS[1])


@dataclass
class Writer:
    """One writing process: what it works on, and what it knows of its own items."""

    name: str
    folder: Path
    memory: Memory
    log: Log
    rng: random.Random
    ids: dict[str, str] = field(default_factory=dict)
    """Slot -> id of the item, of those that were there when it began."""
    number: Iterator[int] = field(default_factory=itertools.count)

    def learn(self) -> None:
        """Find the items that are this writer's to change."""
        for item in self.memory.get_all(user_id=USER):
            slot, _ = parse(item.memory) or ("", 0)
            if slot.startswith(f"{self.name}-"):
                self.ids[slot] = item.id


def name_of(slot: str, user: str = USER) -> Name:
    """Return the name that the log knows an item by."""
    return f"{user}|{slot}"


def prepare(folder: Path, *, large: bool = False) -> State:
    """Make a store with something in it, and a dump beside it; return what is in the store."""
    state: State = {}
    with Memory.open(folder, embedder=EMBEDDERS[0]) as memory:
        slots = [f"{writer}-{number}" for number in range(BASE) for writer in ("w0", "w1")]
        slots += [f"base-{number}" for number in range(LARGE if large else 0)]
        memory.add([{"memory": text_of(slot, 0)} for slot in slots], user_id=USER)
        state |= dict.fromkeys(map(name_of, slots), 0)
        if large:
            memory.search("to have an index that closing writes down", user_id=USER)
    with Memory.in_memory(embedder=EMBEDDERS[0]) as other:
        slots = [f"{DUMPED}-{number}" for number in range(BASE)]
        other.add([{"memory": text_of(slot, 0)} for slot in slots], user_id=DUMPED)
        other.dump(dump_of(folder), user_id=DUMPED)
    return state


def dump_of(folder: Path) -> Path:
    """Return where the dump to load is kept, beside a store."""
    return folder.parent / "dump"


def adds(writer: Writer) -> None:
    """Add chats of two messages, each one transaction."""
    for number in writer.number:
        slots = [f"{writer.name}-new{number}.{turn}" for turn in range(2)]
        chat = [{"role": "user", "content": text_of(slot, 0)} for slot in slots]
        writer.log.doing({name_of(slot): 0 for slot in slots})
        writer.memory.add(chat, user_id=USER, session_id=f"{writer.name}-{number}")
        writer.log.done()


def deletes(writer: Writer) -> None:
    """Delete one to three items at a time, and bring the words back in new items when all are gone."""
    writer.learn()
    while True:
        slots = writer.rng.sample(sorted(writer.ids), min(len(writer.ids), writer.rng.randint(1, 3)))
        if not slots:
            adds(writer)
        writer.log.doing({name_of(slot): None for slot in slots})
        writer.memory.delete([writer.ids.pop(slot) for slot in slots], user_id=USER)
        writer.log.done()


def updates(writer: Writer) -> None:
    """Give items other words, and metadata that tell the same version."""
    writer.learn()
    slots = sorted(writer.ids)
    for version in itertools.count(1):
        for slot in writer.rng.sample(slots, len(slots)):
            writer.log.doing({name_of(slot): version})
            patch = {"memory": text_of(slot, version), "metadata": {"info": {"version": version}}}
            writer.memory.update(writer.ids[slot], patch, user_id=USER)
            writer.log.done()


def checkpoints(writer: Writer) -> None:
    """Have closing write the checkpoint of a large index, again and again, with adds between."""
    for number in writer.number:
        slot = f"{writer.name}-late{number}"
        writer.log.doing({name_of(slot): 0})
        writer.memory.add({"memory": text_of(slot, 0)}, user_id=USER)
        writer.log.done()
        writer.memory.search("words of the large index", user_id=USER)
        writer.memory.close()
        for file in checkpoint_files(writer.folder):
            # With one that is nearly as new, closing would leave it at that.
            file.unlink(missing_ok=True)
        writer.memory = open_any(writer.folder)


def checkpoint_files(folder: Path) -> list[Path]:
    """Return the checkpoints in a store's folder."""
    return sorted((folder / "indexes").glob("*.ckpt"))


def reindexes(writer: Writer) -> None:
    """Go over to the other embedder and back; the second writer adds meanwhile."""
    if writer.name != "w0":
        _adds_whatever_the_embedder(writer)
    for turn in itertools.count(1):
        writer.log.doing({})
        writer.memory.admin.reindex(EMBEDDERS[turn % 2])
        writer.log.done()


def _adds_whatever_the_embedder(writer: Writer) -> None:
    while True:
        try:
            adds(writer)
        except EmbedderMismatchError:
            # Not written: the reindexing went over to the other embedder, and this one has to follow.
            writer.memory.close()
            writer.memory = open_any(writer.folder)


def loads(writer: Writer) -> None:
    """Load a dump into one new user after another: all of its items, or none."""
    for number in writer.number:
        user = f"{writer.name}.{number}"
        writer.log.doing({name_of(f"{DUMPED}-{place}", user): 0 for place in range(BASE)})
        writer.memory.load(dump_of(writer.folder), user_id=user, rescope=True)
        writer.log.done()


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase, and when to kill in it.

    Args:
        work: What the writer does.
        longest_s: The kill comes after at most so long from the moment that the writer is ready.
        large: Whether it needs a store that a checkpoint is written for.
        at_file: Kill soon after a file of this pattern appears in the folder, not just at any time.
    """

    work: Callable[[Writer], None]
    longest_s: float = 0.6
    large: bool = False
    at_file: str = ""


PHASES = {
    "adds": Phase(adds),
    "deletes": Phase(deletes, 0.3),
    "updates": Phase(updates),
    "checkpoint": Phase(checkpoints, 0.08, large=True, at_file="indexes/*tmp*"),
    "reindex": Phase(reindexes, 1.0),
    "load": Phase(loads, 1.0),
}
