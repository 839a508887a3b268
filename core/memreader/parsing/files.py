"""A file that someone handed in -> a Document."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import replace
from pathlib import Path

from memreader.errors import (
    DamagedDocumentError,
    DocumentTooLargeError,
    EmptyDocumentError,
    EncryptedDocumentError,
    MissingExtraError,
    UnsupportedDocumentError,
)
from memreader.parsing.limits import DEFAULT_LIMITS, MB, ParseLimits
from memreader.parsing.process import Job
from memreader.parsing.sniff import Sniffed, sniff
from memreader.parsing.suffixes import MARKDOWN
from memreader.parsing.tidy import as_title, drop_inline_images, drop_missing_values, join_pages, says_nothing, title_of
from memreader.parsing.warm import ask
from memreader.text import clean
from memreader.types import Document, FileInput

_SURROGATE = re.compile("[\ud800-\udfff]")
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def parse_file(source: FileInput, *, limits: ParseLimits = DEFAULT_LIMITS) -> Document:
    """Return the document in `source`: its cleaned text, its pages, and what the caller said of it.

    Blocks: call it off the event loop. Safe to call from several threads; documents that need the parsing process go
    through it one by one. The file is opened once, read whole, and never again.

    Args:
        source: `data` if given, else the file at `path`. `doc_path` becomes the path as given, or the name for bytes.
        limits: Bounds on size, time and memory.

    Raises:
        DocumentError: Its child says why it can't be read; `name` says which file. Never holds words of the document.
        MissingExtraError: It needs markitdown, which is not installed.
        OSError: The path can't be opened (missing, not allowed), as `open` raises it.
        ValueError: `source` has neither path nor data.
    """
    source = load_file(source, limits=limits)
    name, data = source.name, source.data or b""
    sniffed = sniff(data, name, limits)
    if sniffed.format.in_worker:
        text, page_starts, title = _read_in_worker(data, sniffed, name, limits)
        blank = says_nothing(text, sniffed.format.kind)
    else:
        text, page_starts, title = _read_here(sniffed)
        blank = not text.strip()
    if blank:
        raise EmptyDocumentError(name=name)
    if len(text.encode("utf-8")) > limits.max_text_mb * MB:
        raise _too_large(name, "max_text_mb", limits.max_text_mb)
    return Document(
        text=text,
        doc_path=document_path(source),
        sha256=hashlib.sha256(data).hexdigest(),
        media_type=sniffed.format.media_type,
        title=title,
        page_starts=page_starts,
        locator=source.locator,
        metadata=source.metadata,
        tags=source.tags,
        context=source.context,
        doc_time=source.doc_time,
        message_id=source.message_id,
    )


def load_file(source: FileInput, *, limits: ParseLimits = DEFAULT_LIMITS) -> FileInput:
    """Return `source` with its bytes in `data`, read once, so that they can be known before they are parsed.

    Raises:
        DocumentTooLargeError: More than `max_input_mb`.
        UnsupportedDocumentError: A folder, a pipe or a device.
        OSError: The path can't be opened (missing, not allowed), as `open` raises it.
        ValueError: `source` has neither path nor data.
    """
    name = _shown(source.name or (source.path.name if source.path else ""))
    data = source.data if source.data is not None else _read(source.path, name, limits)
    if len(data) > limits.max_input_mb * MB:
        raise _too_large(name, "max_input_mb", limits.max_input_mb)
    return replace(source, name=name, data=data)


def document_path(source: FileInput) -> str:
    """Return what `doc_path` becomes: the path as given, or the name for bytes; what is no UTF-8 shows as U+FFFD."""
    return _shown(str(source.path) if source.path else source.name)


def _shown(name: str) -> str:
    return _SURROGATE.sub("\ufffd", name)


def _read(path: Path | None, name: str, limits: ParseLimits) -> bytes:
    """Return the bytes of a regular file, at most one more than allowed; pipes and devices are never waited for."""
    if path is None:
        raise ValueError("a FileInput needs a path or data")
    if path.is_dir():
        raise UnsupportedDocumentError(name=name, detail="a folder; give the files in it")
    descriptor = os.open(path, _OPEN_FLAGS)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsupportedDocumentError(name=name, detail="not a regular file")
        if status.st_size > limits.max_input_mb * MB:
            raise _too_large(name, "max_input_mb", limits.max_input_mb)
        return file.read(int(limits.max_input_mb * MB) + 1)


def _read_here(sniffed: Sniffed) -> tuple[str, tuple[int, ...], str | None]:
    text = sniffed.text or ""
    if sniffed.format is not MARKDOWN:
        return clean(text), (), None
    text = clean(drop_inline_images(text))
    return text, (), title_of(text)


def _read_in_worker(
    data: bytes, sniffed: Sniffed, name: str, limits: ParseLimits
) -> tuple[str, tuple[int, ...], str | None]:
    format_ = sniffed.format
    if sniffed.text is not None:
        # The charset is known here; in UTF-8 it can't be guessed wrong there.
        data = sniffed.text.encode("utf-8", "replace")
    answer = ask(Job(data=data, name=name, kind=format_.kind, media_type=format_.media_type, limits=limits))
    status, detail = answer["status"], answer["detail"]
    if status == "encrypted":
        raise EncryptedDocumentError(name=name)
    if status == "missing":
        raise MissingExtraError(package=detail, extra="documents")
    if status == "too_large":
        raise _too_large(name, "max_text_mb", limits.max_text_mb)
    if status != "ok":
        raise DamagedDocumentError(name=name, detail=detail)
    tidy = drop_missing_values if format_.kind == "xlsx" else drop_inline_images
    text, starts = join_pages([tidy(part) for part in answer["parts"]])
    title = as_title(answer["title"]) or (None if format_.kind in ("pdf", "xlsx") else title_of(text))
    return text, starts if answer["paged"] else (), title


def _too_large(name: str, knob: str, value: float) -> DocumentTooLargeError:
    return DocumentTooLargeError(name=name, detail=f"over {knob}={value:g}")
