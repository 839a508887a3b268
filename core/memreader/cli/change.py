"""`memreader update`, `restore` and `delete`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memreader.cli.failing import FAILED, CommandError, UsageError
from memreader.cli.opening import existing, opened
from memreader.cli.options import AsJson, Embedder, ItemId, StoreDir, User, Yes, checked_label, json_object
from memreader.cli.screen import Screen, counted, memories, one_line, plain

if TYPE_CHECKING:
    from memreader.memory import Memory


def update(
    item_id: ItemId,
    store: StoreDir,
    user: User,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The new words; - is standard input.")] = None,
    patch: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="""Fields to change: '{"memory": "...", "metadata": {"tags": ["x"]}}'."""),
    ] = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Change the words of a memory, or any of its fields; the old version goes to its history."""
    if (text is None) == (patch is None):
        raise UsageError("give either TEXT or --patch")
    screen = Screen(as_json=as_json)
    fields = json_object(patch, "--patch")
    existing(store)
    change: dict[str, Any] | str = fields if fields is not None else sys.stdin.read() if text == "-" else text or ""
    with opened(store, embedder) as memory:
        item = memory.update(item_id, change, user_id=user)
    screen.done(f"{item.id} is now version {item.metadata.version}: {one_line(item.memory)}", item)


def restore(
    item_id: ItemId,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Which, as history shows it.")],
    store: StoreDir,
    user: User,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Give a memory the words and fields of an earlier version; one that was repeated or ended stands again."""
    screen = Screen(as_json=as_json)
    with opened(store, embedder) as memory:
        item = memory.restore(item_id, version, user_id=user)
    screen.done(f"{item.id} is now version {item.metadata.version}: {one_line(item.memory)}", item)


def delete(
    store: StoreDir,
    user: User,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of memories.")] = None,
    document: Annotated[
        str | None, typer.Option(metavar="PATH", help="All that was read from this file, and the file's text.")
    ] = None,
    message: Annotated[
        str | None,
        typer.Option(metavar="ID", help="All that was read from the message of this id; --session narrows it."),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", callback=checked_label, help="All of one conversation."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of the user's memories.")] = False,
    yes: Yes = False,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Delete memories with every trace of their words. Reading their source again brings them back, but for those that
    a model made: of these, the turn that they were made of stays.

    Asks first, unless --yes is given; where there is nobody to ask, --yes is needed.
    """
    wishes = {
        "ids": ids or None,
        "document": document,
        "message": message,
        "session": session,
        "all": everything or None,
    }
    given: dict[str, Any] = {name: value for name, value in wishes.items() if value is not None}
    if set(given) != {"message", "session"} and len(given) != 1:
        raise UsageError("give ids, or one of --document, --message (with --session or without), --session and --all")
    if any(value == "" or value == [""] for value in given.values()):
        raise UsageError("an id or path is empty")
    screen = Screen(as_json=as_json)
    existing(store)
    if not yes and not _agreed(f"Delete {_named(given)} of the user '{user}' for good?", screen):
        raise CommandError("nothing was deleted")
    with opened(store, embedder) as memory:
        report = _deleted(memory, user, given)
    missing = [one for one in given.get("ids", ()) if one not in set(report["ids"])]
    _show(report, missing, screen)
    found_nothing = not report["ids"] and not report.get("messages") and not report.get("documents")
    if missing or (found_nothing and "all" not in given):
        raise typer.Exit(FAILED)


def _named(given: dict[str, Any]) -> str:
    """Return what is to be deleted, in words."""
    if "ids" in given:
        return memories(len(given["ids"]))
    if "document" in given:
        return f"all that was read from '{given['document']}'"
    if "all" in given:
        return "ALL memories"
    parts = [f"the {name} '{given[name]}'" for name in ("message", "session") if name in given]
    return "all that was read from " + " of ".join(parts)


def _agreed(question: str, screen: Screen) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("there is nobody to ask; give --yes to delete without a question")
    screen.err.print(Text(f"{one_line(question)} [y/N] ", "bold"), end="", soft_wrap=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _deleted(memory: Memory, user: str, given: dict[str, Any]) -> dict[str, Any]:
    """Delete what is meant and return the report as JSON-ready fields."""
    if "ids" in given:
        return {"ids": memory.delete(given["ids"], user_id=user)}
    if "all" in given or set(given) == {"session"}:
        report = memory.delete_all(user_id=user, session_id=given.get("session"))
    elif "document" in given:
        # The file itself first: another folder may have had a file of the same relative name.
        report = memory.delete_by_source(user_id=user, document=Path(given["document"]))
        if not report.ids and not report.documents:
            report = memory.delete_by_source(user_id=user, document=given["document"])
    else:
        report = memory.delete_by_source(user_id=user, session_id=given.get("session"), message_id=given["message"])
    fields: dict[str, Any] = plain(report)
    return fields


def _show(report: dict[str, Any], missing: list[str], screen: Screen) -> None:
    for one in missing:
        screen.say(f"no memory with the id '{one}'", style="red")
    purge = report.get("purge")
    if purge and not purge["complete"]:
        screen.say(
            f"their words may still be in the store's files: {purge['reason']}. Run: memreader purge", style="yellow"
        )
    parts = [
        f"{memories(len(report['ids']))} deleted",
        *(
            f"the words of {counted(report[kind], kind[:-1])} erased"
            for kind in ("messages", "documents")
            if report.get(kind)
        ),
    ]
    screen.done(", ".join(parts), {**report, "missing": missing} if "messages" not in report else report)
