"""Conversations -> windows: every line rendered and encoded once, over-long messages cut at sentence ends."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from memreader.chunking.boundaries import next_sentences, sentence_starts
from memreader.chunking.packing import Cutter
from memreader.chunking.rendering import render_line, render_prefix, render_window
from memreader.chunking.tokens import TokenMap
from memreader.chunking.windows import check_limits, groups, pack
from memreader.ports import Tokenizer
from memreader.tokenizing import BpeTokenizer
from memreader.types import Message, Span, Window

_BLOCK = 1 << 16
"""Characters of lines that are encoded in one call."""


def conversation_windows(
    messages: Sequence[Message],
    tokenizer: Tokenizer,
    *,
    max_tokens: int = 1024,
    overlap_tokens: int = 200,
    group_size: int | None = None,
    group_overlap: int = 0,
) -> list[Window]:
    """Return the windows of a conversation, in order; [] for no messages.

    No window's text has more than `max_tokens` tokens, and every character of every message is in some span. A message
    above the limit is cut at sentence ends, each part a line of its own. Each window but the first repeats the
    longest run of whole lines from the end of the one before that fits `overlap_tokens` and leaves room for the next
    line; the last sentences of the last line if not even that fits whole.

    Args:
        messages: What is to be read, cleaned; nothing is left out here.
        group_size: Cut the conversation into groups of so many messages first; windows don't reach beyond a group.
        group_overlap: How many messages a group repeats from the end of the one before.

    Raises:
        ValueError: Not 0 <= overlap_tokens < max_tokens; not 0 <= group_overlap < group_size; or `max_tokens` is too
            small for a speaker, a time and a single character.
    """
    check_limits(max_tokens, overlap_tokens)
    grouped = list(groups(len(messages), group_size, group_overlap))
    lines = _Lines(messages, tokenizer, max_tokens, overlap_tokens)
    exact = isinstance(tokenizer, BpeTokenizer) and tokenizer.lines_add_up
    spare = 0
    while True:
        windows = [
            window
            for first, stop, repeated in grouped
            for window in lines.windows(first, stop, repeated, max_tokens - spare, overlap_tokens)
        ]
        if exact:
            return windows
        # Some tokenizers count a few tokens more for lines joined than for lines alone.
        excess = max((tokenizer.count(render_window(window)) for window in windows), default=0) - max_tokens
        if excess <= 0:
            return windows
        spare += excess
        lines = _Lines(messages, tokenizer, max_tokens - spare, overlap_tokens)


class _Lines:
    """The lines of a conversation as spans, none above the limit, and how their ends can be cut off."""

    def __init__(self, messages: Sequence[Message], tokenizer: Tokenizer, max_tokens: int, overlap_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._blocks: list[tuple[int, TokenMap, list[int]]] = []
        """First line, text and tokens, and where each line begins, of lines that were encoded together."""
        self._long: dict[int, TokenMap] = {}
        """Text and tokens of each message that was cut, by number."""
        lines = [render_line(message) for message in messages]
        counts = self._count(lines)
        if max(counts, default=0) <= max_tokens:
            self._numbers: Sequence[int] = range(len(messages))
            self._firsts: Sequence[int] = range(len(messages) + 1)
            self.spans = [Span(m, 0, len(m.content), n) for m, n in zip(messages, counts, strict=True)]
            return
        self.spans = []
        numbers = []
        firsts = [0]
        for number, (message, count) in enumerate(zip(messages, counts, strict=True)):
            if count <= max_tokens:
                self.spans.append(Span(message, 0, len(message.content), count))
            else:
                self._long[number] = TokenMap(message.content, tokenizer)
                self.spans.extend(_split(message, self._long[number], max_tokens, overlap_tokens))
            firsts.append(len(self.spans))
            numbers.extend([number] * (firsts[-1] - firsts[-2]))
        self._numbers, self._firsts = numbers, firsts

    def windows(self, first: int, stop: int, repeated: int, max_tokens: int, overlap_tokens: int) -> Iterator[Window]:
        """Yield the windows of messages `first` to `stop`; the first `repeated` of them stood in the group before."""
        start, again = self._firsts[first], self._firsts[first + repeated]
        windows = pack(
            self.spans[start : self._firsts[stop]],
            max_tokens=max_tokens,
            overlap_tokens=overlap_tokens,
            cut_tail=lambda number, room: self._cut_tail(start + number, room),
        )
        if not repeated:
            yield from windows
            return
        done = start
        for window in windows:
            fresh = len(window.spans) - window.carried
            old = min(max(again - done, 0), fresh)
            done += fresh
            if old < fresh:  # A window of nothing but what the group before holds would be read twice.
                yield Window(window.spans, window.tokens, window.carried + old)

    def _count(self, lines: list[str]) -> list[int]:
        """Return the tokens of each line."""
        tokenizer = self._tokenizer
        if not (isinstance(tokenizer, BpeTokenizer) and tokenizer.lines_add_up):
            return [tokenizer.count(line) for line in lines]
        counts: list[int] = []
        ends = list(accumulate(map(len, lines), initial=0))
        first = 0
        while first < len(lines):
            stop = max(first + 1, bisect_right(ends, ends[first] + _BLOCK) - 1)
            tokens = TokenMap("".join(lines[first:stop]), tokenizer)
            starts = np.array(ends[first : stop + 1]) - ends[first]
            counts.extend(np.diff(np.searchsorted(tokens.array, starts, side="right")).tolist())
            self._blocks.append((first, tokens, starts.tolist()))
            first = stop
        return counts

    def _cut_tail(self, number: int, room: int) -> Span | None:
        """Return the longest run of sentences from the end of a span that has at most `room` tokens as a line."""
        span = self.spans[number]
        tokens, begin, offset = self._home(self._numbers[number], span.message)
        prefix = tokens.text[begin:offset] or render_prefix(span.message)
        start, end = offset + span.start, offset + span.end
        # A prefix ends with a colon and a space: a seam, so that what stands before it counts for itself.
        head = tokens.before(offset - 1) - tokens.before(begin) if offset else self._tokenizer.count(prefix[:-1])
        if room <= head:
            return None
        # What is left for the sentences is an estimate, which may be off by a token or two: begin the search before it.
        low = max(start, tokens.reach(tokens.before(end) - (room - head) - 2))
        for at in next_sentences(tokens.text, low, end):
            if at > start and (count := _count_tail(tokens, at, end, prefix, head, in_lines=offset > 0)) <= room:
                return Span(span.message, at - offset, span.end, count)
        return None

    def _home(self, number: int, message: Message) -> tuple[TokenMap, int, int]:
        """Return a text that holds the message's line, where in it the line and the content begin.

        Both are 0 for a text that is the content alone.
        """
        if number in self._long:
            return self._long[number], 0, 0
        if not self._blocks:
            return TokenMap(message.content, self._tokenizer), 0, 0
        first, tokens, starts = self._blocks[bisect_right(self._blocks, number, key=lambda block: block[0]) - 1]
        return tokens, starts[number - first], starts[number - first + 1] - len(message.content) - 1


def _count_tail(tokens: TokenMap, at: int, end: int, prefix: str, head: int, *, in_lines: bool) -> int:
    """Return the tokens of `prefix + text[at:end]` and a line break, `head` being those of the prefix but its space."""
    stop, after = (end + 1, "") if in_lines else (end, "\n")
    if not isinstance(tokens.tokenizer, BpeTokenizer):
        return tokens.count(at, stop, before=prefix, after=after)
    spaced = tokens.text[at - 1] == " "
    return head + tokens.count(at - spaced, stop, before="" if spaced else " ", after=after)


def _split(message: Message, tokens: TokenMap, max_tokens: int, overlap_tokens: int) -> list[Span]:
    """Return a message above the limit as spans that follow each other, cut at sentence ends where they are near.

    They are so much smaller than a window that the end of the one before fits beside each; half a window at least.
    """
    prefix = render_prefix(message)
    overhead = tokens.tokenizer.count(prefix) + 1
    smaller = max_tokens - min(overlap_tokens, max_tokens // 2)
    if smaller > 2 * overhead:
        max_tokens = smaller
    cutter = Cutter(
        tokens,
        [sentence_starts],
        max_tokens=max_tokens,
        strip=False,
        measure=lambda start, end: tokens.count(start, end, before=prefix, after="\n"),
        overhead=overhead,
    )
    return [Span(message, start, end, count) for start, end, count in cutter.pieces()]
