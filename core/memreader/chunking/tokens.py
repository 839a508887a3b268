"""The tokens of one text, encoded once: how many there are between any two offsets."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from memreader.chunking.boundaries import Positions
from memreader.ports import Tokenizer
from memreader.tokenizing import BpeTokenizer

_WORD = 16
"""Characters up to which the tokens of a word are remembered."""


class TokenMap:
    """Tokens of `text` by offset in code points; estimates for slices, but for `count`, which is exact.

    A slice is encoded on its own when a chunk is used, and its first and last word may then have other tokens than
    they have inside the text. Between two seams (see `BpeTokenizer.seams`) nothing changes, so that only the words
    outside the outermost seams are encoded again.
    """

    __slots__ = ("_bpe", "_ends", "_words", "array", "text", "tokenizer")

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.text = text
        self.tokenizer = tokenizer
        bpe = tokenizer if isinstance(tokenizer, BpeTokenizer) else None
        self._bpe = bpe
        self.array: Positions = bpe.character_ends(text) if bpe else _character_ends(text, tokenizer)
        # Looking up single values in a view is several times as fast as in the array.
        self._ends = self.array.data
        self._words: dict[str, int] = {}

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

    def count(self, start: int, end: int, *, before: str = "", after: str = "") -> int:
        """Return the number of tokens of `before + text[start:end] + after`, encoded on its own."""
        text, bpe = self.text, self._bpe
        if bpe is None:
            return self.tokenizer.count(f"{before}{text[start:end]}{after}")
        if not before and bpe.line_starts.match(text, start):
            first = start
        else:
            # A seam is one by the characters on both its sides; what stands before the slice changes the first.
            found = bpe.seams.search(text, start + bool(before), end)
            first = found.start() if found else end
        last = end if not after and self._is_sealed(bpe, end) else self._last_seam(bpe, first, end)
        if first >= last:
            return bpe.count(f"{before}{text[start:end]}{after}")
        total = self.before(last) - self.before(first)
        if before or start < first:
            total += self._count_word(bpe, before + text[start:first])
        if after or last < end:
            total += self._count_word(bpe, text[last:end] + after)
        return total

    def _count_word(self, bpe: BpeTokenizer, word: str) -> int:
        """Return the tokens of what stands outside the seams, remembered: full stops and first words come again."""
        count = self._words.get(word)
        if count is None:
            count = bpe.count(word)
            if len(word) <= _WORD:
                self._words[word] = count
        return count

    def _is_sealed(self, bpe: BpeTokenizer, end: int) -> bool:
        """Return whether the tokens before `end` are the same if the text ends there."""
        if end == len(self.text) or bpe.seams.match(self.text, end):
            return True
        return bpe.lines_add_up and bpe.line_starts.match(self.text, end) is not None

    def _last_seam(self, bpe: BpeTokenizer, low: int, high: int) -> int:
        """Return the last seam in (low, high), or `low`. Looked for from the right, in growing blocks."""
        if high > low + 1 and bpe.seams.match(self.text, high - 1):
            return high - 1
        width = 16
        while high > low + 1:
            left = max(low + 1, high - width)
            found = [match.start() for match in bpe.seams.finditer(self.text, left, high)]
            if found:
                return found[-1]
            high, width = left, width * 2
        return low


def _character_ends(text: str, tokenizer: Tokenizer) -> Positions:
    """Return for each token how many characters of `text` have begun when it ends."""
    ends = tokenizer.byte_ends(text)
    if text.isascii():
        return np.ascontiguousarray(ends, np.int64)
    data = np.frombuffer(text.encode(), np.uint8)
    begun = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
    return begun[ends]
