"""`memreader add`: chats, documents and folders into a store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memreader.cli.chats import chats_in, spoken
from memreader.cli.failing import EXPECTED, FAILED, CommandError, UsageError, reason, spelled
from memreader.cli.models import (
    ApiKeyEnv,
    Asked,
    BaseUrl,
    Concurrency,
    MaxCalls,
    MaxTokens,
    Mode,
    Model,
    PriceIn,
    PriceOut,
    Timeout,
    for_mode,
)
from memreader.cli.opening import folder_of, opened
from memreader.cli.options import (
    AsJson,
    Embedder,
    MaxMb,
    StoreDir,
    User,
    checked_label,
    checked_tags,
    checked_time,
    duration,
)
from memreader.cli.paths import Found, find_files
from memreader.cli.progress import Bars
from memreader.cli.refine import Refined, read_by_model
from memreader.cli.screen import Screen, counted, printable
from memreader.cli.words import settled, told
from memreader.errors import InputError, StoreError
from memreader.lifetimes import Lifetime
from memreader.parsing import ParseLimits, load_file
from memreader.parsing.limits import MB
from memreader.records import REJECTED_BEFORE
from memreader.types import FileInput

if TYPE_CHECKING:
    from memreader.ingest import AddReport
    from memreader.memory import Memory
    from memreader.records import Decided

CHAT_SUFFIXES = (".json", ".jsonl", ".ndjson")


@dataclass(slots=True)
class Summary:
    """What an `add` of many files did."""

    files: int = 0
    """Files that were read to the end."""
    added: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    """Those of added and existing that wait for approval."""
    decisions: list[Decided] = field(default_factory=list)
    """About memories that repeat or end others."""
    left_out: int = 0
    """Messages and parts that hold no words: pictures, links, empty messages."""
    rejected: int = 0
    """Memories that were left out since they were rejected before."""
    refining: dict[str, Any] | None = None
    """What a language model made of it; None where none was asked."""
    skipped: list[dict[str, str]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)

    def count(self, report: AddReport, found: Found) -> None:
        """Take in what one call did."""
        self.added += report.added
        self.existing += report.existing
        self.replaced += report.replaced
        self.pending += report.pending
        rejected = sum(one.reason == REJECTED_BEFORE for one in report.dropped)
        self.rejected += rejected
        self.decisions += report.decisions
        self.left_out += len(report.dropped) - rejected
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
    ttl: timedelta | None
    lifetime: Lifetime
    review: bool = False


def add(
    ctx: typer.Context,
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
    ttl: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long it is kept: 90s, 30m, 12h, 7d, 2w; see also purge --expired."),
    ] = None,
    session_only: Annotated[
        bool, typer.Option("--session-only", help="Only its own conversation sees it; for a week, without --ttl.")
    ] = False,
    as_document: Annotated[
        bool, typer.Option("--as-document", help="Read everything as documents, chats too.")
    ] = False,
    as_chat: Annotated[bool, typer.Option("--as-chat", help="Take nothing but chats.")] = False,
    review: Annotated[
        bool, typer.Option("--review", help="Keep it, but have nothing of it found before review approves it.")
    ] = False,
    max_mb: MaxMb = 100,
    mode: Mode = "fast",
    model: Model = None,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    concurrency: Concurrency = 8,
    timeout_s: Timeout = 120,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Read chats, documents and folders into the store, which is made when it isn't there.

    A chat is JSON or JSONL: messages with role and content in a list, under "messages", or one message or conversation
    a line. A conversation's own session_id counts unless --session is given. Any other file is a document: text,
    markdown, html, csv, JSON, source code, and pdf, docx, pptx, xlsx, epub and msg. Text from standard input is what
    the user said. What was read before is not read again; a file that has changed takes the place of its old version.

    In mode fine a language model makes memories of it, window by window, once everything is kept as it stands: what was
    said is never lost, and Ctrl-C keeps what is done. What the model can't read stays raw and is named; run it again,
    or refine.

    A file that can't be read doesn't stop the others; the exit code is then 1.

    Example: memreader add chat.json notes/ --mode fine --model qwen3:8b --base-url http://localhost:11434/v1
    """
    if as_document and as_chat:
        raise UsageError("--as-document and --as-chat don't go together")
    if "" in paths:
        raise UsageError("a path is empty")
    fine = for_mode(
        ctx,
        mode,
        model,
        base_url=base_url,
        api_key_env=api_key_env,
        max_calls=max_calls,
        max_tokens=max_tokens,
        concurrency=concurrency,
        timeout_s=timeout_s,
        price_in=price_in,
        price_out=price_out,
    )
    settings = None if fine is None else fine.settings()
    screen, summary = Screen(as_json=as_json), Summary()
    lifetime: Lifetime = "session" if session_only else "long"
    limits, lives = ParseLimits(max_input_mb=max_mb), duration(ttl, "--ttl")
    how = How(user, session, tuple(tag or ()), at, as_document, as_chat, limits, lives, lifetime, review)
    readable = [one for one in find_files(paths, store=folder_of(store)) if not summary.leaves_out(one)]
    refined: Refined | None = None
    if readable:
        with opened(store, embedder, create=True, max_mb=max_mb, models=settings) as memory, Bars(screen) as bars:
            for place, found in enumerate(readable):
                bars.files(found.path.name, place, len(readable))
                _take(found, memory, how, summary, bars)
            if fine is not None:
                bars.files("files", len(readable), len(readable))
                refined = _made(memory, fine, how, summary, bars)
    _show(summary, refined, screen)
    if summary.failures or not (refined is None or refined.is_whole):
        raise typer.Exit(FAILED)


def _made(memory: Memory, fine: Asked, how: How, summary: Summary, bars: Bars) -> Refined:
    """Have the model read what was added, and what was there and is still raw; all files at once, so that calls of many
    small ones run side by side, and within one budget.
    """
    ids = list(dict.fromkeys([*summary.added, *summary.existing]))
    refined = read_by_model(memory, bars, fine, user_id=how.user_id, ids=ids, review=how.review)
    summary.refining = refined.fields
    return refined


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
                ttl=how.ttl,
                lifetime=how.lifetime,
                mode="fast",
                review=how.review,
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


def _show(summary: Summary, refined: Refined | None, screen: Screen) -> None:
    for one in summary.skipped:
        screen.say(f"skipped: {one['path']}: {one['reason']}", style="dim")
    for one in summary.failures:
        screen.say(f"not added: {one['path']}: {one['reason']}", style="red")
    if refined is not None:
        refined.show_left(screen)
    if refined is not None:
        summary.decisions += refined.report.decisions
    parts = [_told(summary, refined), *settled(summary.decisions)]
    if summary.left_out:
        parts.append(f"{counted(summary.left_out, 'message or picture', 'messages or pictures')} without words")
    parts += [f"{summary.rejected:,} rejected before"] if summary.rejected else []
    parts += [f"{len(summary.pending):,} to review"] if summary.pending else []
    files = [
        counted(summary.files, "file"),
        f"{len(summary.skipped):,} skipped" if summary.skipped else "",
        f"{len(summary.failures):,} failed" if summary.failures else "",
    ]
    took = "" if refined is None else refined.took
    screen.done(f"{', '.join(parts)} ({', '.join(filter(None, files))}){took}", summary)


def _told(summary: Summary, refined: Refined | None) -> str:
    """Return what became of the words, in words."""
    if refined is None:
        return told(len(summary.added), len(summary.existing), len(summary.replaced))
    parts = [refined.found]
    parts += [f"{len(summary.added):,} kept raw"] if summary.added else []
    parts += [f"{len(summary.existing):,} known before"] if summary.existing else []
    parts += [f"{len(summary.replaced):,} replaced"] if summary.replaced else []
    return ", ".join(parts)
