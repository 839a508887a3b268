"""What reconciling a statement costs beside many: some more facts about people of whom much is known.

Half of the facts give somebody's home or age, so that they meet others that they may end; the rest only share names
with others. Vectors are given: what is measured is reading, comparing and writing.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from typing import Any

from benchmarks.latency import GivenVectors, Talk
from benchmarks.table import show

USER = "ana"
PEOPLE = 5000
TOWNS = ("Berlin", "Lisbon", "Porto", "Madrid", "Paris", "Rome", "Oslo", "Vienna", "Prague", "Dublin")
AT_ONCE = 5000
GOAL_MS = 6.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--items", type=int, default=100_000, help="statements that are there")
    parser.add_argument("--more", type=int, default=1000, help="statements that come, in one call")


def facts(count: int, talk: Talk) -> list[dict[str, Any]]:
    """Return made-up statements, each with a time."""
    rng = random.Random(1)
    return [
        {"memory": _fact(number, rng, talk), "metadata": {"memory_time": f"{2000 + number % 24}-0{1 + number % 9}-11"}}
        for number in range(count)
    ]


def _fact(number: int, rng: random.Random, talk: Talk) -> str:
    who = f"Person{rng.randrange(PEOPLE)}"
    kinds = (
        f"{who} lives in {rng.choice(TOWNS)}.",
        f"{who} moved to {rng.choice(TOWNS)}.",
        f"{who} is {rng.randrange(20, 80)} years old.",
        f"{who} said {talk.text(number)[:60]}",
    )
    return kinds[rng.randrange(4)]


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    from memreader import Memory

    talk = Talk.make()
    embedder = GivenVectors(talk)
    given = facts(arguments.items + arguments.more, talk)
    results: dict[str, Any] = {}
    with Memory.in_memory(embedder=embedder, late_interaction=False) as memory:
        started = time.perf_counter()
        for first in range(0, arguments.items, AT_ONCE):
            memory.add(given[first : min(first + AT_ONCE, arguments.items)], user_id=USER)
        filled = time.perf_counter() - started
        new = given[arguments.items :]
        embedder.prepare([item["memory"] for item in new])
        started = time.perf_counter()
        report = memory.add(new, user_id=USER)
        taken = 1000 * (time.perf_counter() - started) / max(len(new), 1)
        actions = Counter(decision.action for decision in report.decisions)
        results["memreader"] = {
            "ms an item": taken,
            "to fill, ms an item": 1000 * filled / max(arguments.items, 1),
            "decisions": float(sum(actions.values())),
            "added": float(len(report.added)),
        }
    verdict = "met" if taken <= GOAL_MS else "missed"
    notes = [
        f"{arguments.more} statements into {arguments.items} of one user, in one call; vectors are given",
        ", ".join(f"{action}: {count}" for action, count in sorted(actions.items())),
        f"goal: ms an item at most {GOAL_MS:g}: {taken:.2f}: {verdict}",
    ]
    return show("reconciling, vectors given", results, arguments, notes=notes)
