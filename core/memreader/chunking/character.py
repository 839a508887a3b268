"""Chunks cut at the largest separator in reach: paragraph, line, sentence, word."""

from __future__ import annotations

from collections.abc import Iterator

from memreader.chunking.boundaries import line_ends, paragraph_ends, sentence_ends
from memreader.chunking.packing import Cutter
from memreader.chunking.tokens import TokenMap
from memreader.ports import Tokenizer
from memreader.types import Chunk


def iter_character_chunks(text: str, tokenizer: Tokenizer, *, max_tokens: int, overlap_tokens: int) -> Iterator[Chunk]:
    """Yield chunks at least half full, cut after a paragraph; where there is none, after a line, sentence or word."""
    cutter = Cutter(
        TokenMap(text, tokenizer),
        [paragraph_ends, line_ends, sentence_ends],
        max_tokens=max_tokens,
        overlap_tokens=overlap_tokens,
        fill=max_tokens // 2,
        repeat_level=-1,
    )
    for start, end, count in cutter.pieces():
        yield Chunk(text[start:end], start, end, count)
