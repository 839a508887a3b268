"""The way in: sorts whatever was given into conversations, documents, files and items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any, Literal

from pydantic import ValidationError

from memreader.errors import InputError
from memreader.items import TextualMemoryItem
from memreader.normalize import document
from memreader.normalize.conversation import Frame, conversation_of
from memreader.normalize.inline import check_depth, copied, key_name
from memreader.normalize.message import (
    Draft,
    is_message,
    own_message,
    part_message,
    plain_message,
    read_message,
    time_given,
)
from memreader.normalize.parts import is_part
from memreader.normalize.paths import is_url
from memreader.normalize.time import parse_time, zone_of
from memreader.text import clean
from memreader.types import Conversation, Document, FileInput, Input, Message

_TYPES = ("chat", "doc", None)
_TAG_KEYS = ("custom_tags", "tags")
_TIME_KEYS = ("chat_time", "timestamp", "created_at")


@dataclass(frozen=True, slots=True)
class _How:
    """How this call reads what it was given."""

    is_doc: bool
    timezone: tzinfo | None
    now: str
    files_root: Path | None
    as_text: bool


_Placed = tuple[str | None, Any]
"""A value and its locator."""


def normalize(
    data: Any,
    *,
    type: Literal["chat", "doc"] | None = None,
    timezone: tzinfo | str | None = None,
    now: datetime | None = None,
    files_root: Path | None = None,
    as_text: bool = False,
    at: datetime | str | None = None,
) -> list[Input]:
    """Return what `data` holds, in input order: conversations, documents, files (unopened) and items.

    Accepted, alone or mixed in a list: strings, message dicts, dicts `{"messages": [...], ...}` (the other keys become
    the conversation's metadata, `custom_tags` and `tags` its tags), dicts with `memory`, content parts, paths, values
    of ours, and lists of these. Messages, strings and parts that follow each other form one conversation; an inner
    list is a conversation of its own, even an empty one. Nothing given is changed, opened or fetched. An empty list
    gives an empty list.

    Args:
        data: The raw input.
        type: "doc" reads strings and parts as documents; otherwise a string is a user's message. What says itself what
            it is (a message, an item, a path) is that in either case.
        timezone: IANA name, offset or tzinfo, for times that have none.
        now: The time of messages in a conversation where no time is known; the clock's by default.
        files_root: Makes strings names of files below this folder, except with type="chat".
        as_text: Read a string given as a document as its text even if it looks like a file name or an address.
        at: The time of messages and documents that have none, where the caller knows it.

    Raises:
        InputError: Something can't be read; `locator` says where it stands (`[0][3]`).
        LooksLikePathError: A string given as a document looks like a file name.

    >>> chat, = normalize([{"role": "user", "content": "hi", "chat_time": "1:56 pm on 8 May, 2023"}])
    >>> chat.messages[0].chat_time
    '2023-05-08T13:56:00'
    """
    if type not in _TYPES:
        raise InputError(f"unknown type {type!r:.60}; known are 'chat', 'doc' and None")
    zone = zone_of(timezone)
    clock = datetime.now(zone).astimezone(zone).replace(microsecond=0) if now is None else now
    how = _How(
        is_doc=type == "doc",
        timezone=zone,
        now=parse_time(clock, timezone=zone),
        files_root=None if type == "chat" or files_root is None else Path(files_root),
        as_text=as_text,
    )
    check_depth([data], None)
    frame = Frame(time=None if at is None else parse_time(at, timezone=zone))
    if _is_list(data):
        return list(_read_list(((f"[{i}]", value) for i, value in enumerate(data)), frame, how, depth=0))
    return list(_read_list([(None, data)], frame, how, depth=0))


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _read_list(placed: Iterable[_Placed], frame: Frame, how: _How, *, depth: int) -> Iterator[Input]:
    """Yield what stands in one list; `depth` 1 is the inside of a conversation, which holds no further lists."""
    for kind, group in groupby(placed, key=lambda pair: _kind(pair[1], how)):
        if kind == "talk":
            yield _conversation(list(group), frame, how)
        elif kind == "parts":
            yield from _parts_as_documents(list(group), frame, how)
        else:
            for locator, value in group:
                yield from _read_one(kind, value, replace(frame, locator=locator), how, depth)


def _kind(value: Any, how: _How) -> str:
    """Return what a value is: talk and parts run together with their neighbours, everything else stands alone."""
    if isinstance(value, str):
        return "string" if how.is_doc or how.files_root is not None else "talk"
    if isinstance(value, Message):
        return "talk"
    if not isinstance(value, Mapping):
        return "list" if _is_list(value) else "value"
    if "memory" in value and "role" not in value:
        return "item"
    if "messages" in value and "role" not in value:
        return "conversation"
    if is_message(value):
        return "talk"
    if is_part(value):
        return "parts" if how.is_doc else "talk"
    return "value"


def _read_one(kind: str, value: Any, frame: Frame, how: _How, depth: int) -> Iterator[Input]:
    if kind == "string" and how.files_root is not None and not how.as_text and not is_url(value):
        yield document.file_below(how.files_root, value, frame)
    elif kind == "string":
        yield document.string_document(value, frame, as_text=how.as_text, now=how.now)
    elif kind == "item":
        yield _item(value, frame.locator)
    elif kind == "conversation":
        yield from _conversation_dict(value, frame, how)
    elif kind == "list":
        yield from _inner_list(value, frame, how, depth)
    elif isinstance(value, PurePath):
        yield document.path_file(value, frame)
    elif isinstance(value, TextualMemoryItem):
        # The id that its owner sees in it is the one it is kept under, though nobody chose it.
        yield value.model_copy(update={"id": value.id})
    elif isinstance(value, Conversation):
        yield _own_conversation(value, frame, how)
    elif isinstance(value, Document):
        yield document.own_document(value)
    elif isinstance(value, FileInput):
        yield value
    else:
        raise InputError(_unreadable(value), locator=frame.locator)


def _conversation(run: list[_Placed], frame: Frame, how: _How) -> Conversation:
    drafts: list[Draft] = []
    for is_parts, group in groupby(run, key=lambda pair: isinstance(pair[1], Mapping) and not is_message(pair[1])):
        pairs = list(group)
        if is_parts:
            drafts.append(part_message([value for _, value in pairs], pairs[0][0]))
        else:
            drafts += [_draft(value, locator) for locator, value in pairs]
    frame = frame if frame.locator else replace(frame, locator=run[0][0])
    return conversation_of(drafts, frame, timezone=how.timezone, now=how.now)


def _draft(value: Any, locator: str | None) -> Draft:
    if isinstance(value, str):
        return plain_message(value, locator)
    return own_message(value, locator) if isinstance(value, Message) else read_message(value, locator)


def _parts_as_documents(pairs: list[_Placed], frame: Frame, how: _How) -> Iterator[Input]:
    placed = frame if frame.locator else replace(frame, locator=pairs[0][0])
    return document.part_documents([value for _, value in pairs], placed, timezone=how.timezone, now=how.now)


def _inner_list(values: Any, frame: Frame, how: _How, depth: int) -> Iterator[Input]:
    if depth > 0:
        raise InputError("a list inside a conversation; lists are nested at most twice", locator=frame.locator)
    if not values:
        yield Conversation((), locator=frame.locator, metadata=frame.metadata, tags=frame.tags)
    place = frame.locator or ""
    yield from _read_list(((f"{place}[{i}]", value) for i, value in enumerate(values)), frame, how, depth=1)


def _conversation_dict(value: Mapping[str, Any], frame: Frame, how: _How) -> Iterator[Input]:
    messages, locator = value["messages"], frame.locator
    if not _is_list(messages):
        raise InputError(f"'messages' is a {type(messages).__name__}, not a list", locator=locator)
    when = time_given(value, _TIME_KEYS)
    place = f"{locator or ''}.messages"
    inner = Frame(
        locator=locator or place,
        metadata={key: copied(kept) for key, kept in value.items() if key not in {"messages", *_TAG_KEYS}},
        tags=tuple(tag for key in _TAG_KEYS for tag in _tags(value.get(key), locator)),
        time=frame.time if when is None else parse_time(when, timezone=how.timezone, locator=locator),
    )
    if not messages:
        yield Conversation((), locator=inner.locator, metadata=inner.metadata, tags=inner.tags)
    yield from _read_list(((f"{place}[{i}]", one) for i, one in enumerate(messages)), inner, how, depth=1)


def _own_conversation(value: Conversation, frame: Frame, how: _How) -> Conversation:
    """Return a Conversation of ours with its messages checked, cleaned, numbered and dated like any other's."""
    place = value.locator or frame.locator
    drafts = [own_message(one, f"{place or ''}.messages[{i}]") for i, one in enumerate(value.messages)]
    own = Frame(locator=place, metadata=value.metadata, tags=value.tags, time=frame.time)
    # Once the time of reading, always that one.
    now = next((one.chat_time for one in value.messages if one.time_inferred and one.chat_time), how.now)
    return conversation_of(drafts, own, timezone=how.timezone, now=now)


def _tags(given: Any, locator: str | None) -> list[str]:
    tags = [given] if isinstance(given, str) else [] if given is None else given
    if not _is_list(tags) or not all(isinstance(tag, str) for tag in tags):
        raise InputError("tags are a list of strings", locator=locator)
    return list(dict.fromkeys(tag for tag in map(clean, tags) if tag.strip()))


def _item(value: Mapping[str, Any], locator: str | None) -> TextualMemoryItem:
    try:
        return TextualMemoryItem.model_validate(copied(value))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'item'}: {each['msg']}" for each in error.errors())
    # Outside the except, so that the words of the memory, which pydantic's error quotes, are not chained to this one.
    raise InputError(f"not a valid memory item: {problems}", locator=locator)


def _unreadable(value: Any) -> str:
    known = "text, messages (with role and content), items (with memory), content parts, paths, and lists of these"
    if isinstance(value, Mapping):
        keys = ", ".join([repr(key_name(key)[:40]) for key in list(value)[:8]]) or "none"
        return f"a dict that is neither a message nor an item (its keys: {keys}); accepted are {known}"
    hint = ""
    if isinstance(value, bytes | bytearray):
        hint = "; pass FileInput(name, data=...) for the bytes of a file"
    elif hasattr(value, "model_dump"):
        hint = "; turn it into dicts with langchain_memreader.from_langchain or llamaindex_memreader.from_llama_index"
    elif isinstance(value, Iterable):
        hint = "; pass a list"
    return f"a value of type {type(value).__name__} can't be read{hint}; accepted are {known}"
