"""What a model reads in one call: numbered lines, each of which knows where it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Literal

from memreader.chunking.boundaries import sentence_starts
from memreader.chunking.rendering import render_line, show_speaker
from memreader.extract.fast import FAST_TAG, chunks_of, first_sentence, source_of, windows_of
from memreader.items import SourceMessage
from memreader.options import ReadOptions
from memreader.ports import Tokenizer
from memreader.types import Candidate, Document, Message, Window

SHORT_LINE = 24
"""Characters below which a sentence of a document shares a line with the one after it."""
_BREAK = re.compile("[\n\u2028\u2029]")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HEADINGS = {"zh": ("前文（已读过）:", "新内容:")}
_ENGLISH_HEADINGS = ("read before:", "new:")


@dataclass(frozen=True, slots=True)
class Line:
    """One numbered line: a message or a piece of one, or a sentence of a document."""

    text: str
    sources: tuple[SourceMessage, ...]
    """Where exactly the words stand."""
    source_keys: tuple[str, ...] = ()
    speaker: str = ""
    role: str | None = None
    time: str | None = None
    """When it was said, ISO 8601; None when nobody said."""
    state: Literal["fresh", "carried", "context"] = "fresh"
    """Fresh lines are to be read now. Carried ones were in the passage before, too; context was read at another time:
    they are shown because what follows is understood better after them."""
    made_from: tuple[str, ...] = ()
    """Ids of the raw items that hold it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines that a model reads together."""

    lines: tuple[Line, ...]
    kind: Literal["chat", "doc"] = "chat"
    title: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    """Into `metadata.info` of what is made of it."""
    tags: tuple[str, ...] = ()
    time: str | None = None
    """When it was, where no line says; ISO 8601."""
    time_inferred: bool = False
    """Whether that is only the time of reading."""
    whole: SourceMessage | None = None
    """A document's piece as it stands there, all lines and what is between them."""
    group: int = 0
    """Equal for the passages of one conversation or document."""

    @property
    def fresh(self) -> tuple[Line, ...]:
        """The lines that are to be read now."""
        return tuple(line for line in self.lines if line.state == "fresh")

    @property
    def text(self) -> str:
        """The words of all lines."""
        return "\n".join(line.text for line in self.lines)

    @property
    def locator(self) -> str:
        """Where it stands, for reports: `messages 3 to 17`, or the document's name and offsets."""
        sources = [source for line in self.fresh for source in line.sources]
        if not sources:
            return ""
        first, last = sources[0], sources[-1]
        if self.kind == "doc":
            return f"{first.doc_path}[{first.start}:{last.end}]"
        return f"messages {first.index} to {last.index}"


def chat_passages(
    messages: Sequence[Message],
    keys: Sequence[str],
    *,
    options: ReadOptions,
    tokenizer: Tokenizer,
    context: Sequence[tuple[str, Message]] = (),
) -> list[Passage]:
    """Return the windows of a conversation as passages, in order; lines that the window before had are not fresh.

    Args:
        messages: Of one conversation; those that can't be read are left out.
        keys: Source key of each.
        options: How windows are cut.
        tokenizer: Counts tokens.
        context: What was said before and has been read, with its source keys, oldest first.
    """
    everything = [*context, *zip(keys, messages, strict=True)]
    key_of = {id(message): (key,) for key, message in everything}
    known = {id(message) for _, message in context}
    readable = [message for _, message in everything if message.is_readable]
    windows = windows_of(readable, options, tokenizer)
    passages = [window_passage(window, key_of, known) for window in windows]
    return [passage for passage in passages if passage.fresh]


def window_passage(
    window: Window, key_of: Mapping[int, tuple[str, ...]], known: frozenset[int] | set[int] = frozenset()
) -> Passage:
    """Return a window as a passage.

    Args:
        window: Its carried lines are not fresh.
        key_of: `id` of a message -> its source keys.
        known: `id` of messages that are only context.
    """
    lines = []
    for place, span in enumerate(window.spans):
        message = span.message
        lines.append(
            Line(
                text=span.text,
                sources=(source_of(span),),
                source_keys=key_of.get(id(message), ()),
                speaker=show_speaker(message.name, message.role),
                role=message.role,
                time=None if message.time_inferred else message.chat_time,
                state="context" if id(message) in known else "carried" if place < window.carried else "fresh",
            )
        )
    first = window.spans[0].message
    return Passage(tuple(lines), time=first.chat_time, time_inferred=first.time_inferred)


def document_passages(
    document: Document, key: str, *, options: ReadOptions, tokenizer: Tokenizer, max_tokens: int
) -> list[Passage]:
    """Return the chunks of a document as passages of sentences, in order; what the chunk before had is not fresh.

    Args:
        document: Parsed and cleaned.
        key: Its source key.
        options: Which chunker, and its limits.
        tokenizer: Counts tokens.
        max_tokens: What the embedder takes in one piece.
    """
    context = {"context": document.context} if document.context.strip() else {}
    passages: list[Passage] = []
    read = 0

    def cite(start: int, end: int) -> SourceMessage:
        return SourceMessage(
            type="doc",
            message_id=document.message_id,
            doc_path=document.doc_path,
            page=document.page_at(start),
            content=document.text[start:end],
            start=start,
            end=end,
        )

    for piece in chunks_of(document, options=options, tokenizer=tokenizer, max_tokens=max_tokens):
        lines = tuple(
            Line(
                text=document.text[start:end],
                sources=(cite(start, end),),
                source_keys=(key,),
                time=document.doc_time,
                state="fresh" if end > read else "carried",
            )
            for start, end in sentences(piece.text, piece.start)
        )
        read = max(read, piece.end)
        headers = {"headers": list(piece.headers)} if piece.headers else {}
        passage = Passage(
            lines,
            kind="doc",
            title=document.title or document.doc_path,
            info={**document.metadata, **headers, **context},
            tags=tuple(document.tags),
            time=document.doc_time,
            whole=cite(piece.start, piece.end),
        )
        if passage.fresh:
            passages.append(passage)
    return passages


def cited_passage(sources: Sequence[SourceMessage]) -> Passage:
    """Return what memories cite as a passage, each line once, in the order of its conversation or document."""
    told = sorted(
        dict.fromkeys(source for source in sources if source.content),
        key=lambda source: (source.doc_path or "", source.index or 0, source.start or 0),
    )
    lines = tuple(
        Line(
            source.content or "",
            (source,),
            speaker="" if source.type == "doc" else show_speaker(source.name, source.role or "user"),
            role=source.role,
            time=None if source.time_inferred else source.chat_time,
        )
        for source in told
    )
    return Passage(lines, kind=told[0].type if told else "chat")


def raw_candidate(passage: Passage, lines: Sequence[Line]) -> Candidate:
    """Return lines of a passage that a model has yet to read as one candidate, refinable as if read fast.

    A document's is the piece that they stand in; a chat's are its lines as a window shows them.
    """
    sources = tuple(source for line in lines for source in line.sources)
    if passage.whole is not None and len(lines) == len(passage.lines):
        sources, text = (passage.whole,), passage.whole.content or ""
    elif passage.kind == "doc":
        text = "\n".join(line.text for line in lines)
    else:
        text = "".join(
            render_line(Message(line.role or "user", line.text, name=line.speaker or None, chat_time=line.time))
            for line in lines
        )
    return Candidate(
        text=text,
        sources=sources,
        key=first_sentence(lines[0].text),
        memory_type="UserMemory" if all(line.role == "user" for line in lines) else "LongTermMemory",
        tags=(FAST_TAG, *passage.tags),
        memory_time=next((line.time for line in lines if line.time), passage.time),
        time_inferred=passage.time_inferred,
        source_keys=tuple(dict.fromkeys(key for line in lines for key in line.source_keys)),
        info=passage.info,
    )


def sentences(text: str, offset: int = 0) -> list[tuple[int, int]]:
    """Return where the sentences of `text` stand, `offset` added, spaces around them left out.

    A short one shares a line with what follows; every character that is no space is in one of them.

    >>> sentences("It is late. Let us go home, all of us.")
    [(0, 38)]
    """
    cuts = [0, *(cut for cut in sentence_starts(text).tolist() if 0 < cut < len(text)), len(text)]
    found: list[tuple[int, int]] = []
    begin = 0
    for _, end in pairwise(cuts):
        stripped = text[begin:end].strip()
        if len(stripped) < SHORT_LINE and end < len(text):
            continue
        if stripped:
            start = begin + text[begin:end].index(stripped)
            found.append((offset + start, offset + start + len(stripped)))
        begin = end
    return found


def render_passage(passage: Passage, language: str) -> str:
    """Return the passage as a model sees it: numbered lines between two marks that its text can't know.

    A line is `[number] speaker (role, date): words`; the further lines of a message begin with four spaces and a bar,
    so that no text can pose as a line of its own.

    Args:
        passage: What to show.
        language: Of the prompt: "zh", or any other for English.
    """
    before, new = _HEADINGS.get(language, _ENGLISH_HEADINGS)
    has_context = len(passage.fresh) < len(passage.lines)
    rows: list[str] = []
    heading = ""
    for number, line in enumerate(passage.lines, start=1):
        wanted = new if line.state == "fresh" else before
        if has_context and wanted != heading:
            rows.append(wanted)
            heading = wanted
        rows.append(f"[{number}] {_head(line)}" + _BREAK.sub("\n    | ", line.text))
    return between_marks("\n".join(rows))


def between_marks(text: str) -> str:
    """Return `text` between two lines that hold a word that it doesn't, so that nothing in it can end it."""
    mark = _mark(text)
    return f"<<<{mark}\n{text}\n{mark}>>>"


def _head(line: Line) -> str:
    if not line.speaker:
        return ""
    about = [part for part in (line.role if line.role != line.speaker else None, _shown(line.time)) if part]
    return f"{line.speaker} ({', '.join(about)}): " if about else f"{line.speaker}: "


def _shown(time: str | None) -> str:
    if time is None:
        return ""
    try:
        at = datetime.fromisoformat(time)
    except ValueError:  # Not ISO 8601: text stays text, on one line.
        return " ".join(time.split())[:40]
    day = f"{at:%Y-%m-%d} {_WEEKDAYS[at.weekday()]}"
    return f"{day} {at:%H:%M}" if len(time) > len("2023-05-08") else day


def _mark(body: str) -> str:
    """Return a word that doesn't stand in `body`; the same for the same body."""
    salt = 0
    while True:
        mark = blake2b(body.encode("utf-8", "replace"), digest_size=6, salt=salt.to_bytes(8, "little")).hexdigest()
        if mark not in body:
            return mark
        salt += 1
