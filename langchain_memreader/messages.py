"""LangChain messages to what `Memory.add` and `MemReader.read` take, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    message_chunk_to_message,
)

from memreader import Message
from memreader.types import ROLES

_ROLES = {"human": "user", "ai": "assistant"}
_TIME_KEYS = ("chat_time", "timestamp", "created_at")
_DEVELOPER = "__openai_role__"
"""Where LangChain notes that a system message is OpenAI's developer message."""

_CALLS = frozenset({"tool_call", "invalid_tool_call", "tool_call_chunk", "tool_use"})


def from_langchain(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    """Return LangChain messages as message dicts, in order; the messages themselves are not changed.

    Chunks of a stream become the messages they are part of, `id` becomes `message_id`, and a time in
    `additional_kwargs` (chat_time, timestamp or created_at) the message's time. Tool calls, thoughts, images,
    recordings and files become content parts. A `RemoveMessage` says nothing and is left out.

    >>> from_langchain([HumanMessage("hi", id="m1", name="Ana")])
    [{'role': 'user', 'content': 'hi', 'name': 'Ana', 'message_id': 'm1'}]
    """
    return [_as_dict(message_chunk_to_message(m)) for m in messages if not isinstance(m, RemoveMessage)]


def to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    """Return messages of ours as LangChain messages, in order, with id, name and (as `chat_time`) a known time.

    A participant of a human chat becomes a `HumanMessage` with the person's name, since models know no such role.
    Images, files and thoughts are left out; what was said of them stays in the content.

    >>> to_langchain([Message("participant", "hello", name="Ana", message_id="m2")])
    [HumanMessage(content='hello', additional_kwargs={}, response_metadata={}, name='Ana', id='m2')]
    """
    return [_as_message(message) for message in messages]


def _as_dict(message: BaseMessage) -> dict[str, Any]:
    role, name = _who(message)
    fields = {
        "role": role,
        "content": message.content if isinstance(message.content, str) else list(_parts(message)),
        "name": name,
        "message_id": message.id,
        "chat_time": next((t for key in _TIME_KEYS if (t := message.additional_kwargs.get(key)) is not None), None),
        "tool_call_id": message.tool_call_id if isinstance(message, ToolMessage) else None,
        "tool_calls": _calls(message) or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _who(message: BaseMessage) -> tuple[str, str | None]:
    role = message.role if isinstance(message, ChatMessage) else message.type
    if message.type == "system":
        role = message.additional_kwargs.get(_DEVELOPER, role)
    role = _ROLES.get(role, role)
    return (role, message.name) if role in ROLES else ("participant", message.name or role)


def _calls(message: BaseMessage) -> list[dict[str, Any]]:
    if not isinstance(message, AIMessage):
        return []
    calls = [{"id": c["id"], "name": c["name"], "arguments": dict(c["args"])} for c in message.tool_calls]
    return calls + [{"id": c["id"], "name": c["name"], "arguments": c["args"]} for c in message.invalid_tool_calls]


def _parts(message: BaseMessage) -> Iterator[dict[str, Any]]:
    """Yield a message's content blocks in the shapes that memreader reads; it names those it can't."""
    has_calls = bool(_calls(message))
    for block in message.content_blocks:
        given: Mapping[str, Any] = block
        while given.get("type") == "non_standard":
            given = given["value"]
        kind = given.get("type")
        if not (kind in _CALLS and has_calls):
            yield _part(given) if isinstance(kind, str) else dict(given)


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    kind = block["type"]
    if kind == "reasoning":
        return {"type": "thinking", "thinking": block.get("reasoning", "")}
    if kind in {"server_tool_call", "tool_call", "invalid_tool_call"}:
        return {"type": "tool_use", "id": block.get("id"), "name": block.get("name"), "input": block.get("args")}
    if kind == "server_tool_result":
        return {"type": "tool_result", "tool_use_id": block.get("tool_call_id"), "content": _answer(block)}
    if kind == "audio" and block.get("base64") is not None:
        form = block.get("mime_type", "").rpartition("/")[2] or None
        return {"type": "input_audio", "input_audio": {"data": block["base64"], "format": form}}
    return _file(block) if kind in {"file", "text-plain", "video"} else dict(block)


def _file(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file with its name, which LangChain keeps among the extras, or as a title."""
    extras = block.get("extras") or {}
    name = next((n for n in (block.get("title"), extras.get("filename"), extras.get("title")) if n), None)
    words = block.get("text")
    file = {**block, "file_data": words.encode()} if isinstance(words, str) else dict(block)
    return {"type": "file", "file": {**file, "filename": name or block.get("filename")}}


def _answer(block: Mapping[str, Any]) -> Any:
    output = block.get("output")
    return output if output is None or isinstance(output, str | list | dict) else str(output)


def _as_message(message: Message) -> BaseMessage:
    known: dict[str, Any] = {"content": message.content, "name": message.name, "id": message.message_id}
    if message.chat_time is not None and not message.time_inferred:
        known["additional_kwargs"] = {"chat_time": message.chat_time}
    if message.role == "assistant":
        return AIMessage(**known, tool_calls=_tool_calls(message))
    if message.role == "tool":
        called = next((part.call for part in message.parts if part.kind == "tool_result" and part.call), "")
        return ToolMessage(**known, tool_call_id=called)
    if message.role == "function":
        return FunctionMessage(**{**known, "name": message.name or ""})
    if message.role == "developer":
        marked = {**known.get("additional_kwargs", {}), _DEVELOPER: "developer"}
        return SystemMessage(**{**known, "additional_kwargs": marked})
    return SystemMessage(**known) if message.role == "system" else HumanMessage(**known)


def _tool_calls(message: Message) -> list[ToolCall]:
    calls = [part for part in message.parts if part.kind == "tool_call"]
    return [ToolCall(name=part.name or "", args=_arguments(part.call), id=part.reference) for part in calls]


def _arguments(text: str | None) -> dict[str, Any]:
    """Return the arguments of a call; what is no JSON object stays as text under `input`."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"input": value}
