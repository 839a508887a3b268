"""Every `examples/*.py` runs as a script, in an empty folder and without a network."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from offline_run import complaint, run_offline

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "__init__.py")


def test_there_are_examples() -> None:
    assert EXAMPLES / "demo.py" in SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_example_runs_to_its_end(script: Path, tmp_path: Path) -> None:
    done = run_offline(script, cwd=tmp_path)
    assert done.returncode == 0, complaint(done)


def rows(folder: Path) -> dict[str, int]:
    """How many rows each table of the store in `folder` has."""
    with closing(sqlite3.connect(folder / "memory.db")) as store:
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: store.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}


def test_the_demo_adds_nothing_when_it_is_run_again(tmp_path: Path) -> None:
    runs = []
    for _ in range(2):
        done = run_offline(EXAMPLES / "demo.py", cwd=tmp_path)
        assert done.returncode == 0, complaint(done)
        runs.append(rows(tmp_path / "demo-memory"))
    first, second = runs
    assert first == second
    assert first["items"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["demo-memory"]
