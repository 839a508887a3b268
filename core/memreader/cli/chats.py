"""Tells conversations in JSON or JSONL from other JSON, by what is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memreader.errors import InputError
from memreader.parsing.decode import decode

_SAID = ("content", "parts", "tool_calls", "function_call", "refusal", "audio")
_BEGINS_AS_CHAT = re.compile(r'\s*[\[{][\s\[{]*"(?:role|messages|content)"\s*:')
_REMEDY = "Correct it, or give --as-document to read the text as it stands"


@dataclass(frozen=True, slots=True)
class Chat:
    """Conversations of one session, as `Memory.add` takes them."""

    data: list[Any]
    session_id: str | None = None
    """The session that the conversations themselves name."""


def chats_in(data: bytes) -> list[Chat] | None:
    """Return the conversations in a JSON or JSONL text, one entry per session; None when it is something else.

    A conversation is a list of messages (with role and content), or an object with such a list under `messages`. The
    text is a conversation, a list of them (also under `sessions`), or has one of them or one message on each line. Its
    first message or conversation decides whether it is a chat.

    Raises:
        InputError: It begins as a chat does, and then is no JSON, or has a line that is no part of a chat.
    """
    text = decode(data)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        value = _parsed_lines(text)
        if not value and _BEGINS_AS_CHAT.match(text):
            raise InputError(f"begins like a chat, but is not JSON ({error}). {_REMEDY}") from None
    if isinstance(value, Mapping):
        sessions = value.get("sessions")
        value = sessions if isinstance(sessions, list) and "messages" not in value else [value]
    return _by_session(value) if isinstance(value, list) and value and _is_chat(value[0]) else None


def spoken(data: bytes) -> str | None:
    """Return plain text as what somebody said, without the line's end; None for JSON and for what is no text."""
    text = decode(data)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return None if isinstance(value, dict | list) else text.rstrip("\r\n")


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("role"), str) and any(key in value for key in _SAID)


def _is_conversation(value: Any) -> bool:
    messages = value.get("messages") if isinstance(value, Mapping) else value
    return isinstance(messages, list) and bool(messages) and _is_message(messages[0])


def _is_chat(value: Any) -> bool:
    return _is_message(value) or _is_conversation(value)


def _parsed_lines(text: str) -> list[Any]:
    """Return what stands on each line; [] when the first line is no chat."""
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if _is_chat(value):
            values.append(value)
        elif values:
            raise InputError(
                f"line {number} is neither a message nor a conversation, as the lines before it are. {_REMEDY}"
            )
        else:
            break
    return values


def _by_session(values: Sequence[Any]) -> list[Chat]:
    """Return what belongs to the same session together: equal messages are told apart within one call only."""
    sessions: dict[str | None, list[Any]] = {}
    for value in values:
        named = value.get("session_id") if isinstance(value, Mapping) and "messages" in value else None
        sessions.setdefault(named if isinstance(named, str) and named.strip() else None, []).append(value)
    return [Chat(data, session_id) for session_id, data in sessions.items()]
