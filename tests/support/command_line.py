"""Runs the command `memreader`: in this process with streams of its own, or as a process like a user's."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memreader.cli import main
from offline_run import LEFT_OUT, SUPPORT

VARIABLES = (
    "MEMREADER_STORE",
    "MEMREADER_USER",
    "MEMREADER_DEBUG",
    "MEMREADER_MODEL",
    "MEMREADER_BASE_URL",
    "MEMREADER_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "NO_COLOR",
    "FORCE_COLOR",
    "TTY_COMPATIBLE",
    "COLUMNS",
)


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """The tab-separated lines of stdout."""
        return [line.split("\t") for line in self.out.splitlines()]


class Stream(io.TextIOWrapper):
    """A stream in memory that may say that it is a terminal."""

    def __init__(self, content: bytes = b"", *, terminal: bool = False, encoding: str = "utf-8") -> None:
        self._terminal = terminal
        super().__init__(io.BytesIO(content), encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return self._terminal

    @property
    def written(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


class CommandLine:
    """Runs the command in this process, by default on one store and for one user."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, store: Path, user: str = "ana") -> None:
        self._patch = monkeypatch
        self.store = store
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("MEMREADER_STORE", str(store))
        monkeypatch.setenv("MEMREADER_USER", user)

    def __call__(
        self,
        *arguments: str | Path,
        stdin: str | bytes = b"",
        terminal: bool = False,
        keyboard: bool = False,
        width: int = 120,
        encoding: str = "utf-8",
    ) -> Ran:
        """Run it; `terminal` is what stdout and stderr are, `keyboard` what stdin is."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        out, err = Stream(terminal=terminal, encoding=encoding), Stream(terminal=terminal, encoding=encoding)
        with self._patch.context() as patch:
            patch.setenv("COLUMNS", str(width))
            patch.setattr(sys, "stdin", Stream(given, terminal=keyboard))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main([str(argument) for argument in arguments])
        return Ran(code, out.written, err.written)

    def fine(self, *arguments: str | Path, **how: Any) -> Ran:
        """Run it, and see that it went well."""
        ran = self(*arguments, **how)
        assert ran.code == 0, ran
        return ran


def spawn(
    arguments: Sequence[str | bytes | Path],
    *,
    cwd: Path,
    variables: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run it as a process without a network, and return what came of it."""
    return subprocess.run(
        [sys.executable, "-m", "memreader", *arguments],
        cwd=cwd,
        env=environment(variables),
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that runs the command."""
    kept = {name: value for name, value in os.environ.items() if name not in (*LEFT_OUT, *VARIABLES)}
    return {**kept, "PYTHONPATH": str(SUPPORT), "PYTHONUTF8": "1", **(variables or {})}
