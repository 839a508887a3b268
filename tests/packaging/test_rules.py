"""House rules that no linter checks: which excepts may be broad, and what the project's files don't name."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from environments import ROOT

PACKAGES = (ROOT / "core" / "memreader", ROOT / "langchain_memreader", ROOT / "llamaindex_memreader")
PERMIT = "# noqa: BLE001"
BROAD = {"Exception", "BaseException"}


@dataclass(frozen=True)
class BroadExcept:
    file: str
    line: int
    function: str
    permitted: bool


def is_broad(kind: ast.expr | None) -> bool:
    """Tell whether an `except` of this kind takes everything."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(one is None or ast.unparse(one).rpartition(".")[2] in BROAD for one in kinds)


def catches_all(node: ast.ExceptHandler | ast.Call) -> bool:
    """Tell whether this `except`, or this call of `contextlib.suppress`, takes every exception."""
    if isinstance(node, ast.ExceptHandler):
        return is_broad(node.type)
    return ast.unparse(node.func).rpartition(".")[2] == "suppress" and any(is_broad(kind) for kind in node.args)


def broad_excepts(source: str, file: str) -> Iterator[BroadExcept]:
    """Yield every place of `source` that catches all exceptions, even to raise them again, or to suppress them."""
    lines = source.splitlines()

    def visit(node: ast.AST, function: str) -> Iterator[BroadExcept]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.ExceptHandler | ast.Call) and catches_all(node):
            yield BroadExcept(file, node.lineno, function, permitted=PERMIT in lines[node.lineno - 1])
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(ast.parse(source), "")


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in package.rglob("*.py"))


def found() -> list[BroadExcept]:
    return [
        place
        for path in sources()
        for place in broad_excepts(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    ]


@pytest.mark.parametrize(
    "source",
    [
        "try: x()\nexcept: pass",
        "try: x()\nexcept Exception: pass",
        "try: x()\nexcept BaseException as error: pass",
        "try: x()\nexcept (ValueError, Exception): pass",
        "try: x()\nexcept* Exception: pass",
        "try: x()\nexcept Exception as error: raise ValueError(1) from error",
        "def f():\n  try: x()\n  except Exception:\n    if y: return 1\n    raise",
        "try: x()\nexcept BaseException:\n    tidy_up()\n    raise",
        "import contextlib\nwith contextlib.suppress(Exception): x()",
        "import builtins\ntry: x()\nexcept builtins.Exception: pass",
    ],
)
def test_the_search_sees_every_spelling_of_a_broad_except(source: str) -> None:
    assert len(list(broad_excepts(source, "x.py"))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "try: x()\nexcept (ValueError, KeyError): pass",
        "with ExitStack() as undo:\n  undo.callback(tidy_up)\n  x()\n  undo.pop_all()",
    ],
)
def test_a_narrow_except_is_none_and_neither_is_an_exit_stack(source: str) -> None:
    assert list(broad_excepts(source, "x.py")) == []


def test_every_broad_except_is_permitted_and_no_permit_is_left_over() -> None:
    assert [place for place in found() if not place.permitted] == []
    assert sum(path.read_text(encoding="utf-8").count(PERMIT) for path in sources()) == len(found())


def test_a_broad_except_stands_around_a_model_call_or_at_a_save_boundary_only() -> None:
    drivers = [place for place in found() if place.file == "core/memreader/calling.py"]
    boundaries = [place for place in found() if not place.file.startswith("core/")]
    assert len(drivers) == 2, "one around the call of each driver, sync and async"
    assert len(drivers) + len(boundaries) == len(found())
    assert [place for place in boundaries if not re.search(r"save|put", place.function)] == []


def project_files() -> list[Path]:
    """The files that git knows or would add."""
    if shutil.which("git") is None:
        pytest.skip("no git here")
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0 or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.decode("utf-8").split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_project_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    # Spelled in two halves, so that this file doesn't name them either.
    fixed = [re.escape("/" + name + "/") for name in ("root", "work")]
    here = [re.escape(str(path)) for path in (ROOT, Path.home(), Path(tempfile.gettempdir())) if len(path.parts) > 2]
    machine = re.compile(r"(?<![\w.:/-])(?:" + "|".join(fixed + here) + ")")
    named = {
        path.relative_to(ROOT).as_posix(): match.group()
        for path in project_files()
        if (match := machine.search(path.read_bytes().decode("utf-8", "replace")))
    }
    assert named == {}


def test_no_file_that_was_made_here_is_part_of_the_project() -> None:
    made = re.compile(r"__pycache__|\.pyc$|\.egg-info|(^|/)(\.venv|demo-memory|dist|build)/")
    assert [str(path) for path in project_files() if made.search(path.relative_to(ROOT).as_posix())] == []
