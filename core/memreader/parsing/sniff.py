"""Bytes and a name -> what kind of document this is; the content is believed, the suffix asked where that is silent."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memreader.errors import (
    DamagedDocumentError,
    EmptyDocumentError,
    EncryptedDocumentError,
    UnsupportedDocumentError,
)
from memreader.parsing import ole
from memreader.parsing.archives import archive_format, check_archive, open_archive
from memreader.parsing.decode import decode
from memreader.parsing.limits import ParseLimits
from memreader.parsing.suffixes import HTML, IPYNB, MSG, PDF, SUFFIXES, TEXT, Format, suffix_of

_TAIL = 4096
_PDF_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*%PDF-")
_MARKUP_START = re.compile(
    r"\s*(?>(?:<\?xml[^>]{0,300}>|(?><!--.*?-->))\s*){0,9}<(?:!doctype\s+)?(html|svg)\b", re.IGNORECASE | re.DOTALL
)

_BINARIES = (
    (0, b"\x89PNG", "an image"), (0, b"\xff\xd8\xff", "an image"), (0, b"GIF8", "an image"), (0, b"BM", "an image"),
    (0, b"II*\0", "an image"), (0, b"MM\0*", "an image"), (0, b"\0\0\1\0", "an image"), (8, b"WEBP", "an image"),
    (8, b"WAVE", "audio"), (0, b"ID3", "audio"), (0, b"OggS", "audio"), (0, b"fLaC", "audio"),
    (0, b"\xff\xfb", "audio"), (0, b"\xff\xf3", "audio"), (0, b"\xff\xf1", "audio"), (0, b"#!AMR", "audio"),
    (8, b"AVI ", "video"), (4, b"ftyp", "audio, video or an image"), (0, b"\x1aE\xdf\xa3", "video"),
    (0, b"\x7fELF", "a program"), (0, b"MZ", "a program"), (0, b"\xfe\xed\xfa", "a program"),
    (0, b"\xcf\xfa\xed\xfe", "a program"), (0, b"\xca\xfe\xba\xbe", "a program"), (0, b"\0asm", "a program"),
    (0, b"\x1f\x8b", "an archive"), (0, b"BZh", "an archive"), (0, b"\xfd7zXZ", "an archive"),
    (0, b"7z\xbc\xaf", "an archive"), (0, b"Rar!", "an archive"), (0, b"(\xb5/\xfd", "an archive"),
    (257, b"ustar", "an archive"), (0, b"SQLite format 3\0", "a database"), (0, b"PAR1", "a table in binary form"),
    (0, b"wOF", "a font"), (0, b"OTTO", "a font"), (0, b"\0\1\0\0", "a font"),
)  # fmt: skip

_OLD_OFFICE = (
    ("WordDocument", "an old Word file (.doc); save it as .docx"),
    ("Workbook", "an old Excel file (.xls); save it as .xlsx"),
    ("Book", "an old Excel file (.xls); save it as .xlsx"),
    ("PowerPoint Document", "an old PowerPoint file (.ppt); save it as .pptx"),
)


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the bytes are, and their words where they are a text of some sort."""

    format: Format
    text: str | None = None


def sniff(data: bytes, name: str, limits: ParseLimits) -> Sniffed:
    """Return the kind of `data`; for text, source, markdown and html with the decoded text, not cleaned yet.

    Checks all that can be checked without reading the document itself, so that what is refused never reaches the
    parsing process.

    Raises:
        EmptyDocumentError: There are no bytes.
        EncryptedDocumentError: An office file with a password.
        DamagedDocumentError: The suffix or the first bytes promise a document that the rest is not.
        DocumentTooLargeError: An archive that unpacks to more than allowed.
        UnsupportedDocumentError: An image, audio, video, a program, an archive, an old office format, or unknown.
    """
    suffix = suffix_of(name)
    if not data:
        raise EmptyDocumentError(name=name, detail="0 bytes")
    if _PDF_START.match(data[:1024]):
        return _pdf(data, name)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        archive = open_archive(data, name, limits)
        found = archive_format(archive, name)
        check_archive(archive, data, name, limits)
        return Sniffed(found)
    if data.startswith(ole.MAGIC):
        return _ole(data, name, suffix)
    what = next((what for at, magic, what in _BINARIES if data.startswith(magic, at)), None)
    if what and b"\0" in data[:512]:
        raise UnsupportedDocumentError(name=name, detail=what)
    text = decode(data, markup=data[:1024].lstrip().startswith(b"<"))
    if text is not None:
        return _words(text, name, suffix)
    if b"%PDF-" in data[:1024]:
        return _pdf(data, name)
    raise _not_a_document(what, name, suffix)


def _pdf(data: bytes, name: str) -> Sniffed:
    tail = data.rstrip(b"\0\t\n\f\r ")[-_TAIL:]
    if b"%%EOF" not in tail and b"startxref" not in tail:
        raise DamagedDocumentError(name=name, detail="the end of the PDF is missing")
    return Sniffed(PDF)


def _ole(data: bytes, name: str, suffix: str) -> Sniffed:
    names = ole.stream_names(data)
    if any(stream.startswith("__properties_version1") for stream in names):
        return Sniffed(MSG)
    if "EncryptedPackage" in names:
        raise EncryptedDocumentError(name=name)
    for stream, detail in _OLD_OFFICE:
        if stream in names:
            raise UnsupportedDocumentError(name=name, detail=detail)
    if SUFFIXES.get(suffix) is MSG:
        raise DamagedDocumentError(name=name, detail="it holds no message")
    raise UnsupportedDocumentError(name=name, detail="an OLE file of an unknown program")


def _words(text: str, name: str, suffix: str) -> Sniffed:
    """Return the format of something that decodes as text: html by its tags, else what the suffix says of it."""
    known = SUFFIXES.get(suffix, TEXT)
    if text.startswith("{\\rtf"):
        raise UnsupportedDocumentError(name=name, detail="a rich text file (.rtf); save it as .docx")
    markup = None if known.kind == "source" else _MARKUP_START.match(text[:8192])
    if markup and markup[1].lower() == "svg":
        raise UnsupportedDocumentError(name=name, detail="an image")
    if markup:
        return Sniffed(HTML, text)
    if known is IPYNB and text.lstrip().startswith("{"):
        return Sniffed(IPYNB, text)
    return Sniffed(known if known is HTML or not known.in_worker else TEXT, text)


def _not_a_document(what: str | None, name: str, suffix: str) -> DamagedDocumentError | UnsupportedDocumentError:
    known = SUFFIXES.get(suffix)
    if what is None and known and known.in_worker:
        return DamagedDocumentError(name=name, detail=f"it does not begin like {suffix[1:]}")
    return UnsupportedDocumentError(name=name, detail=what or "binary data of an unknown kind")
