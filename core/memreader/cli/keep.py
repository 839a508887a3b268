"""`memreader export`, `import`, `dump`, `load`, `reindex`, `encode`, `stats`, `purge`, `users`: the whole store."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from memreader.archive import FILENAME, open_archive
from memreader.cli.failing import FAILED, CommandError, UsageError
from memreader.cli.opening import embedder_called, existing, folder_of, name_in, opened
from memreader.cli.options import AnyUser, AsJson, Embedder, MaxMb, OnConflict, StoreDir, User
from memreader.cli.progress import Bars
from memreader.cli.screen import Screen, counted, memories, plain, size
from memreader.cli.words import told
from memreader.reindexing import reindex_store
from memreader.stores import Store

Conflict = Annotated[
    OnConflict,
    typer.Option(help="What to do about a memory whose id is there already: give up, leave it, or replace it."),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder.")]


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The zip file to write.")],
    store: StoreDir,
    user: AnyUser = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Write everything in the store into one zip file, from which import restores it."""
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory, Bars(screen) as bars:
        if file.exists() and not force:
            raise CommandError(f"'{file}' is there already; --force replaces it")
        report = memory.admin.export(file, user_id=user, progress=bars)
    count, people = report.counts.get("items", 0), counted(len(report.users), "user")
    screen.done(f"{memories(count)} of {people} written to '{file}'", report)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A zip file that export wrote.")],
    store: StoreDir,
    on_conflict: Conflict = "error",
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Read a zip file that export wrote into the store, all of it or nothing.

    The store is made when it isn't there, for the same model if --embedder doesn't say otherwise.
    """
    screen = Screen(as_json=as_json)
    with Bars(screen) as bars:
        if not Store.exists(folder_of(store)):
            # A file that is none leaves no store behind.
            with open_archive(file, progress=bars) as archive:
                embedder = embedder or name_in(archive.facts.embedder)
        with opened(store, embedder, create=True) as memory:
            report = memory.admin.import_(file, on_conflict=on_conflict, progress=bars)
    screen.done(f"{told(report.added, report.existing, report.replaced)} from '{file}'", report)


def dump(folder: Folder, store: StoreDir, user: User, embedder: Embedder = None, as_json: AsJson = False) -> None:
    """Write a user's memories into DIR/textual_memory.json, which other programs can read."""
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        path = memory.dump(folder, user_id=user)
    screen.done(f"written to '{path}'", {"path": path})


def load(
    folder: Folder,
    store: StoreDir,
    user: User,
    on_conflict: Conflict = "error",
    rescope: Annotated[
        bool, typer.Option("--rescope", help="Take memories of other users in the file too, as this user's.")
    ] = False,
    confidence_scale: Annotated[
        float, typer.Option(min=0.001, help="What confidences in the file count to: 1, or 100 for MemOS's.")
    ] = 1,
    max_mb: MaxMb = 1000,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Read DIR/textual_memory.json into a user's memories, all of it or nothing."""
    screen = Screen(as_json=as_json)
    # Raises what opening it would, before a store is made for nothing.
    (folder / FILENAME if folder.is_dir() else folder).stat()
    with opened(store, embedder, create=True) as memory, Bars(screen) as bars:
        report = memory.load(
            folder,
            user_id=user,
            on_conflict=on_conflict,
            rescope=rescope,
            confidence_scale=confidence_scale,
            max_mb=max_mb,
            progress=bars,
        )
    screen.done(told(len(report.added), len(report.existing), len(report.replaced)), report)


def reindex(store: StoreDir, embedder: Embedder = None, as_json: AsJson = False) -> None:
    """Make the store's index anew: for another model, for a new version of the one it has, or just so.

    What was interrupted goes on where it stopped. Searches find the old state until all is done.
    """
    screen = Screen(as_json=as_json)
    with ExitStack() as opening:
        held = Store.open(existing(store))
        opening.callback(held.close)
        name = embedder or name_in(held.facts.embedder)
        if name is None:
            raise UsageError(f"the store was made with {held.facts.embedder}; say what for by --embedder")
        bars = opening.enter_context(Bars(screen))
        report = reindex_store(held, embedder_called(name), progress=bars)
    resumed = f", {report.resumed:,} before" if report.resumed else ""
    screen.done(f"{memories(report.items)} embedded anew{resumed}; the store is now for {report.embedder}", report)


def encode(store: StoreDir, embedder: Embedder = None, as_json: AsJson = False) -> None:
    """Give memories that have none the vectors of their word pieces, by which search finds more.

    Those of an older version have none, nor have imported ones. What was interrupted goes on where it stopped.
    """
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory, Bars(screen) as bars:
        report = memory.admin.encode(progress=bars)
    screen.done(f"{memories(report.items)} encoded", report)


def stats(store: StoreDir, user: AnyUser = None, embedder: Embedder = None, as_json: AsJson = False) -> None:
    """Show how much there is, in the whole store or of one user."""
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        found = memory.admin.stats(user)
    if as_json:
        screen.show_json(found)
        return
    fields = plain(found)
    fields["seen_once"] = f"{fields['seen_once']:.0%} of the entities"
    for name in ("database_bytes", "checkpoint_bytes", "resident_bytes"):
        fields[name.removesuffix("_bytes")] = size(fields.pop(name))
    screen.fields([(name.replace("_", " "), _shown(value)) for name, value in fields.items()])


def purge(
    store: StoreDir,
    expired: Annotated[
        bool, typer.Option("--expired", help="Delete the memories that have expired first, and their words.")
    ] = False,
    user: AnyUser = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Take what was deleted out of every file of the store; it says whether nothing is left."""
    screen = Screen(as_json=as_json)
    if user is not None and not expired:
        raise UsageError("--user goes with --expired; without it, the files of the whole store are purged")
    with opened(store, embedder) as memory, Bars(screen) as bars:
        went = memory.purge_expired(user, progress=bars) if expired else None
        report = went.purge if went is not None and went.count else memory.admin.purge()
    gone = "" if went is None else f"{memories(went.count)} had expired and are deleted; "
    told_in_json = report if went is None else replace(went, purge=report)
    if report.complete:
        screen.done(f"{gone}nothing of what was deleted is left in the files", told_in_json)
        return
    screen.done(f"{gone}not complete: {report.reason}. Run it again later.", told_in_json)
    raise typer.Exit(FAILED)


def users(store: StoreDir, embedder: Embedder = None, as_json: AsJson = False) -> None:
    """List the ids of all users, one a line."""
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        found = memory.admin.users()
    if as_json:
        screen.show_json(found)
    else:
        screen.lines((one,) for one in found)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {number:,}" for key, number in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
