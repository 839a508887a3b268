"""Turn-level evidence recall on LoCoMo-form data, through the public API with defaults; no language model anywhere.

The corpus of a question is every turn of its conversation, one item per turn. Gold are the question's evidence ids;
R@k is the mean over questions of (gold found in the top k / gold). Headline: categories 1 to 4, k = 10.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import floors
from benchmarks.peers.retrievers import peers
from benchmarks.recall_scores import Scores, Search, words_only
from benchmarks.table import NOT_INSTALLED, show

DEPTH = 20


@dataclass(frozen=True, slots=True)
class Turn:
    turn_id: str
    session: int
    speaker: str
    text: str
    time: str

    @property
    def spoken(self) -> str:
        """The form that every system indexes."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: tuple[str, ...]
    category: int


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def load(path: Path) -> list[Sample]:
    """Return the conversations of a LoCoMo file, questions without existing evidence left out."""
    return [_sample(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def evidence_ids(raw: Sequence[str]) -> list[str]:
    """Return the ids in LoCoMo's evidence, its malformed forms mended.

    >>> evidence_ids(["D8:6; D9:17", "D:11:26", "D30:05"])
    ['D8:6', 'D9:17', 'D11:26', 'D30:5']
    """
    found = [match for text in raw for match in re.finditer(r"D:?(\d+):(\d+)", text)]
    return list(dict.fromkeys(f"D{int(match[1])}:{int(match[2])}" for match in found))


def _sample(entry: dict[str, Any]) -> Sample:
    conversation = entry["conversation"]
    names = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    turns: list[Turn] = []
    for key in sorted(names, key=lambda name: int(name[8:])):
        for turn in conversation[key]:
            caption = turn.get("blip_caption")
            text = turn["text"] + (f" [shared image: {caption}]" if caption else "")
            when = conversation[f"{key}_date_time"]
            turns.append(Turn(turn["dia_id"], int(key[8:]), turn["speaker"], text, when))
    known = {turn.turn_id for turn in turns}
    questions = [
        Question(qa["question"], tuple(e for e in evidence_ids(qa["evidence"]) if e in known), qa["category"])
        for qa in entry["qa"]
    ]
    return Sample(entry["sample_id"], tuple(turns), tuple(q for q in questions if q.gold))


@contextmanager
def filled(sample: Sample, embedder: Any, **options: Any) -> Iterator[Any]:
    """Give a memory that holds one conversation, added through `Memory.add`."""
    from memreader import Memory

    with Memory.in_memory(embedder=embedder, **options) as memory:
        for session in sorted({turn.session for turn in sample.turns}):
            messages = [
                {
                    "role": "participant",
                    "name": turn.speaker,
                    "content": turn.text,
                    "chat_time": turn.time,
                    "message_id": turn.turn_id,
                }
                for turn in sample.turns
                if turn.session == session
            ]
            memory.add(messages, user_id=sample.name, session_id=f"session-{session}")
        yield memory


def ours(sample: Sample, embedder: Any, **options: Any) -> Iterator[Search]:
    """Give a search over one conversation through `Memory.add` and `Memory.search`, nothing set."""
    with filled(sample, embedder, **options) as memory:

        def search(question: str, k: int) -> list[str]:
            hits = memory.search(question, user_id=sample.name, top_k=k)
            return [source.message_id or "" for hit in hits for source in hit.item.metadata.sources]

        yield search


def bm25_alone(sample: Sample, embedder: Any) -> Iterator[Search]:
    """Give our search with the vectors' weight at zero: the floor that the fusion must not fall below."""
    return ours(sample, embedder, recall_options=words_only(), late_interaction=False)


def measure(
    samples: Sequence[Sample], system: Callable[[Sample, Any], Iterator[Search]], embedder: Any
) -> dict[str, Any]:
    """Return the metrics of one system over all samples."""
    groups = {name: Scores() for name in ("1-4", "1", "2", "3", "4", "5")}
    add_s = search_s = 0.0
    asked = 0
    for sample in samples:
        started = time.perf_counter()
        for search in system(sample, embedder):
            add_s += time.perf_counter() - started
            search("warm up", 1)
            for question in sample.questions:
                started = time.perf_counter()
                found = search(question.text, DEPTH)
                search_s += time.perf_counter() - started
                asked += 1
                groups[str(question.category)].take(question.gold, found)
                if question.category != 5:
                    groups["1-4"].take(question.gold, found)
    return {
        **groups["1-4"].row(),
        **{f"c{name}": groups[name].row()["R@10"] for name in ("1", "2", "3", "4", "5")},
        "ms/query": 1000 * search_s / max(asked, 1),
        "add s": add_s,
        "questions": groups["1-4"].questions,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="a LoCoMo JSON file")
    parser.add_argument(
        "--peer-depth", type=int, default=DEPTH, metavar="N", help="turns that a fused retriever fetches"
    )
    parser.add_argument("--no-floors", action="store_true", help="leave out what relevance floors refuse and cost")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    from memreader import MiniLMEmbedder, RecallOptions

    embedder = MiniLMEmbedder()
    without = replace(RecallOptions(), expansion=0.0)
    samples = load(arguments.data)
    results: dict[str, Any] = {
        "memreader": measure(samples, ours, embedder),
        "memreader, late_interaction=False": measure(samples, partial(ours, late_interaction=False), embedder),
        "memreader, expansion=0": measure(samples, partial(ours, recall_options=without), embedder),
        "memreader, BM25 alone (floor)": measure(samples, bm25_alone, embedder),
    }
    if not arguments.no_peers:
        for name, peer in peers(arguments.peer_depth).items():
            try:
                results[name] = measure(samples, peer, embedder)
            except ImportError:
                results[name] = NOT_INSTALLED
    for values in results.values():
        if isinstance(values, dict):
            values["ratio R@10"] = values["R@10"] / results["memreader"]["R@10"]
    notes = ["c1: multi-hop, the evidence stands in several turns; expansion=0: without the hop by what turns mention"]
    if not arguments.no_floors:
        notes += floors.trade_offs(samples, partial(filled, embedder=embedder), embedder)
    return show("turn R@k on LoCoMo-form data, %, categories 1-4", results, arguments, notes=notes)
