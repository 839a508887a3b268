"""Messages to a conversation: every one numbered and dated; and the files that were sent in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any

from memreader.normalize.message import Draft
from memreader.normalize.time import parse_time
from memreader.normalize.time_forms import reads_day_first
from memreader.types import Conversation, FileInput, Message

_EXTENSIONS = {
    "application/pdf": ".pdf", "text/plain": ".txt", "text/markdown": ".md", "text/html": ".html", "text/csv": ".csv",
    "application/json": ".json", "application/msword": ".doc", "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt", "application/epub+zip": ".epub", "application/vnd.ms-outlook": ".msg",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Frame:
    """What is known about everything in one list: where it stands, and what the caller said about it."""

    locator: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    time: str | None = None
    """ISO 8601; the time of what has none of its own."""


def conversation_of(drafts: Sequence[Draft], frame: Frame, *, timezone: tzinfo | None, now: str) -> Conversation:
    """Return `drafts` as one conversation, numbered from 0, each with a time.

    A message without a time takes the one before it; before the first known time stands the frame's, else the first
    known one; if no time is known at all, it is `now`, marked as inferred. Slashed dates are read day first if one of
    the conversation can only be read so.

    Raises:
        InputError: A time can't be read; names the position.
    """
    day_first = reads_day_first(draft.when for draft in drafts)
    times = [_time_of(draft, timezone, day_first) for draft in drafts]
    before = frame.time or next((time for time in times if time is not None), None)
    messages: list[Message] = []
    for index, (draft, time) in enumerate(zip(drafts, times, strict=True)):
        if time is None:
            dated: dict[str, Any] = {"chat_time": before or now, "time_inferred": before is None, "time_given": False}
        else:
            dated = {"chat_time": time} if draft.is_own else {"chat_time": time, "time_given": True}
        messages.append(replace(draft.message, index=index, **dated))
        before = time or before
    return Conversation(tuple(messages), locator=frame.locator, metadata=frame.metadata, tags=frame.tags)


def _time_of(draft: Draft, timezone: tzinfo | None, day_first: bool) -> str | None:
    if draft.when is None:
        return None
    return parse_time(draft.when, timezone=timezone, day_first=day_first, locator=draft.message.locator)


def file_inputs(conversation: Conversation) -> list[FileInput]:
    """Return a file for each file in `conversation` whose bytes came with it, in order.

    The words of the message around it are its context, the message's time (where someone gave one) its time. A file
    that came without a name is called by the start of its digest.
    """
    return [
        FileInput(
            part.name or _unnamed(part.reference or "", part.media_type),
            data=part.data,
            locator=message.locator,
            metadata=conversation.metadata,
            tags=conversation.tags,
            context="\n".join(words for words in (message.content, part.text) if words),
            doc_time=None if message.time_inferred else message.chat_time,
            message_id=message.message_id,
        )
        for message in conversation.messages
        for part in message.parts
        if part.kind == "file" and part.data is not None
    ]


def _unnamed(reference: str, media_type: str | None) -> str:
    return f"file-{reference.removeprefix('sha256:')[:16]}{_EXTENSIONS.get(media_type or '', '')}"
