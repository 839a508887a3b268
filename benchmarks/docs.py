"""Evidence recall over the documents in `benchmarks/data/docs`, through the public API with defaults.

A question is labelled with a file and the spans of it that answer; a chunk that covers most of one is a hit. R@k is the
share of questions with a hit in the first k. Peers search the same chunks, with the same embedder.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.retrievers import peers
from benchmarks.recall_scores import words_only
from benchmarks.table import NOT_INSTALLED, show

FOLDER = Path(__file__).parent / "data" / "docs"
USER = "reader"
DEPTH = 20
COVERED = 0.6
"""Share of the evidence that a chunk must hold to be a hit."""
GOAL = 2.0
"""Points of R@5 that the fusion must be ahead of either half of it."""
OURS, LEXICAL, DENSE = "memreader", "memreader, lexical only", "memreader, dense only"
NO_FLOOR = "memreader, no floor"
KINDS = ("shared", "between", "paraphrase")
"""How much of its wording a question has in common with its evidence: much, some, next to nothing."""
Search = Callable[[str, int], Sequence[str]]
"""A question and k in, ids of chunks out, best first."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    file: str
    evidence: tuple[str, ...]
    """Spans that answer, each on its own; each stands exactly once in the file."""
    kind: str
    needs_heading: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk as `Memory` keeps it, with the names that the peers' retrievers read."""

    turn_id: str
    file: str
    start: int
    end: int
    spoken: str


@dataclass(frozen=True, slots=True)
class Corpus:
    turns: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question and the chunks that answer it."""

    question: Question
    gold: frozenset[str]


def files() -> list[Path]:
    """Return the texts, by name."""
    return sorted((FOLDER / "texts").glob("*.md"))


def load() -> list[Question]:
    """Return the questions, in the order of the file."""
    entries = json.loads((FOLDER / "questions.json").read_text(encoding="utf-8"))
    return [
        Question(
            entry["question"],
            entry["file"],
            tuple(entry["evidence"]),
            entry["kind"],
            needs_heading=entry.get("needs_heading", False),
        )
        for entry in entries
    ]


def chunks_in(memory: Any) -> Corpus:
    """Return what the memory made of the files.

    Raises:
        ValueError: A chunk's span isn't its text: the offsets count over something else than the file.
    """
    texts = {file.name: file.read_text(encoding="utf-8") for file in files()}
    chunks = []
    for item in memory.get_all(user_id=USER):
        (source,) = item.metadata.sources
        name = Path(source.doc_path).name
        if texts[name][source.start : source.end] != source.content:
            raise ValueError(f"{name}: {source.start} to {source.end} is not what the chunk holds")
        chunks.append(Chunk(item.id, name, source.start, source.end, item.memory))
    return Corpus(tuple(chunks))


def covering(chunks: Sequence[Chunk], file: str, start: int, end: int) -> frozenset[str]:
    """Return the ids of the chunks that hold at least `COVERED` of a span."""
    return frozenset(
        chunk.turn_id
        for chunk in chunks
        if chunk.file == file and min(chunk.end, end) - max(chunk.start, start) >= COVERED * (end - start)
    )


def label(questions: Sequence[Question], corpus: Corpus) -> list[Labelled]:
    """Return each question with its gold chunks, which may be none where the evidence was cut in the middle."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in files()}
    labelled = []
    for question in questions:
        gold: set[str] = set()
        for evidence in question.evidence:
            start = texts[question.file].index(evidence)
            gold |= covering(corpus.turns, question.file, start, start + len(evidence))
        labelled.append(Labelled(question, frozenset(gold)))
    return labelled


@dataclass(slots=True)
class Scores:
    """Sums over the questions that one system was asked."""

    ranks: list[int | None] = field(default_factory=list)
    """Place of the first hit, from 1; None where there is none."""
    empty: int = 0
    seconds: float = 0.0

    def within(self, k: int) -> list[bool]:
        """Return for each question whether a hit is among the first k."""
        return [rank is not None and rank <= k for rank in self.ranks]

    def row(self, questions: Sequence[Question]) -> dict[str, Any]:
        """Return percentages."""
        count = max(len(self.ranks), 1)
        five = list(zip(questions, self.within(5), strict=True))
        groups = {kind: [hit for question, hit in five if question.kind == kind] for kind in KINDS}
        groups["needs heading"] = [hit for question, hit in five if question.needs_heading]
        return {
            **{f"R@{k}": 100 * sum(self.within(k)) / count for k in (1, 5, 10)},
            "MRR": 100 * sum(1 / rank for rank in self.ranks if rank) / count,
            **{f"R@5 {name}": 100 * sum(hits) / max(len(hits), 1) for name, hits in groups.items()},
            "refused": 100 * self.empty / count,
            "ms/query": 1000 * self.seconds / count,
            "n": len(self.ranks),
        }


def measure(labelled: Sequence[Labelled], search: Search) -> Scores:
    """Return how one system did."""
    scores = Scores()
    search("warm up", 1)
    for one in labelled:
        started = time.perf_counter()
        found = search(one.question.text, DEPTH)
        scores.seconds += time.perf_counter() - started
        scores.empty += not found
        scores.ranks.append(next((place for place, id_ in enumerate(found, 1) if id_ in one.gold), None))
    return scores


def our_search(memory: Any, **options: Any) -> Search:
    """Return `Memory.search` by ids."""
    return lambda question, k: [hit.item.id for hit in memory.search(question, user_id=USER, top_k=k, **options)]


def measure_ours(embedder: Any) -> tuple[dict[str, Scores], list[Labelled], Corpus]:
    """Add all files to one memory and return what it finds: fused, by words alone, by vectors alone."""
    from memreader import Memory, RecallOptions, Weights

    weights = {
        LEXICAL: words_only(),
        DENSE: RecallOptions(
            plain=Weights(lexical_weight=0.0), document_lexical=0.0, document_coverage=0.0, utterance_lexical=0.0
        ),
    }
    with Memory.in_memory(embedder=embedder) as memory:
        memory.add(files(), user_id=USER)
        corpus = chunks_in(memory)
        labelled = label(load(), corpus)
        scores = {
            OURS: measure(labelled, our_search(memory)),
            NO_FLOOR: measure(labelled, our_search(memory, threshold=0)),
        }
        for name, options in weights.items():
            with Memory.open(memory.folder, embedder=embedder, recall_options=options) as other:
                scores[name] = measure(labelled, our_search(other))
    return scores, labelled, corpus


def notes_on(scores: Mapping[str, Scores], labelled: Sequence[Labelled], corpus: Corpus) -> list[str]:
    """Return what the table leaves open: sizes, the goal, and how many questions a difference rests on."""
    lost = sum(not one.gold for one in labelled)
    notes = [
        f"{len(corpus.turns)} chunks of {len(files())} files, {len(labelled)} questions; no chunk covers the evidence "
        f"of {lost}"
    ]
    ours = scores[OURS].within(5)
    for name in (LEXICAL, DENSE):
        other = scores[name].within(5)
        won = sum(mine and not theirs for mine, theirs in zip(ours, other, strict=True))
        lost = sum(theirs and not mine for mine, theirs in zip(ours, other, strict=True))
        ahead = 100 * (sum(ours) - sum(other)) / max(len(ours), 1)
        verdict = "met" if ahead >= GOAL else "missed"
        notes.append(
            f"goal: R@5 at least {GOAL:g} points above '{name}': {ahead:+.1f} ({won} questions won, {lost} lost): "
            f"{verdict}"
        )
    return notes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument(
        "--peer-depth", type=int, default=DEPTH, metavar="N", help="chunks that a peer's retriever fetches"
    )
    parser.add_argument("--misses", action="store_true", help="list the questions that have no hit in the first five")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    from memreader import MiniLMEmbedder

    embedder = MiniLMEmbedder()
    scores, labelled, corpus = measure_ours(embedder)
    questions = [one.question for one in labelled]
    results: dict[str, Any] = {name: found.row(questions) for name, found in scores.items()}
    if not arguments.no_peers:
        for name, peer in peers(arguments.peer_depth).items():
            try:
                for search in peer(corpus, embedder):
                    results[name] = measure(labelled, search).row(questions)
            except ImportError:
                results[name] = NOT_INSTALLED
    notes = notes_on(scores, labelled, corpus)
    if arguments.misses:
        notes += [
            f"missed: {question.text} ({question.file}, {question.kind})"
            for question, hit in zip(questions, scores[OURS].within(5), strict=True)
            if not hit
        ]
    return show("evidence recall on documents, %", results, arguments, notes=notes)
