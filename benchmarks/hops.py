"""Answers that share no word with their question, only a name with what does: with and without the hop by the graph.

Each question finds one memory by its words; another one, which names the same person, place or thing and shares no word
with the question, answers it. R@k is the share of questions whose answer is among the first k; "found" is the share
whose first memory is, which the hop must not cost. The texts are made up.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.table import show

DATA = Path(__file__).parent / "data" / "hops.json"
USER = "ana"
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Hop:
    """A question, the memory that its words find, and the one that answers it."""

    first: str
    answer: str
    question: str
    name: str
    """What both memories name."""


def load(path: Path = DATA) -> tuple[list[Hop], list[str]]:
    """Return the hops, and what else is remembered."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return [Hop(*entry) for entry in data["hops"]], data["others"]


def measure(memory: Any, hops: Sequence[Hop], **options: Any) -> dict[str, float]:
    """Return percentages of what searches in `memory` find."""
    places = {5: 0, DEPTH: 0}
    first, taken = 0, 0.0
    for hop in hops:
        started = time.perf_counter()
        hits = memory.search(hop.question, user_id=USER, top_k=DEPTH, **options)
        taken += time.perf_counter() - started
        found = [hit.item.memory for hit in hits]
        first += hop.first in found[:5]
        for k in places:
            places[k] += hop.answer in found[:k]
    count = max(len(hops), 1)
    recall = {f"R@{k}": 100 * hits / count for k, hits in places.items()}
    return {**recall, "found@5": 100 * first / count, "ms/query": 1000 * taken / count}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--data", type=Path, default=DATA, metavar="FILE", help="a file of the same form")


def filled(embedder: Any, hops: Sequence[Hop], others: Sequence[str], *, named: bool) -> Any:
    """Return a memory that holds all of them, the two of a question far apart.

    Args:
        embedder: Of the memory.
        hops: With their names as entities where `named`, as a model gives them; else found by rules.
        others: What has nothing to do with them.
        named: See above.
    """
    from memreader import Memory

    given = [(hop.first, hop.name) for hop in hops] + [(text, "") for text in others]
    given += [(hop.answer, hop.name) for hop in hops]
    memory = Memory.in_memory(embedder=embedder)
    items = [{"memory": text, "metadata": {"entities": [name]} if named and name else {}} for text, name in given]
    memory.add(items, user_id=USER)
    return memory


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    from memreader import Memory, MiniLMEmbedder, RecallOptions

    hops, others = load(arguments.data)
    embedder = MiniLMEmbedder()
    results: dict[str, Any] = {}
    for how, named in (("names found", False), ("names given", True)):
        with filled(embedder, hops, others, named=named) as memory:
            for weight in (RecallOptions().expansion, 0.0):
                options = replace(RecallOptions(), expansion=weight)
                with Memory.open(memory.folder, embedder=embedder, recall_options=options) as other:
                    other.search("warm up", user_id=USER)
                    results[f"{how}, expansion={weight:g}"] = measure(other, hops)
    notes = [f"{len(hops)} questions, {2 * len(hops) + len(others)} memories"]
    return show("answers one hop away, %", results, arguments, notes=notes)
