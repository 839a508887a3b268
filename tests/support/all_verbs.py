"""All verbs of a memory on one store, chosen by numbers, so that a history that goes wrong can be made short."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clocks import DAY, Clock
from fine_replies import memory as found
from fine_replies import reply, shown
from memreader import Memory, ReadOptions, TextualMemoryItem
from memreader.errors import (
    EntityNotFoundError,
    InputError,
    ItemExistsError,
    ItemNotFoundError,
    MemoryFullError,
    VersionNotFoundError,
)
from memreader.recall import RecallOptions
from memreader.reconcile import surface_key
from memreader.records import Cap
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.testing import FunctionChatModel, HashEmbedder
from stored import table

EMBEDDER = HashEmbedder(dimension=32)
OPTIONS = ReadOptions(window_tokens=130, window_overlap=0)
USERS = ("ana", "ben")
SESSIONS = ("one", "two", None)
MARKS = ("zellwick", "quorvale", "yarmond", "brixolm", "gavotny", "plendor", "wistrop", "tormaq")
"""Words that stand nowhere else: what is left of them in a file was left there by a memory."""
STATED = (
    "Ana lives in Zellwick.", "Ana lives in Quorvale.", "ana lives in ZELLWICK!", "Robert works at Yarmond.",
    "Robert works at Brixolm.", "robert works at yarmond", "Ana paints gavotny boats.", "ana paints GAVOTNY boats!",
    "Robert, a.k.a. Bob, met Plendor.",
)  # fmt: skip
SPOKEN = (
    "I saw Wistrop with Bob.", "Tormaq called Robert today.", "Is Gavotny warm?", "I live in Zellwick.", "Yes.",
    "We went to Plendor and Quorvale.",
)  # fmt: skip
QUESTIONS = ("Where does Ana live?", "Bob", "Who works at Yarmond with Tormaq?", "gavotny boats")
REFUSALS = (EntityNotFoundError, InputError, ItemExistsError, ItemNotFoundError, MemoryFullError, VersionNotFoundError)
"""What a verb may say no with; each is asked for what stays as it was."""
Step = tuple[str, tuple[int, ...]]
VERBS = (
    "state state state state say say say fine refine complete write update update relabel revise delete delete forget "
    "forget_file erase feedback feedback approve approve reject unreject restore restore tick tick purge_expired merge "
    "split archive dump late clear"
).split()


BRING_BACK = ("delete", "forget", "forget_file", "erase", "purge_expired", "reject", "archive")
"""Verbs after which what stood behind something stands again, however full it is."""


def activated(memory: Memory, user: str) -> int:
    """How many items of a user count."""
    query = "SELECT count(*) FROM items WHERE user_id = ? AND status = 'activated'"
    return int(table(memory, query, user)[0][0])


def steps_of(seed: int, count: int) -> list[Step]:
    """Steps by chance."""
    chance = random.Random(seed)
    return [(chance.choice(VERBS), tuple(chance.randrange(1 << 16) for _ in range(8))) for _ in range(count)]


def telling(messages: list[dict[str, Any]]) -> str:
    """A model that makes a memory of every new line, one in two of them partial, and fills in what is asked for."""
    seen = shown(messages)
    made = [found(f"{line.words[:-1]}, it is said.", [line.number]) for line in seen.new]
    for one in made[::2]:
        del one["entities"]
    return reply(*made)


@dataclass
class Chosen:
    """The numbers of a step, taken one after another."""

    numbers: tuple[int, ...]
    at: int = 0

    def below(self, count: int) -> int:
        number = self.numbers[self.at % len(self.numbers)]
        self.at += 1
        return number % count

    def of(self, values: Any) -> Any:
        return values[self.below(len(values))]


@dataclass
class World:
    """One folder as two processes see it, and what was told of it."""

    folder: Path
    clock: Clock = field(default_factory=lambda: Clock(at=float(int(time.time()))))
    cap: Cap | None = None
    ids: dict[str, list[str]] = field(default_factory=lambda: {user: [] for user in USERS})
    """All ids that any report named."""
    count: int = 0
    memories: list[Memory] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.open("store")

    def open(self, name: str) -> None:
        """Open a folder by two stores that know nothing of each other but by its files."""
        self.close()
        self.path = self.folder / name
        options: dict[str, Any] = {} if self.cap is None else {
            "max_items_per_user": self.cap.limit, "when_full": self.cap.when_full,
        }  # fmt: skip
        model = FunctionChatModel(telling)
        first = Memory.open(self.path, embedder=EMBEDDER, read_options=OPTIONS, llm=model, **options)
        store = Store(self.path, facts_of(EMBEDDER))
        self.memories = [first, Memory(store, first.reader, RecallOptions(), cap=self.cap)]

    def close(self) -> None:
        for memory in self.memories:
            memory.close()
        self.memories = []

    def take(self, step: Step) -> None:
        """Carry a step out; a refusal is none of its effects."""
        verb, numbers = step
        chosen = Chosen(numbers)
        memory, user = chosen.of(self.memories), USERS[chosen.below(5) == 0]
        self.count += 1
        before = {one: activated(memory, one) for one in USERS}
        with suppress(*REFUSALS):
            getattr(self, verb)(memory, user, chosen)
        if self.cap is not None and verb not in BRING_BACK:
            for one, count in before.items():
                assert activated(memory, one) <= max(count, self.cap.limit), f"{verb}: more than the cap"

    def _labels(self, chosen: Chosen) -> dict[str, Any]:
        labels: dict[str, Any] = {"session_id": chosen.of(SESSIONS), "review": chosen.below(4) == 0}
        life = chosen.below(8)
        if life == 0:
            labels["ttl"] = DAY * (1 + chosen.below(3))
        elif life == 1 and labels["session_id"]:
            labels["lifetime"] = "session"
        return labels

    def _named(self, user: str, ids: list[str]) -> None:
        self.ids[user] = list(dict.fromkeys([*self.ids[user], *ids]))

    def _id(self, user: str, chosen: Chosen) -> str:
        return str(chosen.of(self.ids[user] or ["nobody's"]))

    def state(self, memory: Memory, user: str, chosen: Chosen) -> None:
        number = chosen.below(40)
        source = {"type": "chat", "message_id": f"k{number}", "content": (text := chosen.of(STATED))}
        known: dict[str, Any] = {"memory_time": f"2024-05-{1 + chosen.below(28):02}"}
        if number % 3:
            known["sources"] = [source]
        given: dict[str, Any] = {"memory": text, "metadata": known}
        if number % 2:
            given["id"] = f"i{number}"
        labels = self._labels(chosen)
        report = memory.add(TextualMemoryItem(**given), user_id=user, **labels)
        self._named(user, report.ids)
        if not labels["review"] and not report.dropped:
            self._assert_said(memory, user, text, report.ids)

    def _assert_said(self, memory: Memory, user: str, text: str, ids: list[str]) -> None:
        """What was stated stands in these words, or is known to be so no longer, or was archived for want of room."""
        assert ids, "a report that names nothing"
        named = memory.get_by_ids(ids, user_id=user)
        assert None not in named, "a report names what is not there"
        if any(item and item.metadata.status == "pending" for item in named):
            return  # A version of one under review is under review, too.
        every = memory.get_all(user_id=user, filter={"status": {"$ne": "deleted"}})
        known = [item for item in every if surface_key(item.memory) == surface_key(text)]
        if self.cap is None and not any(item.metadata.valid_until for item in known):
            asked: dict[str, Any] = {"user_id": user, "top_k": 99, "threshold": 0}
            hits = [hit for session in SESSIONS for hit in memory.search(text, session_id=session, **asked)]
            found = {one for hit in hits for one in (hit.item.id, *hit.raw)}
            assert found & {item.id for item in known}, f"stated, and not found: {text}"

    def say(self, memory: Memory, user: str, chosen: Chosen, mode: str = "fast") -> None:
        first, labels = chosen.below(6), self._labels(chosen)
        chat = [
            {"role": "user", "content": chosen.of(SPOKEN), "message_id": f"m{first + at}"}
            for at in range(1 + first % 3)
        ]
        self._named(user, memory.add(chat, user_id=user, mode=mode, **labels).ids)

    def fine(self, memory: Memory, user: str, chosen: Chosen) -> None:
        self.say(memory, user, chosen, mode="fine")

    def refine(self, memory: Memory, user: str, chosen: Chosen) -> None:
        self._named(user, memory.refine(user_id=user, limit=3).added)

    def complete(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.refine(user_id=user, partial=True)

    def write(self, memory: Memory, user: str, chosen: Chosen) -> None:
        path = self.folder / f"note{chosen.below(2)}.md"
        path.write_text(f"# Note\n\n{chosen.of(SPOKEN)}\n\n{chosen.of(STATED)}\n", encoding="utf-8")
        self._named(user, memory.add(path, user_id=user, mode="fast", **self._labels(chosen)).ids)

    def update(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.update(self._id(user, chosen), chosen.of(STATED), user_id=user)

    def relabel(self, memory: Memory, user: str, chosen: Chosen) -> None:
        patch = chosen.of([
            {"session_id": chosen.of(SESSIONS)}, {"status": "archived"}, {"status": "activated"}, {"expires_at": None},
            {"expires_at": _moment(self.clock() + DAY)}, {"lifetime": "session", "session_id": "one"},
            {"info": {"x": 1}}, {"lifetime": "long"}, {"entities": ["Bob", "Plendor"]},
            {"memory_time": f"2024-05-{1 + chosen.below(28):02}"},
        ])  # fmt: skip
        memory.update(self._id(user, chosen), patch, user_id=user)

    def revise(self, memory: Memory, user: str, chosen: Chosen) -> None:
        item = TextualMemoryItem(id=self._id(user, chosen), memory=chosen.of(STATED))
        self._named(user, memory.add(item, user_id=user, **self._labels(chosen)).ids)

    def delete(self, memory: Memory, user: str, chosen: Chosen) -> None:
        ids = [self._id(user, chosen) for _ in range(1 + chosen.below(2))]
        memory.delete(ids, user_id=user)
        assert not any(memory.get_by_ids(ids, user_id=user)), "deleted, and there"

    def forget(self, memory: Memory, user: str, chosen: Chosen) -> None:
        name = chosen.of("mk") + str(chosen.below(40 if chosen.below(2) else 8))
        session = chosen.of(SESSIONS)
        memory.delete_by_source(user_id=user, message_id=name, session_id=session)
        for item_id in self.ids[user]:
            item = memory.get(item_id, user_id=user)
            for source in item.metadata.sources if item else ():
                assert source.message_id != name or session is not None, "its source was deleted"

    def forget_file(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.delete_by_source(user_id=user, document=self.folder / f"note{chosen.below(2)}.md")

    def erase(self, memory: Memory, user: str, chosen: Chosen) -> None:
        if chosen.below(3) == 0:
            session = chosen.of(("one", "two", "two", None))
            memory.delete_all(user_id=user, session_id=session)
            if session is None:
                names = [name for (name,) in table(memory, "SELECT name FROM sqlite_master WHERE type = 'table'")]
                for name in names:
                    if any(row[1] == "user_id" for row in table(memory, f"PRAGMA table_info({name})")):
                        assert not table(memory, f"SELECT * FROM {name} WHERE user_id = ?", user), f"left in {name}"

    def feedback(self, memory: Memory, user: str, chosen: Chosen) -> None:
        query = chosen.of([*QUESTIONS, None])
        memory.feedback(self._id(user, chosen), user_id=user, useful=chosen.below(2) == 0, query=query)

    def _waiting(self, memory: Memory, user: str, chosen: Chosen) -> list[str]:
        ids = [item.id for item in memory.review.pending(user_id=user)]
        return [chosen.of(ids) for _ in range(3)] if ids else []

    def approve(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.review.approve(self._waiting(memory, user, chosen), user_id=user)

    def reject(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.review.reject(self._waiting(memory, user, chosen)[:1], user_id=user)

    def unreject(self, memory: Memory, user: str, chosen: Chosen) -> None:
        for text in (*STATED, *SPOKEN):
            memory.review.unreject(text, user_id=user)
            memory.review.unreject(f"user: {text}", user_id=user)

    def restore(self, memory: Memory, user: str, chosen: Chosen) -> None:
        item_id = self._id(user, chosen)
        versions = memory.history(item_id, user_id=user)
        memory.restore(item_id, chosen.of(versions).version if versions else 1, user_id=user)

    def tick(self, memory: Memory, user: str, chosen: Chosen) -> None:
        assert self.clock.at is not None
        self.clock.at += chosen.of([DAY / 2, DAY, 8 * DAY])

    def purge_expired(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.purge_expired(chosen.of([user, None]))
        query = "SELECT item_id FROM items WHERE user_id = ? AND expires <= ?"
        assert not table(memory, query, user, self.clock()), "expired, purged, and there"

    def merge(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.graph.merge_entities(*chosen.of([("Bob", "Robert"), ("Ana", "Plendor")]), user_id=user)

    def split(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.graph.split_entity(chosen.of(["Bob", "Plendor"]), user_id=user)

    def archive(self, memory: Memory, user: str, chosen: Chosen) -> None:
        """Go on with what an archive brings to another folder."""
        path = self.folder / f"{self.count}.zip"
        memory.admin.export(path)
        with Memory.open(self.folder / f"store{self.count}", embedder=EMBEDDER) as other:
            other.admin.import_(path)
        path.unlink()
        self.open(f"store{self.count}")

    def dump(self, memory: Memory, user: str, chosen: Chosen) -> None:
        folder = self.folder / "dump"
        memory.dump(folder, user_id=user)
        memory.load(folder, user_id=user, on_conflict=chosen.of(["skip", "replace"]))

    def late(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory.admin.purge()

    def clear(self, memory: Memory, user: str, chosen: Chosen) -> None:
        memory._store._indexes.resident.clear()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
