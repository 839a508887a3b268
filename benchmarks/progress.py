"""A bar for what takes minutes, on stderr so that a result on stdout stays clean."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Show: TypeAlias = Callable[[str, int, int], None]
"""Called with what is done now, how much of it is done, and of how much."""


@contextmanager
def bar() -> Iterator[Show]:
    """Give a function that shows one bar with its rate of progress; a silent one where nobody looks at a terminal."""
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        yield _silent
        return
    if not sys.stderr.isatty():
        yield _silent
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        shown = ""

        def show(stage: str, done: int, total: int) -> None:
            nonlocal shown
            if stage != shown:
                progress.reset(task, description=stage, total=total)
                shown = stage
            progress.update(task, completed=done, total=total)

        yield show


def _silent(stage: str, done: int, total: int) -> None:
    pass
