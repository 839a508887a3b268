"""The content of a message, in any shape, to parts; and what of them is spoken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from memreader.normalize import anthropic, openai
from memreader.normalize.gemini import UNTYPED, read_untyped
from memreader.normalize.inline import Inline
from memreader.types import Part

PartReader: TypeAlias = Callable[[Mapping[str, Any], Inline], Iterator[Part]]

TEXT_TYPES = ("text", "input_text", "output_text")

READERS: dict[str, PartReader] = {
    **dict.fromkeys(TEXT_TYPES, openai.text),
    **dict.fromkeys(("image_url", "input_image", "image_file"), openai.image),
    **dict.fromkeys(("file", "input_file"), openai.file),
    **dict.fromkeys(("input_audio", "audio"), openai.audio),
    "refusal": openai.refusal,
    "image": anthropic.image,
    "document": anthropic.document,
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use"), anthropic.tool_use),
    **dict.fromkeys(("tool_result", "mcp_tool_result", "web_search_tool_result"), anthropic.tool_result),
    **dict.fromkeys(("thinking", "redacted_thinking"), anthropic.thinking),
}
"""What reads a part, by the part's `type`."""


def read_content(content: Any, inline: Inline) -> tuple[Part, ...]:
    """Return the parts of a message's content: a string, None, one part, or a list of strings and parts.

    Raises:
        InputError: Something in it can't be read; the message says which part and why.
    """
    if content is None:
        return ()
    if isinstance(content, str | Mapping):
        content = [content]
    if not isinstance(content, list | tuple):
        raise inline.fail(f"its content is a {type(content).__name__}, neither text nor a list of parts")
    return tuple(part for number, piece in enumerate(content) for part in _read_part(piece, number, inline))


def is_part(value: Mapping[str, Any]) -> bool:
    """Return whether a dict is a content part."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in READERS


def is_any_part(value: Any) -> bool:
    """Return whether a value is a content part with a `type`, or one whose key tells."""
    return isinstance(value, Mapping) and (is_part(value) or ("type" not in value and not UNTYPED.isdisjoint(value)))


def spoken(parts: Iterable[Part]) -> str:
    """Return the words of `parts` that someone said, a line each; an image's caption counts.

    A file's name, a tool's answer and thoughts don't.
    """
    lines = (_words(part) for part in parts)
    return "\n".join(line for line in lines if line)


def _words(part: Part) -> str:
    if part.kind == "image":
        return f"[shared image: {part.text}]" if part.text else ""
    return part.text if part.kind in {"text", "refusal", "audio"} else ""


def _read_part(piece: Any, number: int, inline: Inline) -> Iterator[Part]:
    if piece is None:
        return
    if isinstance(piece, str):
        yield from inline.text_parts(piece)
    elif isinstance(piece, Mapping) and is_part(piece):
        yield from READERS[piece["type"]](piece, inline)
    elif isinstance(piece, Mapping) and "type" not in piece and (parts := read_untyped(piece, inline)) is not None:
        yield from parts
    elif isinstance(piece, Mapping):
        kind = piece.get("type")
        named = f"has the unknown type {kind[:40]!r}" if isinstance(kind, str) else "has no type"
        raise inline.fail(f"part {number} of its content {named}; known are {', '.join(sorted(READERS))}")
    else:
        raise inline.fail(f"part {number} of its content is a {type(piece).__name__}, not a part")
