"""Texts -> chunks, conversations -> windows: pure functions with exact offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from memreader.chunking.character import iter_character_chunks
from memreader.chunking.conversation import conversation_windows
from memreader.chunking.markdown import iter_markdown_chunks
from memreader.chunking.rendering import render_line, render_window
from memreader.chunking.sentence import iter_sentence_chunks
from memreader.chunking.simple import iter_simple_chunks
from memreader.chunking.windows import iter_windows, length_windows, session_windows
from memreader.ports import Tokenizer
from memreader.types import Chunk

__all__ = [
    "ChunkKind",
    "chunk",
    "conversation_windows",
    "iter_chunks",
    "iter_windows",
    "length_windows",
    "render_line",
    "render_window",
    "session_windows",
]

ChunkKind = Literal["sentence", "character", "markdown", "simple"]
_CHUNKERS = {
    "sentence": iter_sentence_chunks,
    "character": iter_character_chunks,
    "markdown": iter_markdown_chunks,
    "simple": iter_simple_chunks,
}


def chunk(
    text: str, *, kind: ChunkKind = "sentence", max_tokens: int = 512, overlap_tokens: int = 128, tokenizer: Tokenizer
) -> list[Chunk]:
    """Return `text` as chunks, in order; [] if it holds only spaces.

    For every chunk, `text[chunk.start:chunk.end] == chunk.text`, `tokenizer.count(chunk.text) == chunk.token_count` and
    that is at most `max_tokens`. Every character that is no space is in some chunk. Cost is linear in the text.

    Args:
        kind: "sentence" keeps sentences whole, "markdown" sections, code and tables as well; "character" prefers
            paragraphs, then lines, then sentences; "simple" takes as much as fits and cuts after a word.
        max_tokens: Upper bound on a chunk, in tokens.
        overlap_tokens: How many tokens a chunk repeats from the end of the one before, at most.

    Raises:
        ValueError: Unknown `kind`, not 0 <= overlap_tokens < max_tokens, or a single character has more tokens than
            `max_tokens`.
    """
    return list(iter_chunks(text, kind=kind, max_tokens=max_tokens, overlap_tokens=overlap_tokens, tokenizer=tokenizer))


def iter_chunks(
    text: str, *, kind: ChunkKind = "sentence", max_tokens: int = 512, overlap_tokens: int = 128, tokenizer: Tokenizer
) -> Iterator[Chunk]:
    """Yield the chunks that `chunk` returns, each when it is asked for; the text is encoded when the first one is."""
    if kind not in _CHUNKERS:
        raise ValueError(f"no chunker is called {kind!r}. Known are: {', '.join(_CHUNKERS)}")
    if not 0 <= overlap_tokens < max_tokens:
        raise ValueError(f"0 <= overlap_tokens < max_tokens must hold, got {overlap_tokens} and {max_tokens}")
    return _CHUNKERS[kind](text, tokenizer, max_tokens=max_tokens, overlap_tokens=overlap_tokens)
