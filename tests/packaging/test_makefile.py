"""The Makefile: what a clone on a bare machine does, without installing anything from anywhere."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from environments import ROOT

MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None or os.name != "posix", reason="needs make")

# Stands in for .venv/bin/python: writes down how it was called, and succeeds.
RECORDER = """#!/bin/sh
echo "$*" >> calls.txt
"""
# Stands in for a system's Python that lacks a module, or is old: passes on all else.
WITHOUT_ENSUREPIP = f"""#!/bin/sh
case "$2" in *ensurepip*) exit 1;; esac
exec '{sys.executable}' "$@"
"""
OLD = """#!/bin/sh
case "$2" in *print*) echo 3.9;; *) exit 1;; esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with a space in its name that holds what the Makefile reads."""
    folder = tmp_path / "my clone"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def make(clone: Path, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    assert MAKE is not None
    # Started by `make test`, this process carries make's own variables; the inner make must not see them.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))}
    return subprocess.run(
        [MAKE, *arguments],
        cwd=clone,
        env=inherited | (environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def calls(clone: Path) -> list[str]:
    """How .venv's Python was called since the last look, but for looks at its version and its pip's."""
    record = clone / "calls.txt"
    seen = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    record.unlink(missing_ok=True)
    return [call for call in seen if not call.startswith("-c ") and call != "-m pip --version"]


def kinds(clone: Path) -> list[str]:
    return ["install" if "pip install" in call else call for call in calls(clone)]


def test_make_alone_lists_the_targets(clone: Path) -> None:
    done = make(clone)
    assert done.returncode == 0
    for target in ("demo", "test", "test-long", "lint", "bench-env", "clean", "help"):
        assert f"make {target} " in done.stdout


def test_a_missing_venv_module_is_named_in_one_line_with_its_package(clone: Path) -> None:
    python = script(clone.parent / "bin" / "python3", WITHOUT_ENSUREPIP)
    done = make(clone, "demo", f"PYTHON={python}")
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert done.returncode != 0
    assert len(said) == 1
    assert f"apt install python{version}-venv" in said[0]
    assert not (clone / ".venv").exists()


def test_an_old_python_is_named_with_its_version(clone: Path) -> None:
    python = script(clone.parent / "bin" / "python3", OLD)
    done = make(clone, "demo", f"PYTHON={python}")
    assert done.returncode != 0
    assert "3.11 or newer" in done.stderr
    assert "is 3.9" in done.stderr


def test_an_absent_python_is_named(clone: Path) -> None:
    done = make(clone, "demo", "PYTHON=/no/such/python3")
    assert done.returncode != 0
    assert "/no/such/python3" in done.stderr


def test_a_newer_python_is_found_when_python3_is_old(clone: Path) -> None:
    bin_folder = clone.parent / "bin"
    script(bin_folder / "python3", OLD)
    for name in ("python3.14", "python3.13", "python3.12"):
        script(bin_folder / name, OLD)
    script(bin_folder / "python3.11", f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
    done = make(clone, "venv", environment={"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert (clone / ".venv" / "bin" / "python").exists()


@pytest.mark.parametrize("leftover", ["no python", "dangling link", "python that fails", "killed while installing"])
def test_a_half_made_environment_is_made_anew(clone: Path, leftover: str) -> None:
    python = clone / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (clone / ".venv" / "leftover").touch()
    if leftover == "dangling link":
        python.symlink_to("/no/such/python3")
    elif leftover == "python that fails":
        script(python, "#!/bin/sh\nexit 1\n")
    elif leftover == "killed while installing":
        script(python, RECORDER)
        (clone / ".venv" / ".installing").touch()
    done = make(clone, "venv", f"PYTHON={sys.executable}")
    assert done.returncode == 0, done.stderr
    assert not (clone / ".venv" / "leftover").exists()
    assert subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def test_settings_of_the_callers_shell_do_not_reach_into_the_environment(clone: Path) -> None:
    script(clone / ".venv" / "bin" / "python", "#!/bin/sh\nenv > seen.txt\n")
    meddling = {
        "PIP_TARGET": "elsewhere", "PIP_USER": "1", "PIP_NO_DEPS": "1", "PIP_INDEX_URL": "https://pypi.example/simple",
        "PYTHONPATH": "elsewhere", "PYTHONHOME": "elsewhere", "PYTHONSAFEPATH": "1", "VIRTUAL_ENV": "elsewhere",
    }  # fmt: skip
    assert make(clone, "demo", environment=meddling).returncode == 0
    lines = (clone / "seen.txt").read_text(encoding="utf-8").splitlines()
    seen = {name for name, mark, _ in (line.partition("=") for line in lines) if mark}
    assert seen & set(meddling) == {"PIP_INDEX_URL"}
    assert "PYTHONUTF8" in seen


def test_demo_installs_once_then_again_only_for_another_pyproject_or_another_place(clone: Path) -> None:
    script(clone / ".venv" / "bin" / "python", RECORDER)
    first = make(clone, "demo")
    assert first.returncode == 0, first.stderr
    assert len(first.stdout.splitlines()) == 1
    seen = calls(clone)
    assert seen[0].endswith("-e .[documents,cli]")
    assert seen[1:] == ["-m examples.demo"]

    (clone / "pyproject.toml").touch()
    assert make(clone, "demo").stdout == ""
    assert kinds(clone) == ["-m examples.demo"]

    with (clone / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write("\n# changed\n")
    make(clone, "demo")
    assert kinds(clone) == ["install", "-m examples.demo"]

    moved = clone.rename(clone.with_name("moved clone"))
    make(moved, "demo")
    assert kinds(moved) == ["install", "-m examples.demo"]


def test_what_the_tests_need_is_enough_for_the_demo_but_not_the_other_way_round(clone: Path) -> None:
    script(clone / ".venv" / "bin" / "python", RECORDER)
    make(clone, "demo")
    calls(clone)
    assert make(clone, "test").returncode == 0
    assert kinds(clone) == [
        "install",
        "-m ruff check .",
        "-m ruff format --check .",
        "-m mypy --strict",
        ".venv/bin/lint-imports",
        "-m pytest -n auto",
    ]
    (clone / ".venv" / ".installed-demo").unlink()
    make(clone, "demo")
    assert kinds(clone) == ["-m examples.demo"]


def test_a_failed_installation_fails_and_is_tried_again(clone: Path) -> None:
    fails_to_install = RECORDER + 'case "$*" in *"pip install"*) exit 3;; esac\n'
    script(clone / ".venv" / "bin" / "python", fails_to_install)
    assert make(clone, "demo").returncode != 0
    assert kinds(clone) == ["install"]
    script(clone / ".venv" / "bin" / "python", RECORDER)
    assert make(clone, "demo").returncode == 0
    assert kinds(clone) == ["install", "-m examples.demo"]


@pytest.mark.parametrize("arguments", [(), ("PEER=nobody",)])
def test_bench_env_without_a_known_peer_lists_the_peers(clone: Path, arguments: tuple[str, ...]) -> None:
    done = make(clone, "bench-env", *arguments)
    assert done.returncode != 0
    assert "memos" in done.stderr
    assert not (clone / ".bench").exists()


def test_bench_env_makes_an_environment_of_its_own(clone: Path) -> None:
    script(clone / ".bench" / "memos" / "bin" / "python", RECORDER)
    assert make(clone, "bench-env", "PEER=memos").returncode == 0
    (call,) = calls(clone)
    assert " MemoryOS==2.0.33 " in call
    assert not (clone / ".venv").exists()
