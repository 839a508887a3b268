"""Chunks of as many tokens as fit."""

from __future__ import annotations

from collections.abc import Iterator

from memreader.chunking.packing import Cutter
from memreader.chunking.tokens import TokenMap
from memreader.ports import Tokenizer
from memreader.types import Chunk


def iter_simple_chunks(text: str, tokenizer: Tokenizer, *, max_tokens: int, overlap_tokens: int) -> Iterator[Chunk]:
    """Yield chunks of about `max_tokens` tokens, cut after a word; sentences and lines don't matter."""
    cutter = Cutter(TokenMap(text, tokenizer), [], max_tokens=max_tokens, overlap_tokens=overlap_tokens, clauses=False)
    for start, end, count in cutter.pieces():
        yield Chunk(text[start:end], start, end, count)
