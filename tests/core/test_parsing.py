"""Documents of every kind, made on the fly: what comes out, and how each fails."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import struct
import sys
import zipfile
from datetime import date
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from memreader.errors import (
    DamagedDocumentError,
    DocumentError,
    DocumentTooLargeError,
    EmptyDocumentError,
    EncryptedDocumentError,
    MissingExtraError,
    UnsupportedDocumentError,
)
from memreader.parsing import SUFFIXES, ParseLimits, parse_file
from memreader.parsing.convert import slides
from memreader.parsing.sniff import sniff
from memreader.parsing.tidy import join_pages
from memreader.text import clean
from memreader.types import Document, FileInput


def pdf(*pages: str, encrypt: StandardEncryption | None = None) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, encrypt=encrypt)
    for page in pages:
        for number, line in enumerate(page.split("\n")):
            canvas.drawString(72, 800 - 14 * number, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def form_pdf(pages: int) -> bytes:
    """A table without lines on every page: markitdown then writes no form feeds."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for page in range(1, pages + 1):
        for row in range(8):
            for column in range(4):
                canvas.drawString(60 + 130 * column, 780 - 20 * row, f"p{page}r{row}c{column}")
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def word(*paragraphs: str, heading: str | None = None) -> bytes:
    document = docx.Document()
    if heading:
        document.add_heading(heading, 1)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    return saved(document)


def saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def book(body: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="content.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "content.opf",
            '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Letters</dc:title></metadata>'
            '<manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>',
        )
        archive.writestr("a.xhtml", f"<html><body>{body}</body></html>")
    return buffer.getvalue()


def ole(streams: dict[str, bytes]) -> bytes:
    """A compound file: one FAT sector, then the directory, then streams of at least 4,096 bytes (no mini stream)."""
    names = ["Root Entry", *streams]
    directory_sectors = -(-len(names) // 4)
    bodies = [body + b"\0" * (-len(body) % 512) for body in streams.values()]
    fat = [0xFFFFFFFD, *range(2, directory_sectors + 1), 0xFFFFFFFE]
    entries, at = b"", directory_sectors + 1
    for index, name in enumerate(names):
        kind = 5 if index == 0 else 2
        start, size, child, right = 0xFFFFFFFE, 0, 0xFFFFFFFF, 0xFFFFFFFF
        if index == 0:
            child = 1 if streams else child
        else:
            body = bodies[index - 1]
            start, size = at, len(body)
            at += len(body) // 512
            fat += [*range(start + 1, at), 0xFFFFFFFE]
            right = index + 1 if index + 1 < len(names) else right
        entries += name.encode("utf-16-le").ljust(64, b"\0")
        entries += struct.pack("<HBBIII36xIQ", 2 * len(name) + 2, kind, 1, 0xFFFFFFFF, right, child, start, size)
    entries = entries.ljust(directory_sectors * 512, b"\0")
    header = ole_header(first_directory_sector=1)
    return header + struct.pack("<128I", *fat, *[0xFFFFFFFF] * (128 - len(fat))) + entries + b"".join(bodies)


def ole_header(*, first_directory_sector: int) -> bytes:
    fields = struct.pack(
        "<HHHHH6xIII4xIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, first_directory_sector, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0
    )
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16 + fields
    return head + struct.pack("<109I", 0, *[0xFFFFFFFF] * 108)


def parse(name: str, data: bytes, **limits: float) -> Document:
    return parse_file(FileInput(name, data=data), limits=ParseLimits(**limits))  # type: ignore[arg-type]


class TestKinds:
    def test_a_pdf_keeps_its_pages(self) -> None:
        document = parse("a.pdf", pdf("Ana lives in Lisbon.", "Ben lives in Rome."))
        assert document.media_type == "application/pdf"
        assert document.page_at(document.text.index("Lisbon")) == 1
        assert document.page_at(document.text.index("Rome")) == 2
        assert "\f" not in document.text

    def test_blank_pages_of_a_pdf_are_counted(self) -> None:
        document = parse("a.pdf", pdf("", "two", "", "four", ""))
        assert len(document.page_starts) == 5
        assert document.page_at(document.text.index("two")) == 2
        assert document.page_at(document.text.index("four")) == 4

    def test_a_pdf_of_forms_keeps_its_pages(self) -> None:
        document = parse("a.pdf", form_pdf(3))
        for page in (1, 2, 3):
            assert document.page_at(document.text.index(f"p{page}r0c0")) == page
            assert document.page_at(document.text.index(f"p{page}r7c3")) == page

    def test_a_pdf_that_only_restricts_editing_is_read(self) -> None:
        assert "open" in parse("a.pdf", pdf("open", encrypt=StandardEncryption("", ownerPassword="x"))).text

    def test_a_docx_gives_markdown_with_its_heading_as_title(self) -> None:
        document = parse("a.docx", word("Ana lives in 里斯本.", heading="Notes"))
        assert document.text == "# Notes\n\nAna lives in 里斯本."
        assert (document.title, document.page_starts) == ("Notes", ())

    def test_the_slides_of_a_pptx_are_its_pages(self) -> None:
        deck = pptx.Presentation()
        for title in ("Plans", "Costs"):
            deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = title
        document = parse("a.pptx", saved(deck))
        assert document.page_at(document.text.index("Costs")) == 2
        assert "Slide number" not in document.text
        assert document.title == "Plans"

    def test_an_xlsx_gives_tables_without_invented_values(self) -> None:
        workbook = openpyxl.Workbook()
        for row in (["city", None, "since"], ["Lisbon", None, date(2020, 5, 1)], ["Rome", None, None]):
            workbook.active.append(row)
        document = parse("a.xlsx", saved(workbook))
        assert "| Lisbon |  | 2020-05-01" in document.text
        assert "NaN" not in document.text
        assert "Unnamed" not in document.text

    def test_an_html_page_gives_markdown_and_its_title(self) -> None:
        document = parse(
            "a.html",
            b"<html><head><title>Home</title></head><body><script>x()</script><h1>Hi</h1><p>there</p></body></html>",
        )
        assert (document.text, document.title, document.media_type) == ("# Hi\n\nthere", "Home", "text/html")

    def test_an_html_page_is_read_in_the_charset_it_declares(self) -> None:
        page = '<html><meta charset="gb2312"><body><p>我住在北京朝阳区。</p></body></html>'
        assert parse("a.html", page.encode("gb18030")).text == "我住在北京朝阳区。"

    def test_an_epub_gives_its_chapters_and_title(self) -> None:
        document = parse("a.epub", book("<h1>One</h1><p>Dear Ana</p>"))
        assert "Dear Ana" in document.text
        assert document.title == "Letters"

    def test_a_notebook_gives_its_cells_without_outputs(self) -> None:
        cells = [
            {"cell_type": "markdown", "source": ["# Trip\n", "to Rome"]},
            {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"image/png": "iVBORw0"}}]},
        ]
        document = parse("a.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode())
        assert "to Rome" in document.text
        assert "iVBOR" not in document.text

    def test_an_outlook_message_gives_its_body(self) -> None:
        body = ("Ana moves to Lisbon in May. " * 100).encode("utf-16-le")
        message = ole({"__properties_version1.0": b"\0" * 4096, "__substg1.0_1000001F": body})
        document = parse("a.msg", message)
        assert "Ana moves to Lisbon" in document.text
        assert document.media_type == "application/vnd.ms-outlook"

    def test_bytes_of_an_image_never_enter_the_text(self) -> None:
        picture = io.BytesIO()
        Image.new("RGB", (40, 40), "red").save(picture, "png")
        document = docx.Document()
        document.add_paragraph("Before the picture.")
        document.add_picture(picture)
        for parsed in (
            parse("a.docx", saved(document)),
            parse(
                "a.html", b'<html><p>Before the picture.<img alt="red" src="data:image/png;base64,iVBORw0KGgo="></html>'
            ),
            parse("a.md", b"Before the picture. ![red](data:image/png;base64,iVBORw0KGgo=)"),
        ):
            assert "Before the picture." in parsed.text
            assert "base64" not in parsed.text
            assert "iVBOR" not in parsed.text


class TestContentWins:
    @pytest.mark.parametrize("name", ["a.txt", "a.docx", "a", "a.PDF", "a.zip"])
    def test_a_pdf_is_a_pdf_under_any_name(self, name: str) -> None:
        assert parse(name, pdf("Hello")).media_type == "application/pdf"

    @pytest.mark.parametrize("name", ["a.pptx", "a.txt", "a", "a.zip"])
    def test_a_docx_is_a_docx_under_any_name(self, name: str) -> None:
        assert parse(name, word("Hello")).media_type == SUFFIXES[".docx"].media_type

    @pytest.mark.parametrize("name", ["a.txt", "a.pdf", "a.docx", "a"])
    def test_a_web_page_is_html_under_any_name(self, name: str) -> None:
        page = b"\n<?xml version='1.0'?><!-- saved -->\n<!DOCTYPE html><html><body>not found</body></html>"
        assert parse(name, page).media_type == "text/html"

    def test_words_under_a_document_suffix_are_words(self) -> None:
        assert parse("a.pdf", b"just words").text == "just words"

    def test_source_code_that_begins_with_tags_stays_as_it_is(self) -> None:
        assert parse("a.php", b"<html><?php echo 1 ?></html>").text == "<html><?php echo 1 ?></html>"

    def test_text_that_speaks_of_pdf_is_text(self) -> None:
        assert parse("a.md", b"A PDF begins with %PDF-1.7, a program with MZ.").media_type == "text/markdown"
        assert parse("a.txt", b"MZ and BM and RIFF....WAVE are only letters").media_type == "text/plain"


IMAGE = io.BytesIO()
Image.new("RGB", (8, 8), "red").save(IMAGE, "jpeg")


class TestFailures:
    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("a.txt", b""),
            ("a.pdf", b""),
            ("a.txt", b" \r\n\t\xe3\x80\x80 \n"),
            ("a.txt", b"\xef\xbb\xbf"),
            ("a.html", b"<html><body><img src='x.png'></body></html>"),
            ("blank.pdf", pdf("", "")),
            ("a.docx", word()),
            ("a.docx", word("", " ")),
            ("a.xlsx", saved(openpyxl.Workbook())),
            ("a.pptx", saved(pptx.Presentation())),
            ("a.epub", book("<img src='scan.png'/>")),
            ("a.msg", ole({"__properties_version1.0": b"\0" * 4096})),
        ],
    )
    def test_a_document_without_words_is_empty(self, name: str, data: bytes) -> None:
        with pytest.raises(EmptyDocumentError, match=name):
            parse(name, data)

    def test_a_scan_is_empty(self) -> None:
        scan = io.BytesIO()
        Image.new("RGB", (40, 40), "red").save(scan, "png")
        for kind, document in (("docx", docx.Document()), ("pptx", pptx.Presentation())):
            if kind == "docx":
                document.add_picture(scan)
            else:
                document.slides.add_slide(document.slide_layouts[6]).shapes.add_picture(scan, 0, 0)
            with pytest.raises(EmptyDocumentError):
                parse(f"scan.{kind}", saved(document))

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("a.pdf", pdf("secret words", encrypt=StandardEncryption("pw"))),
            ("a.docx", ole({"EncryptionInfo": b"\0" * 4096, "EncryptedPackage": b"\0" * 4096})),
            ("a.xlsx", ole({"a": b"", "b": b"", "c": b"", "d": b"", "EncryptedPackage": b"\0" * 4096})),
        ],
    )
    def test_a_password_is_an_error_of_its_own(self, name: str, data: bytes) -> None:
        with pytest.raises(EncryptedDocumentError, match=name) as caught:
            parse(name, data)
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
    @pytest.mark.parametrize(
        ("name", "data"), [("a.pdf", pdf("one", "two")), ("a.docx", word("one", "two")), ("a", word("one"))]
    )
    def test_a_cut_document_is_damaged(self, name: str, data: bytes, cut: float) -> None:
        with pytest.raises(DamagedDocumentError):
            parse(name, data[: int(len(data) * cut)])

    @pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx", "a.msg", "a.html"])
    def test_noise_under_a_document_suffix_is_damaged(self, name: str) -> None:
        with pytest.raises(DamagedDocumentError):
            parse(name, bytes(range(256)) * 20)

    def test_a_pdf_whose_middle_is_lost_is_damaged_or_partly_read_but_never_empty(self) -> None:
        whole = pdf("one", "two")
        with pytest.raises(DamagedDocumentError):
            parse("a.pdf", whole[:60] + b"\0" * (len(whole) - 120) + whole[-60:])

    def test_a_pdf_whose_last_update_was_cut_off_is_damaged_and_not_read_as_the_version_before(self) -> None:
        with pytest.raises(DamagedDocumentError, match="end of the PDF"):
            parse("a.pdf", pdf("the old words") + b"\n7 0 obj\n<</Length 9000>>stream\n" + b"x" * 6000)

    def test_a_docx_whose_words_are_not_xml_is_damaged_and_not_quoted(self) -> None:
        data = word("whatever")
        buffer = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
            for entry in old.infolist():
                broken = b"<w:document>my secret plan" if entry.filename == "word/document.xml" else old.read(entry)
                new.writestr(entry, broken)
        with pytest.raises(DamagedDocumentError) as caught:
            parse("a.docx", buffer.getvalue())
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "data", "what"),
        [
            ("a.jpg", IMAGE.getvalue(), "an image"),
            ("a.txt", IMAGE.getvalue(), "an image"),
            ("a.svg", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"></svg>', "an image"),
            ("a.exe", b"MZ\x90\0\3" + b"\0" * 100, "a program"),
            ("run", b"\x7fELF\2\1\1" + b"\0" * 100, "a program"),
            ("a.mp3", b"ID3\4\0\0" + b"\0" * 100, "audio"),
            ("a.db", b"SQLite format 3\0" + b"\0" * 100, "a database"),
            ("a.tar", b"notes.txt".ljust(257, b"\0") + b"ustar\0" + b"words " * 9000, "an archive"),
            ("a.bin", bytes(range(256)) * 20, "unknown"),
            ("a.rtf", b"{\\rtf1 hello}", "rich text"),
            ("a.doc", ole({"WordDocument": b"\0" * 4096}), "save it as .docx"),
            ("a.xls", ole({"Workbook": b"\0" * 4096}), "save it as .xlsx"),
            ("a.ole", ole({}), "OLE"),
        ],
    )
    def test_what_is_no_document_is_unsupported(self, name: str, data: bytes, what: str) -> None:
        with pytest.raises(UnsupportedDocumentError, match=what):
            parse(name, data)

    def test_markitdown_is_only_needed_for_what_it_reads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "markitdown", None)
        assert parse("a.md", b"# Hi").title == "Hi"
        assert parse("a.csv", b"a,b\n1,2").text == "a,b\n1,2"
        with pytest.raises(MissingExtraError, match=r"llm-memreader\[documents\]") as caught:
            parse("a.html", b"<html>hi</html>")
        assert (caught.value.package, caught.value.extra) == ("markitdown", "documents")

    def test_text_over_the_limit_is_refused(self) -> None:
        for name, data in (("a.txt", b"x" * 1200), ("a.html", b"<html>" + b"x" * 1200)):
            with pytest.raises(DocumentTooLargeError, match="max_text_mb"):
                parse(name, data, max_text_mb=0.001)

    @pytest.mark.parametrize("limits", [{"timeout_s": 0}, {"max_input_mb": -1}, {"max_memory_mb": float("nan")}])
    def test_a_limit_is_above_zero(self, limits: dict[str, float]) -> None:
        with pytest.raises(ValueError, match=next(iter(limits))):
            ParseLimits(**limits)  # type: ignore[arg-type]


class TestPaths:
    def test_a_path_gives_the_document_with_what_the_caller_said(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.md"
        path.write_bytes("# 你好\r\nAna".encode())
        source = FileInput(
            "notes.md", path, locator="[0]", metadata={"k": 1}, tags=("t",), context="see this", doc_time="2024-01-02"
        )
        document = parse_file(source)
        assert document == Document(
            text="# 你好\nAna",
            doc_path=str(path),
            sha256=hashlib.sha256("# 你好\r\nAna".encode()).hexdigest(),
            media_type="text/markdown",
            title="你好",
            locator="[0]",
            metadata={"k": 1},
            tags=("t",),
            context="see this",
            doc_time="2024-01-02",
        )

    def test_bytes_are_known_by_their_name(self) -> None:
        assert parse("letter.txt", b"hi").doc_path == "letter.txt"

    def test_bytes_win_over_the_path_that_they_came_from(self, tmp_path: Path) -> None:
        document = parse_file(FileInput("a.txt", tmp_path / "gone.txt", b"hi"))
        assert (document.text, document.doc_path) == ("hi", str(tmp_path / "gone.txt"))

    def test_a_missing_file_is_a_file_not_found_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            parse_file(FileInput("no.txt", tmp_path / "no.txt"))

    def test_a_folder_is_unsupported(self, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedDocumentError, match="a folder"):
            parse_file(FileInput("d", tmp_path))

    def test_neither_path_nor_bytes_is_a_value_error(self) -> None:
        with pytest.raises(ValueError, match="path or data"):
            parse_file(FileInput("a.txt"))

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_pipes_and_devices_are_refused_without_waiting(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.txt")
        for path in (tmp_path / "pipe.txt", Path("/dev/zero"), Path("/dev/null")):
            with pytest.raises(UnsupportedDocumentError, match="not a regular file"):
                parse_file(FileInput(path.name, path))

    def test_a_link_to_a_file_is_that_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("hi")
        (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
        assert parse_file(FileInput("b.txt", tmp_path / "b.txt")).text == "hi"

    def test_a_file_over_the_limit_is_never_read(self, tmp_path: Path) -> None:
        path = tmp_path / "huge.txt"
        with path.open("wb") as file:
            file.truncate(10**12)
        with pytest.raises(DocumentTooLargeError, match=r"huge.txt.*max_input_mb=1"):
            parse_file(FileInput("huge.txt", path), limits=ParseLimits(max_input_mb=1))
        with pytest.raises(DocumentTooLargeError):
            parse("a.txt", b"x" * 1001, max_input_mb=0.001)


class TestLaws:
    @given(st.lists(st.text(st.sampled_from("ab \n\r\x00\ud800京"), max_size=6), max_size=8))
    def test_page_starts_ascend_and_point_at_their_pages(self, pages: list[str]) -> None:
        text, starts = join_pages(pages)
        assert text == clean(text)
        assert len(starts) == len(pages)
        assert list(starts) == sorted(starts)
        document = Document(text, "a", "", page_starts=starts)
        for number, page in enumerate(pages, 1):
            piece = clean(page).strip()
            start = starts[number - 1]
            if piece:
                assert text[start : start + len(piece)] == piece
                assert {document.page_at(start), document.page_at(start + len(piece) - 1)} == {number}

    @given(st.lists(st.text(st.sampled_from("ab #\n<!-Slide number: 1->"), max_size=30), min_size=1, max_size=6))
    def test_slides_come_apart_as_they_were_put_together(self, contents: list[str]) -> None:
        text = "\n\n".join(f"<!-- Slide number: {n} -->\n{content}" for n, content in enumerate(contents, 1))
        parts, paged = slides(text)
        assert paged
        assert [part.removesuffix("\n\n") if n < len(parts) else part for n, part in enumerate(parts, 1)] == contents

    @given(st.sampled_from([pdf("one", "two"), word("one"), ole({"__properties_version1.0": b"\0" * 4096})]), st.data())
    def test_broken_headers_end_in_a_document_error_or_a_document(self, data: bytes, draw: st.DataObject) -> None:
        """What is checked in this process, before the parser sees anything."""
        at = draw.draw(st.integers(0, min(600, len(data) - 8)))
        broken = data[:at] + draw.draw(st.binary(min_size=1, max_size=8)) + data[at + 8 :]
        with contextlib.suppress(DocumentError):
            assert sniff(broken, "a", ParseLimits()).format
