"""The verbs for a user's graph: whom and what memories mention, how that hangs together, and which names are one."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path

from memreader.checks import check_page
from memreader.graph.aliases import Suggestion, suggestions
from memreader.graph.find import entities_in
from memreader.graph.quality import GraphQuality, quality
from memreader.graph.views import MAX_DRAWN, GraphView, graph_html, graph_json, graphml
from memreader.records import Entity, Relation
from memreader.spelling import entity_key
from memreader.stores import Store
from memreader.twins import off_loop
from memreader.types import Scope

MAX_MEMORIES = 20
"""Memories that the page shows of one entity, at most; the newest."""


class Graph:
    """People, places and things that memories mention; `Memory.graph` gives one.

    They come from the `entities` of items, given by the caller or by a model that read in mode "fine", else found by
    rules, which name only what is surely a name. Two names that a memory states to be one ("Robert, a.k.a. Bob"), or
    that `merge_entities` was told of, are one entity in all that is returned here, under either name. Names are
    compared without case, width and blanks; see `spelling.entity_key`. A name that no memory of the user mentions has
    no neighbours, relations and mentions.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def entities(self, *, user_id: str, limit: int | None = None, offset: int = 0) -> list[Entity]:
        """Return the user's entities, those that most items mention first, then by name."""
        check_page(limit, offset)
        return self._store.graph.entities(_user(user_id), limit=-1 if limit is None else limit, offset=offset)

    def neighbours(self, name: str, *, user_id: str, hops: int = 1) -> list[Entity]:
        """Return the entities that an item mentions together with this one, the most frequent first; [] for none.

        Args:
            name: In any spelling.
            user_id: Whose.
            hops: 2 for those beside the neighbours, too, which follow them.

        `items` of each is how many items mention both; of those further away, it and any neighbour.

        Raises:
            ValueError: `hops` is neither 1 nor 2.
        """
        if hops not in (1, 2):
            raise ValueError(f"hops is 1 or 2, got {hops}")
        user, graph = _user(user_id), self._store.graph
        near = graph.neighbours(user, name)
        if hops == 1 or not near:
            return near
        return [*near, *graph.neighbours(user, name, *(each.name for each in near))]

    def relations(self, name: str | None = None, *, user_id: str) -> list[Relation]:
        """Return the relations that have this name as head or tail, or all of them, oldest first."""
        return self._store.graph.relations(_user(user_id), name)

    def mentions(self, name: str, *, user_id: str) -> list[str]:
        """Return the ids of the items that mention this name, or one that is one with it, oldest first."""
        return self._store.graph.mentions(_user(user_id), [name])

    def merge_entities(self, one: str, other: str, *, user_id: str) -> None:
        """Make two names one entity, called `one`, until `split_entity`; what `other` was one with comes along.

        No memory is changed. When no memory mentions one of the names any more, the merge is forgotten with it: what is
        deleted is gone.

        Raises:
            EntityNotFoundError: No memory of the user mentions one of them.
        """
        self._store.graph.merge(_user(user_id), one, other)

    def split_entity(self, name: str, *, user_id: str) -> None:
        """Make a name stand for itself again, whether `merge_entities` or a memory made it one with others.

        What was joined only by way of it is apart then, too. A name that stands alone stays as it is.

        Raises:
            EntityNotFoundError: No memory of the user mentions it.
        """
        self._store.graph.split(_user(user_id), name)

    def suggestions(self, *, user_id: str) -> list[Suggestion]:
        """Return pairs of names that may be one, the likeliest first; nothing is merged for it."""
        user, graph = _user(user_id), self._store.graph
        return suggestions([entity.name for entity in graph.entities(user)], graph.decided(user))

    def quality(self, *, user_id: str) -> GraphQuality:
        """Return figures that tell whether the graph is worth looking at; looks at all of it."""
        user, graph = _user(user_id), self._store.graph
        return quality(graph.entities(user), graph.relations(user), graph.together(user), aliases=graph.decided(user))

    def export_json(self, path: str | os.PathLike[str], *, user_id: str) -> Path:
        """Write nodes and links as JSON, in the form of networkx's `node_link_graph`, and return the path."""
        return _written(path, graph_json(self._view(_user(user_id))))

    def export_graphml(self, path: str | os.PathLike[str], *, user_id: str) -> Path:
        """Write the graph as GraphML, for Gephi, yEd and their like, and return the path.

        Raises:
            MissingExtraError: networkx is not installed.
        """
        return _written(path, graphml(self._view(_user(user_id))))

    def export_html(self, path: str | os.PathLike[str], *, user_id: str, max_drawn: int = MAX_DRAWN) -> Path:
        """Write one page that draws the graph in a browser, offline, with the memories of each entity; return the path.

        Args:
            path: Replaced if it is there.
            user_id: Whose.
            max_drawn: Entities on the page, at most: those with most links.

        Raises:
            ValueError: `max_drawn` is less than 1.
        """
        user = _user(user_id)
        view = self._view(user, with_memories=True)
        return _written(path, graph_html(view, title=f"Memory graph of {user}", max_drawn=max_drawn))

    def _view(self, user: str, *, with_memories: bool = False) -> GraphView:
        graph = self._store.graph
        memories = self._memories(user) if with_memories else {}
        kinds = _kinds(memories)
        return GraphView(graph.entities(user), graph.relations(user), graph.together(user), kinds, memories)

    def _memories(self, user: str) -> dict[str, list[str]]:
        """Return the newest memories of each entity by its key."""
        mentioned = self._store.graph.mentioned(user, each=MAX_MEMORIES)
        ids = list(dict.fromkeys(item_id for _, item_id in mentioned))
        items = self._store.fetch(user, ids)
        words = {item.id: item.memory for item in items if item is not None}
        memories: dict[str, list[str]] = defaultdict(list)
        for key, item_id in mentioned:
            if item_id in words:
                memories[key].append(words[item_id])
        return dict(memories)

    aentities = off_loop(entities)
    aneighbours = off_loop(neighbours)
    arelations = off_loop(relations)
    amentions = off_loop(mentions)
    amerge_entities = off_loop(merge_entities)
    asplit_entity = off_loop(split_entity)
    asuggestions = off_loop(suggestions)
    aquality = off_loop(quality)
    aexport_json = off_loop(export_json)
    aexport_graphml = off_loop(export_graphml)
    aexport_html = off_loop(export_html)


class ScopedGraph:
    """The graph of one user, without the user in each call; `ScopedMemory.graph` gives one.

    It is of all the user's memories, whatever session and agent the scope is of.
    """

    def __init__(self, graph: Graph, user_id: str) -> None:
        self._graph = graph
        self._user_id = _user(user_id)

    def entities(self, *, limit: int | None = None, offset: int = 0) -> list[Entity]:
        """Return the entities, those that most items mention first, then by name."""
        return self._graph.entities(user_id=self._user_id, limit=limit, offset=offset)

    def neighbours(self, name: str, *, hops: int = 1) -> list[Entity]:
        """Return the entities that an item mentions together with this one; see `Graph.neighbours`."""
        return self._graph.neighbours(name, user_id=self._user_id, hops=hops)

    def relations(self, name: str | None = None) -> list[Relation]:
        """Return the relations that have this name as head or tail, or all of them, oldest first."""
        return self._graph.relations(name, user_id=self._user_id)

    def mentions(self, name: str) -> list[str]:
        """Return the ids of the items that mention this name, or one that is one with it, oldest first."""
        return self._graph.mentions(name, user_id=self._user_id)

    def merge_entities(self, one: str, other: str) -> None:
        """Make two names one entity, called `one`; see `Graph.merge_entities`."""
        self._graph.merge_entities(one, other, user_id=self._user_id)

    def split_entity(self, name: str) -> None:
        """Make a name stand for itself again; see `Graph.split_entity`."""
        self._graph.split_entity(name, user_id=self._user_id)

    def suggestions(self) -> list[Suggestion]:
        """Return pairs of names that may be one, the likeliest first; nothing is merged for it."""
        return self._graph.suggestions(user_id=self._user_id)

    def quality(self) -> GraphQuality:
        """Return figures that tell whether the graph is worth looking at; looks at all of it."""
        return self._graph.quality(user_id=self._user_id)

    def export_json(self, path: str | os.PathLike[str]) -> Path:
        """Write nodes and links as JSON and return the path; see `Graph.export_json`."""
        return self._graph.export_json(path, user_id=self._user_id)

    def export_graphml(self, path: str | os.PathLike[str]) -> Path:
        """Write the graph as GraphML and return the path; see `Graph.export_graphml`."""
        return self._graph.export_graphml(path, user_id=self._user_id)

    def export_html(self, path: str | os.PathLike[str], *, max_drawn: int = MAX_DRAWN) -> Path:
        """Write one page that draws the graph in a browser and return the path; see `Graph.export_html`."""
        return self._graph.export_html(path, user_id=self._user_id, max_drawn=max_drawn)

    aentities = off_loop(entities)
    aneighbours = off_loop(neighbours)
    arelations = off_loop(relations)
    amentions = off_loop(mentions)
    amerge_entities = off_loop(merge_entities)
    asplit_entity = off_loop(split_entity)
    asuggestions = off_loop(suggestions)
    aquality = off_loop(quality)
    aexport_json = off_loop(export_json)
    aexport_graphml = off_loop(export_graphml)
    aexport_html = off_loop(export_html)


def _user(user_id: str) -> str:
    return Scope(user_id).user_id


def _kinds(memories: dict[str, list[str]]) -> dict[str, str]:
    """Return what most of the memories that name an entity show it to be, by its key; nothing where none tells."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for text in dict.fromkeys(text for texts in memories.values() for text in texts):
        for found in entities_in(text):
            if found.kind != "other":
                votes[entity_key(found.name)][found.kind] += 1
    return {key: counted.most_common(1)[0][0] for key, counted in votes.items() if key in memories}


def _written(path: str | os.PathLike[str], text: str) -> Path:
    path = Path(path)
    path.write_text(text, encoding="utf-8")
    return path
