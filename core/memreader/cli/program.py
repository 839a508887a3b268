"""The command's frame: its subcommands, what ends a run, and exit codes."""

from __future__ import annotations

import inspect
import io
import logging
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import memreader
from memreader.cli import add, change, demo, feedback, find, graph, keep, refine, review
from memreader.cli.failing import (
    EXPECTED,
    FAILED,
    INTERRUPTED,
    WRONG_USE,
    UsageError,
    UsageProblem,
    complain,
    misused,
    reason,
    surprise,
)
from memreader.cli.options import CHANGE, KEEP, REMEMBER
from memreader.cli.progress import Notes
from memreader.cli.screen import Screen
from memreader.errors import FilterError

EPILOG = (
    "MEMREADER_STORE and MEMREADER_USER stand for --store and --user, MEMREADER_MODEL and MEMREADER_BASE_URL for "
    "--model and --base-url; MEMREADER_API_KEY holds the endpoint's key. Results go to stdout, messages to stderr. "
    "Exit codes: 0 fine, 1 failed (in part, too), 2 wrongly called, 130 interrupted."
)
RESUMABLE = frozenset({"add", "refine", "reindex", "encode"})
"""Commands that leave out what was done before."""


class Commands(TyperGroup):
    """All subcommands; what goes wrong in one becomes one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand of `ctx`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            again = " - run it again to go on" if ctx.invoked_subcommand in RESUMABLE else ""
            complain(f"interrupted; what was done stays{again}")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise typer.Exit(FAILED) from None  # whoever read the output has seen enough
        except EXPECTED as error:
            command = " ".join(("memreader", ctx.invoked_subcommand or "")).strip()
            wrong_use = isinstance(error, UsageError | FilterError)
            if wrong_use:
                misused(reason(error), command)
            else:
                complain(reason(error), command=command)
            raise typer.Exit(WRONG_USE if wrong_use else FAILED) from None


app = typer.Typer(
    cls=Commands,
    name="memreader",
    epilog=EPILOG,
    rich_markup_mode="rich",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in (
    (
        REMEMBER,
        (
            demo.demo,
            add.add,
            refine.refine,
            find.search,
            find.context,
            find.list_,
            find.recent,
            find.show,
            find.history,
            graph.graph,
        ),
    ),
    (CHANGE, (review.review, change.update, change.restore, feedback.feedback, change.delete)),
    (
        KEEP,
        (
            keep.export,
            keep.import_,
            keep.dump,
            keep.load,
            keep.reindex,
            keep.encode,
            keep.stats,
            keep.purge,
            keep.users,
        ),
    ),
):
    for command in commands:
        name, text = command.__name__.rstrip("_"), inspect.cleandoc(command.__doc__ or "")
        # Lines of a paragraph in one, to be broken where the terminal ends.
        app.command(name, help=re.sub(r"(?<!\n)\n(?!\n)", " ", text), rich_help_panel=panel)(command)


@app.callback()
def frame(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Memory for conversations and documents: add them, and find the evidence again.

    Offline, but for a language model that you name.
    """
    if version:
        Screen().write(f"memreader {memreader.__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Return the exit code of one run; never shows a traceback (but with MEMREADER_DEBUG)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    before, sys.excepthook = sys.excepthook, surprise
    notes, logger = Notes(Screen()), logging.getLogger("memreader")
    logger.addHandler(notes)
    propagate, logger.propagate = logger.propagate, False
    code = _closed(_exit_code(arguments))
    # Not after an error that nobody expected, which is for `surprise`.
    sys.excepthook, logger.propagate = before, propagate
    logger.removeHandler(notes)
    return code


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        code = get_command(app).main(args=list(arguments), prog_name="memreader", standalone_mode=False)
    except UsageProblem as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "memreader"
        problem = getattr(error, "format_message", error.__str__)().rstrip(".")
        variable = getattr(getattr(error, "param", None), "envvar", None)
        if variable and variable not in problem:  # newer typers say it themselves
            problem += f" (env var: '{variable}')"
        misused(problem, command)
        return int(getattr(error, "exit_code", WRONG_USE))
    except typer.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _closed(code: int) -> int:
    """Return the exit code when all output is written: a full disk, or a reader that has gone, is found here."""
    if sys.stdout is None:
        return code
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or FAILED
    except OSError as error:
        complain(reason(error))
        code = code or FAILED
    else:
        return code
    # Else the interpreter would try once more, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
