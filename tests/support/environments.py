"""Runs commands and makes virtual environments for the packaging tests, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


def clean_environment() -> dict[str, str]:
    """This process's environment without what would change imports or where pip installs to."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}


def run(*command: str | Path, cwd: Path) -> str:
    """Run `command` and return what it printed; a failure shows both outputs."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def pip(*arguments: str | Path, python: Path = Path(sys.executable), cwd: Path) -> str:
    """Run this environment's pip for the environment of `python`, without a network."""
    return run(
        sys.executable, "-m", "pip", "--python", python, *arguments, "--no-deps", "--no-index", "--quiet", cwd=cwd
    )


@dataclass(frozen=True)
class FreshEnvironment:
    """A virtual environment of its own, where the dependencies can be imported but no memreader can."""

    folder: Path

    @property
    def python(self) -> Path:
        return next(self.folder.glob("[bS]*/python*"))

    @property
    def packages(self) -> Path:
        return Path(run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=self.folder))

    def evaluate(self, code: str) -> str:
        """What `code` prints when run from a folder that has nothing to do with the project."""
        elsewhere = self.folder.parent / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        return run(self.python, "-c", code, cwd=elsewhere)
