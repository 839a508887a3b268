"""Bars with rate and time left on a terminal, nothing elsewhere; notes of the library as lines beside them."""

from __future__ import annotations

import logging
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeft
from rich.text import Text

from memreader.cli.failing import spelled
from memreader.cli.screen import Screen, one_line

_STAGES = {
    "read": "reading",
    "embed": "embedding",
    "parse": "parsing",
    "expire": "expired memories deleted",
    "refine": "windows read by the model",
    "rewrite": "checked for standing alone",
    "hallucination": "checked for what was said",
    "complete": "asked what partial memories lack",
}


class _Rate(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.1f}/s" if speed else "", "dim")


class Bars:
    """A bar per stage; call it with (stage, done, total), as every verb of `Memory` does. For a `with` block."""

    def __init__(self, screen: Screen) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeLeft(),
        )
        self._shown = screen.err.is_interactive
        self._progress = Progress(*columns, console=screen.err, transient=True)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        if self._shown:
            self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._shown:
            self._progress.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Move the bar of a stage; one that starts again starts from nothing."""
        if not self._shown:
            return
        task = self._tasks.get(stage)
        if task is None:
            name = _STAGES.get(stage, one_line(stage))
            self._tasks[stage] = self._progress.add_task(name, total=total, completed=done)
            return
        if done < self._progress.tasks[self._progress.task_ids.index(task)].completed:
            self._progress.reset(task, total=total, completed=done)
        self._progress.update(task, total=total, completed=done)

    def files(self, name: str, done: int, total: int) -> None:
        """Move the bar over all files, which shows the one that is read now."""
        self("files", done, total)
        if self._shown:
            self._progress.update(self._tasks["files"], description=one_line(name)[-40:])


class Notes(logging.Handler):
    """Shows what the library logs as a warning, on a line of its own."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record. What was not read is listed by `add` itself."""
        if not record.msg.startswith("not read:"):
            self._screen.say(f"note: {spelled(record.getMessage())}", style="yellow")
