"""A memory of a boiler, whose clock the test sets, and what a search in it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from memreader import Memory, RecallOptions, lifetimes
from memreader.testing import HashEmbedder
from memreader.types import Hit

WEIGHT = RecallOptions().feedback_weight
WHERE = "Where is the boiler?"
BOILER = ["The boiler is blue.", "The boiler is in the cellar.", "The boiler hums at night.", "My sister sails."]


@dataclass
class Clock:
    """Seconds since 1970, as the test has them."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Callable[[], float], **options: Any) -> Memory:
    lifetimes.clock = clock
    return Memory.in_memory(**{"embedder": HashEmbedder(), **options})


def found(memory: Memory, query: str = WHERE, **more: Any) -> list[Hit]:
    return memory.search(query, **{"user_id": "ana", "top_k": 20, "threshold": 0, **more})


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.item.id for hit in hits]


def part_of(memory: Memory, item_id: str, query: str = WHERE, **more: Any) -> float:
    (part,) = [hit.parts["feedback"] for hit in found(memory, query, **more) if hit.item.id == item_id]
    return part
