"""The tokens of one text, encoded once: how many there are between any two offsets."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from memreader.chunking.boundaries import Positions, last_match
from memreader.ports import Tokenizer
from memreader.tokenizing import BpeTokenizer


class TokenMap:
    """Tokens of `text` by offset in code points; estimates for slices, but for `count`, which is exact.

    A slice is encoded on its own when a chunk is used, and its first and last word may then have other tokens than
    they have inside the text. Between two seams (see `BpeTokenizer.seams`) nothing changes, so that only the words
    outside the outermost seams are encoded again.
    """

    __slots__ = ("_ends", "_seams", "_starts", "array", "text", "tokenizer")

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.text = text
        self.tokenizer = tokenizer
        bpe = tokenizer if isinstance(tokenizer, BpeTokenizer) else None
        self._seams = bpe.seams if bpe else None
        self._starts = bpe.line_starts if bpe else None
        self.array: Positions = bpe.character_ends(text) if bpe else _character_ends(text, tokenizer)
        # Looking up single values in a view is several times as fast as in the array.
        self._ends = self.array.data

    def before(self, at: int) -> int:
        """Return how many tokens lie wholly before `at`."""
        return bisect_right(self._ends, at)

    def up_to(self, positions: Positions) -> Positions:
        """Return for each position how many tokens begin before it."""
        return np.searchsorted(self.array, positions, side="left") + 1

    def reach(self, tokens: int) -> int:
        """Return the offset at which the first `tokens` tokens of the text end."""
        if tokens <= 0:
            return 0
        return int(self._ends[tokens - 1]) if tokens <= len(self._ends) else len(self.text)

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens of `text[start:end]` encoded on its own."""
        text, seams, starts = self.text, self._seams, self._starts
        if seams is None or starts is None:
            return self.tokenizer.count(text[start:end])
        if starts.match(text, start):
            first = start
        elif found := seams.search(text, start, end):
            first = found.start()
        else:
            return self.tokenizer.count(text[start:end])
        last = end if end == len(text) or seams.match(text, end) else last_match(seams, text, first, end)
        if last is None:
            return self.tokenizer.count(text[start:end])
        total = self.before(last) - self.before(first)
        if start < first:
            total += self.tokenizer.count(text[start:first])
        if last < end:
            total += self.tokenizer.count(text[last:end])
        return total


def _character_ends(text: str, tokenizer: Tokenizer) -> Positions:
    """Return for each token how many characters of `text` have begun when it ends."""
    ends = tokenizer.byte_ends(text)
    if text.isascii():
        return np.ascontiguousarray(ends, np.int64)
    data = np.frombuffer(text.encode(), np.uint8)
    begun = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
    return begun[ends]
