"""Texts, file names and file parts that were handed in as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path, PurePath
from typing import Any

from memreader.errors import InputError, LooksLikePathError
from memreader.normalize.conversation import Frame, conversation_of, file_inputs
from memreader.normalize.message import Draft, part_message
from memreader.normalize.parts import TEXT_TYPES
from memreader.normalize.paths import is_url, path_below, path_suffix
from memreader.text import clean, split_data_uris
from memreader.types import Conversation, Document, FileInput, Message, Part


def text_document(text: str, frame: Frame, *, doc_path: str | None = None) -> Document:
    """Return `text` as a document: cleaned, free of data URIs, known by the digest of what was given."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Document(
        split_data_uris(clean(text))[0],
        doc_path or f"text:{digest[:16]}",
        digest,
        locator=frame.locator,
        metadata=frame.metadata,
        tags=frame.tags,
        doc_time=frame.time,
    )


def own_document(document: Document) -> Document:
    """Return a Document of ours with its text cleaned, its pages still where they begin."""
    edges = [*document.page_starts, len(document.text)] if document.page_starts else [0, len(document.text)]
    pages = [clean(document.text[start:end]) for start, end in pairwise(edges)]
    starts = tuple(accumulate((len(page) for page in pages[:-1]), initial=0)) if document.page_starts else ()
    before = clean(document.text[: edges[0]])
    return replace(document, text=before + "".join(pages), page_starts=tuple(len(before) + start for start in starts))


def string_document(text: str, frame: Frame, *, as_text: bool, now: str) -> Document | Conversation:
    """Return a string given as a document: its text, or the reference that an address is.

    Raises:
        LooksLikePathError: The whole string looks like a file name and `as_text` is False.
    """
    if as_text:
        return text_document(text, frame)
    if is_url(text):
        return _reference(Part("file", reference=clean(text).strip()), frame, now)
    if suffix := path_suffix(text):
        raise LooksLikePathError(suffix=suffix, locator=frame.locator)
    return text_document(text, frame)


def path_file(path: PurePath, frame: Frame, *, name: str | None = None) -> FileInput:
    """Return the file at `path`, unopened.

    Raises:
        InputError: The path names no file (`.`, a drive).
    """
    if not path.name:
        raise InputError("a path that names no file", locator=frame.locator)
    return FileInput(
        name or path.name,
        path=Path(path),
        locator=frame.locator,
        metadata=frame.metadata,
        tags=frame.tags,
        doc_time=frame.time,
    )


def file_below(root: Path, name: str, frame: Frame) -> FileInput:
    """Return the file called `name` below `root`, unopened."""
    return path_file(path_below(root, name, locator=frame.locator), frame, name=name)


def part_documents(
    parts: Sequence[Mapping[str, Any]], frame: Frame, *, timezone: tzinfo | None, now: str
) -> Iterator[Document | FileInput | Conversation]:
    """Yield what a content list given as a document holds.

    Files with their bytes come first; the texts beside them are their context. What is only referred to, and images,
    stay parts of one message. If there are only texts, each is a document.
    """
    draft = part_message(parts, frame.locator)
    message = draft.message
    if all(part["type"] in TEXT_TYPES for part in parts):
        yield from (text_document(part.text, frame) for part in message.parts if part.kind == "text")
        return
    files = [part for part in message.parts if _is_file(part)]
    rest = tuple(part for part in message.parts if not _is_file(part) and (not files or part.kind != "text"))
    holding = conversation_of([Draft(replace(message, parts=tuple(files)))], frame, timezone=timezone, now=now)
    for file, part in zip(file_inputs(holding), files, strict=True):
        yield _readable(file, part, frame)
    if rest:
        left = replace(message, parts=rest, content="" if files else message.content)
        flags = left.flags if left.content.strip() else left.flags | {"media_only"}
        yield conversation_of([Draft(replace(left, flags=flags))], frame, timezone=timezone, now=now)


def _is_file(part: Part) -> bool:
    return part.kind == "file" and part.data is not None


def _readable(file: FileInput, part: Part, frame: Frame) -> Document | FileInput:
    """Return the file, or its document if it came as words that need no parsing."""
    if part.media_type != "text/plain" or file.data is None:
        return file
    try:
        text = file.data.decode()
    except UnicodeDecodeError:
        return file
    return replace(
        text_document(text, frame, doc_path=file.name), context=file.context, sha256=sha256(file.data).hexdigest()
    )


def _reference(part: Part, frame: Frame, now: str) -> Conversation:
    message = Message("user", "", parts=(part,), flags=frozenset({"media_only"}), locator=frame.locator)
    return conversation_of([Draft(message)], frame, timezone=None, now=now)
