"""Stores with given vectors: add, bulk add, search within one user, update, delete, open; beside other stores."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.peers.stores.harness import Task
from benchmarks.progress import Show, bar
from benchmarks.systems import FLOOR, OURS, PEERS, TITLES, StepError, System, ask, chosen, size_mb
from benchmarks.table import NOT_INSTALLED, show

POWER = "memreader, durability=power"
PLAIN = "memreader, record + vector only"
BEST = "x best peer"
GOAL = "goal"
USERS = 100
GOALS: dict[str, str] = {
    "add one, ms": "<= 0.25", "bulk add/s": ">= 8k", "search, ms": "<= 0.4", "hits of 10": "10", "update, ms": "<= 0.2",
    "delete, ms": "<= 0.2", "open: all, s": "<= 1",
}  # fmt: skip
HIGHER_IS_BETTER = ("bulk add/s",)
COMPARED = ("add one, ms", *HIGHER_IS_BETTER, "search, ms", "update, ms", "delete, ms", "open: one, s", "open: all, s")
NOTES = (
    "Medians (p95: 95th percentile) of one row or question, without waiting for a processor that others had.",
    "Durable: it survives kill -9. search: top 10 of one user.",
    "bulk: durable at its end (memreader: after each thousand); goal for record + vector only: >= 25k.",
    "open: from opening to the first answer for one user, then for all, in a process that runs; memory: what it took.",
    "floor: vectors in one index, no words; add in memory only, bulk with writing the file, open by reading it.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--items", type=int, default=100_000, help=f"items in all, of {USERS} users")
    parser.add_argument("--samples", type=int, default=200, help="how often each single operation is measured")
    parser.add_argument(
        "--patience", type=float, default=30.0, metavar="S", help="seconds after which a step ends early"
    )
    parser.add_argument("--quick", action="store_true", help="2,000 items and 20 samples: to see that it runs")
    parser.add_argument("--peers", default=",".join(PEERS), metavar="A,B", help=f"which: {', '.join(PEERS)}")
    parser.add_argument("--folder", type=Path, help="where the stores are made and removed again (a temporary folder)")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    if arguments.quick:
        arguments.items, arguments.samples = 2_000, 20
    notes = list(NOTES)
    before = os.getloadavg()[0]
    results = run(arguments, notes)
    # Others' work slows whoever is measured meanwhile, by caches and disk.
    notes.append(f"{os.cpu_count()} cores; load average {before:.1f} before, {os.getloadavg()[0]:.1f} after")
    return show(f"store, {arguments.items:,} items", results, arguments, notes=notes)


def run(arguments: argparse.Namespace, notes: list[str]) -> dict[str, dict[str, Any] | str]:
    """Return for each system what each operation took; what it can't do is None, with a note why."""
    peers = [] if arguments.no_peers else chosen(arguments.peers, PEERS)
    results: dict[str, dict[str, Any] | str] = {}
    with bar() as progress:
        results[FLOOR] = measure(FLOOR, System("raw_faiss"), arguments, progress, notes)
        results[OURS] = measure(OURS, System(), arguments, progress, notes)
        results[POWER] = measure(
            POWER,
            System(options={"durability": "power"}),
            arguments,
            progress,
            notes,
            ("bulk", "add", "update", "delete"),
        )
        results[PLAIN] = measure(PLAIN, System(options={"plain": True}), arguments, progress, notes, ("bulk", "add"))
        for name in peers:
            peer = PEERS[name]
            here = peer.python() is not None
            title = TITLES[name]
            results[title] = measure(title, peer, arguments, progress, notes) if here else NOT_INSTALLED
    if peers:
        results[BEST] = ratios(results)
    results[GOAL] = dict(GOALS)
    return results


def measure(
    title: str,
    system: System,
    arguments: argparse.Namespace,
    progress: Show,
    notes: list[str],
    steps: Iterable[str] = ("bulk", "search", "open", "add", "update", "delete"),
) -> dict[str, Any]:
    """Return a system's row, from a store that is made for it and removed afterwards."""
    each = max(1, arguments.items // USERS)
    users = min(USERS, max(1, system.most // each))
    row: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="bench-") as scratch:
        folder = Path(scratch) / "store"
        task = Task("", str(folder), users, each, arguments.samples, arguments.patience)
        for step in steps:
            unsaved = {"durable": False} if (title, step) == (FLOOR, "add") else {}
            try:
                found = ask(
                    system,
                    replace(task, step=step, options=unsaved),
                    progress=lambda done, of, step=step: progress(f"{title}: {step}", done, of),  # type: ignore[misc]
                )
            except StepError as error:
                row |= dict.fromkeys(_cells(step, {}), str(error).split(":")[0])
                notes.append(f"{title}, {step}: {error}")
                if step == "bulk":
                    break
                continue
            if reason := found.get("unsupported"):
                notes.append(f"{title}, {step}: {reason}")
            if found.get("foreign"):
                notes.append(f"{title}, {step}: {found['foreign']} hits were another user's")
            if found.get("wrong") and title != FLOOR:
                notes.append(f"{title}, {step}: {found['wrong']} of the last 10 were not what a search then showed")
            if 0 < found.get("samples", arguments.samples) < min(arguments.samples, users * each // 2):
                notes.append(f"{title}, {step}: {found['samples']} samples only, it took too long")
            row |= _cells(step, found)
            if step == "bulk":
                task = replace(task, users=found["users"])
                row = {"at": found["users"] * each} | row | {"disk, MB": size_mb(folder)}
    return row


def _cells(step: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step's columns, None where nothing was found."""
    columns = {
        "bulk": {"bulk add/s": "per_s"},
        "search": {"search, ms": "ms", "search p95": "p95", "hits of 10": "hits", "recall": "recall"},
        "open": {"open: one, s": "one_s", "open: all, s": "all_s", "memory, MB": "memory_mb"},
        "add": {"add one, ms": "ms", "add p95": "p95"},
        "update": {"update, ms": "ms"},
        "delete": {"delete, ms": "ms"},
    }
    return {column: found.get(key) for column, key in columns[step].items()}


def ratios(results: Mapping[str, Mapping[str, Any] | str]) -> dict[str, Any]:
    """Return how many times better than the best peer of the same size this library is; below 1 it is worse.

    A search that found less than 9 of the right 10 is no peer's best.
    """
    ours = results[OURS]
    assert isinstance(ours, Mapping)
    peers = [row for row in (results.get(title) for title in TITLES.values()) if isinstance(row, Mapping)]
    best: dict[str, Any] = {}
    for column in COMPARED:
        values = [
            row[column]
            for row in peers
            if isinstance(row.get(column), float)
            and row.get("at") == ours.get("at")
            and (column != "search, ms" or (row.get("recall") or 0) >= 0.9)
        ]
        if values and isinstance(ours.get(column), float):
            higher = column in HIGHER_IS_BETTER
            best[column] = ours[column] / max(values) if higher else min(values) / ours[column]
    return best
