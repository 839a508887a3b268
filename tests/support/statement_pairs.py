"""Pairs of statements and what should become of them, as the files in golden/reconcile hold them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "core" / "golden" / "reconcile"


@dataclass(frozen=True)
class Pair:
    """Two statements, the one that was stored first, and the right decision."""

    kind: str
    old: str
    new: str
    old_at: str | None
    new_at: str | None
    ideal: str
    keep: str

    @property
    def expect(self) -> tuple[str, ...]:
        """What rules may decide: right, or add."""
        also = ("skip",) if self.ideal == "merge" else ()
        return (self.ideal, *also, "add")

    def __str__(self) -> str:
        return f"{self.kind}: {self.old} / {self.new}"


@cache
def pairs_of(name: str) -> list[Pair]:
    """Return the pairs of one file: "written_before" or "written_after" the rules were."""
    return [
        Pair(
            group["kind"],
            *pair[:2],
            *(pair[2:] or ("2024-01-10", "2024-06-20")),
            group["ideal"],
            group.get("keep", "new"),
        )
        for group in json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        for pair in group["pairs"]
    ]
