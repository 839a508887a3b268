"""What the recall benchmarks share: sums over questions, search by words alone, and systems asked in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.retrievers import peers
from memreader.types import Vectors

Search = Callable[[str, int], Sequence[str]]
"""A question and k in, ids out, best first."""
OURS, NO_FLOOR, LEXICAL = "memreader", "memreader, no floor", "memreader, lexical only"


@dataclass(slots=True)
class Scores:
    """Sums over questions."""

    questions: int = 0
    recall_5: float = 0.0
    recall_10: float = 0.0
    recall_20: float = 0.0
    all_10: float = 0.0
    reciprocal: float = 0.0
    ndcg_10: float = 0.0
    empty: int = 0

    def take(self, gold: Sequence[str], found: Sequence[str]) -> None:
        """Add one question."""
        hits = [identity in gold for identity in found]
        self.questions += 1
        self.recall_5 += sum(hits[:5]) / len(gold)
        self.recall_10 += sum(hits[:10]) / len(gold)
        self.recall_20 += sum(hits[:20]) / len(gold)
        self.all_10 += sum(hits[:10]) == len(gold)
        self.reciprocal += next((1 / place for place, hit in enumerate(hits, 1) if hit), 0.0)
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(gold), 10) + 1))
        self.ndcg_10 += sum(1 / math.log2(place + 1) for place, hit in enumerate(hits[:10], 1) if hit) / ideal
        self.empty += not found

    def row(self) -> dict[str, float]:
        """Return percentages."""
        count = max(self.questions, 1)
        return {
            "R@5": 100 * self.recall_5 / count,
            "R@10": 100 * self.recall_10 / count,
            "R@20": 100 * self.recall_20 / count,
            "all@10": 100 * self.all_10 / count,
            "MRR": 100 * self.reciprocal / count,
            "nDCG@10": 100 * self.ndcg_10 / count,
            "refused": 100 * self.empty / count,
        }


def words_only() -> Any:
    """Return the options under which our search takes no notice of vectors."""
    from memreader import RecallOptions

    return RecallOptions().without_vectors()


class Remembered:
    """An embedder that computes each passage once, however many peers index it; a question each time it is asked."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._passages: dict[str, Vectors] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> Vectors:
        missing = [text for text in dict.fromkeys(texts) if text not in self._passages]
        if missing:
            self._passages.update(zip(missing, self._embedder.embed(missing), strict=True))
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([self._passages[text] for text in texts])


def ours(memory: Any, embedder: Any, searched: Callable[..., Search]) -> Iterator[tuple[str, Search]]:
    """Give our searches of what `memory` holds: with the defaults, without the floor, by words alone and without it.

    Args:
        memory: What is searched.
        embedder: The one it was opened with.
        searched: Takes a memory and options of `Memory.search`; returns the search that uses them.
    """
    from memreader import Memory

    yield OURS, searched(memory)
    yield NO_FLOOR, searched(memory, threshold=0)
    with Memory.open(memory.folder, embedder=embedder, recall_options=words_only(), late_interaction=False) as other:
        yield LEXICAL, searched(other, threshold=0)


def others(
    sample: Any, embedder: Any, depth: int, *, names: Collection[str] | None = None
) -> Iterator[tuple[str, Search | None]]:
    """Give the search of each peer over the same texts, None for one that is not installed.

    Args:
        sample: Has `turns`, each with `turn_id` and `spoken`.
        embedder: Theirs, too.
        depth: How much each fetches.
        names: Which; None for all.
    """
    for name, peer in peers(depth).items():
        if names is not None and name not in names:
            continue
        searches = peer(sample, embedder)
        try:
            search = next(searches)
        except ImportError:
            yield name, None
            continue
        yield name, search
        searches.close()  # type: ignore[attr-defined]


def verdicts(goals: Mapping[tuple[str, str], float], results: Mapping[str, Any]) -> list[str]:
    """Return a line for each goal: (system, column) -> at least so much; none for a system that was not measured."""
    lines = []
    for (system, column), least in goals.items():
        row = results.get(system)
        if isinstance(row, Mapping) and column in row:
            verdict = "met" if row[column] >= least else "missed"
            lines.append(f"goal: {column} of '{system}' at least {least:g}: {row[column]:.1f}: {verdict}")
    return lines
