"""`memreader feedback`."""

from __future__ import annotations

from typing import Annotated

import typer

from memreader.cli.failing import UsageError
from memreader.cli.opening import opened
from memreader.cli.options import AsJson, Embedder, ItemId, StoreDir, User
from memreader.cli.screen import Screen


def feedback(
    item_id: ItemId,
    store: StoreDir,
    user: User,
    useful: Annotated[
        bool | None, typer.Option("--useful/--useless", help="Whether it was.", show_default=False)
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What it was found for: then this counts in searches for the like only."),
    ] = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a memory that was found was of use; later searches rank it higher or lower for some weeks."""
    if useful is None:
        raise UsageError("give either --useful or --useless")
    if query is not None and not query.strip():
        raise UsageError("--query is empty; leave it out for feedback about no question")
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        report = memory.feedback(item_id, user_id=user, useful=useful, query=query)
    screen.done(f"{report.id} was called useful {_times(report.useful)}, useless {_times(report.useless)}", report)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
