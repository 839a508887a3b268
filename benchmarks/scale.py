"""A large store: a million items of a thousand users, and users with very many; bulk add, open, search, add, memory."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.peers.stores.harness import Task
from benchmarks.peers.stores.rows import BLOCK
from benchmarks.progress import Show, bar
from benchmarks.systems import System, ask, size_mb
from benchmarks.table import show

UNBOUNDED_MB = 16_384
NOTES = (
    "bulk add/s: durable after each thousand; first, last tenth. search: top 10 of one user, with its index in memory.",
    "open: from opening to the first answer for one user, then for all; memory: what that took, disk: all files.",
    "With max_resident_mb the indexes of other users leave memory, and a search for one that has left makes it again.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--items", type=int, default=1_000_000, help=f"items in all, {BLOCK:,} of each user")
    parser.add_argument(
        "--one-user", type=int, nargs="*", default=[100_000], metavar="N", help="items of a single user"
    )
    parser.add_argument("--bound", type=int, default=256, metavar="MB", help="max_resident_mb of the bounded runs")
    parser.add_argument("--samples", type=int, default=200, help="how often each single operation is measured")
    parser.add_argument("--folder", type=Path, help="where the stores are made and removed again (a temporary folder)")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    return show("scale", run(arguments), arguments, notes=NOTES)


def run(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return for each shape of store what was measured, without and with a bound on memory."""
    shapes = [(max(1, arguments.items // BLOCK), min(BLOCK, arguments.items))]
    shapes += [(1, count) for count in arguments.one_user]
    results: dict[str, dict[str, Any]] = {}
    with bar() as progress:
        for users, items in shapes:
            results |= measure(users, items, arguments, progress)
    return results


def measure(users: int, items: int, arguments: argparse.Namespace, progress: Show) -> dict[str, dict[str, Any]]:
    """Return the rows of one shape, from a store that is made for it and removed afterwards."""
    name = f"{users:,} user{'s'[: users - 1]} x {items:,}"
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="scale-") as scratch:
        folder = Path(scratch) / "store"
        task = Task("", str(folder), users, items, arguments.samples, patience_s=10**6)

        def step(what: str, bound: int) -> dict[str, Any]:
            progress(f"{name}: {what}", 0, 1)
            return ask(
                System(),
                replace(task, step=what, options={"max_resident_mb": bound}),
                progress=lambda done, of: progress(f"{name}: {what}", done, of),
            )

        bulk = step("bulk", UNBOUNDED_MB)
        disk = size_mb(folder)
        rows = {name: _looked_at(step, UNBOUNDED_MB)}
        if users > 1:
            rows[f"the same, max_resident_mb={arguments.bound}"] = _looked_at(step, arguments.bound)
        added = step("add", UNBOUNDED_MB)
    rows[name] = {
        "bulk add/s": bulk["per_s"], "first": bulk["first_per_s"], "last": bulk["last_per_s"], "disk, MB": disk,
        **rows[name], "add one, ms": added["ms"], "add p95": added["p95"],
    }  # fmt: skip
    return rows


def _looked_at(step: Any, bound: int) -> dict[str, Any]:
    opened, searched = step("open", bound), step("search", bound)
    return {
        "open: one, s": opened["one_s"], "open: all, s": opened["all_s"], "memory, MB": opened["memory_mb"],
        "search, ms": searched["ms"], "search p95": searched["p95"], "hits of 10": searched["hits"],
        "recall": searched["recall"],
    }  # fmt: skip
