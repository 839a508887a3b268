"""Checked bytes -> the text of each page, through markitdown; runs in the parsing process only."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_EXTENSIONS = {
    "html": ".html", "ipynb": ".ipynb", "pdf": ".pdf", "docx": ".docx", "pptx": ".pptx", "xlsx": ".xlsx",
    "epub": ".epub", "msg": ".msg",
}  # fmt: skip
_SLIDE = re.compile(r"^<!-- Slide number: (\d{1,6}) -->$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the parsing process answers."""

    status: str
    """ok, encrypted, damaged, missing, or too_large."""
    detail: str = ""
    """Name of an exception or a package; never words of the document."""
    parts: list[str] = field(default_factory=list)
    """The text: one part per page if `paged`, else one part."""
    paged: bool = False
    title: str | None = None


class Converter:
    """markitdown with exactly the readers of `Kind`: nothing that fetches, unpacks archives, or runs programs."""

    def __init__(self) -> None:
        import markitdown
        from markitdown import converters

        self._markitdown = markitdown
        self._engine = markitdown.MarkItDown(enable_builtins=False, enable_plugins=False)
        for name in ("Html", "Ipynb", "Epub", "OutlookMsg", "Xlsx", "Pptx", "Docx", "Pdf"):
            self._engine.register_converter(getattr(converters, f"{name}Converter")())

    def read(self, data: bytes, *, kind: str, media_type: str, max_text_bytes: int) -> Reading:
        """Return the pages of `data`, or why there are none. `html` must come as UTF-8."""
        try:
            text, title = self._convert(data, kind, media_type)
        except self._markitdown.MarkItDownException as error:
            return _failure(error)
        if kind == "pdf":
            parts, paged = self._pdf_pages(text, data, media_type)
            if not paged and not text.strip():
                return Reading("damaged", "no page can be read")
        else:
            parts, paged = slides(text) if kind == "pptx" else ([text], False)
        if sum(map(len, parts)) > max_text_bytes:
            return Reading("too_large")
        return Reading("ok", parts=parts, paged=paged, title=title)

    def _convert(self, data: bytes, kind: str, media_type: str) -> tuple[str, str | None]:
        charset = "utf-8" if kind in ("html", "ipynb") else None
        info = self._markitdown.StreamInfo(mimetype=media_type, extension=_EXTENSIONS[kind], charset=charset)
        result = self._engine.convert_stream(io.BytesIO(data), stream_info=info)
        title = result.title
        return result.markdown, str(title) if title else None

    def _pdf_pages(self, text: str, data: bytes, media_type: str) -> tuple[list[str], bool]:
        """Return the pages by their form feeds if these agree with the page count, else page after page.

        markitdown writes form feeds for running text, loses some of them around blank pages, and all of them as soon as
        one page looks like a form.
        """
        pages = text.split("\f")
        while len(pages) > 1 and not pages[-1].strip():
            pages.pop()
        pdf = _open_pdf(data)
        if pdf is None:
            return ["\n\n".join(pages)], False
        with pdf:
            count = len(pdf)
            if len(pages) == count:
                return pages, True
            if not text.strip():
                return [""] * count, True
            try:
                return [self._convert(page, "pdf", media_type)[0].replace("\f", "\n") for page in _pages(pdf)], True
            except self._markitdown.MarkItDownException:
                return ["\n\n".join(pages)], False


def slides(text: str) -> tuple[list[str], bool]:
    r"""Return the text of each slide by markitdown's slide comments, which go; unpaged if there are none.

    Only the comment with the next number in order begins a slide: others are words of the slides.

    >>> slides("<!-- Slide number: 1 -->\n# Hi\n\n<!-- Slide number: 2 -->\n# Bye")
    (['# Hi\n\n', '# Bye'], True)
    """
    parts: list[str] = []
    start = 0
    for mark in _SLIDE.finditer(text):
        if int(mark[1]) == len(parts) + 1:
            if parts:
                parts[-1] = text[start : mark.start()]
            parts.append("")
            start = mark.end()
    if not parts:
        return [text], False
    parts[-1] = text[start:]
    return parts, True


def _failure(error: Exception) -> Reading:
    """Return why markitdown gave up, by the exception that its first reader met."""
    attempts: list[Any] = getattr(error, "attempts", None) or []
    cause = attempts[0].exc_info[1] if attempts and attempts[0].exc_info else error
    name = type(cause).__name__
    if name in ("PDFPasswordIncorrect", "PDFEncryptionError"):
        return Reading("encrypted")
    if name == "MissingDependencyException":
        missing = getattr(cause.__cause__, "name", None) or "markitdown"
        return Reading("missing", missing)
    return Reading("damaged", name)


def _open_pdf(data: bytes) -> Any:
    """Return pypdfium2's document (pdfplumber brings it), or None if it can't open what pdfminer could."""
    pdfium = importlib.import_module("pypdfium2")
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError:
        return None


def _pages(pdf: Any) -> Iterator[bytes]:
    """Yield each page as a PDF of its own."""
    for number in range(len(pdf)):
        with type(pdf).new() as single:
            single.import_pages(pdf, [number])
            buffer = io.BytesIO()
            single.save(buffer)
        yield buffer.getvalue()
