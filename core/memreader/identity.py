"""Who is who: keys of sources and of readings, and the ids of the items made from them (uuid5, deterministic).

A source key says which message or document it was; a reading key says how it was read. Together they let a second `add`
of the same chat, or of a chat that has grown, read only what is new.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID, uuid5

from memreader.types import Message

NAMESPACE = UUID("6f0d3f2e-52f5-5f0b-9d5e-0c7d3f6a1b42")
"""Of every item id that memreader makes."""


def digest(*values: object) -> str:
    """Return 32 hex digits that stand for JSON-ready `values`, types and borders included."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def message_keys(
    messages: Sequence[Message], *, session_id: str | None, at: str | None = None, seen: Counter[str] | None = None
) -> list[str]:
    """Return one source key per message, all different.

    The message's own id where it has one; else role, name, content, the time the caller gave (to the message, or to the
    whole call as `at`), and whether it is the first, second, ... such message in the call. The session is part of both,
    since ids like "1" are often unique only within one.

    Args:
        messages: Of one conversation.
        session_id: Label of the session.
        at: Time that the caller gave to the whole call.
        seen: What this call has met before; one counter for all conversations of a call, so that "yes" in two of them
            is two messages. Updated.

    >>> twice = [Message("user", "yes", 0), Message("user", "yes", 1)]
    >>> len(set(message_keys(twice, session_id="s")))
    2
    """
    seen = Counter() if seen is None else seen
    keys: list[str] = []
    for message in messages:
        if message.message_id is not None:
            base = digest("id", session_id, message.message_id)
        else:
            given = message.chat_time if message.time_given else at
            base = digest("text", session_id, message.role, message.name, message.content, given, _others(message))
        occurrence = seen[base]
        seen[base] += 1
        keys.append("m:" + (digest(base, occurrence) if occurrence else base))
    return keys


def content_digest(message: Message) -> str:
    """Return what changes when a message with the same key is edited."""
    return digest(message.role, message.name, message.content, sorted(message.flags), _others(message))


def _others(message: Message) -> list[list[str | None]]:
    return [[p.kind, p.text, p.reference, p.name, p.call] for p in message.parts if p.kind != "text"]


def document_key(sha256: str, doc_path: str) -> str:
    """Return the source key of a document: the sha256 of its bytes, and its path."""
    return "d:" + digest(sha256, doc_path)


def file_name(path: str) -> str:
    """Return the path of a file as it is kept: a name on disk may be no UTF-8.

    >>> file_name("/home/café.txt")
    '/home/café.txt'
    """
    return path.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")


def item_id(user_id: str | None, source_keys: Iterable[str], reading_key: str, text: str, occurrence: int = 0) -> str:
    """Return the id of an item made from these sources by this reading.

    Args:
        occurrence: How many items with the same sources and text were made before it in one reading, so that a
            paragraph that stands twice in a document is two items.
    """
    name = digest(user_id, sorted(source_keys), reading_key, text, occurrence)
    return str(uuid5(NAMESPACE, name))
