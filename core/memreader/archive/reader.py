"""An archive into rows: checked whole before the first row comes out."""

from __future__ import annotations

import hashlib
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO

import numpy as np

from memreader.archive.columns import MANIFEST, UNIQUE, VECTORS, Row, check_row, entry_names
from memreader.archive.directory import (
    check_entry,
    check_names,
    check_places,
    check_sizes,
    clear_errors,
    directory_start,
    entries_in,
)
from memreader.archive.files import MB, open_regular
from memreader.archive.flaws import Flaw
from memreader.archive.manifest import ArchiveFacts, Manifest, read_manifest
from memreader.archive.strict_json import decode
from memreader.archive.vectors import check_vectors
from memreader.types import Progress, Vectors

_BLOCK = 1 << 20
_REMEDY = "It is damaged, or was not made by memreader: export again, or take another copy."


def open_archive(
    path: str | os.PathLike[str],
    *,
    max_unpacked_mb: float = 20_000,
    max_ratio: float = 200,
    max_row_mb: float = 500,
    progress: Progress | None = None,
) -> ArchiveReader:
    """Return a reader of the archive at `path`, to be closed; every entry was read through once and is whole.

    Nothing is ever unpacked to the disk. Memory stays at some MB and the largest row.

    Args:
        path: Of the zip file. A symbolic link is followed.
        max_unpacked_mb: An archive that holds more is refused, in MB of 10**6 bytes.
        max_ratio: One that unpacks to more times its own size is refused, if that is over 100 MB.
        max_row_mb: One with a longer row, or a longer manifest, is refused.
        progress: Called with "check", bytes done, and of how many.

    Raises:
        ValueError: A limit makes no sense.
        ArchiveError: It is no archive, is damaged, was written by a newer memreader, or is over a limit.
        FileNotFoundError, OSError: It is not there, or not readable.
    """
    for name, limit in (("max_unpacked_mb", max_unpacked_mb), ("max_ratio", max_ratio), ("max_row_mb", max_row_mb)):
        if not (limit > 0 and math.isfinite(limit)):
            raise ValueError(f"{name} must be a number above 0, got {limit}")
    place = Path(path)
    with ExitStack() as undo:
        stream = open_regular(place)
        undo.callback(stream.close)
        try:
            directory = directory_start(stream)
            with clear_errors():
                archive = zipfile.ZipFile(stream)
            entries = entries_in(archive)
            size = stream.seek(0, 2)
            check_sizes(entries, size, max_unpacked_mb=max_unpacked_mb, max_ratio=max_ratio)
            check_places(stream, entries, directory)
            reader = ArchiveReader(place, stream, archive, entries, int(max_row_mb * MB))
            check_names(entries, reader.manifest.version)
        except Flaw as flaw:
            raise flaw.in_file(str(place), "", _REMEDY) from None
        reader.verify(progress)
        undo.pop_all()
    return reader


class ArchiveReader:
    """The rows of an archive that `open_archive` found whole. Not for several threads at once.

    Every row is checked when it comes out, and belongs to one of `users`; a row that can't be taken raises
    `ArchiveError` with its entry and line, so an import has to be one transaction.
    """

    def __init__(
        self,
        path: Path,
        stream: BinaryIO,
        archive: zipfile.ZipFile,
        entries: Mapping[str, zipfile.ZipInfo],
        max_row: int,
    ) -> None:
        self.path = path
        self._stream = stream
        self._archive = archive
        self._entries = entries
        self._max_row = max_row
        self._rows: IO[bytes] | None = None
        self.manifest = self._read_manifest()
        self._users = frozenset(self.manifest.users)

    @property
    def facts(self) -> ArchiveFacts:
        """When it was made, and the embedder, dimension and lexicon of the store that it is from."""
        return self.manifest.facts

    @property
    def users(self) -> tuple[str, ...]:
        """Whose rows are in it, sorted."""
        return self.manifest.users

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each kind; see `Manifest.counts`."""
        return self.manifest.counts

    def messages(self) -> Iterator[Row]:
        """Yield the rows of the table of messages."""
        return self._rows_of("messages.jsonl")

    def documents(self) -> Iterator[Row]:
        """Yield the rows of the table of documents."""
        return self._rows_of("documents.jsonl")

    def items(self) -> Iterator[Row]:
        """Yield the items: user_id, item_id, memory, metadata (JSON text), source_keys, relations, since version 2
        settled and standing, since version 3 feedback; and `item`, made of them. The vector of the i-th one is
        `vectors(i, 1)[0]`.
        """
        return self._rows_of("items.jsonl")

    def ledger(self) -> Iterator[Row]:
        """Yield the rows of the ledger."""
        return self._rows_of("ledger.jsonl")

    def history(self) -> Iterator[Row]:
        """Yield the rows of the table of earlier versions; `item` is the item of that version, or None."""
        return self._rows_of("history.jsonl")

    def aliases(self) -> Iterator[Row]:
        """Yield what the user decided about pairs of names, oldest first; nothing before version 3."""
        entry = "aliases.jsonl"
        return self._rows_of(entry) if entry in self.manifest.entries else iter(())

    def rejected(self) -> Iterator[Row]:
        """Yield the hashes of what was rejected; an archive before version 3 has none."""
        return self._rows_of("rejected.jsonl") if "rejected.jsonl" in self.manifest.entries else iter(())

    def vectors(self, start: int, count: int) -> Vectors:
        """Return the vectors of items `start` to `start + count`, float32, shape (count, dimension).

        Calls in ascending order read the file once; going back begins anew.

        Raises:
            ValueError: There are not so many, or the reader is closed.
            ArchiveError: The file changed since it was opened.
        """
        dimension, total = self.facts.dimension, self.counts["vectors"]
        if not (start >= 0 and count >= 0 and start + count <= total):
            raise ValueError(f"there are vectors 0 to {total}, asked for {start} to {start + count}")
        try:
            if self._rows is None:
                self._rows = self._opened(VECTORS)
            with clear_errors():
                self._rows.seek(start * dimension * 4)
                data = self._rows.read(count * dimension * 4)
            if len(data) != count * dimension * 4:
                raise Flaw("is cut short")
        except Flaw as flaw:
            raise flaw.in_file(str(self.path), VECTORS, _REMEDY) from None
        return np.frombuffer(data, "<f4").astype(np.float32).reshape(count, dimension)

    def verify(self, progress: Progress | None = None) -> None:
        """Read every entry through and return if it is what the manifest says.

        Raises:
            ArchiveError: One isn't.
        """
        total = sum(facts.size for facts in self.manifest.entries.values())
        done = 0
        for entry in entry_names(self.manifest.version):
            try:
                for size in self._verified(entry):
                    done += size
                    if progress is not None:
                        progress("check", done, total)
            except Flaw as flaw:
                raise flaw.in_file(str(self.path), entry, _REMEDY) from None

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._rows is not None:
            self._rows.close()
        self._archive.close()
        self._stream.close()

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _read_manifest(self) -> Manifest:
        try:
            check_entry(self._entries[MANIFEST])
            if self._entries[MANIFEST].file_size > self._max_row:
                raise Flaw(f"is over max_row_mb={self._max_row / MB:g}")
            return read_manifest(_text(b"".join(self._blocks(MANIFEST, _BLOCK))))
        except Flaw as flaw:
            raise flaw.in_file(str(self.path), MANIFEST, _REMEDY) from None

    def _verified(self, entry: str) -> Iterator[int]:
        """Yield the sizes of the blocks of an entry as they are checked."""
        facts, info = self.manifest.entries[entry], self._entries[entry]
        check_entry(info)
        if info.file_size != facts.size:
            raise Flaw(f"holds {info.file_size} bytes, the manifest says {facts.size}")
        digest = hashlib.sha256()
        width = self.facts.dimension * 4
        length = max(1, _BLOCK // width) * width if entry == VECTORS else _BLOCK
        lines = row = 0
        block = b"\n"
        for block in self._blocks(entry, length):
            digest.update(block)
            if entry == VECTORS:
                check_vectors(np.frombuffer(block, "<f4").reshape(-1, self.facts.dimension), row)
                row += len(block) // width
            else:
                lines += block.count(b"\n")
            yield len(block)
        if digest.hexdigest() != facts.sha256:
            raise Flaw("is not what was written: its checksum is another")
        if entry != VECTORS and (lines != facts.count or not block.endswith(b"\n")):
            raise Flaw(f"holds {lines} lines, the manifest says {facts.count}")

    def _rows_of(self, entry: str) -> Iterator[Row]:
        seen: list[set[int]] = [set() for _ in UNIQUE[entry]]
        line_number = 0
        try:
            for line in self._lines(entry):
                line_number += 1
                row: Row = decode(_text(line))
                item = check_row(entry, row, self.manifest.version)
                if row["user_id"] not in self._users:
                    raise Flaw("is a user that the manifest doesn't name", where=".user_id")
                for columns, keys in zip(UNIQUE[entry], seen, strict=True):
                    # Python's hash, with its secret key: 8 bytes instead of the values, for any number of rows.
                    key = hash(tuple(row[column] for column in columns))
                    if key in keys:
                        raise Flaw(f"has the same {' and '.join(columns)} as an earlier line")
                    keys.add(key)
                if "metadata" in row:
                    row["item"] = item
                yield row
        except Flaw as flaw:
            raise flaw.in_file(str(self.path), f"{entry}, line {line_number}", _REMEDY) from None

    def _lines(self, entry: str) -> Iterator[bytes]:
        parts: list[bytes] = []
        length = 0
        for block in self._blocks(entry, _BLOCK):
            first, *others = block.split(b"\n")
            parts.append(first)
            length += len(first)
            if length > self._max_row:
                raise Flaw(f"the next line is over max_row_mb={self._max_row / MB:g}", remedy="Raise max_row_mb.")
            if others:
                yield b"".join(parts)
                yield from others[:-1]
                parts, length = [others[-1]], len(others[-1])
        if length:
            raise Flaw("the last line has no end")

    def _blocks(self, entry: str, length: int) -> Iterator[bytes]:
        with self._opened(entry) as stream:
            while True:
                with clear_errors():
                    block = stream.read(length)
                if not block:
                    return
                yield block

    def _opened(self, entry: str) -> IO[bytes]:
        if self._stream.closed:
            raise ValueError("this archive is closed. Open it again with open_archive(...).")
        with clear_errors():
            return self._archive.open(self._entries[entry])


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start})"
    raise Flaw(problem)
