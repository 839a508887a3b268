"""`memreader refine`: a language model makes memories of what is still raw; `add` has it done and told the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memreader.cli.failing import FAILED, UsageError, spelled
from memreader.cli.models import (
    ApiKeyEnv,
    Asked,
    BaseUrl,
    Concurrency,
    MaxCalls,
    MaxTokens,
    Model,
    PriceIn,
    PriceOut,
    Timeout,
    asked,
    usage_told,
)
from memreader.cli.opening import existing, opened
from memreader.cli.options import AsJson, Embedder, Session, StoreDir, checked_label, was_typed
from memreader.cli.progress import Bars
from memreader.cli.screen import Screen, counted, memories, plain
from memreader.cli.words import excerpt

if TYPE_CHECKING:
    from memreader.memory import Memory
    from memreader.refining import RefineReport
    from memreader.types import Failure

SHOWN = 10
"""Places, and refused memories, that are named on the screen; JSON has all."""
_HINTS = (
    ("HTTP 401", "Check the key."),
    ("HTTP 403", "Check the key and what it may be used for."),
    ("HTTP 404", "Check --model and --base-url (most end in /v1)."),
    ("HTTP 429", "Fewer at once: --concurrency."),
    ("TimeoutError", "More patience: --timeout."),
    ("ConnectionError", "Check --base-url, and that something answers there."),
)
"""What stands in a reason -> what to do about it."""


class GateName(StrEnum):
    """What `memreader.options.Gate` names; typer takes no list of literals."""

    rewrite = "rewrite"
    hallucination = "hallucination"


@dataclass(frozen=True, slots=True)
class Refined:
    """What a model made of what was raw."""

    report: RefineReport
    windows: int
    """How many were read, to the end or not."""
    cost: float | None
    """Of the tokens; None where nobody said a price."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing stays raw, or unchecked, that was to be read."""
        return not (self.report.left or self.report.failures)

    @property
    def fields(self) -> dict[str, Any]:
        """All of it as JSON-ready fields."""
        return {"windows": self.windows, **plain(self.report), "cost": self.cost}

    @property
    def found(self) -> str:
        """What was made, in words."""
        report, parts = self.report, list[str]()
        if self.windows:
            parts.append(f"{memories(len(report.added))} from {counted(self.windows, 'window')}")
        for number, what in (
            (min(len(report.failures), self.windows), "not read to the end"),
            (len(report.existing), "known before with more to rest on"),
            (len(report.rewritten), "reworded"),
            (len(report.completed), "completed"),
            (len(report.partial), "still partial" if report.completed else "partial"),
            (len(report.pending), "to review"),
            (len(report.archived), "refused and archived"),
            (len(report.dropped) - len(report.archived), "left out"),
        ):
            parts += [f"{number:,} {what}"] if number > 0 else []
        return ", ".join(parts) or "nothing new for the model"

    @property
    def took(self) -> str:
        """The calls, tokens and money, in words; "" where the model had nothing to do."""
        return f"; {usage_told(self.report.usage, self.cost)}" if self.report.usage.calls else ""

    def show_left(self, screen: Screen) -> None:
        """Name what stays raw and what was refused, and say why."""
        for dropped in [one for one in self.report.dropped if one.locator in set(self.report.archived)][:SHOWN]:
            screen.say(f"archived: {excerpt(dropped.text)} ({dropped.reason})", style="dim")
        for reason, places in _by_reason(self.report.failures).items():
            more = f" and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
            hint = next((f" {advice}" for sign, advice in _HINTS if sign in reason), "")
            what = f"{'; '.join(places[:SHOWN])}{more}: " if places else ""
            # What follows is advice for those who write Python.
            told = reason.partition(". ")[0] if "HTTP" in reason or hint else reason
            screen.say(f"not read to the end: {what}{told.rstrip('.')}.{hint}", style="red")
        if self.report.left:
            screen.say(f"{counted(len(self.report.left), 'item')} left raw; go on with them: memreader refine")
        if self.report.partial:
            lacking = f"{memories(len(self.report.partial))} without a title, names or a time"
            screen.say(f"{lacking}; see them: memreader list --partial; complete them: memreader refine --partial")


def refine(
    ctx: typer.Context,
    store: StoreDir,
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", metavar="ID", envvar="MEMREADER_USER", callback=checked_label, help="Whose memories."
        ),
    ] = None,
    all_users: Annotated[bool, typer.Option("--all-users", help="Those of every user.")] = False,
    session: Session = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="At most so many raw items of a user, the oldest first."),
    ] = None,
    gate: Annotated[
        list[GateName] | None,
        typer.Option(
            "--gate",
            metavar="rewrite|hallucination",
            help="Also have the memories that a model made checked, each once: rewrite makes them stand alone, "
            "hallucination archives what nobody said. May be repeated.",
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Also ask for what a model left out of memories: their title, names or time."),
    ] = False,
    review: Annotated[
        bool, typer.Option("--review", help="Have none of the new memories found before review approves them.")
    ] = False,
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
    """Have a language model make memories of what is still raw: read without one, or where one failed before.

    Each window of a conversation, or piece of a document, is read and written by itself. Ctrl-C keeps what is done; run
    it again to go on. What the model can't read stays raw and is named; the exit code is then 1.

    Example: memreader refine --model qwen3:8b --base-url http://localhost:11434/v1 --session s1
    """
    if all_users and was_typed(ctx, "user"):
        raise UsageError("--user and --all-users don't go together")
    if not all_users and user is None:
        raise UsageError("whose? Give --user ID (env var: 'MEMREADER_USER'), or --all-users")
    how = asked(
        model,
        task="refine",
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        timeout_s=timeout_s,
        max_calls=max_calls,
        max_tokens=max_tokens,
        price_in=price_in,
        price_out=price_out,
    )
    screen, settings = Screen(as_json=as_json), how.settings()
    existing(store)
    gates = tuple(dict.fromkeys(one.value for one in gate or ()))
    with opened(store, embedder, models=settings) as memory, Bars(screen) as bars:
        whose = None if all_users else user
        which = {"user_id": whose, "session_id": session, "limit": limit, "gates": gates, "partial": partial}
        which["review"] = review
        refined = read_by_model(memory, bars, how, **which)
    refined.show_left(screen)
    report = refined.report
    is_idle = not (report.refined or report.left or report.usage.calls)
    screen.done("nothing is raw" if is_idle else f"{refined.found}{refined.took}", refined.fields)
    if not refined.is_whole:
        raise typer.Exit(FAILED)


def read_by_model(memory: Memory, bars: Bars, how: Asked, **which: Any) -> Refined:
    """Return what `Memory.refine` did, with the number of windows that were read.

    Args:
        memory: Opened with the model.
        bars: Show how far it is.
        how: Knows the prices.
        which: What is to be read; the arguments of `Memory.refine`.
    """
    windows = 0

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal windows
        windows += stage == "refine" and done > 0
        bars(stage, done, total)

    report = memory.refine(progress=progress, **which)
    return Refined(report, windows, how.cost(report.usage))


def _by_reason(failures: Sequence[Failure]) -> dict[str, list[str]]:
    """Return where each thing went wrong: a server that is down fails every window for the same reason."""
    found: dict[str, list[str]] = {}
    for failure in failures:
        found.setdefault(spelled(failure.reason), []).extend([failure.locator] if failure.locator else [])
    return found
