"""Memories without a model: every turn, window or chunk becomes one candidate that cites exactly what it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memreader.chunking import chunk, conversation_windows, length_windows, render_window, session_windows
from memreader.items import SourceMessage
from memreader.options import ReadOptions, Unit
from memreader.ports import Tokenizer
from memreader.types import Candidate, Chunk, Document, Message, Span, Window

FAST_TAG = "mode:fast"
KEY_LENGTH = 80
_FIRST_SENTENCE = re.compile(r"[.!?。！？；\n]")  # noqa: RUF100 - the ASCII full stop is a boundary too (READING, Fast)
_LEADING = re.compile(r"^[^\w\s]+\s*")
_MARKDOWN = re.compile(r"^(#{1,6} \S|```|\|.*\|$)", re.MULTILINE)


def chat_candidates(
    messages: Sequence[Message], keys: Sequence[str], *, unit: Unit, options: ReadOptions, tokenizer: Tokenizer
) -> list[Candidate]:
    """Return one candidate per turn or window of the readable messages, in order.

    A turn's text is `speaker: words`, without the date; a window's is its lines. A turn longer than a window is cut at
    sentence ends, each piece a candidate.

    Args:
        messages: Of one conversation.
        keys: Source key of each message.
        unit: What one candidate holds.
        options: Limits of windows.
        tokenizer: Counts tokens.
    """
    key_of = {id(message): key for message, key in zip(messages, keys, strict=True)}
    readable = [message for message in messages if message.is_readable]
    if unit == "turn":
        limit = options.window_tokens
        windows = [
            w for m in readable for w in conversation_windows([m], tokenizer, max_tokens=limit, overlap_tokens=0)
        ]
        return [_candidate(window, _turn_text(window), key_of) for window in windows]
    return [_candidate(window, render_window(window), key_of) for window in windows_of(readable, options, tokenizer)]


def document_candidates(
    document: Document, key: str, *, options: ReadOptions, tokenizer: Tokenizer, max_tokens: int
) -> list[Candidate]:
    """Return one candidate per chunk of the document, in order; its source is the chunk's exact span.

    Args:
        document: Parsed and cleaned.
        key: Source key of the document.
        options: Which chunker, and its limits.
        tokenizer: Counts tokens.
        max_tokens: What the embedder takes in one piece.
    """
    chunks = chunks_of(document, options=options, tokenizer=tokenizer, max_tokens=max_tokens)
    context = {"context": document.context} if document.context.strip() else {}
    candidates: list[Candidate] = []
    for piece in chunks:
        source = SourceMessage(
            type="doc",
            message_id=document.message_id,
            doc_path=document.doc_path,
            page=document.page_at(piece.start),
            content=piece.text,
            start=piece.start,
            end=piece.end,
        )
        headers = {"headers": list(piece.headers)} if piece.headers else {}
        candidates.append(
            Candidate(
                text=piece.text,
                sources=(source,),
                key=first_sentence(piece.text),
                memory_type="LongTermMemory",
                tags=(FAST_TAG, *document.tags),
                memory_time=document.doc_time,
                source_keys=(key,),
                info={**document.metadata, **headers, **context},
                token_count=piece.token_count,
            )
        )
    return candidates


def chunks_of(document: Document, *, options: ReadOptions, tokenizer: Tokenizer, max_tokens: int) -> list[Chunk]:
    """Return the chunks of a document, in order; see `document_candidates`."""
    size, overlap = options.chunk_limits(max_tokens)
    kind = options.chunker
    if kind == "auto":
        kind = "markdown" if _MARKDOWN.search(document.text) else "sentence"
    return chunk(document.text, kind=kind, max_tokens=size, overlap_tokens=overlap, tokenizer=tokenizer)


def first_sentence(text: str) -> str:
    """Return the first sentence of `text`, at most 80 characters, without its closing mark.

    >>> first_sentence("Hi there. How are you?"), first_sentence("我搬到上海了。真好")
    ('Hi there', '我搬到上海了')
    >>> first_sentence("...and then we left")
    'and then we left'
    """
    stripped = _LEADING.sub("", text.strip()) or text.strip()
    match = _FIRST_SENTENCE.search(stripped, 1)
    return (stripped[: match.start()] if match else stripped)[:KEY_LENGTH].strip()


def source_of(span: Span) -> SourceMessage:
    """Return the citation of a span of a message."""
    message = span.message
    return SourceMessage(
        type="chat",
        role=message.role,
        name=message.name,
        content=span.text,
        chat_time=message.chat_time,
        message_id=message.message_id,
        index=message.index,
        start=span.start,
        end=span.end,
        time_inferred=message.time_inferred or None,
    )


def _candidate(window: Window, text: str, key_of: Mapping[int, str]) -> Candidate:
    spans = window.spans
    first = spans[0].message
    return Candidate(
        text=text,
        sources=tuple(source_of(span) for span in spans),
        key=first_sentence(first.content),
        memory_type="UserMemory" if all(span.message.role == "user" for span in spans) else "LongTermMemory",
        tags=(FAST_TAG,),
        memory_time=first.chat_time,
        time_inferred=first.time_inferred,
        source_keys=tuple(key_of[id(span.message)] for span in spans),
        token_count=window.tokens,
    )


def _turn_text(window: Window) -> str:
    # A turn that is cut may have two lines in one window: a long line is cut apart from its neighbours.
    return f"{window.spans[0].message.speaker}: {''.join(span.text for span in window.spans)}"


def windows_of(messages: Sequence[Message], options: ReadOptions, tokenizer: Tokenizer) -> list[Window]:
    """Return the windows of readable messages, cut as the options say."""
    if options.strategy == "length":
        return length_windows(messages, content_length=options.content_length)
    if options.strategy == "session":
        return session_windows(messages, chunk_session=options.chunk_session, chunk_overlap=options.session_overlap)
    return conversation_windows(
        messages,
        tokenizer,
        max_tokens=options.window_tokens,
        overlap_tokens=options.window_overlap,
        group_size=options.group_size,
        group_overlap=options.group_overlap,
    )
