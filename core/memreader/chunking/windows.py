"""Lines -> windows: consecutive ones that fit a budget together, in tokens, characters or messages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from memreader.types import Message, Span, Window


def iter_windows(
    messages: Sequence[Message], token_counts: Sequence[int], *, max_tokens: int, overlap_tokens: int = 0
) -> Iterator[Window]:
    """Yield consecutive windows that together cover every message, in order.

    Args:
        token_counts: Tokens of each message; same length as `messages`.
        max_tokens: Upper bound on a window, in tokens. A longer message raises
            ValueError: split it before.
        overlap_tokens: How many tokens of whole messages to repeat from the end of the
            previous window, at most; fewer where the next message would not fit beside them.

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
        if not 0 <= count <= max_tokens:
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
    cut_tail: Callable[[int, int], Span | None] | None = None,
) -> Iterator[Window]:
    """Yield windows over `spans`, none of which is larger than `max_tokens` itself.

    Args:
        cut_tail: Returns the end of the span with a number that fits so many tokens, or None; asked when the last line
            of a window doesn't fit as a whole into what may be carried.
    """
    totals = list(accumulate([span.tokens for span in spans], initial=0))
    first = start = 0  # Where the window and what is new in it begin.
    tail: Span | None = None
    while start < len(spans):
        weight = tail.tokens if tail else totals[start] - totals[first]
        end = bisect_right(totals, totals[start] + max_tokens - weight, start) - 1
        tokens = weight + totals[end] - totals[start]
        if tail:
            yield Window((tail, *spans[start:end]), tokens, 1)
        else:
            yield Window(tuple(spans[first:end]), tokens, start - first)
        if end == len(spans):
            return
        room = min(overlap_tokens, max_tokens - spans[end].tokens)
        start, first = end, bisect_left(totals, totals[end] - room, 0, end)
        tail = cut_tail(end - 1, room) if cut_tail and room and first == end else None


def groups(count: int, size: int | None, overlap: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first, stop, repeated) for groups of `size` of `count` things that repeat `overlap` of the group before.

    One group if there is no `size`.

    Raises:
        ValueError: Not 0 <= overlap < size.

    >>> list(groups(19, 10, 2))
    [(0, 10, 0), (8, 18, 2), (16, 19, 2)]
    """
    if size is None:
        size, overlap = max(count, 1), 0
    if not 0 <= overlap < size:
        raise ValueError(f"0 <= overlap < size must hold, got {overlap} and {size}")
    for first in range(0, max(count - overlap, min(count, 1)), size - overlap):
        yield first, min(first + size, count), overlap if first else 0


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
