"""What the relevance floor refuses, and what that costs, for floors below and above the default."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.recall_scores import Scores

RIGHT, FOREIGN, SWAPPED, UTTERANCE = "right", "foreign", "names swapped", "utterances"
STEPS = (-0.08, -0.06, -0.04, -0.02, -0.01, 0.0, 0.01, 0.02, 0.04, 0.08)
"""Added to the default floor."""
DEPTH = 10
EVERY = 20
"""Of this many turns of another conversation one is a query, too."""
LATE, PLAIN = "late interaction", "late_interaction=False"
GOALS = {FOREIGN: 47.0, SWAPPED: 22.0}
"""Percentages refused at least, at `MOST_LOST` points of R@10 lost at most."""
MOST_LOST = 1.0


class Turn(Protocol):
    @property
    def speaker(self) -> str: ...
    @property
    def text(self) -> str: ...


class Question(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def gold(self) -> tuple[str, ...]: ...
    @property
    def category(self) -> int: ...


class Sample(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def turns(self) -> Sequence[Turn]: ...
    @property
    def questions(self) -> Sequence[Question]: ...


Opened = Callable[[Any], AbstractContextManager[Any]]
"""A sample in, a memory that holds its turns out."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One query to one conversation."""

    kind: str
    margin: float
    """By how much its best evidence is above the floor; the default refuses it if that is less than 0."""
    recall: float = 0.0
    """Share of its gold in the first 10, were it not refused; of a right question."""


def swapped(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names in it, possessives included.

    >>> swapped("What did ANN say to Ann's son, and annual Bo?", {"Ann": "Eve", "Bo": "Ian"})
    "What did Eve say to Eve's son, and annual Ian?"
    """
    if not names:
        return text
    others = {name.casefold(): other for name, other in names.items()}
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"\b(?:{pattern})\b", lambda match: others[match[0].casefold()], text, flags=re.IGNORECASE)


def queries(samples: Sequence[Sample], place: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield kind, text and gold of what one conversation is asked: its own questions, and some of the others'.

    Each question of categories 1 to 4 is asked of one other conversation: the first of the next, the second of the one
    after that, and so on.
    """
    sample = samples[place]
    for question in sample.questions:
        if question.category != 5:
            yield RIGHT, question.text, question.gold
    for step in range(1, len(samples)):
        other = samples[place - step]
        names = dict(zip(_speakers(other), _speakers(sample), strict=False))
        asked = [question for question in other.questions if question.category != 5]
        for question in asked[step - 1 :: len(samples) - 1]:
            yield FOREIGN, question.text, ()
            yield SWAPPED, swapped(question.text, names), ()
        for turn in other.turns[step - 1 :: EVERY * (len(samples) - 1)]:
            yield UTTERANCE, turn.text, ()


def ask(memory: Any, samples: Sequence[Sample], place: int) -> Iterator[Asked]:
    """Yield how each query to one conversation went, the floor switched off."""
    for kind, text, gold in queries(samples, place):
        hits = memory.search(text, user_id=samples[place].name, top_k=DEPTH, threshold=0)
        found = [source.message_id or "" for hit in hits for source in hit.item.metadata.sources]
        scores = Scores()
        if gold:
            scores.take(gold, found)
        margin = hits[0].parts["margin"] if hits else -1.0
        yield Asked(kind, margin, scores.recall_10)


def measure(samples: Sequence[Sample], opened: Opened, embedder: Any) -> dict[str, list[Asked]]:
    """Return what every conversation was asked, with late interaction and without."""
    from memreader import Memory

    asked: dict[str, list[Asked]] = {LATE: [], PLAIN: []}
    for place, sample in enumerate(samples):
        with opened(sample) as memory:
            asked[LATE] += ask(memory, samples, place)
            with Memory.open(memory.folder, embedder=embedder, late_interaction=False) as other:
                asked[PLAIN] += ask(other, samples, place)
    return asked


def row(asked: Sequence[Asked], step: float) -> dict[str, float]:
    """Return what a floor `step` above the default does: points of R@10 lost, and percentages refused by kind."""
    right = [one for one in asked if one.kind == RIGHT]
    lost = sum(one.recall for one in right if one.margin < step)
    values = {"R@10 lost": 100 * lost / max(len(right), 1)}
    for kind in (RIGHT, FOREIGN, SWAPPED, UTTERANCE):
        refused = [one.margin < step for one in asked if one.kind == kind]
        if refused:
            values[kind] = 100 * sum(refused) / len(refused)
    return values


def lines(name: str, asked: Sequence[Asked], default: float) -> list[str]:
    """Return the trade-off as lines of text, and whether the default reaches the goals.

    Args:
        name: What was asked.
        asked: Everything it was asked.
        default: The floor of a store of this size.
    """
    counts = {kind: sum(one.kind == kind for one in asked) for kind in (RIGHT, FOREIGN, SWAPPED, UTTERANCE)}
    header = ["floor", "R@10 lost", *(f"{kind} (n={count})" for kind, count in counts.items() if count)]
    found = [f"relevance floor, {name}: points of R@10 lost, and % refused", "  ".join(header)]
    for step in STEPS:
        cells = [f"{default + step:.3f}", *(f"{value:.1f}" for value in row(asked, step).values())]
        aligned = [cell.rjust(len(head)) for cell, head in zip(cells, header, strict=True)]
        found.append("  ".join(aligned) + ("  <- default" if step == 0 else ""))
    now = row(asked, 0.0)
    verdict = all(now.get(kind, 0.0) >= least for kind, least in GOALS.items()) and now["R@10 lost"] <= MOST_LOST
    goals = ", ".join(f"{kind} at least {least:g} %" for kind, least in GOALS.items())
    return [*found, f"goal: {goals}, at most {MOST_LOST:g} point of R@10 lost: {'met' if verdict else 'missed'}"]


def trade_offs(samples: Sequence[Sample], opened: Opened, embedder: Any) -> list[str]:
    """Return the lines that show what relevance floors refuse and cost, with late interaction and without."""
    from memreader import RecallOptions

    options = RecallOptions()
    default = {LATE: options.floor_many_late, PLAIN: options.floor_many}
    found = measure(samples, opened, embedder)
    return [line for name, asked in found.items() for line in ("", *lines(name, asked, default[name]))]


def _speakers(sample: Sample) -> list[str]:
    """Return the names of a conversation, in the order in which they speak."""
    return list(dict.fromkeys(turn.speaker for turn in sample.turns))
