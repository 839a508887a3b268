"""`memreader review`: what waits for approval, in a table; approved or rejected one by one, or by id."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memreader.cli.failing import FAILED, UsageError
from memreader.cli.opening import existing, opened
from memreader.cli.options import AsJson, Embedder, StoreDir, User
from memreader.cli.screen import Column, Screen, counted, memories, one_line, plain
from memreader.cli.words import day, excerpt, settled, where

if TYPE_CHECKING:
    from memreader.items import TextualMemoryItem
    from memreader.memory import Memory

ANSWERS = {"a": "approve", "r": "reject", "s": "skip", "q": "quit"}
_Id = Annotated[list[str] | None, typer.Option(metavar="ID", help="May be repeated; - is one id a line of stdin.")]


def review(
    store: StoreDir,
    user: User,
    approve: _Id = None,
    reject: _Id = None,
    limit: Annotated[int, typer.Option(min=0, help="How many at most; 0 for all.")] = 50,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Look at the memories that wait for approval, and have them stand or go for good.

    On a terminal it asks about each: a approves it, r rejects it, s leaves it, q ends. Elsewhere, and with --json, it
    lists them; --approve ID and --reject ID decide without a question. What is rejected leaves a hash behind, so that
    reading the same again doesn't bring it back.
    """
    screen = Screen(as_json=as_json)
    approving, rejecting = _ids(approve), _ids(reject)
    if both := set(approving) & set(rejecting):
        raise UsageError(f"{sorted(both)[0]} is to be both approved and rejected")
    existing(store)
    with opened(store, embedder) as memory:
        if approve is not None or reject is not None:
            _decide(memory, user, approving, rejecting, screen)
            return
        found = memory.review.pending(user_id=user, limit=limit or None)
        if as_json:
            screen.show_json(found)
        elif not found:
            screen.say("nothing waits for approval")
        elif screen.is_terminal and sys.stdin is not None and sys.stdin.isatty():
            _show(found, screen)
            _ask(memory, user, found, screen)
        else:
            _show(found, screen)


def _ids(given: list[str] | None) -> list[str]:
    """Return the ids that an option names, each once."""
    if given is None:
        return []
    if given == ["-"]:
        given = sys.stdin.read().split()
    if "" in given:
        raise UsageError("an id is empty")
    return list(dict.fromkeys(given))


def _decide(memory: Memory, user: str, approving: list[str], rejecting: list[str], screen: Screen) -> None:
    approved = memory.review.approve(approving, user_id=user)
    rejected = memory.review.reject(rejecting, user_id=user)
    missing = [one for one in (*approving, *rejecting) if one not in {*approved.ids, *rejected}]
    for one in missing:
        screen.say(f"nothing with the id '{one}' waits for approval", style="red")
    report: dict[str, Any] = {"approved": approved.ids, "rejected": rejected, "missing": missing}
    parts = [_told(len(approved.ids), len(rejected)), *settled(approved.decisions)]
    screen.done(", ".join(parts), report | {"decisions": plain(approved.decisions)})
    if missing:
        raise typer.Exit(FAILED)


def _show(found: list[TextualMemoryItem], screen: Screen) -> None:
    if not screen.is_terminal:
        screen.lines((item.id, day(item), where(item), one_line(item.memory)) for item in found)
        return
    columns = [Column("id", "dim"), Column("date"), Column("source", "dim"), Column("memory", ratio=1)]
    rows = [(item.id, day(item), where(item), excerpt(item.memory)) for item in found]
    screen.table(columns, rows, title=f"{memories(len(found))} to review")


def _ask(memory: Memory, user: str, found: list[TextualMemoryItem], screen: Screen) -> None:
    """Ask about each, and do at once what is answered: Ctrl-C keeps what was decided."""
    verbs: dict[str, Callable[[str], Any]] = {
        "a": lambda item_id: memory.review.approve(item_id, user_id=user).ids,
        "r": lambda item_id: memory.review.reject(item_id, user_id=user),
    }
    counts = dict.fromkeys(verbs, 0)
    for item in found:
        answer = _answer(item, screen)
        if answer == "q":
            break
        if answer in verbs:
            done = verbs[answer](item.id)
            counts[answer] += len(done)
            if not done:
                screen.say("somebody else has decided about it meanwhile", style="yellow")
    left = len(found) - sum(counts.values())
    told = _told(counts["a"], counts["r"])
    screen.say(f"{told}, {counted(left, 'memory waits', 'memories wait')}" if left else told)


def _answer(item: TextualMemoryItem, screen: Screen) -> str:
    """Return a, r, s or q; the end of what is typed quits."""
    while True:
        question = Text.assemble(one_line(item.memory), ("\na)pprove r)eject s)kip q)uit: ", "bold"))
        screen.err.print(question, end="", soft_wrap=True)
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if not line:
            return "q"
        for letter, word in ANSWERS.items():
            if answer and word.startswith(answer):
                return letter


def _told(approved: int, rejected: int) -> str:
    """Return what was decided, in words.

    >>> _told(1, 2)
    '1 memory approved, 2 rejected'
    """
    return f"{memories(approved)} approved, {rejected:,} rejected"
