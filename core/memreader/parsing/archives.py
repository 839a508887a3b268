"""Which office document a zip holds, and whether unpacking it is safe."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from memreader.errors import (
    DamagedDocumentError,
    DocumentTooLargeError,
    EncryptedDocumentError,
    UnsupportedDocumentError,
)
from memreader.parsing.limits import MB, ParseLimits
from memreader.parsing.suffixes import ARCHIVE_KINDS, DOCX, EPUB, PPTX, SUFFIXES, XLSX, Format, suffix_of

_RATIO_COUNTS_FROM = 10 * MB
_LOCAL_HEADER = 30
_PACKED_PIECE = 1 << 16
_UNPACKED_PIECE = 1 << 20
_FOLDERS = {"word": DOCX, "ppt": PPTX, "xl": XLSX}
_OFFICE_MARKS = (b"[Content_Types].xml", b"mimetypeapplication/epub", b"word/", b"ppt/", b"xl/")


def open_archive(data: bytes, name: str, limits: ParseLimits) -> zipfile.ZipFile:
    """Return the zip in `data`, its directory read.

    Raises:
        DocumentTooLargeError: Its directory alone would be a burden.
        DamagedDocumentError: It has no readable directory, but was meant to be an office document.
        UnsupportedDocumentError: It has none, and nothing says that it was one.
    """
    entries = data.count(b"PK\x01\x02")
    if entries > limits.max_archive_entries:
        detail = f"about {entries} files inside, over max_archive_entries={limits.max_archive_entries}"
        raise DocumentTooLargeError(name=name, detail=detail)
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        known = SUFFIXES.get(suffix_of(name))
        if (known and known.kind in ARCHIVE_KINDS) or any(mark in data[:4096] for mark in _OFFICE_MARKS):
            raise DamagedDocumentError(name=name, detail="its zip directory is missing or broken") from error
        raise UnsupportedDocumentError(name=name, detail="a zip archive") from error


def archive_format(archive: zipfile.ZipFile, name: str) -> Format:
    """Return which document the archive is, by its entries and not by its name.

    Raises:
        EncryptedDocumentError: Its entries ask for a password.
        UnsupportedDocumentError: A plain zip, an OpenDocument file, or some other program's archive.
    """
    entries = {entry.filename.lower().lstrip("/"): entry for entry in archive.infolist()}
    folders = {filename.split("/", 1)[0] for filename in entries if "/" in filename}
    found = [kind for folder, kind in _FOLDERS.items() if folder in folders and "[content_types].xml" in entries]
    mimetype = entries.get("mimetype")
    if any(entry.flag_bits & 1 for entry in entries.values()) and (found or mimetype):
        raise EncryptedDocumentError(name=name)
    said = _head(archive, mimetype) if mimetype else b""
    if said.startswith(b"application/epub"):
        return EPUB
    if said.startswith(b"application/vnd.oasis"):
        raise UnsupportedDocumentError(name=name, detail="an OpenDocument file; save it as docx, pptx or xlsx")
    if len(found) == 1:
        return found[0]
    raise UnsupportedDocumentError(name=name, detail="a zip archive")


def check_archive(archive: zipfile.ZipFile, data: bytes, name: str, limits: ParseLimits) -> None:
    """Return if the archive may be unpacked by the readers behind, which hold whole entries in memory.

    First the sizes that its directory states are summed, then every entry is inflated once, piece by piece, and thrown
    away: an entry that holds more than stated is refused at the first byte too much. Archives inside the archive are
    never opened by the readers, so nested bombs count as the bytes they are.

    Raises:
        DocumentTooLargeError: Too many entries, too large in sum, packed suspiciously tightly, or larger than stated.
        DamagedDocumentError: An entry can't be inflated.
    """
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    packed = max(1, sum(entry.compress_size for entry in entries))
    ratio = unpacked / packed
    detail = ""
    if len(entries) > limits.max_archive_entries:
        detail = f"{len(entries)} files inside, over max_archive_entries={limits.max_archive_entries}"
    elif unpacked > limits.max_unpacked_mb * MB:
        detail = f"unpacks to {unpacked / MB:.1f} MB, over max_unpacked_mb={limits.max_unpacked_mb:g}"
    elif unpacked > _RATIO_COUNTS_FROM and ratio > limits.max_archive_ratio:
        detail = f"unpacks to {ratio:.0f} times its size, over max_archive_ratio={limits.max_archive_ratio:g}"
    elif any(_surplus(entry, data, name) for entry in entries):
        detail = "an entry unpacks to more than its archive states"
    if detail:
        raise DocumentTooLargeError(name=name, detail=detail)


def _surplus(entry: zipfile.ZipInfo, data: bytes, name: str) -> bool:
    """Return whether an entry holds more than its stated size; inflates at most 1 MB beyond it."""
    try:
        lengths = struct.unpack_from("<4s22xHH", data, entry.header_offset)
    except struct.error:
        lengths = (b"", 0, 0)
    if lengths[0] != b"PK\x03\x04" or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DamagedDocumentError(name=name, detail="one of the files inside can't be unpacked")
    if entry.compress_type == zipfile.ZIP_STORED:
        return entry.compress_size > entry.file_size
    start = entry.header_offset + _LOCAL_HEADER + lengths[1] + lengths[2]
    try:
        return _inflated_over(memoryview(data)[start : start + entry.compress_size], entry.file_size)
    except zlib.error as error:
        raise DamagedDocumentError(name=name, detail="one of the files inside can't be unpacked") from error


def _inflated_over(packed: memoryview, stated: int) -> bool:
    """Return whether `packed` inflates to more than `stated` bytes, holding 1 MB of it at most."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    left = stated
    for at in range(0, len(packed), _PACKED_PIECE):
        piece: bytes | memoryview = packed[at : at + _PACKED_PIECE]
        while piece and not inflater.eof:
            left -= len(inflater.decompress(piece, _UNPACKED_PIECE))
            piece = inflater.unconsumed_tail
            if left < 0:
                return True
    return False


def _head(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the first 64 bytes of an entry; b"" if they can't be unpacked."""
    try:
        with archive.open(entry) as stream:
            return stream.read(64)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
        return b""
