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
_SLACK = 4
"""Tokens by which an estimate for a slice may be wrong at most where it is trusted."""


class Level:
    """Offsets of one kind of boundary in a text and the tokens up to each, found when first asked for."""

    def __init__(self, tokens: TokenMap, find: Callable[[str], Positions]) -> None:
        self._tokens = tokens
        self._find = find
        self._found: tuple[list[int], list[int]] | None = None

    @property
    def found(self) -> tuple[list[int], list[int]]:
        """Ascending offsets, and how many tokens begin before each."""
        # No cached_property: in Python 3.11 it has a lock, which a child that was forked meanwhile would wait for.
        if self._found is None:
            positions = self._find(self._tokens.text)
            self._found = positions.tolist(), self._tokens.up_to(positions).tolist()
        return self._found

    def unit(self, at: int) -> int | None:
        """Return how many tokens begin before the first offset after `at`; None if there is none."""
        positions, counts = self.found
        place = bisect_right(positions, at)
        return counts[place] if place < len(positions) else None


class Cutter:
    """Cuts a text into pieces.

    Args:
        tokens: The text and its tokens.
        levels: How to find the offsets at which to cut, best first: a level is used where those before it offer
            nothing. Below the last one lie clauses, words and characters, which are looked for only where needed.
        max_tokens: Upper bound on `measure` of a piece.
        overlap_tokens: How many tokens a piece repeats from the end of the one before, at most.
        fill: How many tokens a piece has at least, if a lower level can give them.
        repeat_level: The level at whose offsets a repeated end may begin.
        repeat_words: Begin a repeated end after any word if that level offers nothing.
        clauses: Prefer the end of a clause where no level offers anything.
        strip: Leave the spaces around pieces out of them.
        measure: Exact tokens of a piece; the tokens of its text where nothing else is said.
        overhead: How much more than the text `measure` counts, about.
    """

    def __init__(
        self,
        tokens: TokenMap,
        levels: Sequence[Callable[[str], Positions]],
        *,
        max_tokens: int,
        overlap_tokens: int = 0,
        fill: int = 0,
        repeat_level: int = 0,
        repeat_words: bool = True,
        clauses: bool = True,
        strip: bool = True,
        measure: Callable[[int, int], int] | None = None,
        overhead: int = 0,
    ) -> None:
        self._tokens = tokens
        self._text = tokens.text
        self._levels = [Level(tokens, find) for find in levels]
        self._max = max_tokens
        self._overlap = overlap_tokens
        self._fill = fill
        self._repeat_level = self._levels[repeat_level] if levels else None
        self._repeat_words = repeat_words
        self._clauses = clauses
        self._strip = strip
        self._measure = measure or tokens.count
        self._room = max_tokens - overhead

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
        """Yield the pieces of `text[start:stop]` in order; none if there are only spaces.

        Raises:
            ValueError: A single character has more than `max_tokens` tokens.
        """
        stop = len(self._text) if stop is None else stop
        begin = done = self._skip(start, stop)
        while done < stop:
            piece = self._fit(begin, done, stop)
            if piece is None:
                begin = done
                continue
            yield piece
            end = piece[1]
            done = self._skip(end, stop)
            begin = self._repeat_from(piece[0], end, done) if self._overlap and done < stop else done

    def _skip(self, at: int, stop: int) -> int:
        found = _SPACES.match(self._text, at, stop) if self._strip else None
        return found.end() if found else at

    def _fit(self, begin: int, done: int, stop: int) -> Piece | None:
        """Return the largest piece from `begin` that ends after `done`; None if it had better begin at `done`."""
        base = self._tokens.before(begin)
        room = self._room
        while True:
            cut = self._choose(begin, done, stop, base, room)
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
            room = max(0, min(room, self._tokens.before(cut) - base) - (size - self._max))

    def _choose(self, begin: int, done: int, stop: int, base: int, room: int) -> int | None:
        """Return where to cut in (done, stop] so that about `room` tokens lie between `begin` and there.

        None if the next whole unit has room only in a piece that begins at `done`.
        """
        goal = base + room
        if room and self._tokens.before(stop) <= goal:
            return stop
        least = max(done, self._tokens.reach(goal - self._max + self._fill)) if self._fill else done
        for level in self._levels:
            positions, counts = level.found
            at = bisect_right(counts, goal) - 1
            while at >= 0 and positions[at] > least:
                if positions[at] <= stop and not goes_on(self._text, positions[at]):
                    return positions[at]
                at -= 1
            if begin < done and (upto := level.unit(done)) and goal < upto <= self._tokens.before(done) + self._room:
                return None
        high = max(done + 1, min(self._tokens.reach(goal), stop))
        return self._cut_low(max(done, (begin + high) // 2), done, high)

    def _cut_low(self, half: int, done: int, high: int) -> int:
        """Return a cut after a clause in the second half of the piece, else after a word, else after a character."""
        cut = last_match(CLAUSE, self._text, half, high) if self._clauses else None
        return cut or last_match(WORD, self._text, done, high) or character_end(self._text, done, high)

    def _repeat_from(self, begin: int, end: int, done: int) -> int:
        """Return where to begin so that the end of the piece from `begin` to `end` is repeated, as much as is allowed.

        That is `overlap_tokens`, or less if the next whole unit then fits. `done` if nothing can be repeated.
        """
        total = self._tokens.before(end)
        room = self._overlap
        for level in self._levels:
            upto = level.unit(done)
            if upto is not None and upto - total < self._max:
                room = min(room, self._max - (upto - total))
                break
        positions, counts = self._repeat_level.found if self._repeat_level else ([], [])
        at = bisect_left(counts, total - room)
        start = 0
        while at < len(positions) and positions[at] < end:
            if positions[at] >= start:  # Else it lies within the spaces that were skipped just now.
                start = self._skip(positions[at], end)
                if begin < start < end and not goes_on(self._text, positions[at]) and self._may_repeat(start, end):
                    return start
            at += 1
        return self._repeat_some_words(begin, end, done) if self._repeat_words else done

    def _may_repeat(self, start: int, end: int) -> bool:
        size = self._tokens.before(end) - self._tokens.before(start)
        if size + _SLACK > self._overlap:
            size = self._tokens.count(start, end)
        return size <= self._overlap

    def _repeat_some_words(self, begin: int, end: int, done: int) -> int:
        low = max(begin, self._tokens.reach(self._tokens.before(end) - self._overlap))
        for found in WORD.finditer(self._text, low, end):
            start = self._skip(found.end(), end)
            if begin < start < end and self._may_repeat(start, end):
                return start
        return done
