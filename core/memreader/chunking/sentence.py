"""Chunks of whole sentences."""

from __future__ import annotations

from collections.abc import Iterator

from memreader.chunking.boundaries import sentence_ends
from memreader.chunking.packing import Cutter
from memreader.chunking.tokens import TokenMap
from memreader.ports import Tokenizer
from memreader.types import Chunk


def iter_sentence_chunks(text: str, tokenizer: Tokenizer, *, max_tokens: int, overlap_tokens: int) -> Iterator[Chunk]:
    """Yield chunks of as many whole sentences as fit; a sentence above the limit is cut after clauses or words.

    A chunk begins with the last sentences of the one before, as far as they fit `overlap_tokens`; with its last words
    where a single sentence is longer than that.
    """
    tokens = TokenMap(text, tokenizer)
    cutter = Cutter(tokens, [sentence_ends], max_tokens=max_tokens, overlap_tokens=overlap_tokens)
    for start, end, count in cutter.pieces():
        yield Chunk(text[start:end], start, end, count)
