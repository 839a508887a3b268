"""Conversations -> windows: consecutive lines that fit a token budget, each line counted once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from memreader.chunking.boundaries import sentence_starts
from memreader.chunking.packing import Cutter
from memreader.chunking.tokens import TokenMap
from memreader.ports import Tokenizer
from memreader.text import show_time
from memreader.types import Message, Span, Window

_MAX_NAME = 80
"""Characters of a speaker's name that a line shows, so that no name can fill a window."""


def render_line(message: Message) -> str:
    r"""Return `role: [chat_time]: content` and a newline; the speaker's name stands in place of the role.

    The time is shown as `02:05 PM on 07 March, 2024`; one that is missing or inferred is left out.

    >>> render_line(Message("user", "hi", name="Ana", chat_time="2024-03-07T14:05:00"))
    'Ana: [02:05 PM on 07 March, 2024]: hi\n'
    """
    time = None if message.time_inferred else message.chat_time
    return f"{_prefix(message.name or message.role, message.role, time)}{message.content}\n"


def render_window(window: Window) -> str:
    """Return the text of a window, a line per span; a span of part of a message is a line with the same beginning."""
    return "".join([_render(s.message, s.message.content[s.start : s.end]) for s in window.spans])


def _render(message: Message, content: str) -> str:
    time = None if message.time_inferred else message.chat_time
    return f"{_prefix(message.name or message.role, message.role, time)}{content}\n"


@lru_cache(maxsize=4096)
def _prefix(speaker: str, role: str, time: str | None) -> str:
    # A name is one word group on one line: a line break in it would forge a line of somebody else.
    name = " ".join(speaker.split()).lstrip("/ ")[:_MAX_NAME].rstrip() or role
    return f"{name}: [{_show(time)}]: " if time else f"{name}: "


def _show(time: str) -> str:
    try:
        return show_time(time)
    except ValueError:
        return time


def iter_windows(
    messages: Sequence[Message], token_counts: Sequence[int], *, max_tokens: int, overlap_tokens: int = 0
) -> Iterator[Window]:
    """Yield consecutive windows that together cover every message, in order.

    Args:
        token_counts: Tokens of each message; same length as `messages`.
        max_tokens: Upper bound on a window, in tokens. A longer message raises
            ValueError: split it before.
        overlap_tokens: How many tokens of whole messages to repeat from the end of the
            previous window, at most.

    Raises:
        ValueError: The lengths differ, or not 0 <= overlap_tokens < max_tokens.

    >>> turns = [Message("user", "hi", 0), Message("assistant", "hello", 1)]
    >>> [len(w.messages) for w in iter_windows(turns, [1, 1], max_tokens=1)]
    [1, 1]
    """
    check_limits(max_tokens, overlap_tokens)
    if len(messages) != len(token_counts):
        raise ValueError(f"{len(messages)} messages but {len(token_counts)} token counts")
    for message, count in zip(messages, token_counts, strict=True):
        if count > max_tokens:
            raise ValueError(f"message {message.index} has {count} tokens, a window {max_tokens}: split it before")
    spans = [Span(m, 0, len(m.content), n) for m, n in zip(messages, token_counts, strict=True)]
    return pack(spans, max_tokens=max_tokens, overlap_tokens=overlap_tokens)


def check_limits(max_tokens: int, overlap_tokens: int) -> None:
    """Raise ValueError unless 0 <= overlap_tokens < max_tokens."""
    if not 0 <= overlap_tokens < max_tokens:
        raise ValueError(f"0 <= overlap_tokens < max_tokens must hold, got {overlap_tokens} and {max_tokens}")


def pack(
    spans: Sequence[Span],
    *,
    max_tokens: int,
    overlap_tokens: int,
    cut_tail: Callable[[Span, int], Span | None] | None = None,
) -> Iterator[Window]:
    """Yield windows over `spans`, none of which is larger than `max_tokens` itself.

    Args:
        cut_tail: Returns the end of a span that fits a number of tokens, or None; asked when the last line of a
            window doesn't fit as a whole into what may be carried.
    """
    totals = list(accumulate((span.tokens for span in spans), initial=0))
    carried: tuple[Span, ...] = ()
    weight = start = 0
    while start < len(spans):
        end = bisect_right(totals, totals[start] + max_tokens - weight) - 1
        yield Window((*carried, *spans[start:end]), weight + totals[end] - totals[start], len(carried))
        if end == len(spans):
            return
        budget = min(overlap_tokens, max_tokens - spans[end].tokens)
        first = bisect_right(totals, totals[end] - budget - 1, 0, end + 1)
        carried = tuple(spans[first:end])
        if not carried and budget and cut_tail and (tail := cut_tail(spans[end - 1], budget)):
            carried = (tail,)
        weight = sum(span.tokens for span in carried)
        start = end


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
    lines = [render_line(message) for message in messages]
    counts = count_lines(lines, tokenizer)
    spans: list[Span] = []
    firsts = [0]
    for message, line, count in zip(messages, lines, counts, strict=True):
        if count <= max_tokens:
            spans.append(Span(message, 0, len(message.content), count))
        else:
            spans.extend(_split(message, line, tokenizer, max_tokens))
        firsts.append(len(spans))
    windows: list[Window] = []
    for first, stop, repeated in groups(len(messages), group_size, group_overlap):
        group = pack(
            spans[firsts[first] : firsts[stop]],
            max_tokens=max_tokens,
            overlap_tokens=overlap_tokens,
            cut_tail=lambda span, room: _last_sentences(span, room, tokenizer),
        )
        windows.extend(_mark_repeated(group, firsts[first + repeated] - firsts[first]))
    return windows


def groups(count: int, size: int | None, overlap: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first, stop, repeated) for groups of `size` of `count` things that repeat `overlap` of the group before.

    >>> list(groups(19, 10, 2))
    [(0, 10, 0), (8, 18, 2), (16, 19, 2)]
    """
    if size is None:
        size = max(count, 1)
        overlap = 0
    if not 0 <= overlap < size:
        raise ValueError(f"0 <= overlap < size must hold, got {overlap} and {size}")
    for first in range(0, max(count - overlap, min(count, 1)), size - overlap):
        yield first, min(first + size, count), overlap if first else 0


def count_lines(lines: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """Return the tokens of each line."""
    return [tokenizer.count(line) for line in lines]


def _mark_repeated(windows: Iterator[Window], repeated: int) -> Iterator[Window]:
    """Yield `windows` of a group whose first `repeated` spans stood in the group before; those of nothing else go."""
    done = 0
    for window in windows:
        fresh = len(window.spans) - window.carried
        again = max(0, min(repeated - done, fresh))
        done += fresh
        if again < fresh:
            yield Window(window.spans, window.tokens, window.carried + again) if again else window


def _split(message: Message, line: str, tokenizer: Tokenizer, max_tokens: int) -> list[Span]:
    """Return a message above the limit as spans that don't overlap, cut at sentence ends where they are near."""
    prefix = line[: len(line) - len(message.content) - 1]
    content = message.content
    overhead = tokenizer.count(prefix) + 1
    cutter = Cutter(
        TokenMap(content, tokenizer),
        [sentence_starts(content)],
        max_tokens=max_tokens,
        strip=False,
        measure=lambda start, end: tokenizer.count(f"{prefix}{content[start:end]}\n"),
        overhead=overhead,
    )
    return [Span(message, start, end, count) for start, end, count in cutter.pieces()]


def _last_sentences(span: Span, room: int, tokenizer: Tokenizer) -> Span | None:
    """Return the longest run of whole sentences from the end of a line that fits `room` tokens as a line, or None."""
    content = span.text
    for at in sentence_starts(content)[:-1].tolist():
        count = tokenizer.count(_render(span.message, content[at:]))
        if count <= room:
            return Span(span.message, span.start + at, span.end, count)
    return None


def length_windows(messages: Sequence[Message], *, content_length: int = 1600) -> list[Window]:
    """Return windows of up to `content_length` characters of content; each but the first repeats the last message.

    A message is never cut: a window holds at least one that is new, whatever its length, and the repeated one. Tokens
    are not counted: they are 0.

    Raises:
        ValueError: `content_length` is not positive.
    """
    if content_length < 1:
        raise ValueError(f"content_length must be at least 1, got {content_length}")
    windows: list[Window] = []
    held: list[Span] = []
    carried = length = 0
    for message in messages:
        span = Span(message, 0, len(message.content), 0)
        if held and length + span.end > content_length:
            windows.append(Window(tuple(held), 0, carried))
            held, carried = held[-1:], 1
            length = held[0].end
        held.append(span)
        length += span.end
    if held:
        windows.append(Window(tuple(held), 0, carried))
    return windows


def session_windows(messages: Sequence[Message], *, chunk_session: int = 10, chunk_overlap: int = 2) -> list[Window]:
    """Return windows of `chunk_session` messages that repeat `chunk_overlap` from the one before. Tokens are 0.

    Raises:
        ValueError: Not 0 <= chunk_overlap < chunk_session.
    """
    spans = [Span(message, 0, len(message.content), 0) for message in messages]
    return [
        Window(tuple(spans[first:stop]), 0, repeated)
        for first, stop, repeated in groups(len(messages), chunk_session, chunk_overlap)
    ]
