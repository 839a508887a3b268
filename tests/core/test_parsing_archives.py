"""Archives that would unpack to too much are refused before anything reads them."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from memreader.errors import (
    DamagedDocumentError,
    DocumentTooLargeError,
    EncryptedDocumentError,
    UnsupportedDocumentError,
)
from memreader.parsing import ParseLimits, parse_file, parser_pid
from memreader.types import FileInput

MB = 1_000_000
BODY = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'


def archive(entries: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return buffer.getvalue()


def docx(extra: dict[str, bytes] | None = None, *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    return archive(
        {"[Content_Types].xml": b"<Types/>", "word/document.xml": BODY.format("").encode()} | (extra or {}),
        method=method,
    )


def refused(data: bytes, *, name: str = "bomb.docx", limits: ParseLimits | None = None) -> str:
    before = parser_pid()
    with pytest.raises(DocumentTooLargeError, match=name) as caught:
        parse_file(FileInput(name, data=data), limits=limits or ParseLimits())
    assert parser_pid() == before
    return str(caught.value)


def test_a_small_zip_of_300_mb_is_refused() -> None:
    data = docx({"word/media/a.xml": b"\0" * 300 * MB})
    assert len(data) < 0.4 * MB
    assert "300.0 MB, over max_unpacked_mb=200" in refused(data)


def test_the_sum_counts_and_not_only_each_entry() -> None:
    assert "120" in refused(
        docx({f"word/{n}.xml": b"ab" * 20 * MB for n in range(3)}), limits=ParseLimits(max_unpacked_mb=100)
    )


def test_a_tight_packing_is_refused_even_below_the_sum() -> None:
    assert "max_archive_ratio=200" in refused(docx({"word/a.xml": b"\0" * 30 * MB}))


def test_many_entries_are_refused() -> None:
    data = docx({f"word/{n}.xml": b"" for n in range(50)})
    assert "max_archive_entries=20" in refused(data, limits=ParseLimits(max_archive_entries=20))


def test_an_archive_that_lies_about_its_sizes_is_refused() -> None:
    data = bytearray(docx({"word/a.xml": b"\0" * 50 * MB}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rindex(signature)
        assert struct.unpack_from("<I", data, at + offset)[0] == 50 * MB
        struct.pack_into("<I", data, at + offset, 1000)
    assert "more than its archive states" in refused(bytes(data))


def test_an_archive_inside_a_document_is_left_packed() -> None:
    inner = archive({"zeros": b"\0" * 300 * MB})
    data = docx(
        {
            "word/document.xml": BODY.format("<w:p><w:r><w:t>hello</w:t></w:r></w:p>").encode(),
            "word/embeddings/a.zip": inner,
        }
    )
    assert parse_file(FileInput("a.docx", data=data)).text == "hello"


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ({"notes.txt": b"hi"}, "a zip archive"),
        ({}, "a zip archive"),
        ({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": b"<x/>"}, "OpenDocument"),
        ({"word/document.xml": b"<x/>"}, "a zip archive"),
        ({"[Content_Types].xml": b"<x/>", "visio/a.xml": b"<x/>"}, "a zip archive"),
        ({"META-INF/MANIFEST.MF": b"x", "a.class": b"x"}, "a zip archive"),
    ],
)
@pytest.mark.parametrize("name", ["a.zip", "a.docx"])
def test_other_archives_are_unsupported(entries: dict[str, bytes], what: str, name: str) -> None:
    with pytest.raises(UnsupportedDocumentError, match=what):
        parse_file(FileInput(name, data=archive(entries)))


def test_a_broken_zip_of_no_known_kind_is_unsupported() -> None:
    with pytest.raises(UnsupportedDocumentError, match="a zip archive"):
        parse_file(FileInput("a.zip", data=archive({"notes.txt": b"hi"})[:-20]))


def test_a_broken_entry_is_damage() -> None:
    data = bytearray(docx({"word/a.xml": bytes(range(256)) * 100}))
    at = data.index(b"word/a.xml") + 12
    data[at : at + 40] = b"\xff" * 40
    with pytest.raises(DamagedDocumentError):
        parse_file(FileInput("a.docx", data=bytes(data)))


def test_an_exotic_packing_is_damage() -> None:
    with pytest.raises(DamagedDocumentError):
        parse_file(FileInput("a.docx", data=docx(method=zipfile.ZIP_LZMA)))


def test_a_zip_with_a_password_is_encrypted() -> None:
    data = bytearray(docx())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    with pytest.raises(EncryptedDocumentError):
        parse_file(FileInput("a.docx", data=bytes(data)))
