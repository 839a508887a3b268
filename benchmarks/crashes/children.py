"""Processes of `benchmarks.crashes`, and the stores that they start from."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.systems import StepError
from benchmarks.timing import ROOT

PATIENCE_S = 120.0

__all__ = ["StepError", "Templates", "child", "result_of", "run_child", "said_last"]


class Templates:
    """Stores to start from, each made once and copied for every run."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._made: set[bool] = set()

    @contextmanager
    def copy(self, *, large: bool) -> Iterator[Path]:
        """Give a folder with a fresh store in `store`, what it holds in `state.json`, and `dump`."""
        template = self._scratch / ("large" if large else "small")
        if large not in self._made:
            command = ["prepare", template / "store", "--state", template / "state.json", *["--large"][: int(large)]]
            template.mkdir()
            run_child(*command)
            self._made.add(large)
        with tempfile.TemporaryDirectory(dir=self._scratch) as place:
            shutil.copytree(template, place, dirs_exist_ok=True)
            yield Path(place)


@contextmanager
def child(*command: object) -> Iterator[subprocess.Popen[str]]:
    """Give a process of `benchmarks.crashes`, which is killed at the end if it still runs."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.crashes", *map(str, command)],
            cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors, text=True,
        )  # fmt: skip
        process.errors = errors  # type: ignore[attr-defined]
        with process:
            try:
                yield process
            finally:
                process.kill()


def result_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next line that a child says.

    Raises:
        StepError: It ended without; the message is the last line of its errors.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.wait(PATIENCE_S)
        raise StepError(said_last(process))
    found: dict[str, Any] = json.loads(line)
    return found


def said_last(process: subprocess.Popen[str]) -> str:
    """Return why a child ended by itself."""
    errors = process.errors  # type: ignore[attr-defined]
    errors.seek(0)
    lines = errors.read().strip().splitlines()
    return f"ended by itself: {lines[-1][:300] if lines else process.returncode}"


def run_child(*command: object) -> str:
    """Return what a child said that runs to its end."""
    with child(*command) as process:
        output, _ = process.communicate(timeout=PATIENCE_S)
        if process.returncode:
            raise StepError(said_last(process))
        return output
