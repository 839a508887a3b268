"""kill -9 at random moments of adds, deletes, updates, checkpoints, reindexing, loads: what is lost, and what torn."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.crashes.children import Templates, child, result_of, run_child, said_last
from benchmarks.crashes.phases import PHASES, Phase
from benchmarks.peers.stores.harness import Task
from benchmarks.progress import Show, bar
from benchmarks.systems import PEERS, TITLES, StepError, System, ask, chosen, start
from benchmarks.table import NOT_INSTALLED, show

PEERS_KILLED = ("langchain", "llamaindex", "mem0")
COLUMNS = ("kills", "acknowledged", "lost", "undone", "torn", "reads", "torn reads", "open errors", "damaged")
NOTES = (
    "acknowledged: operations that returned before the kill. lost: their items that are not there then, or older.",
    "undone: deleted, and there again. torn: half an operation, or a vector beside other words. damaged: stores.",
)
PEER_BASE = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--runs", type=int, default=100, help="kills of this library, spread over the phases")
    parser.add_argument("--phases", default=",".join(PHASES), metavar="A,B", help=f"which: {', '.join(PHASES)}")
    parser.add_argument("--peers", default=",".join(PEERS_KILLED), metavar="A,B", help=f"which: {', '.join(PEERS)}")
    parser.add_argument("--peer-runs", type=int, default=6, help="kills of each peer, during adds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", action="store_true", help="inject faults instead of killing")
    parser.add_argument("--folder", type=Path, help="where the stores are made and removed again (a temporary folder)")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    if arguments.faults:
        from benchmarks.crashes.faults import run as run_faults

        with bar() as progress, tempfile.TemporaryDirectory(dir=arguments.folder, prefix="crash-") as scratch:
            results = run_faults(Templates(Path(scratch)), progress)
        return show("injected faults", results, arguments)
    notes = list(NOTES)
    return show("kill -9", run(arguments, notes), arguments, notes=notes)


def run(arguments: argparse.Namespace, notes: list[str]) -> dict[str, dict[str, Any] | str]:
    """Return what was found after the kills, by phase and number of writers, and for each peer."""
    phases = chosen(arguments.phases, PHASES)
    peers = [] if arguments.no_peers else chosen(arguments.peers, PEERS)
    results: dict[str, dict[str, Any] | str] = {}
    with bar() as progress, tempfile.TemporaryDirectory(dir=arguments.folder, prefix="crash-") as scratch:
        results |= kill_ours(phases, arguments, Path(scratch), progress, notes)
        for name in peers:
            if PEERS[name].python() is None:
                results[TITLES[name]] = NOT_INSTALLED
            else:
                results[TITLES[name]] = kill_peer(name, PEERS[name], arguments, Path(scratch), progress, notes)
    return results


def kill_ours(
    phases: list[str], arguments: argparse.Namespace, scratch: Path, progress: Show, notes: list[str]
) -> dict[str, dict[str, Any] | str]:
    """Kill writers of this library; phases in turn, with one and with two writers."""
    plan = [(phase, writers) for writers in (1, 2) for phase in phases]
    rows = {case: Counter(dict.fromkeys(COLUMNS, 0)) for case in plan[: arguments.runs]}
    templates = Templates(scratch)
    for number in range(arguments.runs):
        phase, writers = plan[number % len(plan)]
        progress(f"{phase}, writers: {writers}", number, arguments.runs)
        found = kill_once(phase, writers, templates, random.Random(f"{arguments.seed} {number}"))
        rows[phase, writers].update({column: found[column] for column in COLUMNS})
        notes.extend(f"{phase}, writers: {writers}, run {number}: {example}" for example in found["examples"])
    total = sum(rows.values(), Counter())
    named = {f"memreader: {phase}, {writers} writer{'s'[: writers - 1]}": row for (phase, writers), row in rows.items()}
    named["memreader: all"] = Counter({column: total[column] for column in COLUMNS})
    return {name: {column: row[column] for column in COLUMNS} for name, row in named.items()}


def kill_once(name: str, writers: int, templates: Templates, rng: random.Random) -> dict[str, Any]:
    """Kill the writers of a phase at a random moment while a reader reads; return what was found afterwards."""
    phase = PHASES[name]
    with templates.copy(large=phase.large) as place:
        logs = [place / f"w{number}.log" for number in range(writers)]
        with ExitStack() as undo:
            reader = undo.enter_context(child("read", place / "store"))
            working = [
                undo.enter_context(
                    child("write", place / "store", "--phase", name, "--name", f"w{number}", "--logs", logs[number],
                          "--seed", rng.randrange(10**6))
                )
                for number in range(writers)
            ]  # fmt: skip
            for process in (reader, *working):
                result_of(process)
            moment(phase, place / "store", rng)
            ended = [said_last(process) for process in working if process.poll() is not None]
            for process in rng.sample(working, writers):
                process.kill()
                time.sleep(rng.uniform(0, 0.01))
            assert reader.stdin is not None
            reader.stdin.close()
            read = result_of(reader)
        found = json.loads(run_child("check", place / "store", "--state", place / "state.json", "--logs", *logs))
    damage = [*found["examples"], *([found["error"]] if found["error"] else [])]
    problems = [*damage, *(f"while reading, {example}" for example in read["examples"]), *ended]
    return {
        "kills": writers - len(ended), "acknowledged": found["acknowledged"], "lost": found["lost"],
        "undone": found["undone"], "torn": found["torn"], "reads": read["reads"], "torn reads": read["torn"],
        "open errors": int(bool(found["error"])), "damaged": int(bool(damage)), "examples": problems,
    }  # fmt: skip


def moment(phase: Phase, store: Path, rng: random.Random) -> None:
    """Wait for a moment to kill in."""
    if phase.at_file:
        until = time.monotonic() + 30
        while not any(store.glob(phase.at_file)) and time.monotonic() < until:
            time.sleep(0.0002)
    time.sleep(rng.uniform(0, phase.longest_s))


def kill_peer(
    name: str, peer: System, arguments: argparse.Namespace, scratch: Path, progress: Show, notes: list[str]
) -> dict[str, Any]:
    """Kill a peer while it adds durably, and look for every acknowledged row."""
    row = Counter(dict.fromkeys(COLUMNS, 0))
    rng = random.Random(f"{arguments.seed} {name}")
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        template = Path(place) / "template"
        ask(peer, Task("bulk", str(template), users=1, items=PEER_BASE))
        for number in range(arguments.peer_runs):
            progress(TITLES[name], number, arguments.peer_runs)
            run_folder = Path(place) / f"run{number}"
            shutil.copytree(template, run_folder / "store")
            log = run_folder / "log"
            log.touch()
            task = Task("crash-write", str(run_folder / "store"), log=str(log), base=PEER_BASE)
            with start(peer, task) as process:
                assert process.stdout is not None
                while "ready" not in process.stdout.readline() and process.poll() is None:
                    pass
                time.sleep(rng.uniform(0.1, 2.0))
                process.kill()
            acknowledged = len(log.read_text().splitlines())
            row.update({"kills": 1, "acknowledged": acknowledged})
            try:
                found = ask(peer, Task("crash-check", str(run_folder / "store"), log=str(log), base=PEER_BASE))
            except StepError as error:
                row.update({"open errors": 1, "damaged": 1, "lost": acknowledged})
                notes.append(f"{TITLES[name]}, kill {number}: {error}")
                continue
            row.update({"lost": found["lost"], "torn": found["torn"]})
            row["damaged"] += bool(found["lost"] or found["torn"])
    return {column: None if column in ("undone", "reads", "torn reads") else row[column] for column in COLUMNS}
