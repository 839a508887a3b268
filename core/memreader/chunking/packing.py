"""Cutting one text into pieces that fit a number of tokens: at the best boundary in reach, with exact offsets."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from memreader.chunking.boundaries import CLAUSE, WORD, Positions, character_end, goes_on, last_match
from memreader.chunking.tokens import TokenMap

Piece = tuple[int, int, int]
"""Start, end and tokens of a piece."""

_SPACES = re.compile(r"\s*")
_NO_BOUNDARY = -1


class Cutter:
    """Cuts a text into pieces.

    Args:
        tokens: The text and its tokens.
        levels: Offsets at which to cut, best first: a level is used where those before it offer nothing. Below the
            last one lie clauses, words and characters, which are looked for only where they are needed.
        max_tokens: Upper bound on `measure` of a piece.
        overlap_tokens: How many tokens a piece repeats from the end of the one before, at most.
        fill: How many tokens a piece has at least, if a lower level can give them.
        repeat_level: The level at whose offsets a repeated end may begin.
        clauses: Prefer the end of a clause where no level offers anything.
        repeat_words: Begin a repeated end after any word if its level offers nothing.
        strip: Leave the spaces around pieces out of them.
        measure: Exact tokens of a piece; the tokens of its text where nothing else is said.
        overhead: How much more than the text `measure` counts, about.
    """

    def __init__(
        self,
        tokens: TokenMap,
        levels: Sequence[Positions],
        *,
        max_tokens: int,
        overlap_tokens: int = 0,
        fill: int = 0,
        repeat_level: int = 0,
        clauses: bool = True,
        repeat_words: bool = True,
        strip: bool = True,
        measure: Callable[[int, int], int] | None = None,
        overhead: int = 0,
    ) -> None:
        self._tokens = tokens
        self._text = tokens.text
        self._levels = [(level.tolist(), tokens.up_to(level).tolist()) for level in levels]
        self._max = max_tokens
        self._overlap = overlap_tokens
        self._fill = fill
        self._repeat_level = self._levels[repeat_level] if levels else ([], [])
        self._clauses = clauses
        self._by_words = repeat_words
        self._strip = strip
        self._measure = measure or tokens.count
        self._overhead = overhead

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
        """Yield the pieces of `text[start:stop]` in order; none if there are only spaces.

        Raises:
            ValueError: A single character has more than `max_tokens` tokens.
        """
        stop = len(self._text) if stop is None else stop
        begin = done = self._skip(start, stop)
        while done < stop:
            piece = self._fit(begin, done, stop)
            if piece is None:  # The repeated part leaves no room for more.
                begin = done
                continue
            yield piece
            end = piece[1]
            done = self._skip(end, stop)
            begin = self._repeat_from(piece, done, stop) if self._overlap and done < stop else done

    def _skip(self, at: int, stop: int) -> int:
        found = _SPACES.match(self._text, at, stop) if self._strip else None
        return found.end() if found else at

    def _fit(self, begin: int, done: int, stop: int) -> Piece | None:
        """Return the largest piece from `begin` that ends after `done`; None if it had better begin at `done`."""
        base = self._tokens.before(begin)
        room = self._max - self._overhead
        while True:
            cut = self._choose(begin, done, stop, base + max(room, 0))
            if cut is None:
                return None
            end = begin + len(self._text[begin:cut].rstrip()) if self._strip else cut
            size = self._measure(begin, end)
            if size <= self._max:
                return begin, end, size
            if cut == done + 1:
                if begin < done:
                    return None
                raise ValueError(f"the character at {done} alone takes {size} tokens, more than the limit {self._max}")
            room = min(room, self._tokens.before(cut) - base) - (size - self._max)

    def _choose(self, begin: int, done: int, stop: int, goal: int) -> int | None:
        """Return where to cut in (done, stop] so that about `goal` tokens of the text lie before it."""
        if self._tokens.before(stop) <= goal:
            return stop
        least = self._tokens.reach(goal - self._max + self._fill) if self._fill else 0
        for positions, counts in self._levels:
            at = bisect_right(counts, goal) - 1
            while at >= 0 and positions[at] > max(done, least):
                if positions[at] <= stop and not goes_on(self._text, positions[at]):
                    return positions[at]
                at -= 1
            if begin < done and self._size_at(done, positions, counts) <= self._max - self._overhead:
                return None
        high = max(done + 1, min(self._tokens.reach(goal), stop))
        return self._cut_low(max(done, begin + (high - begin) // 2), done, high)

    def _size_at(self, done: int, positions: list[int], counts: list[int]) -> int:
        """Return about how many tokens lie between `done` and the next offset of a level."""
        at = bisect_right(positions, done)
        return counts[at] - self._tokens.before(done) if at < len(positions) else 0

    def _cut_low(self, half: int, done: int, high: int) -> int:
        """Return a cut after a clause in the second half of the piece, else after a word, else after a character."""
        cut = last_match(CLAUSE, self._text, half, high) if self._clauses else None
        if cut is None:
            cut = last_match(WORD, self._text, done, high)
        return cut or character_end(self._text, done, high)

    def _repeat_from(self, piece: Piece, done: int, stop: int) -> int:
        """Return where the next piece begins so that it repeats the end of `piece`, at most `overlap_tokens` of it."""
        begin, end, _ = piece
        total = self._tokens.before(end)
        sizes = [size for level in self._levels if (size := self._size_at(done, *level)) < self._max]
        room = min(self._overlap, self._max - sizes[0]) if sizes else self._overlap
        positions, counts = self._repeat_level
        at = bisect_left(counts, total - room)
        while at < len(positions) and positions[at] < end:
            start = self._skip(positions[at], stop)
            if begin < start < end and not goes_on(self._text, positions[at]) and self._may_repeat(start, end):
                return start
            at += 1
        return self._repeat_words(begin, end, done, stop) if self._by_words else done

    def _may_repeat(self, start: int, end: int) -> bool:
        size = self._tokens.before(end) - self._tokens.before(start)
        if size + 4 > self._overlap:
            size = self._tokens.count(start, end)
        return size <= self._overlap

    def _repeat_words(self, begin: int, end: int, done: int, stop: int) -> int:
        low = max(begin, self._tokens.reach(self._tokens.before(end) - self._overlap))
        for found in WORD.finditer(self._text, low, end):
            start = self._skip(found.end(), stop)
            if begin < start < end and self._may_repeat(start, end):
                return start
        return done
