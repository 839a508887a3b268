"""Figures that tell whether a graph is worth looking at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memreader.graph.aliases import suggestions
from memreader.records import Entity, Relation
from memreader.spelling import entity_key


@dataclass(frozen=True, slots=True)
class GraphQuality:
    """How a user's graph looks."""

    entities: int
    seen_once: float
    """Share of the entities that only one item mentions, in [0, 1]; 0.0 for none. Near 1, nothing connects."""
    hubs: tuple[tuple[str, int], ...]
    """Entities with most neighbours and how many, the largest first, then by name. One far ahead of the others is the
    user's own name, or a word that is no name."""
    suggestions: int
    """Pairs that may be one, open."""


def quality(
    entities: Sequence[Entity],
    relations: Iterable[Relation] = (),
    together: Iterable[tuple[str, str, int]] = (),
    *,
    aliases: Collection[tuple[str, str]] = (),
    max_hubs: int = 10,
) -> GraphQuality:
    """Return how the graph looks.

    Args:
        entities: All of the user's.
        relations: All of them.
        together: Two names and how many items mention both.
        aliases: Pairs that are decided: known to be one, or told apart.
        max_hubs: Hubs named, at most.
    """
    names = {entity.key: entity.name for entity in entities}
    near: dict[str, set[str]] = {}
    for one, other in (*((r.head, r.tail) for r in relations), *((one, other) for one, other, _ in together)):
        ends = entity_key(one), entity_key(other)
        for mine, theirs in (ends, ends[::-1]):
            if mine != theirs:
                near.setdefault(mine, set()).add(theirs)
    degrees = ((names[key], len(others)) for key, others in near.items() if key in names)
    hubs = sorted(degrees, key=lambda hub: (-hub[1], hub[0]))
    once = sum(entity.items == 1 for entity in entities)
    return GraphQuality(
        entities=len(entities),
        seen_once=once / len(entities) if entities else 0.0,
        hubs=tuple(hubs[:max_hubs]),
        suggestions=len(suggestions([entity.name for entity in entities], aliases)),
    )
