"""The files that the paths of one `add` mean."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Found:
    """A file to add, or why one is not added."""

    path: Path
    named: bool = True
    """Whether the user named it, rather than a folder it is in."""
    is_stdin: bool = False
    problem: str = ""
    """Why it can't be read."""
    skipped: str = ""
    """Why it is left out, where that is no failure."""


def find_files(names: Sequence[str], *, store: Path) -> list[Found]:
    """Return the files that `names` mean, each once, in the order given; those of a folder by name.

    Hidden files and folders below a folder are not looked at, links to folders not followed, and the store's own folder
    is left out.
    """
    seen: set[str] = set()
    found: list[Found] = []
    for name in names:
        for one in [Found(Path(STDIN), is_stdin=True)] if name == STDIN else _below(Path(name), store):
            key = STDIN if name == STDIN else os.path.abspath(one.path)
            if key not in seen:
                seen.add(key)
                found.append(one)
    return found


def _below(path: Path, store: Path) -> Iterator[Found]:
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        yield Found(path, problem=_why(error))
        return
    if not is_folder:
        yield Found(path)
        return
    if _is_same(path, store):
        yield Found(path, problem="this is the store itself")
        return
    refused: list[OSError] = []
    for folder, folders, files in os.walk(path, onerror=refused.append):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not _is_same(here / name, store))
        yield from (
            Found(here / name, named=False, skipped="a link to a folder")
            for name in folders
            if (here / name).is_symlink()
        )
        for name in sorted(files):
            if not name.startswith("."):
                yield _in_folder(here / name)
        while refused:
            closed = refused.pop(0)
            yield Found(Path(os.fsdecode(closed.filename)), named=False, problem=_why(closed))


def _in_folder(path: Path) -> Found:
    try:
        status = path.stat()
    except OSError as error:
        return Found(path, named=False, problem=_why(error))
    if not stat.S_ISREG(status.st_mode):
        return Found(path, named=False, skipped="not a regular file")
    return Found(path, named=False, skipped="" if status.st_size else "empty")


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
