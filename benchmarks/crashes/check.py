"""What is looked at after a kill, in a fresh process, and by a reader while others write."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.crashes.phases import USER, name_of, open_any
from benchmarks.crashes.words import Seen, State, parse, read_log, text_of
from memreader import Memory, TextualMemoryItem
from memreader.errors import EmbedderMismatchError, MemReaderError
from memreader.ports import Embedder

ASKED = 300
"""So many items are asked for by their own words; of more, what was written last and a sample of the others."""
CLOSE = 1e-3


@dataclass(slots=True)
class Verdict:
    """What was found to be wrong; all zero is right."""

    lost: int = 0
    """Acknowledged and absent, or there in an older version."""
    undone: int = 0
    """Acknowledged as deleted and there."""
    torn: int = 0
    """Words that nobody wrote, half an operation, or a vector beside the wrong words."""
    examples: list[str] = field(default_factory=list)

    def blame(self, kind: str, example: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.examples) < 5:
            self.examples.append(f"{kind}: {example}")

    @property
    def right(self) -> bool:
        return not (self.lost or self.undone or self.torn)


def check(folder: Path, base: State, logs: Sequence[Path]) -> dict[str, Any]:
    """Return the verdict on a store, what its writers acknowledged, and what could not be opened."""
    writers = [read_log(log) for log in logs]
    acknowledged = sum(seen.operations for seen in writers)
    try:
        with open_any(folder) as memory:
            verdict = judge(memory, base, writers)
    except (MemReaderError, OSError) as error:
        lost = asdict(Verdict(lost=acknowledged))
        return {**lost, "acknowledged": acknowledged, "error": f"{type(error).__name__}: {error}"}
    return {**asdict(verdict), "acknowledged": acknowledged, "error": ""}


def judge(memory: Memory, base: State, writers: Sequence[Seen] = ()) -> Verdict:
    """Compare all that a memory holds with what was acknowledged."""
    verdict = Verdict()
    expected, doing = dict(base), [seen.doing for seen in writers if seen.doing]
    for seen in writers:
        expected |= seen.done
    pending: State = {name: version for part in doing for name, version in part.items()}
    users = {name.split("|")[0] for name in (*expected, *pending)}
    present = {user: held(memory, user, verdict) for user in sorted(users)}
    found: dict[str, int] = {
        name_of(slot, user): version for user, items in present.items() for slot, (version, _) in items.items()
    }
    for name in {**expected, **pending, **found}:
        version, told = found.get(name), expected.get(name)
        if version == told or (name in pending and version == pending[name]):
            continue
        if told is None:
            verdict.blame("undone" if name in expected else "torn", f"{name} is there")
        else:
            verdict.blame("lost", f"{name} is {version}, not {told}")
    for part in doing:
        after = {found.get(name) == version for name, version in part.items() if expected.get(name) != version}
        if len(after) > 1:
            verdict.blame("torn", f"half of {sorted(part)[:3]}...")
    for user, items in present.items():
        # What was changed last: the sample holds it.
        ask(memory, user, [item for _, item in sorted(items.values(), key=lambda known: known[0])], verdict)
    return verdict


def held(memory: Memory, user: str, verdict: Verdict) -> dict[str, tuple[int, TextualMemoryItem]]:
    """Return what a user has, slot -> version and item; what nobody wrote like this is torn."""
    items: dict[str, tuple[int, TextualMemoryItem]] = {}
    for item in memory.get_all(user_id=user):
        known = parse(item.memory)
        if known is None or known[0] in items or item.metadata.user_id != user or not _of_one_version(item, known[1]):
            verdict.blame("torn", f"{user} has {item.memory[:60]!r}")
        else:
            items[known[0]] = (known[1], item)
    return items


def ask(memory: Memory, user: str, items: Sequence[TextualMemoryItem], verdict: Verdict) -> None:
    """Search for items by their own words: each comes first, with its own vector."""
    chosen = [*items[-ASKED // 2 :], *random.Random(len(items)).sample(items, min(len(items), ASKED // 2))]
    for item in {item.id: item for item in chosen}.values():
        hits = memory.search(item.memory, user_id=user, top_k=1, threshold=0, recall="user")
        if not hits or hits[0].item.memory != item.memory or abs((hits[0].similarity or 0) - 1) > CLOSE:
            shown = [(hit.item.memory[:40], hit.similarity) for hit in hits]
            verdict.blame("torn", f"{item.memory[:40]!r} asked for, got {shown}")


class Stop(Protocol):
    """Tells whether to end."""

    def __call__(self) -> bool: ...


def read_on(folder: Path, stop: Stop) -> dict[str, Any]:
    """Read until told to stop, while others write; return how often, and what was torn."""
    verdict, rng, reads = Verdict(), random.Random(1), 0
    memory = open_any(folder)
    large = bool(memory.get_all(user_id=USER, limit=1, offset=5_000))
    while not stop():
        try:
            slot = f"{rng.choice(('w0', 'w1'))}-{rng.randrange(300)}"
            query = text_of(slot, 0)
            for hit in memory.search(query, user_id=USER, top_k=5, threshold=0):
                _check_pair(hit.item.memory, hit.similarity, query, memory.reader.embedder, verdict)
                if parse(hit.item.memory) is None or hit.item.metadata.user_id != USER:
                    verdict.blame("torn", f"read {hit.item.memory[:60]!r}")
            if reads % 5 == 4 and not large:
                _check_chats(held(memory, USER, verdict), verdict)
            reads += 1
        except EmbedderMismatchError:
            # A reindexing ended.
            memory.close()
            memory = open_any(folder)
    memory.close()
    return {"reads": reads, "torn": verdict.torn, "examples": verdict.examples}


def _check_pair(text: str, similarity: float | None, query: str, embedder: Embedder, verdict: Verdict) -> None:
    """See that a hit's similarity is that of the words it comes with."""
    expected = float(np.dot(embedder.embed([text])[0], embedder.embed_query(query)))
    if similarity is None or abs(similarity - expected) > CLOSE:
        verdict.blame("torn", f"{text[:40]!r} with similarity {similarity}, not {expected:.3f}")


def _check_chats(slots: Iterable[str], verdict: Verdict) -> None:
    """See that of each chat, which is one transaction, both messages are there."""
    turns = Counter(slot.rpartition(".")[0] for slot in slots if "-new" in slot)
    for chat, count in turns.items():
        if count != 2:
            verdict.blame("torn", f"half of chat {chat}")


def _of_one_version(item: TextualMemoryItem, version: int) -> bool:
    """Return whether the item's metadata tell the same version as its words; what was never updated has none there."""
    return bool(item.metadata.info.get("version", 0) == version)


def load_state(path: Path) -> State:
    """Return what a template holds."""
    state: State = json.loads(path.read_text(encoding="utf-8"))
    return state
