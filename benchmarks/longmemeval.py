"""Session-level recall on LongMemEval-form data, through the public API with defaults; no language model anywhere.

Each question has a haystack of its own: dated sessions, of which some hold the evidence. The corpus is every turn of
them, of both speakers, one item each; a session stands where its best turn stands. recall_any@k: one evidence session
is among the first k; recall_all@k: all are; nDCG@k as the benchmark's authors compute it. Questions without an answer
(`_abs` in their id) are skipped, as the authors do.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.progress import bar
from benchmarks.recall_scores import OURS, Remembered, Search, others, ours
from benchmarks.table import NOT_INSTALLED, show

CUTS = (5, 10)
TURNS = 200
"""Turns that are asked for: enough for the best ten sessions."""


@dataclass(frozen=True, slots=True)
class Turn:
    turn_id: str
    session: int
    """Place of its session in the haystack."""
    role: str
    text: str

    @property
    def spoken(self) -> str:
        """The form that every system indexes."""
        return f"{self.role}: {self.text}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its haystack."""

    name: str
    kind: str
    text: str
    turns: tuple[Turn, ...]
    sessions: tuple[str, ...]
    dates: tuple[str, ...]
    gold: frozenset[str]


def load(path: Path, *, most: int | None = None) -> list[Question]:
    """Return the questions of a file that can be answered from their haystack.

    Args:
        path: A list of objects with `question_id`, `question_type`, `question`, `haystack_session_ids`,
            `haystack_dates`, `haystack_sessions`, `answer_session_ids`.
        most: At most so many, spread evenly over the file; None for all.
    """
    entries = [e for e in json.loads(path.read_text(encoding="utf-8")) if "_abs" not in e["question_id"]]
    if most is not None and most < len(entries):
        entries = [entries[place * len(entries) // most] for place in range(most)]
    return [question for question in map(_question, entries) if question.gold]


def _question(entry: dict[str, Any]) -> Question:
    sessions = tuple(entry["haystack_session_ids"])
    turns = [
        Turn(f"{place}:{number}", place, turn["role"], turn["content"])
        for place, session in enumerate(entry["haystack_sessions"])
        for number, turn in enumerate(session)
        if turn["content"].strip()
    ]
    reachable = {sessions[turn.session] for turn in turns}
    return Question(
        name=entry["question_id"],
        kind=entry["question_type"],
        text=entry["question"],
        turns=tuple(turns),
        sessions=sessions,
        dates=tuple(entry["haystack_dates"]),
        gold=frozenset(entry["answer_session_ids"]) & reachable,
    )


def our_searches(question: Question, embedder: Any) -> Iterator[tuple[str, Search]]:
    """Give our searches over the haystack of a question."""
    from memreader import Memory

    user = question.name
    with Memory.in_memory(embedder=embedder) as memory:
        for place, date in enumerate(question.dates):
            messages = [
                {"role": turn.role, "content": turn.text, "chat_time": date, "message_id": turn.turn_id}
                for turn in question.turns
                if turn.session == place
            ]
            if messages:
                memory.add(messages, user_id=user, session_id=f"session-{place}")

        def searched(opened: Any, **options: Any) -> Search:
            def search(text: str, k: int) -> list[str]:
                hits = opened.search(text, user_id=user, top_k=k, **options)
                return [source.message_id or "" for hit in hits for source in hit.item.metadata.sources]

            return search

        yield from ours(memory, embedder, searched)


def ranked_sessions(question: Question, found: Sequence[str]) -> list[str]:
    """Return the ids of the sessions that the found turns are of, each where its best turn stands."""
    return list(dict.fromkeys(question.sessions[int(turn_id.partition(":")[0])] for turn_id in found))


def gain(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """Return the nDCG of the first `k`: a hit in first or second place counts 1, in place p 1 / log2(p).

    So do the authors compute it (`src/retrieval/eval_utils.py` of xiaowu0162/LongMemEval); elsewhere it is log2(p + 1).
    """
    worth = [1.0 if place < 2 else 1 / math.log2(place + 1) for place in range(k)]
    ideal = sum(worth[: len(gold)])
    return sum(value for value, name in zip(worth, ranked, strict=False) if name in gold) / ideal


@dataclass(slots=True)
class SessionScores:
    """Sums over the questions that one system was asked."""

    questions: int = 0
    empty: int = 0
    sums: dict[str, float] = field(default_factory=dict)

    def take(self, gold: frozenset[str], ranked: Sequence[str]) -> None:
        """Add one question."""
        self.questions += 1
        self.empty += not ranked
        for k in CUTS:
            found = gold & set(ranked[:k])
            for name, value in (("any", bool(found)), ("all", found == gold), ("nDCG", gain(ranked, gold, k))):
                column = f"{name}@{k}" if name == "nDCG" else f"recall_{name}@{k}"
                self.sums[column] = self.sums.get(column, 0.0) + value

    def row(self) -> dict[str, float]:
        """Return percentages, and of how many questions."""
        count = max(self.questions, 1)
        return {
            **{column: 100 * value / count for column, value in self.sums.items()},
            "refused": 100 * self.empty / count,
            "n": self.questions,
        }


@dataclass(slots=True)
class Measured:
    """What one system found."""

    all: SessionScores = field(default_factory=SessionScores)
    kinds: dict[str, SessionScores] = field(default_factory=dict)
    seconds: float = 0.0

    def ask(self, question: Question, search: Search) -> None:
        """Ask one question and add what came of it."""
        search("warm up", 1)
        started = time.perf_counter()
        found = search(question.text, TURNS)
        self.seconds += time.perf_counter() - started
        ranked = ranked_sessions(question, found)
        for scores in (self.all, self.kinds.setdefault(question.kind, SessionScores())):
            scores.take(question.gold, ranked)

    def row(self) -> dict[str, float]:
        """Return the row over all kinds."""
        return {**self.all.row(), "ms/query": 1000 * self.seconds / max(self.all.questions, 1)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="a LongMemEval JSON file")
    parser.add_argument("--questions", type=int, metavar="N", help="only so many, spread evenly over the file")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    questions = load(arguments.data, most=arguments.questions)
    measured = measure(questions, peers=not arguments.no_peers)
    results: dict[str, Any] = {
        name: NOT_INSTALLED if found is None else found.row() for name, found in measured.items()
    }
    for kind in sorted({question.kind for question in questions}):
        for name, found in measured.items():
            if found is not None and (name == OURS or arguments.json):
                results[f"{name}: {kind}"] = found.kinds[kind].row()
    sizes = sorted(len(question.turns) for question in questions) or [0]
    note = f"{len(questions)} questions; median haystack {sizes[len(sizes) // 2]:,} turns"
    return show("session recall on LongMemEval-form data, %", results, arguments, notes=[note])


def measure(questions: Sequence[Question], *, peers: bool) -> dict[str, Measured | None]:
    """Return what each system found; None for one that is not installed."""
    from memreader import MiniLMEmbedder

    embedder = MiniLMEmbedder()
    measured: dict[str, Measured | None] = {}
    with bar() as progress:
        for number, question in enumerate(questions):
            progress("questions", number, len(questions))
            for name, search in our_searches(question, embedder):
                _ask(measured, name, question, search)
            if peers:
                for name, theirs in others(question, Remembered(embedder), TURNS):
                    _ask(measured, name, question, theirs)
    return measured


def _ask(measured: dict[str, Measured | None], name: str, question: Question, search: Search | None) -> None:
    if search is None:
        measured[name] = None
        return
    found = measured.setdefault(name, Measured())
    if found is not None:
        found.ask(question, search)
