"""Wiping what SQLite leaves behind in a database file: copies of rows in the unused middle of pages.

`secure_delete` overwrites a row where it is deleted. But when SQLite moves rows from page to page, to keep its trees in
balance, the old places of moved rows are not overwritten, and stay when the rows are deleted later. VACUUM would write
the whole file anew, by way of a second one; this reads it once and overwrites a few places.

Format: https://www.sqlite.org/fileformat2.html#b_tree_pages
"""

from __future__ import annotations

import os
import sqlite3
import struct
from pathlib import Path
from typing import ClassVar

from memreader.errors import StoreIOError
from memreader.stores import forking
from memreader.stores.failures import is_busy

_TREE_PAGES = {2: 12, 5: 12, 10: 8, 13: 8}
"""First byte of a page of a tree -> bytes of its header."""
_MAGIC = b"SQLite format 3\0"
_MAX_PAGES = 2**25
"""From here on, the number at the head of an overflow page could look like the first byte of a page of a tree."""
_CHUNK = 4 * 2**20
_LOCK_BYTE = 2**30
"""The page that holds this offset is never used; Windows locks it."""


class Wiper:
    """Wipes a database's file as often as it is asked to."""

    _kept: ClassVar[list[RawFile]] = []
    """Open for good, since other connections of this process may be using the same file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw: RawFile | None = None

    def wipe(self) -> int:
        """Wipe the file, and return in how many places; see `RawFile.wipe`.

        Raises:
            StoreIOError: It can't be read or written.
        """
        try:
            if self._raw is None:
                self._raw = RawFile(self._path)
            return self._raw.wipe()
        except OSError as error:
            raise StoreIOError(path=str(self._path), detail=str(error)) from error

    def close(self, *, shared: bool) -> None:
        """Close the file; `shared`: this process still has connections to it."""
        if self._raw is not None and shared:
            self._kept.append(self._raw)
        elif self._raw is not None:
            self._raw.close()
        self._raw = None


def empty_log(db: sqlite3.Connection) -> None:
    """Write the log back into the database and cut it to nothing, if nobody is in the way.

    Args:
        db: A connection outside of a transaction.
    """
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise


class RawFile:
    """The bytes of a database file, beside SQLite.

    Closing it takes all locks of this process off the file, SQLite's too: so not before SQLite has closed it.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        forking.not_sqlites.add(self._file)

    def close(self) -> None:
        """Close the file."""
        forking.not_sqlites.discard(self._file)
        os.close(self._file)

    def wipe(self) -> int:
        """Overwrite every unused middle of a page that isn't zero, and return how many there were.

        The caller holds the database's write lock, and its write-ahead log is empty: nobody else writes to the file.
        Readers are not disturbed. What a connection has in memory of a page it may write back. All forget it when the
        log is emptied, but for the one that emptied it.

        Raises:
            ValueError: The file is of a form that this can't read: another page layout, or larger than 128 GiB.
        """
        size = self._page_size()
        count = 0
        offset = 0
        while len(data := self._read(offset, _CHUNK)) >= size:
            for start in range(0, len(data) - size + 1, size):
                gap = _gap(data, start, 100 if offset + start == 0 else 0, size)
                zeros = data.count(0, start + gap.start, start + gap.stop)
                if zeros < len(gap) and offset + start != _LOCK_BYTE // size * size:
                    self._write(offset + start + gap.start, bytes(len(gap)))
                    count += 1
            offset += len(data) // size * size
        if count:
            os.fsync(self._file)
        return count

    def _page_size(self) -> int:
        head = self._read(0, 100).ljust(100, b"\xff")
        size = int.from_bytes(head[16:18], "big")
        size = 65536 if size == 1 else size
        auto_vacuum, reserved = head[52:56], head[20]
        if not head.startswith(_MAGIC) or size < 512 or size & (size - 1) or reserved or any(auto_vacuum):
            raise ValueError("the file has another layout than this memreader makes")
        if os.fstat(self._file).st_size // size >= _MAX_PAGES:
            raise ValueError("the file is larger than this memreader can clean")
        return size

    def _read(self, offset: int, length: int) -> bytes:
        os.lseek(self._file, offset, os.SEEK_SET)
        return os.read(self._file, length)

    def _write(self, offset: int, data: bytes) -> None:
        os.lseek(self._file, offset, os.SEEK_SET)
        if os.write(self._file, data) != len(data):
            raise OSError("a page was not overwritten to its end")


def _gap(data: bytes, start: int, first: int, size: int) -> range:
    """Return the unused middle of the page at `start`, relative to it; empty for a page of another kind."""
    header = _TREE_PAGES.get(data[start + first])
    if header is None:
        return range(0)
    cells, content = struct.unpack_from(">HH", data, start + first + 3)
    begin, end = first + header + 2 * cells, content or 65536
    return range(begin, end) if begin <= end <= size else range(0)
