"""How far a click moves a memory of the example chats: in its own question, in the same asked otherwise, in others.

Each of the first memories of every question is called useful or useless, once or twenty times in a row. Before the
next a hundred half-lives pass, so that each stands for itself. With the shipped embedder, by the public API with
defaults.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.table import show

CHATS = Path(__file__).parents[1] / "examples" / "data" / "conversation.json"
QUESTIONS = (
    ("What does Elske do for a living?", "Which job has Elske got?"),
    ("Which nuts am I allergic to?", "What nuts must I not eat?"),
    ("When is the deadline of the Pelican pilot?", "By when must the pilot of Pelican be ready?"),
    ("Who is on the team of the Pelican project?", "Which people work on Pelican?"),
    ("When and where is Marit's wedding?", "What are the date and place of the wedding of Marit?"),
    ("Where do we meet for the Easter weekend?", "What is the meeting point at Easter?"),
    ("Who cooks on Saturday?", "Which of us makes dinner on Saturday?"),
    ("What present do I make for Marit?", "What am I giving Marit?"),
    ("How wrong were the sensors when it froze?", "By how much were the sensors off in frost?"),
    ("Who looks after my cat?", "Who takes care of the cat while I am away?"),
)
"""Of ours: each asked in two ways."""
DEPTH = 5
AGES = 100 * 30 * 86_400


@dataclass(slots=True)
class Moved:
    """What clicks of one kind did."""

    parts: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    jumps: list[float] = field(default_factory=list)
    """By how much better, without it, was what a memory changed places with."""
    otherwise: list[int] = field(default_factory=list)
    others: list[bool] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return the figures as a row of a table."""
        return {
            "clicks": len(self.places),
            "moved, %": 100 * sum(map(bool, self.places)) / len(self.places),
            "places, mean": sum(map(abs, self.places)) / len(self.places),
            "places, most": max(map(abs, self.places)),
            "part, most": max(map(abs, self.parts)),
            "gap overcome, most": max(self.jumps, default=0.0),
            "asked otherwise: places, mean": sum(map(abs, self.otherwise)) / len(self.otherwise),
            "other questions changed, %": 100 * sum(self.others) / len(self.others),
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing."""


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    from memreader import Memory, MiniLMEmbedder, lifetimes

    now = [1_700_000_000.0]
    lifetimes.clock = lambda: now[0]
    with Memory.in_memory(embedder=MiniLMEmbedder()) as memory:
        for session in json.loads(CHATS.read_text(encoding="utf-8"))["sessions"]:
            memory.add(session["messages"], user_id="elske", session_id=session["session_id"])
        results = {
            f"{'useful' if useful else 'useless'}, {times} x": _measured(memory, now, useful=useful, times=times)
            for times in (1, 20)
            for useful in (True, False)
        }
    rows = {name: moved.row() for name, moved in results.items()}
    return show("what feedback moves: example chats, 10 questions", rows, arguments)


def _measured(memory: Any, now: list[float], *, useful: bool, times: int) -> Moved:
    moved = Moved()
    now[0] += AGES
    before = {query: _found(memory, query) for pair in QUESTIONS for query in pair}
    for asked, otherwise in QUESTIONS:
        for item_id in list(before[asked])[:DEPTH]:
            now[0] += AGES
            for _ in range(times):
                memory.feedback(item_id, user_id="elske", useful=useful, query=asked)
            after = _found(memory, asked)
            moved.parts.append(after[item_id] - before[asked][item_id])
            moved.places.append(_place(after, item_id) - _place(before[asked], item_id))
            moved.jumps += _jumps(before[asked], after, item_id)
            again = _found(memory, otherwise)
            moved.otherwise.append(_place(again, item_id) - _place(before[otherwise], item_id))
            others = (first for first, _ in QUESTIONS if first != asked)
            moved.others += [list(_found(memory, other)) != list(before[other]) for other in others]
    return moved


def _found(memory: Any, query: str) -> dict[str, float]:
    """Return the score of each memory in the ranking, best first."""
    hits = memory.search(query, user_id="elske", top_k=100, threshold=0)
    return {hit.item.id: hit.parts["fused"] for hit in hits}


def _place(found: dict[str, float], item_id: str) -> int:
    return list(found).index(item_id)


def _jumps(before: dict[str, float], after: dict[str, float], item_id: str) -> Iterator[float]:
    """Yield the distances of those that a memory changed places with."""
    for other, score in before.items():
        first = _place(before, item_id) < _place(before, other)
        if other != item_id and first != (_place(after, item_id) < _place(after, other)):
            yield abs(score - before[item_id])
