"""The directory of a zip file, looked over before anything is unpacked."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from memreader.archive.columns import MANIFEST, entry_names
from memreader.archive.files import MB
from memreader.archive.flaws import Flaw, shown

_END = struct.Struct("<4s8xLLH")
"""End of the directory: signature, the directory's length and offset, length of a comment."""
_END_64 = struct.Struct("<4s36xQQ")
"""The same in 64 bits, without the comment."""
_LOCATOR_64 = struct.Struct("<4s4xQ4x")
"""Before the end, where there is one in 64 bits: signature, and where that is."""
_LOCAL = struct.Struct("<4s22xHH")
"""Before each entry: signature, lengths of its name and of an extra field."""
_LARGEST_DIRECTORY = 1 << 16
"""Bytes; ours has eight entries of less than 100 each."""
_ENCRYPTED = 0x41
_RATIO_COUNTS_FROM = 100 * MB
_ENCRYPTED_REMEDY = "Unpack it with its password and zip the files again without one."
_BOUND_REMEDY = "If you trust it, raise that limit."


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what `zipfile` raises on a damaged file into a Flaw.

    Raises:
        Flaw: In place of any of its errors.
    """
    try:
        yield
    except Flaw:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, struct.error, OverflowError, ValueError):
        problem = "is damaged: it can't be unpacked"
    else:
        return
    raise Flaw(problem)


def directory_start(stream: BinaryIO) -> int:
    """Return the offset of a zip's directory.

    Only what zip writers give is taken: nothing before the first entry or after the end, and no comment. So `zipfile`
    is sure to read the directory that is looked at here, however a file is made up.

    Raises:
        Flaw: The file is no such zip, or its directory is too long for an archive.
    """
    end = stream.seek(0, 2) - _END.size
    signature, length, offset, comment = _record(stream, end, _END)
    if signature != b"PK\x05\x06" or comment:
        raise Flaw("is not a zip file, or was cut short, or goes on behind its end")
    locator = end - _LOCATOR_64.size
    signature, place = _record(stream, locator, _LOCATOR_64)
    if signature == b"PK\x06\x07":
        end = locator - _END_64.size
        signature, length, offset = _record(stream, end, _END_64)
        if signature != b"PK\x06\x06" or place != end:
            raise Flaw("is damaged: its zip directory can't be found")
    if length > _LARGEST_DIRECTORY:
        raise Flaw("holds far more files than an archive of memreader")
    if offset != end - length:
        raise Flaw("is damaged: its zip directory is not where it should be")
    return int(end - length)


def entries_in(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by their names as they are written.

    Raises:
        Flaw: A name stands twice, or there is no manifest.
    """
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.orig_filename
        if name in entries:
            raise Flaw(f"holds two files of the name {shown(name)!r}")
        entries[name] = info
    if MANIFEST not in entries:
        raise Flaw(f"is not an archive of memreader: it has no {MANIFEST}")
    return entries


def check_sizes(
    entries: Mapping[str, zipfile.ZipInfo], packed: int, *, max_unpacked_mb: float, max_ratio: float
) -> None:
    """Return if what the directory states may be unpacked; `zipfile` never gives more of an entry than is stated.

    Args:
        entries: All of them.
        packed: Bytes of the whole file: what entries say of their packed sizes may count the same bytes twice.
        max_unpacked_mb: For all entries together.
        max_ratio: Of unpacked to packed; counts from 100 MB.

    Raises:
        Flaw: It is too much.
    """
    unpacked = sum(info.file_size for info in entries.values())
    if unpacked > max_unpacked_mb * MB:
        raise Flaw(f"unpacks to {unpacked / MB:.1f} MB, over max_unpacked_mb={max_unpacked_mb:g}", remedy=_BOUND_REMEDY)
    if unpacked > _RATIO_COUNTS_FROM and unpacked > max_ratio * packed:
        ratio = unpacked / packed
        raise Flaw(f"unpacks to {ratio:.0f} times its size, over max_ratio={max_ratio:g}", remedy=_BOUND_REMEDY)


def check_names(entries: Mapping[str, zipfile.ZipInfo], version: int) -> None:
    """Return if the entries are those of an archive of a version, no other; names are never used as paths.

    Raises:
        Flaw: One is missing or too many.
    """
    known = {MANIFEST, *entry_names(version)}
    for name in entries:
        if name not in known:
            raise Flaw(f"holds {shown(name)!r}, which is no part of an archive")
    if missing := known - set(entries):
        raise Flaw(f"has no {', '.join(sorted(missing))}")


def check_entry(info: zipfile.ZipInfo) -> None:
    """Return if an entry is a plain file in a compression that we write.

    Raises:
        Flaw: It is something else.
    """
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.flag_bits & _ENCRYPTED:
        raise Flaw("is encrypted", remedy=_ENCRYPTED_REMEDY)
    if kind not in (0, stat.S_IFREG):
        raise Flaw("is a link or a folder, not a file")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Flaw("is compressed in a way that archives are not")
    if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
        raise Flaw("is damaged: it is stored as it is, in another size than its own")


def check_places(stream: BinaryIO, entries: Mapping[str, zipfile.ZipInfo], directory: int) -> None:
    """Return if no byte of the file belongs to two entries.

    Raises:
        Flaw: Two overlap, or one is not where the directory says.
    """
    free = 0
    for info in sorted(entries.values(), key=lambda info: info.header_offset):
        at = info.header_offset
        if not free <= at <= directory - _LOCAL.size:
            raise Flaw("is damaged: two files in it overlap, or one is outside")
        signature, name, extra = _record(stream, at, _LOCAL)
        free = at + _LOCAL.size + name + extra + info.compress_size
        if signature != b"PK\x03\x04" or free > directory:
            raise Flaw("is damaged: two files in it overlap, or one is outside")


def _record(stream: BinaryIO, at: int, form: struct.Struct) -> tuple[Any, ...]:
    """Return the fields of a record, all of them empty if there is no place for one."""
    if at < 0:
        return form.unpack(bytes(form.size))
    stream.seek(at)
    return form.unpack(stream.read(form.size).ljust(form.size, b"\0"))
