"""`memreader add`: chats, documents and folders into a store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memreader.cli.chats import chats_in, spoken
from memreader.cli.failing import EXPECTED, FAILED, CommandError, UsageError, reason, spelled
from memreader.cli.opening import folder_of, opened
from memreader.cli.options import AsJson, Embedder, MaxMb, StoreDir, User, checked_label, checked_tags, checked_time
from memreader.cli.paths import Found, find_files
from memreader.cli.progress import Bars
from memreader.cli.screen import Screen, counted, printable
from memreader.cli.words import told
from memreader.errors import InputError, StoreError
from memreader.parsing import ParseLimits, load_file
from memreader.parsing.limits import MB
from memreader.types import FileInput

if TYPE_CHECKING:
    from memreader.ingest import AddReport
    from memreader.memory import Memory

CHAT_SUFFIXES = (".json", ".jsonl", ".ndjson")


@dataclass(slots=True)
class Summary:
    """What an `add` of many files did."""

    files: int = 0
    """Files that were read to the end."""
    added: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    left_out: int = 0
    """Messages and parts that hold no words: pictures, links, empty messages."""
    skipped: list[dict[str, str]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)

    def count(self, report: AddReport, found: Found) -> None:
        """Take in what one call did."""
        self.added += report.added
        self.existing += report.existing
        self.replaced += report.replaced
        self.left_out += len(report.dropped)
        for failure in report.failures:
            if failure.kind == "UnsupportedDocumentError" and not found.named:
                self.skipped.append(_noted(found, "of a kind that can't be read"))
            else:
                self.fail(found, spelled(failure.reason))

    def leaves_out(self, found: Found) -> bool:
        """Return whether a file can't be read or need not be, and note why."""
        if found.problem:
            self.fail(found, found.problem)
        elif found.skipped:
            self.skipped.append(_noted(found, found.skipped))
        return bool(found.problem or found.skipped)

    def fail(self, found: Found, why: str) -> None:
        """Note a file that could not be added."""
        self.failures.append(_noted(found, why))


def _noted(found: Found, why: str) -> dict[str, str]:
    return {"path": printable(str(found.path)), "reason": printable(why)}


@dataclass(frozen=True, slots=True)
class How:
    """How the inputs of one call are read."""

    user_id: str
    session_id: str | None
    tags: tuple[str, ...]
    at: str | None
    as_document: bool
    as_chat: bool
    limits: ParseLimits


def add(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files and folders; - is standard input.")],
    store: StoreDir,
    user: User,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", callback=checked_label, help="The conversation that this is."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="WORD", callback=checked_tags, help="A tag; may be repeated.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", callback=checked_time, help="When it was, for what has no time of its own."),
    ] = None,
    as_document: Annotated[
        bool, typer.Option("--as-document", help="Read everything as documents, chats too.")
    ] = False,
    as_chat: Annotated[bool, typer.Option("--as-chat", help="Take nothing but chats.")] = False,
    max_mb: MaxMb = 100,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Read chats, documents and folders into the store, which is made when it isn't there.

    A chat is JSON or JSONL: messages with role and content in a list, under "messages", or one message or conversation
    a line. A conversation's own session_id counts unless --session is given. Any other file is a document: text,
    markdown, html, csv, JSON, source code, and pdf, docx, pptx, xlsx, epub and msg. Text from standard input is what
    the user said. What was read before is not read again; a file that has changed takes the place of its old version.

    A file that can't be read doesn't stop the others; the exit code is then 1.
    """
    if as_document and as_chat:
        raise UsageError("--as-document and --as-chat don't go together")
    if "" in paths:
        raise UsageError("a path is empty")
    screen, summary = Screen(as_json=as_json), Summary()
    how = How(user, session, tuple(tag or ()), at, as_document, as_chat, ParseLimits(max_input_mb=max_mb))
    readable = [one for one in find_files(paths, store=folder_of(store)) if not summary.leaves_out(one)]
    if readable:
        with opened(store, embedder, create=True, max_mb=max_mb) as memory, Bars(screen) as bars:
            for place, found in enumerate(readable):
                bars.files(found.path.name, place, len(readable))
                _take(found, memory, how, summary, bars)
    _show(summary, screen)
    if summary.failures:
        raise typer.Exit(FAILED)


def _take(found: Found, memory: Memory, how: How, summary: Summary, bars: Bars) -> None:
    """Add one file; what is wrong with it is noted, what is wrong with the store ends the run."""
    before = len(summary.failures) + len(summary.skipped)
    try:
        for data, session_id in _inputs(found, how):
            report = memory.add(
                data,
                user_id=how.user_id,
                session_id=how.session_id or session_id,
                tags=how.tags,
                at=how.at,
                progress=bars,
            )
            summary.count(report, found)
    except StoreError:
        raise
    except EXPECTED as error:
        summary.fail(found, reason(error))
    summary.files += len(summary.failures) + len(summary.skipped) == before


def _inputs(found: Found, how: How) -> Iterator[tuple[Any, str | None]]:
    """Yield what `Memory.add` is given for a file, and the session that it names itself."""
    file = (
        FileInput("stdin", data=_standard_input(how.limits))
        if found.is_stdin
        else FileInput(found.path.name, path=found.path)
    )
    if how.as_document or not (found.is_stdin or how.as_chat or found.path.suffix.lower() in CHAT_SUFFIXES):
        yield (file if found.is_stdin else found.path), None
        return
    data = load_file(file, limits=how.limits).data or b""
    chats = chats_in(data)
    if chats is not None:
        yield from ((chat.data, chat.session_id) for chat in chats)
    elif found.is_stdin and (text := spoken(data)) is not None:
        yield text, None
    elif how.as_chat:
        raise InputError("holds no chat. Leave --as-chat out to read it as a document")
    else:
        yield (file if found.is_stdin else found.path), None


def _standard_input(limits: ParseLimits) -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise CommandError("there is no standard input")
    if sys.stdin.isatty():
        print("reading what you type; end it with Ctrl-D on a line of its own", file=sys.stderr)
    return sys.stdin.buffer.read(int(limits.max_input_mb * MB) + 1)


def _show(summary: Summary, screen: Screen) -> None:
    for one in summary.skipped:
        screen.say(f"skipped: {one['path']}: {one['reason']}", style="dim")
    for one in summary.failures:
        screen.say(f"not added: {one['path']}: {one['reason']}", style="red")
    parts = [told(len(summary.added), len(summary.existing), len(summary.replaced))]
    if summary.left_out:
        parts.append(f"{counted(summary.left_out, 'message or picture', 'messages or pictures')} without words")
    files = [
        counted(summary.files, "file"),
        f"{len(summary.skipped):,} skipped" if summary.skipped else "",
        f"{len(summary.failures):,} failed" if summary.failures else "",
    ]
    screen.done(f"{', '.join(parts)} ({', '.join(filter(None, files))})", summary)
