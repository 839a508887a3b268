"""Figures of a graph."""

from __future__ import annotations

from memreader.graph.quality import quality
from memreader.records import Entity, Relation


def entity(name: str, items: int = 1) -> Entity:
    return Entity(name, name.casefold(), items)


def test_an_empty_graph_has_figures() -> None:
    figures = quality([])
    assert (figures.entities, figures.seen_once, figures.hubs, figures.suggestions) == (0, 0.0, (), 0)


def test_the_share_of_entities_seen_once_is_told() -> None:
    assert quality([entity("Ana", 3), entity("Ben"), entity("Lisbon"), entity("Porto", 2)]).seen_once == 0.5


def test_hubs_are_counted_by_neighbours_and_not_by_links() -> None:
    entities = [entity("Ana", 9), entity("Ben"), entity("Lisbon"), entity("Porto")]
    relations = [
        Relation("Ana", "knows", "Ben", "1"),
        Relation("ana", "likes", "Ben", "2"),
        Relation("Ana", "is", "Ana", "3"),
    ]
    figures = quality(entities, relations, [("Ana", "Lisbon", 2), ("Porto", "Nobody", 1)])
    assert figures.hubs == (("Ana", 2), ("Ben", 1), ("Lisbon", 1), ("Porto", 1))
    assert quality(entities, relations, max_hubs=1).hubs == (("Ana", 1),)


def test_open_suggestions_are_counted() -> None:
    entities = [entity("张三"), entity("Zhang San"), entity("Bob"), entity("Robert")]
    assert quality(entities).suggestions == 2
    assert quality(entities, aliases=[("Bob", "Robert")]).suggestions == 1
