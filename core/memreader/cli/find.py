"""`memreader search`, `context`, `list`, `recent`, `show` and `history`: what is in the store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memreader.cli.failing import CommandError
from memreader.cli.opening import opened
from memreader.cli.options import (
    AsJson,
    AsOf,
    Embedder,
    Filter,
    ItemId,
    Session,
    StoreDir,
    Threshold,
    TopK,
    User,
    json_object,
)
from memreader.cli.screen import Column, Screen
from memreader.cli.words import cited, excerpt, hit_fields, when, where, with_small_print

if TYPE_CHECKING:
    from memreader.items import TextualMemoryItem
    from memreader.memory import Memory
    from memreader.types import Hit

PAGE = 2000
Public = Annotated[bool, typer.Option("--public", help="Also what other users made public.")]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words.")]


def search(
    query: Query,
    store: StoreDir,
    user: User,
    top_k: TopK = 5,
    threshold: Threshold = None,
    where_: Filter = None,
    session: Session = None,
    as_of: AsOf = None,
    public: Public = False,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Find the memories that speak to a question, best first, with score, date and source.

    Into a pipe go whole memories, one a line, with tabs between score, id, date, source and memory.
    """
    screen, chosen = Screen(as_json=as_json), json_object(where_, "--filter")
    with opened(store, embedder) as memory:
        hits = memory.search(
            query,
            user_id=user,
            top_k=top_k,
            threshold=threshold,
            filter=chosen,
            as_of=as_of,
            include_public=public,
            **_of_session(session),
        )
    if as_json:
        screen.show_json([hit_fields(hit) for hit in hits])
    elif not hits:
        screen.say("nothing found")
    elif screen.is_terminal:
        screen.table(*_hit_table(hits, query, wide=screen.is_wide))
    else:
        screen.lines((f"{hit.score:.3f}", *_cells(hit.item)) for hit in hits)


def context(
    query: Query,
    store: StoreDir,
    user: User,
    max_tokens: Annotated[int, typer.Option(min=1, help="Upper bound of the block, in tokens.")] = 800,
    top_k: TopK = 10,
    threshold: Threshold = None,
    where_: Filter = None,
    session: Session = None,
    as_of: AsOf = None,
    public: Public = False,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Write the memories found for a question as one quoted, dated block for a prompt, oldest first."""
    screen, chosen = Screen(as_json=as_json), json_object(where_, "--filter")
    with opened(store, embedder) as memory:
        block = memory.context(
            query,
            user_id=user,
            max_tokens=max_tokens,
            top_k=top_k,
            threshold=threshold,
            filter=chosen,
            as_of=as_of,
            include_public=public,
            **_of_session(session),
        )
    if as_json:
        screen.show_json({"context": block})
    elif block:
        screen.write(block)
    else:
        screen.say("nothing found")


def list_(
    store: StoreDir,
    user: User,
    limit: Annotated[int, typer.Option(min=0, help="How many at most; 0 for all.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="How many to pass over first.")] = 0,
    where_: Filter = None,
    session: Session = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="Only what is so no longer, with its end behind the date.")
    ] = False,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Only what a model left incomplete: without its title, names or time."),
    ] = False,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """List a user's memories, oldest first.

    Into a pipe go whole memories, one a line, with tabs between id, date, source and memory.
    """
    screen, chosen = Screen(as_json=as_json), json_object(where_, "--filter")
    wanted = [{"valid_until": {"$ne": None}}] * archived + [{"partial": True}] * partial
    if wanted:
        chosen = {"$and": [*wanted, *([chosen] if chosen is not None else [])]}
    with opened(store, embedder) as memory:
        items = _pages(memory, user, offset, {"session_id": session, "filter": chosen})
        shown: Iterator[TextualMemoryItem] = islice(items, min(limit, sys.maxsize)) if limit else items
        first = next(shown, None)
        shown = chain([first], shown) if first is not None else iter(())
        if as_json:
            screen.show_json_list(shown)
        elif first is None:
            screen.say("nothing found")
        elif screen.is_terminal:
            screen.table(*_item_table(list(shown), wide=screen.is_wide))
        else:
            screen.lines(map(_cells, shown))
        more = next(items, None) is not None
    if more:
        screen.say(f"there are more: --offset {offset + limit}, or --limit 0 for all", style="dim")


def recent(
    store: StoreDir,
    user: User,
    session: Session = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Show what was said last in a session, as it was said, oldest first.

    Without --session, in the messages that were added without one.
    """
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        messages = memory.recent_messages(user_id=user, session_id=session, limit=limit)
    if as_json:
        screen.show_json(messages)
    elif not messages:
        screen.say("nothing said")
    else:
        screen.lines(((one.chat_time or "")[:10], one.speaker, one.content) for one in messages)


def show(item_id: ItemId, store: StoreDir, user: User, embedder: Embedder = None, as_json: AsJson = False) -> None:
    """Show one memory in full: its words, what is known about it, and every source with the words it cites."""
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        item = memory.get(item_id, user_id=user)
    if item is None:
        raise CommandError(f"no memory with the id '{item_id}' for the user '{user}'")
    if as_json:
        screen.show_json(item)
        return
    known = item.metadata
    screen.fields(
        [
            ("id", item.id),
            ("memory", item.memory),
            ("date", known.memory_time or ""),
            ("session", known.session_id or ""),
            ("agent", known.agent_id or ""),
            ("tags", ", ".join(known.tags)),
            ("entities", ", ".join(known.entities)),
            ("kind", known.memory_type),
            ("status", known.status),
            ("until", known.valid_until or ""),
            ("expires", known.expires_at or ""),
            ("version", str(known.version)),
            ("added", known.created_at),
            ("changed", known.updated_at),
            ("info", ", ".join(f"{key}={value}" for key, value in known.info.items())),
        ]
    )
    screen.fields([(cited(source, whole_path=True), source.content or "-") for source in known.sources])


def history(item_id: ItemId, store: StoreDir, user: User, embedder: Embedder = None, as_json: AsJson = False) -> None:
    """Show what became of a memory: every version, when and why."""
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        versions = memory.history(item_id, user_id=user)
    if not versions:
        raise CommandError(f"no memory with the id '{item_id}' for the user '{user}'")
    rows = [(str(one.version), one.event, one.at, one.cause, one.item.memory if one.item else "") for one in versions]
    if as_json:
        screen.show_json(versions)
    elif screen.is_terminal:
        columns = [
            Column("version", right=True),
            Column("event"),
            Column("when"),
            Column("why"),
            Column("memory", ratio=1),
        ]
        screen.table(columns, [(*row[:4], excerpt(row[4])) for row in rows])
    else:
        screen.lines(rows)


def _of_session(session: str | None) -> dict[str, Any]:
    return {} if session is None else {"session_id": session, "recall": "session"}


def _pages(memory: Memory, user: str, offset: int, chosen: dict[str, Any]) -> Iterator[TextualMemoryItem]:
    """Yield the user's items page by page, so that a large store needs no large memory."""
    while True:
        page = memory.get_all(user_id=user, limit=PAGE, offset=offset, **chosen)
        yield from page
        if len(page) < PAGE:
            return
        offset += PAGE


def _cells(item: TextualMemoryItem) -> tuple[str, str, str, str]:
    return item.id, when(item), where(item), item.memory


def _hit_table(hits: list[Hit], query: str, *, wide: bool) -> tuple[list[Column], list[Any]]:
    columns, rows = _item_table([hit.item for hit in hits], query, wide=wide)
    scores = [f"{hit.score:.2f}" for hit in hits]
    return [Column("score", "green", right=True), *columns], [
        (score, *row) for score, row in zip(scores, rows, strict=True)
    ]


def _item_table(items: list[TextualMemoryItem], query: str = "", *, wide: bool) -> tuple[list[Column], list[Any]]:
    """Return columns and rows; where there is little room, everything stands below the memory."""
    if not wide:
        rows = [
            (
                with_small_print(
                    excerpt(item.memory, query), " · ".join(filter(None, (when(item), where(item)))), item.id
                ),
            )
            for item in items
        ]
        return [Column("memory", ratio=1)], rows
    columns = [Column("memory", ratio=3), Column("date", "cyan"), Column("source", "magenta", ratio=1)]
    return columns, [
        (with_small_print(excerpt(item.memory, query), item.id), when(item), where(item)) for item in items
    ]
