"""Files that are replaced whole or not at all, and files that are looked at before they are opened."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from memreader.errors import ArchiveError

MB = 1_000_000


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a new file that takes the place of `path` at the end, or never, if anything is raised before.

    Its mode is 0600, and its bytes are on the disk before its name is. A symbolic link is replaced, not followed.
    Missing folders are created with mode 0700.

    Raises:
        ArchiveError: A folder, pipe or device stands in its place.
        OSError: It can't be written: no space, no permission.
    """
    if path.exists() and not path.is_file():
        raise ArchiveError(
            path=str(path), problem="is a folder, a pipe or a device", remedy="Name a file, new or to be replaced."
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=".memreader-", suffix=".tmp")
    with ExitStack() as undo:
        undo.callback(_remove, made)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(made, path)
        undo.pop_all()
    _sync_folder(path.parent)


def open_regular(path: Path) -> BinaryIO:
    """Return the file opened for reading; a symbolic link is followed.

    Raises:
        ArchiveError: It is a folder, a pipe, a socket or a device; it is not opened and never waited for.
        OSError: It is not there, or not readable.
    """
    _check_kind(os.stat(path).st_mode, path)
    with ExitStack() as undo:
        stream = undo.enter_context(open(path, "rb", opener=_without_waiting))
        _check_kind(os.fstat(stream.fileno()).st_mode, path)
        undo.pop_all()
    return stream


def _check_kind(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        raise ArchiveError(
            path=str(path), problem="is not a file but a folder, a pipe or a device", remedy="Name a file."
        )


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that took its place just now is opened too, and not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _sync_folder(folder: Path) -> None:
    """Make sure that the new name is on the disk too, where folders can be synced at all."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems can't; the file is in its place all the same.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
