"""Content parts, tool calls and response items in the shapes of OpenAI's APIs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memreader.normalize.inline import Inline, base64_bytes
from memreader.normalize.paths import is_url, path_suffix
from memreader.types import Part

_RESPONSE_ITEMS = frozenset(
    {"function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "reasoning"}
)
_AUDIO = {"mp3": "audio/mpeg", "wav": "audio/wav", "flac": "audio/flac", "opus": "audio/opus", "pcm16": "audio/pcm"}


def caption_of(part: Mapping[str, Any], inline: Inline) -> str:
    """Return the caption or alt text that stands in an image part, or in the object inside it."""
    bodies = [part, *(body for key in ("image_url", "image", "source") if isinstance(body := part.get(key), Mapping))]
    for body in bodies:
        for key in ("caption", "alt", "alt_text", "description"):
            if words := inline.words(body.get(key), f"the {key} of an image").strip():
                return words
    return ""


def text(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield the words of text, input_text and output_text; the Assistants API wraps them in an object."""
    words = part.get("text")
    if isinstance(words, Mapping):
        words = words.get("value")
    yield from inline.text_parts(words)


def refusal(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield what the assistant said instead of an answer."""
    yield Part("refusal", inline.words(part.get("refusal"), "a refusal"))


def image(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield an image given as image_url (string or object), input_image, image_file, or LangChain's image block."""
    labels = {"text": caption_of(part, inline) or None}
    media_type = inline.label(part.get("mime_type") or part.get("media_type"), "a media type")
    for key in ("image_url", "image", "image_file", "url", "file_id"):
        body = part.get(key)
        if isinstance(body, Mapping):
            body = body.get("url") or body.get("file_id")
        if body is None:
            continue
        if isinstance(body, bytes | bytearray | memoryview) or (
            isinstance(body, str) and key == "image" and base64_bytes(body)
        ):
            yield inline.base64_part("image", body, media_type=media_type, **labels)
        else:
            yield inline.part_at("image", body, media_type=media_type, **labels)
        return
    payload = part.get("data") if part.get("data") is not None else part.get("base64")
    yield inline.base64_part("image", payload, media_type=media_type, **labels)


def audio(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield a recording; a transcript beside it is its words."""
    body = part.get("input_audio") or part.get("audio") or part
    if not isinstance(body, Mapping):
        raise inline.fail(f"an audio part holds a {type(body).__name__}, not an object")
    words = inline.words(body.get("transcript"), "a transcript") or None
    if body.get("data") is None:
        address = body.get("url") or body.get("id") or body.get("file_id")
        yield inline.part_at("audio", address, text=words)
        return
    form = inline.label(body.get("format"), "an audio format")
    yield inline.base64_part(
        "audio", body["data"], media_type=_AUDIO.get(form or "", form and f"audio/{form}"), text=words
    )


def file(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield a file: its bytes from file_data (data URI, base64, or the words themselves), else its id, URL or name."""
    body = part.get("file", part)
    if not isinstance(body, Mapping):
        raise inline.fail(f"a file part holds a {type(body).__name__}, not an object")
    name = inline.label(body.get("filename") or body.get("name"), "a file name")
    data = body.get("file_data") or body.get("data") or body.get("base64")
    if data:
        media_type = inline.label(body.get("mime_type"), "a media type")
        yield file_holding(data, inline, name=name, media_type=media_type)
        return
    yield inline.part_at("file", body.get("file_id") or body.get("file_url") or body.get("url") or name, name=name)


def file_holding(data: Any, inline: Inline, *, name: str | None, media_type: str | None = None) -> Part:
    """Return the part for bytes, a data URI, base64 or text; an address or what looks like a path is a reference."""
    if isinstance(data, bytes | bytearray | memoryview):
        return inline.base64_part("file", data, media_type=media_type, name=name)
    if not isinstance(data, str):
        raise inline.fail(f"the data of a file is a {type(data).__name__}, neither text nor bytes")
    if data[:5].lower() == "data:":
        return inline.data_uri_part("file", data, name=name)
    if is_url(data) or path_suffix(data):
        return inline.part_at("file", data, name=name, media_type=media_type)
    if base64_bytes(data):
        return inline.base64_part("file", data, media_type=media_type, name=name)
    words = inline.words(data, "the data of a file")
    return inline.base64_part("file", words.encode(), media_type="text/plain", name=name)


def tool_calls(calls: Any, inline: Inline) -> Iterator[Part]:
    """Yield the calls in a message's `tool_calls`: `{"function": {"name", "arguments"}}`, custom, or flat ones."""
    if calls is None:
        return
    if not isinstance(calls, list | tuple):
        raise inline.fail(f"tool_calls is a {type(calls).__name__}, not a list")
    for call in calls:
        if not isinstance(call, Mapping):
            raise inline.fail(f"a tool call is a {type(call).__name__}, not an object")
        body = call.get("function") or call.get("custom") or call
        if not isinstance(body, Mapping):
            raise inline.fail(f"a tool call's function is a {type(body).__name__}, not an object")
        arguments = next((body[key] for key in ("arguments", "args", "input") if body.get(key) is not None), None)
        yield tool_call(body.get("name"), arguments, call.get("id"), inline)


def tool_call(name: Any, arguments: Any, call_id: Any, inline: Inline) -> Part:
    """Return a tool call: `call` holds the arguments as JSON text, `reference` the call's id."""
    return Part(
        "tool_call",
        name=inline.label(name, "a tool's name"),
        call=inline.words(arguments, "arguments") if isinstance(arguments, str) else inline.raw(arguments or {}),
        reference=inline.label(call_id, "a tool call's id"),
    )


def is_response_item(value: Mapping[str, Any]) -> bool:
    """Return whether a dict is an item of a Responses conversation that has no role."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in _RESPONSE_ITEMS and value.get("role") is None


def response_item(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item of a Responses conversation in the shape of a chat message."""
    shared = {key: item[key] for key in ("created_at", "timestamp", "chat_time", "id") if item.get(key) is not None}
    if item["type"] == "reasoning":
        blocks = [*_blocks(item.get("summary")), *_blocks(item.get("content"))]
        thoughts = [{"type": "thinking", "thinking": block.get("text") or ""} for block in blocks]
        return {**shared, "role": "assistant", "content": thoughts}
    if item["type"].endswith("_output"):
        return {**shared, "role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    arguments = item.get("arguments") if item.get("arguments") is not None else item.get("input")
    call = {"id": item.get("call_id") or item.get("id"), "name": item.get("name"), "arguments": arguments}
    return {**shared, "role": "assistant", "content": None, "tool_calls": [call]}


def _blocks(value: Any) -> list[Mapping[str, Any]]:
    return [block for block in value if isinstance(block, Mapping)] if isinstance(value, list | tuple) else []
