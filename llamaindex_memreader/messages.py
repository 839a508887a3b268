"""LlamaIndex messages to what `Memory.add` and `MemReader.read` take, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from memreader import Message
from memreader.errors import InputError

_ID_KEYS = ("message_id", "id")
_TIME_KEYS = ("chat_time", "timestamp", "created_at")
_ROLES = {"chatbot": "assistant", "model": "assistant"}


def from_llama_index(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Return LlamaIndex messages as message dicts, in order; the messages themselves are not changed.

    Tool calls, thoughts, images, recordings and files become content parts; a path or URL in them is kept as a
    reference and never opened. Of `additional_kwargs` are read: name, message_id (or id), chat_time (or timestamp, or
    created_at), tool_call_id and tool_calls.

    Raises:
        InputError: A block of a kind that is not known; it names the position.

    >>> from_llama_index([ChatMessage("hi", role="user", additional_kwargs={"name": "Ana"})])
    [{'role': 'user', 'content': 'hi', 'name': 'Ana'}]
    """
    return [_as_dict(message, f"[{place}]") for place, message in enumerate(messages)]


def to_llama_index(messages: Iterable[Message]) -> list[ChatMessage]:
    """Return messages of ours as LlamaIndex messages, in order; `additional_kwargs` hold name, id and a known time.

    A participant of a human chat becomes a user with a name, since LlamaIndex knows no such role. Images, files and
    thoughts are left out; what was said of them stays in the content.

    >>> to_llama_index([Message("assistant", "hello", message_id="m2")])[0].additional_kwargs
    {'message_id': 'm2'}
    """
    return [_as_message(message) for message in messages]


def _as_dict(message: ChatMessage, locator: str) -> dict[str, Any]:
    extra = message.additional_kwargs
    blocks = list(message.blocks)
    calls = [_call(block) for block in blocks if block.block_type == "tool_call"]
    if not calls:
        calls = [_plain(call) for call in extra.get("tool_calls") or ()]
    only_text = len(blocks) == 1 and blocks[0].block_type == "text"
    role = message.role.value
    fields = {
        "role": _ROLES.get(role, role),
        "name": extra.get("name"),
        "message_id": _first(extra, _ID_KEYS),
        "chat_time": _first(extra, _TIME_KEYS),
        "tool_call_id": extra.get("tool_call_id"),
        "tool_calls": calls or None,
    }
    content = message.content if only_text else [part for block in blocks for part in _parts(block, locator)]
    known = {key: value for key, value in fields.items() if value is not None}
    return {"role": known.pop("role"), "content": content, **known}


def _first(extra: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((extra[key] for key in keys if extra.get(key) is not None), None)


def _plain(call: Any) -> Any:
    """Return a tool call as a dict; OpenAI's client leaves objects of its own in a message."""
    return call.model_dump() if hasattr(call, "model_dump") else call


def _call(block: Any) -> dict[str, Any]:
    return {"id": block.tool_call_id, "name": block.tool_name, "arguments": block.tool_kwargs}


def _parts(block: Any, locator: str) -> Iterator[dict[str, Any]]:
    """Yield a block in the shapes that memreader reads."""
    kind = block.block_type
    if kind == "text":
        yield {"type": "text", "text": block.text}
    elif kind == "thinking":
        yield {"type": "thinking", "thinking": block.content or ""}
    elif kind == "image":
        found = _media(block.image, block.resolve_image, block)
        yield {"type": "image", "image": found, "mime_type": block.image_mimetype}
    elif kind == "audio":
        found = _media(block.audio, block.resolve_audio, block)
        where = "data" if isinstance(found, bytes) else "url"
        yield {"type": "input_audio", "input_audio": {where: found, "format": block.format}}
    elif kind == "video":
        yield _file(_media(block.video, block.resolve_video, block), None, block.video_mimetype)
    elif kind == "document":
        yield _file(_media(block.data, block.resolve_document, block), block.title, block.document_mimetype)
    elif kind == "citable":
        words = "\n".join(inner.text for inner in block.content if inner.block_type == "text")
        yield _file(words.encode(), block.title, "text/plain") if words else _file(block.source, block.title, None)
    elif kind == "citation":
        yield _file(block.source, block.title, None)
    elif kind not in {"tool_call", "cache"}:
        raise InputError(f"a block of the unknown kind {kind!r}", locator=locator)


def _media(data: Any, resolve: Callable[[], Any], block: Any) -> bytes | str | None:
    """Return a block's bytes, else where they are; only bytes that came with it are looked at."""
    if data is not None:
        held: bytes = resolve().read()
        return held
    address = block.path or block.url
    return None if address is None else str(address)


def _file(data: bytes | str | None, name: str | None, media_type: str | None) -> dict[str, Any]:
    where = "file_data" if isinstance(data, bytes) else "url"
    return {"type": "file", "file": {where: data, "filename": name, "mime_type": media_type}}


def _as_message(message: Message) -> ChatMessage:
    role = MessageRole.USER if message.role == "participant" else MessageRole(message.role)
    answered = (part.call for part in message.parts if part.kind == "tool_result" and part.call)
    calls = [
        {"id": part.reference, "type": "function", "function": {"name": part.name, "arguments": part.call or "{}"}}
        for part in message.parts
        if part.kind == "tool_call"
    ]
    extra = {
        "name": message.name,
        "message_id": message.message_id,
        "chat_time": None if message.time_inferred else message.chat_time,
        "tool_call_id": next(answered, None),
        "tool_calls": calls or None,
    }
    known = {key: value for key, value in extra.items() if value is not None}
    return ChatMessage(content=message.content or None, role=role, additional_kwargs=known)
