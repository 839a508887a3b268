"""Runs a Python file the way a user does, but without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parent
LEFT_OUT = ("PYTHONPATH", "PYTHONSAFEPATH")


def run_offline(*arguments: str | Path, cwd: Path, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """Run `python *arguments` in `cwd` and return what came of it; nothing outside this machine can be reached."""
    environment = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    environment |= {"PYTHONPATH": str(SUPPORT), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout_s,
        check=False,
    )


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The end of what a failed run wrote, for an assertion's message."""
    return f"exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
