"""Content parts in the shapes of Gemini's API: no `type`, the key tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memreader.normalize import openai
from memreader.normalize.inline import Inline, MediaKind
from memreader.types import Part


def read_untyped(part: Mapping[str, Any], inline: Inline) -> Iterator[Part] | None:
    """Return the parts of one without a `type`, or None if no key of it is known."""
    for key, reader in _READERS.items():
        if part.get(key) is not None:
            return reader(part[key], inline)
    return None


def _media(body: Any, inline: Inline) -> Iterator[Part]:
    body = _object(body, inline)
    media_type = inline.label(body.get("mime_type") or body.get("mimeType"), "a media type")
    major = (media_type or "").partition("/")[0].lower()
    kind: MediaKind = "image" if major == "image" else "audio" if major == "audio" else "file"
    if body.get("data") is not None:
        yield inline.base64_part(kind, body["data"], media_type=media_type)
    else:
        yield inline.part_at(kind, body.get("file_uri") or body.get("fileUri"), media_type=media_type)


def _call(body: Any, inline: Inline) -> Iterator[Part]:
    body = _object(body, inline)
    yield openai.tool_call(body.get("name"), body.get("args"), body.get("id"), inline)


def _response(body: Any, inline: Inline) -> Iterator[Part]:
    body = _object(body, inline)
    answer = body.get("response")
    words = inline.words(answer if isinstance(answer, str) else inline.raw(answer), "a tool's answer")
    call = inline.label(body.get("id"), "a tool call's id")
    yield Part("tool_result", words, name=inline.label(body.get("name"), "a tool's name"), call=call)


def _object(body: Any, inline: Inline) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise inline.fail(f"a part of its content holds a {type(body).__name__}, not an object")
    return body


_READERS: dict[str, Callable[[Any, Inline], Iterator[Part]]] = {
    "text": lambda words, inline: inline.text_parts(words),
    **dict.fromkeys(("inline_data", "inlineData", "file_data", "fileData"), _media),
    **dict.fromkeys(("function_call", "functionCall"), _call),
    **dict.fromkeys(("function_response", "functionResponse"), _response),
}

UNTYPED = frozenset(_READERS)
"""Keys that tell what a part without a `type` is."""
