"""Every `examples/*.py` runs as a script, in an empty folder and without a network."""

from __future__ import annotations

import json
import runpy
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memreader import Memory
from offline_run import complaint, run_offline

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "__init__.py")

QUESTIONS = json.loads((EXAMPLES / "data" / "questions.json").read_text(encoding="utf-8"))


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


@pytest.fixture(scope="module")
def demo_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, int]]]:
    """The folder in which the demo ran twice, and how many rows its store had after each run."""
    folder = tmp_path_factory.mktemp("demo")
    counts = []
    for _ in range(2):
        done = run_offline(EXAMPLES / "demo.py", cwd=folder)
        assert done.returncode == 0, complaint(done)
        counts.append(rows(folder / "demo-memory"))
    return folder, counts


def test_the_demo_adds_nothing_when_it_is_run_again(demo_twice: tuple[Path, list[dict[str, int]]]) -> None:
    folder, (first, second) = demo_twice
    assert first == second
    assert first["items"] > 0
    assert [path.name for path in folder.iterdir()] == ["demo-memory"]


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked["question"])
def test_the_demo_finds_the_evidence_or_nothing_for_an_unrelated_question(
    asked: dict[str, str | None], demo_twice: tuple[Path, list[dict[str, int]]]
) -> None:
    user_id = runpy.run_path(str(EXAMPLES / "demo.py"))["USER"]
    with Memory.open(demo_twice[0] / "demo-memory") as memory:
        hits = memory.search(str(asked["question"]), user_id=user_id, top_k=1)
    if asked["expects"] is None:
        assert hits == []
    else:
        assert asked["expects"] in " ".join(hits[0].item.memory.split())
