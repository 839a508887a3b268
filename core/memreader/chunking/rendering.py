"""Messages and windows as text: a line per message, `role: [chat_time]: content`."""

from __future__ import annotations

from functools import lru_cache

from memreader.text import show_time
from memreader.types import Message, Window

_MAX_NAME = 80
"""Characters of a speaker's name that a line shows, so that no name can fill a window."""


def render_line(message: Message) -> str:
    r"""Return `role: [chat_time]: content` and a newline; the speaker's name stands in place of the role.

    The time is shown as `02:05 PM on 07 March, 2024`; one that is missing or inferred is left out.

    >>> render_line(Message("user", "hi", name="Ana", chat_time="2024-03-07T14:05:00"))
    'Ana: [02:05 PM on 07 March, 2024]: hi\n'
    """
    time = None if message.time_inferred else message.chat_time
    return f"{_prefix(message.name, message.role, time)}{message.content}\n"


def render_prefix(message: Message) -> str:
    """Return what stands before the content in `render_line`."""
    return _prefix(message.name, message.role, None if message.time_inferred else message.chat_time)


def render_window(window: Window) -> str:
    """Return the text of a window, a line per span; a span of part of a message is a line with the same beginning."""
    return "".join([f"{render_prefix(s.message)}{s.message.content[s.start : s.end]}\n" for s in window.spans])


def show_speaker(name: str | None, role: str) -> str:
    """Return the speaker as a line shows one: the name, or the role where there is none.

    One line, and no slash in front: a line break in a name would forge a line of somebody else, and a slash after a
    line break shares a token with it, so that the lines' tokens would no longer add up.
    """
    return " ".join((name or "").split()).lstrip("/ ")[:_MAX_NAME].rstrip() or role


@lru_cache(maxsize=4096)
def _prefix(name: str | None, role: str, time: str | None) -> str:
    speaker = show_speaker(name, role)
    return f"{speaker}: [{_show(time)}]: " if time else f"{speaker}: "


def _show(time: str) -> str:
    try:
        return show_time(time)
    except ValueError:  # Not ISO 8601, as "a hundred years ago": text stays text.
        return " ".join(time.split())
