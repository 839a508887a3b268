"""`memreader graph`: the people, places and things in a user's memories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memreader.cli.failing import CommandError, UsageError
from memreader.cli.opening import opened
from memreader.cli.options import AsJson, Embedder, StoreDir, User
from memreader.cli.screen import Column, Screen
from memreader.cli.words import day, excerpt

if TYPE_CHECKING:
    from memreader.items import TextualMemoryItem
    from memreader.memory import Memory
    from memreader.records import Entity, Relation


def graph(
    store: StoreDir,
    user: User,
    entity: Annotated[
        str | None, typer.Option("--entity", metavar="NAME", help="Show one: what is beside it, and the memories.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many at most; 0 for all.")] = 30,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Draw the graph on a page for a browser.")
    ] = None,
    graphml: Annotated[
        Path | None, typer.Option("--graphml", metavar="FILE", help="Write it for Gephi and its like.")
    ] = None,
    json_graph: Annotated[
        Path | None, typer.Option("--json-graph", metavar="FILE", help="Write nodes and links as JSON.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Show the people, places and things that memories mention, those of most memories first.

    They come from a model that read ("refine"), or with the items. Into a pipe go lines with tabs between, name first;
    of one entity each begins with what it is: neighbour, relation or memory.
    """
    screen = Screen(as_json=as_json)
    files = {"html": html, "graphml": graphml, "json": json_graph}
    chosen = {kind: file for kind, file in files.items() if file is not None}
    if chosen and entity is not None:
        raise UsageError("--entity shows one entity; files hold the whole graph: give one of them")
    for file in chosen.values():
        if file.exists() and not force:
            raise CommandError(f"'{file}' is there already; --force replaces it")
    with opened(store, embedder) as memory:
        if chosen:
            _write(memory, user, chosen, screen)
        elif entity is not None:
            _show_one(memory, user, entity, limit, screen)
        else:
            found = memory.graph.entities(user_id=user, limit=limit or None)
            _show(screen, found)


def _write(memory: Memory, user: str, files: dict[str, Path], screen: Screen) -> None:
    verbs = {
        "html": memory.graph.export_html,
        "graphml": memory.graph.export_graphml,
        "json": memory.graph.export_json,
    }
    written = [verbs[kind](file, user_id=user) for kind, file in files.items()]
    screen.done("written to " + ", ".join(f"'{file}'" for file in written), {"paths": written})


def _show(screen: Screen, found: list[Entity]) -> None:
    if screen.as_json:
        screen.show_json(found)
    elif not found:
        screen.say("nothing found")
    else:
        _rows(screen, "", [Column("entity", ratio=1), Column("memories", "green", right=True)], map(_cells, found))


def _show_one(memory: Memory, user: str, name: str, limit: int, screen: Screen) -> None:
    graph = memory.graph
    ids = graph.mentions(name, user_id=user)
    if not ids:
        raise CommandError(f"no memory of the user '{user}' mentions '{name}'")
    wanted = limit or len(ids)
    near = graph.neighbours(name, user_id=user)[: limit or None]
    relations = graph.relations(name, user_id=user)[-wanted:]
    items = [item for item in memory.get_by_ids(ids[-wanted:], user_id=user) if item is not None]
    if screen.as_json:
        screen.show_json({"neighbours": near, "relations": relations, "memories": items})
        return
    if near:
        columns = [Column("beside it", ratio=1), Column("memories", "green", right=True)]
        _rows(screen, "neighbour", columns, map(_cells, near))
    if relations:
        _rows(screen, "relation", [Column("who"), Column("how"), Column("whom", ratio=1)], map(_said, relations))
    columns = [Column("memory", ratio=1), Column("date", "cyan")]
    _rows(screen, "memory", columns, (_told(screen, item) for item in items))


def _rows(screen: Screen, kind: str, columns: list[Column], rows: Iterable[tuple[str, ...]]) -> None:
    """Show a table; into a pipe, lines that begin with their kind, if there are several."""
    if screen.is_terminal:
        screen.table(columns, list(rows))
    else:
        screen.lines((kind, *row) if kind else row for row in rows)


def _cells(entity: Entity) -> tuple[str, str]:
    return entity.name, str(entity.items)


def _said(relation: Relation) -> tuple[str, str, str]:
    return relation.head, relation.relation, relation.tail


def _told(screen: Screen, item: TextualMemoryItem) -> tuple[str, str]:
    return (excerpt(item.memory) if screen.is_terminal else item.memory), day(item)
