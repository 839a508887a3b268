"""Whatever is no archive, or a hostile one, is a clear error before a row comes out, in little time and memory."""

from __future__ import annotations

import os
import socket
import stat
import struct
import tracemalloc
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive_files import FACTS, entries_of, item_row, read_all, refusal, small_rows, unit_vectors, zipped
from memreader.archive import ArchiveReader, open_archive, write_archive
from memreader.errors import ArchiveError

FLAGS, METHOD, CRC, PACKED, SIZE, ATTRIBUTES, OFFSET = (
    (8, "H"),
    (10, "H"),
    (16, "L"),
    (20, "L"),
    (24, "L"),
    (38, "L"),
    (42, "L"),
)
"""Where these stand in the record that a zip's directory has of an entry."""
MB = 10**6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good archive."""
    write_archive(tmp_path / "a.zip", FACTS, small_rows())
    return tmp_path / "a.zip"


def record_of(data: bytes, name: str) -> int:
    """Where the zip's directory has its record of an entry."""
    at = data.index(b"PK\x01\x02")
    while data[at + 46 :][: len(name)] != name.encode():
        at = data.index(b"PK\x01\x02", at + 4)
    return at


def patched(path: Path, name: str, *changes: tuple[tuple[int, str], int]) -> Path:
    """Change what the directory says of an entry."""
    data = bytearray(path.read_bytes())
    for (offset, form), value in changes:
        struct.pack_into("<" + form, data, record_of(data, name) + offset, value)
    path.write_bytes(data)
    return path


def test_a_file_cut_short_anywhere_is_refused(path: Path) -> None:
    data = path.read_bytes()
    for length in (*range(0, len(data) - 99, 17), *range(len(data) - 99, len(data))):
        path.write_bytes(data[:length])
        refusal(path)


def test_a_flipped_byte_is_refused_or_changes_nothing(path: Path) -> None:
    data, before = path.read_bytes(), read_all(path)
    refused = 0
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :])
        try:
            assert read_all(path) == before
        except ArchiveError:
            refused += 1
    assert refused > len(data) * 0.7  # The rest are times and versions of entries.


@given(data=st.data())
def test_any_bytes_give_rows_or_a_clear_error(data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.zip"
    write_archive(path, FACTS, small_rows())
    valid = path.read_bytes()
    start = data.draw(st.integers(0, len(valid)))
    end = data.draw(st.integers(start, min(len(valid), start + data.draw(st.sampled_from([0, 8, len(valid)])))))
    path.write_bytes(valid[:start] + data.draw(st.binary(max_size=30)) + valid[end:])
    with suppress(ArchiveError):
        read_all(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"hello" * 99, b"PK\x05\x06" + bytes(18), b"\0" * 10**6])
def test_what_is_no_zip_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    refusal(tmp_path / "a")


def test_something_before_or_behind_the_archive_is_refused(path: Path) -> None:
    data = path.read_bytes()
    for hostile in (b"#!/bin/sh\n" + data, data + b"\n", data[:-2] + b"\x01\0x", data[:-2] + b"\x01\0"):
        path.write_bytes(hostile)
        refusal(path)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "socket"))
        for place in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "socket"):
            assert "a folder, a pipe or a device" in str(refusal(place))
            with pytest.raises(ArchiveError, match="a folder, a pipe or a device"):
                write_archive(place, FACTS, small_rows())
    with pytest.raises(FileNotFoundError, match="absent"):
        open_archive(tmp_path / "absent")


def test_a_pipe_that_takes_the_file_s_place_meanwhile_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.stat(path)
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(os, "stat", lambda *args, **options: before)
    assert "a folder, a pipe or a device" in str(refusal(path))


@pytest.mark.parametrize(
    "name",
    ["../items.jsonl", "/etc/passwd", "C:\\x", "items.jsonl/", "a/items.jsonl", "ITEMS.jsonl", "猫.txt", "x" * 999],
)
def test_an_entry_that_is_none_of_ours_is_refused(name: str, path: Path) -> None:
    zipped(path, {**entries_of(path), name: b"x"}, honest=False)
    assert "no part of an archive" in refusal(path).problem
    assert os.listdir(path.parent) == [path.name]


def test_a_name_that_ends_early_is_refused(path: Path) -> None:
    entries = {name.replace("items.jsonl", "items.jsonl+x"): data for name, data in entries_of(path).items()}
    zipped(path, entries, honest=False)
    path.write_bytes(path.read_bytes().replace(b"items.jsonl+x", b"items.jsonl\0x"))
    assert "no part of an archive" in refusal(path).problem


def test_a_missing_entry_is_refused(path: Path) -> None:
    entries = entries_of(path)
    for name in entries:
        zipped(path, {other: data for other, data in entries.items() if other != name}, honest=False)
        assert name in refusal(path).problem


def test_an_entry_that_stands_twice_is_refused(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("items.jsonl", b"")
    assert refusal(path).problem == "holds two files of the name 'items.jsonl'"


@pytest.mark.parametrize("name", ["items.jsonl", "manifest.json"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ((FLAGS, 1), "is encrypted"),
        ((FLAGS, 0x40), "is encrypted"),
        ((FLAGS, 0x20), "damaged"),
        ((ATTRIBUTES, (stat.S_IFLNK | 0o777) << 16), "is a link"),
        ((ATTRIBUTES, (stat.S_IFDIR | 0o777) << 16), "is a link or a folder"),
        ((METHOD, zipfile.ZIP_LZMA), "compressed in a way"),
        ((METHOD, 99), "compressed in a way"),
        ((METHOD, zipfile.ZIP_STORED), "in another size than its own"),
    ],
)
def test_an_entry_that_is_no_plain_file_is_refused(
    name: str, change: tuple[tuple[int, str], int], problem: str, path: Path
) -> None:
    error = refusal(patched(path, name, change))
    assert error.where == name
    assert problem in error.problem


@pytest.mark.parametrize("name", ["items.jsonl", "manifest.json"])
@pytest.mark.parametrize("by", [-30, 1, 10, 10**6])
def test_entries_that_overlap_or_lie_outside_are_refused(by: int, name: str, path: Path) -> None:
    data = path.read_bytes()
    packed, offset = struct.unpack_from("<L18xL", data, record_of(data, name) + PACKED[0])
    for change in ((PACKED, packed + by), (OFFSET, offset + by)):
        path.write_bytes(data)
        assert "damaged" in refusal(patched(path, name, change)).problem
    path.write_bytes(data)
    first = struct.unpack_from("<L", data, record_of(data, "messages.jsonl") + OFFSET[0])[0]
    assert "overlap" in refusal(patched(path, "items.jsonl", (OFFSET, first))).problem


@pytest.mark.parametrize("offset", [2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("name", ["items.jsonl", "manifest.json"])
def test_an_entry_beyond_any_file_is_refused(
    offset: int, name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", -1)  # All sizes and places are written in 64 bits.
    write_archive(path, FACTS, small_rows())
    data = bytearray(path.read_bytes())
    at = record_of(data, name) + 46 + len(name)
    struct.pack_into("<Q", data, at + 4 + 16, offset)
    path.write_bytes(data)
    assert "outside" in refusal(path).problem


def test_what_is_said_to_be_too_large_is_refused_unread(path: Path) -> None:
    error = refusal(path, max_unpacked_mb=0.001)
    assert "over max_unpacked_mb=0.001" in error.problem
    assert "raise that limit" in error.remedy
    patched(path, "items.jsonl", (SIZE, 2**32 - 2))
    assert "unpacks to 4295.0 MB, over max_unpacked_mb=4000" in refusal(path, max_unpacked_mb=4000).problem
    assert "over max_ratio=200" in refusal(path).problem


def test_a_tight_packing_is_refused(path: Path) -> None:
    zipped(path, {**entries_of(path), "documents.jsonl": bytes(150 * MB)}, honest=False)
    assert path.stat().st_size < MB
    assert "times its size, over max_ratio=200" in refusal(path).problem
    assert "holds 150000000 bytes" in refusal(path, max_ratio=10_000).problem


def test_of_an_entry_that_lies_about_its_size_no_more_is_unpacked(path: Path) -> None:
    before = read_all(path)
    entries = entries_of(path)
    true = entries["documents.jsonl"]
    zipped(path, {**entries, "documents.jsonl": true + bytes(100 * MB)}, honest=False)
    patched(path, "documents.jsonl", (SIZE, len(true)))
    tracemalloc.start()
    assert "damaged" in refusal(path).problem
    # With a checksum that fits too, it is the archive that it says.
    assert read_all(patched(path, "documents.jsonl", (CRC, zlib.crc32(true)))) == before
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * MB


def test_a_directory_of_very_many_entries_is_not_even_read(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(2000):
            archive.writestr(str(number), b"")
    assert "far more files" in refusal(path).problem


@pytest.mark.parametrize("limits", [{"max_unpacked_mb": 0}, {"max_ratio": float("nan")}, {"max_row_mb": -1}])
def test_a_limit_that_makes_no_sense_is_refused(limits: dict[str, float], path: Path) -> None:
    with pytest.raises(ValueError, match="must be a number above 0"):
        open_archive(path, **limits)


def test_a_file_that_changes_after_it_was_checked_is_noticed(path: Path) -> None:
    items = [item_row(str(n)) for n in range(9000)]
    write_archive(path, FACTS, small_rows(items=items, vectors=[unit_vectors(9000)]))
    data = bytearray(path.read_bytes())
    with open_archive(path) as reader:
        at = data.index(reader.vectors(5000, 1).tobytes())
        data[at] ^= 1
        path.write_bytes(data)
        with pytest.raises(ArchiveError, match=r"vectors\.f32: is damaged"):
            reader.vectors(0, 9000)


def test_a_reader_is_closed_when_something_is_wrong(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(ArchiveReader, "verify", lambda self, progress: opened.append(self._stream) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        open_archive(path)
    assert opened[0].closed
