"""An archive from rows: one zip, written as a stream and put in place whole."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from memreader.archive.columns import ENTRIES, MANIFEST, VECTORS, check_row, user
from memreader.archive.files import replacing
from memreader.archive.flaws import Flaw
from memreader.archive.manifest import ArchiveFacts, EntryFacts, Manifest, read_manifest
from memreader.archive.strict_json import check_frame, encode
from memreader.archive.vectors import check_vectors
from memreader.errors import ArchiveError, DimensionMismatchError
from memreader.types import Progress, Vectors

_BLOCK = 1 << 18
"""Bytes of rows that are compressed together."""
_FAST = 1
_TELL_EVERY = 1000
_REMEDY = "The store holds something that no archive can; nothing was written."


@dataclass(frozen=True, slots=True)
class ArchiveRows:
    """Everything that goes into an archive, each part read once, from the first to the last and then the next.

    A row is a mapping with the columns of its entry in `columns.ENTRIES`.
    """

    messages: Iterable[Mapping[str, Any]] = ()
    documents: Iterable[Mapping[str, Any]] = ()
    items: Iterable[Mapping[str, Any]] = ()
    ledger: Iterable[Mapping[str, Any]] = ()
    history: Iterable[Mapping[str, Any]] = ()
    aliases: Iterable[Mapping[str, Any]] = ()
    rejected: Iterable[Mapping[str, Any]] = ()
    vectors: Iterable[Vectors] = ()
    """Of the items, in their order, in pieces of any length: float32, shape (n, dimension)."""
    total: int = 0
    """How many rows there are in all parts together, vectors included, for progress; 0 where nobody knows."""


def write_archive(
    path: str | os.PathLike[str], facts: ArchiveFacts, rows: ArchiveRows, *, progress: Progress | None = None
) -> Manifest:
    """Return what the archive at `path` now holds.

    It takes an old file's place whole when everything is written and on the disk; before, the old one stays. Mode 0600.
    Every row is checked as a reader would, so that what is written can be read. Equal facts and rows give equal bytes.

    Args:
        path: Of the zip file. Missing folders are created with mode 0700.
        facts: About the store.
        rows: Its content.
        progress: Called with "write", rows done, and `rows.total`.

    Raises:
        ArchiveError: A row can't be part of an archive, or there are more or fewer vectors than items.
        DimensionMismatchError: The vectors have another length than the facts say.
        OSError: The file can't be written.
    """
    target = Path(path)
    writer = _Writer(target, facts.dimension, rows.total, progress)
    with (
        replacing(target) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=_FAST) as archive,
    ):
        for entry in ENTRIES:
            writer.write_rows(archive, entry, getattr(rows, entry.partition(".")[0]))
        writer.write_vectors(archive, rows.vectors)
        manifest = Manifest(facts, tuple(sorted(writer.users)), writer.entries)
        text = manifest.to_json()
        try:
            read_manifest(text)
        except Flaw as flaw:
            raise flaw.in_file(str(target), MANIFEST, _REMEDY) from None
        with archive.open(MANIFEST, "w", force_zip64=True) as sink:
            sink.write(text.encode())
    writer.tell_the_end()
    return manifest


class _Writer:
    """Writes entries, and remembers what they hold."""

    def __init__(self, path: Path, dimension: int, total: int, progress: Progress | None) -> None:
        self.users: set[str] = set()
        self.entries: dict[str, EntryFacts] = {}
        self._done = self._told = 0
        self._path = path
        self._dimension = dimension
        self._total = total
        self._progress = progress

    def write_rows(self, archive: zipfile.ZipFile, entry: str, rows: Iterable[Mapping[str, Any]]) -> None:
        with archive.open(entry, "w", force_zip64=True) as sink:
            self.entries[entry] = _poured(sink, self._lines(entry, rows))

    def write_vectors(self, archive: zipfile.ZipFile, vectors: Iterable[Vectors]) -> None:
        # Unit vectors don't shrink: deflating them takes 40 times as long as writing them, for 7 % of their size.
        info = zipfile.ZipInfo(VECTORS)
        info.compress_type = zipfile.ZIP_STORED
        with archive.open(info, "w", force_zip64=True) as sink:
            self.entries[VECTORS] = _poured(sink, self._blobs(vectors))
        count, items = self.entries[VECTORS].count, self.entries["items.jsonl"].count
        if count != items:
            problem = f"there are {count} vectors of {items} items"
            raise ArchiveError(path=str(self._path), problem=problem, where=VECTORS, remedy=_REMEDY)

    def _lines(self, entry: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, bytes]]:
        names = [column.name for column in ENTRIES[entry]]
        for place, row in enumerate(rows):
            try:
                check_row(entry, row)
                self._know(row["user_id"])
                line = encode({name: row[name] for name in names})
                check_frame(line)
            except Flaw as flaw:
                raise flaw.in_file(str(self._path), f"{entry}, line {place + 1}", _REMEDY) from None
            self._tell(1)
            yield 1, line.encode() + b"\n"

    def _know(self, user_id: str) -> None:
        if user_id in self.users:
            return
        try:
            user(user_id)
        except Flaw as flaw:
            raise flaw.inside(".user_id") from None
        self.users.add(user_id)

    def _blobs(self, vectors: Iterable[Vectors]) -> Iterator[tuple[int, bytes]]:
        row = 0
        for piece in vectors:
            array = np.asarray(piece)
            if array.ndim != 2 or array.shape[1] != self._dimension:
                raise DimensionMismatchError(expected=self._dimension, got=array.shape[-1] if array.ndim else 0)
            plain = np.ascontiguousarray(array, dtype="<f4")
            try:
                check_vectors(plain, row)
            except Flaw as flaw:
                raise flaw.in_file(str(self._path), VECTORS, _REMEDY) from None
            row += len(plain)
            self._tell(len(plain))
            yield len(plain), plain.tobytes()

    def tell_the_end(self) -> None:
        if self._progress is not None and self._told != self._done:
            self._progress("write", self._done, self._total or self._done)

    def _tell(self, count: int) -> None:
        self._done += count
        if self._progress is not None and self._done - self._told >= _TELL_EVERY:
            self._told = self._done
            self._progress("write", self._done, self._total)


def _poured(sink: IO[bytes], pieces: Iterable[tuple[int, bytes]]) -> EntryFacts:
    """Write counted pieces and return what they were."""
    digest = hashlib.sha256()
    count = size = 0
    block: list[bytes] = []
    waiting = 0

    def flush() -> None:
        data = b"".join(block)
        digest.update(data)
        sink.write(data)
        block.clear()

    for rows, piece in pieces:
        count += rows
        size += len(piece)
        waiting += len(piece)
        block.append(piece)
        if waiting >= _BLOCK:
            flush()
            waiting = 0
    flush()
    return EntryFacts(count, size, digest.hexdigest())
