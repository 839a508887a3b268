"""What SQLite and the system report, as errors of ours that say what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from pathlib import Path
from types import TracebackType

from memreader.errors import (
    MemReaderError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreForkedError,
    StoreFullError,
    StoreIOError,
    StoreReadOnlyError,
)
from memreader.stores.damage import UNEXPECTED, damage, without_words

COMPANIONS = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to a database's name for its files."""
GONE = "it was moved, replaced or deleted while it was open"

_NO_TEXT = "Could not decode"
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_GROWING = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class Translating:
    """Raises errors that leave the block as errors of ours, if SQLite reports them or the file is damaged.

    Python code that trusts the rows fails in many ways when they are not what was written, and so do our statements
    when the names of columns are not. So after an error that is nobody's, the whole file is looked at: an error of
    the code passes if that is in order.

    Args:
        path: The database's.
        timeout_s: How long a lock is waited for, to be told.
        opening: What can't be told otherwise means that the file is none of ours.
    """

    __slots__ = ("_opening", "_path", "_timeout_s")

    def __init__(self, path: Path, *, timeout_s: float, opening: bool = False) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._opening = opening

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, UNEXPECTED) or isinstance(error, MemReaderError):
            return
        ours = self._meaning(error)
        if ours is None:
            return
        try:
            # Errors about values cite them: what goes into logs holds no words of a memory.
            raise ours from (None if _cites(error) else error)
        finally:
            # Else error and frame keep each other, and the query that failed, and so the log can't be emptied.
            del ours

    def _meaning(self, error: BaseException) -> StoreError | None:
        ours = None
        if isinstance(error, sqlite3.Error):
            ours = of_sqlite(error, self._path, timeout_s=self._timeout_s)
            if ours is None and self._opening:
                ours = StoreCorruptError(path=str(self._path), detail=str(error))
        if ours is None and (problem := damage(self._path)) is not None:
            ours = StoreCorruptError(path=str(self._path), detail=problem)
        return ours


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether a lock of another connection was in the way."""
    return _code(error) & 0xFF in _BUSY


def of_sqlite(error: sqlite3.Error, path: Path, *, timeout_s: float) -> StoreError | None:
    """Return what an error of SQLite means for the store at `path`; None for a fault of the statement itself."""
    name, code = str(path), _code(error)
    kind = code & 0xFF
    if kind in _BUSY:
        return StoreBusyError(path=name, timeout_s=timeout_s)
    if kind in _DAMAGED or str(error).startswith(_NO_TEXT):
        # Text that is no UTF-8 is never written, so it means damage; Python reports it without a code.
        return StoreCorruptError(path=name, detail=without_words(error))
    if kind == sqlite3.SQLITE_AUTH:
        return StoreForkedError(path=name)
    if kind == sqlite3.SQLITE_FULL:
        return StoreFullError(path=name, detail=str(error))
    if code in _GROWING and (problem := _growing(path)) is not None and problem.errno in _NO_ROOM:
        return StoreFullError(path=name, detail=str(problem.strerror))
    if kind == sqlite3.SQLITE_READONLY and code != sqlite3.SQLITE_READONLY_DBMOVED:
        return StoreReadOnlyError(path=name, detail=forbidden(path) or str(error))
    if kind == sqlite3.SQLITE_CANTOPEN:
        return _cannot_open(error, path)
    if kind in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY):
        return StoreIOError(path=name, detail=str(error))
    return None


def of_system(error: OSError, path: Path) -> StoreError | None:
    """Return what an error of the system means for a store at `path`; None for one that speaks for itself."""
    detail = f"{error.strerror} ({error.filename})" if error.filename else str(error)
    if error.errno in _FORBIDDEN:
        return StoreReadOnlyError(path=str(path), detail=detail)
    if error.errno in _NO_ROOM:
        return StoreFullError(path=str(path), detail=detail)
    if error.errno in (errno.EIO, errno.EMFILE, errno.ENFILE):
        return StoreIOError(path=str(path), detail=detail)
    return None


def _cites(error: BaseException) -> bool:
    return isinstance(error, (ValueError, LookupError)) or str(error).startswith(_NO_TEXT)


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) or 0


def forbidden(path: Path) -> str | None:
    """Return what of the store at `path` this user must not use; None if nothing is known.

    Asked without opening: closing the file by another way than SQLite's drops the locks that SQLite has on it.
    """
    effective = os.access in os.supports_effective_ids
    if not os.access(path.parent, os.R_OK | os.W_OK | os.X_OK, effective_ids=effective):
        return f"no right to write in the folder {path.parent}"
    for suffix in COMPANIONS:
        file = path.with_name(path.name + suffix)
        if file.exists() and not os.access(file, os.R_OK | os.W_OK, effective_ids=effective):
            return f"no right to read and write {file.name}"
    return None


def _cannot_open(error: sqlite3.Error, path: Path) -> StoreError:
    try:
        os.stat(path)
        problem = forbidden(path)
        if problem is not None:
            return StoreReadOnlyError(path=str(path), detail=problem)
        os.close(os.open(os.devnull, os.O_RDONLY))
    except (FileNotFoundError, NotADirectoryError):
        return StoreIOError(path=str(path), detail=GONE)
    except OSError as cause:
        return of_system(cause, path) or StoreIOError(path=str(path), detail=str(cause))
    return StoreIOError(path=str(path), detail=str(error))


def _growing(path: Path) -> OSError | None:
    """Return what stands against a file a bit larger than the store's largest, in its folder; None if nothing does."""
    files = [path.with_name(path.name + suffix) for suffix in COMPANIONS]
    try:
        size = max((file.stat().st_size for file in files if file.exists()), default=0)
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.seek(size + 2**20)
            file.write(bytes(65536))
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        return problem
    return None
