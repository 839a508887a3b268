"""Content blocks in the shapes of Anthropic's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memreader.normalize import openai
from memreader.normalize.inline import Inline, MediaKind
from memreader.types import Part


def image(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield an image block; one without a `source` is read in the other shapes an image part has."""
    if part.get("source") is None:
        yield from openai.image(part, inline)
    else:
        yield from _from_source("image", part["source"], inline, text=openai.caption_of(part, inline) or None)


def document(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield a document block as a file; its `context` is the file's text."""
    title = inline.label(part.get("title"), "a document's title")
    context = inline.words(part.get("context"), "a document's context") or None
    source = part.get("source")
    if isinstance(source, Mapping) and source.get("type") == "content":
        words = _plain_text(source.get("content"), inline)
        yield inline.base64_part("file", words.encode(), media_type="text/plain", name=title, text=context)
    elif isinstance(source, Mapping) and source.get("type") == "text":
        words = inline.words(source.get("data"), "a document's text")
        yield inline.base64_part("file", words.encode(), media_type="text/plain", name=title, text=context)
    else:
        yield from _from_source("file", source, inline, name=title, text=context)


def tool_use(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield a tool call."""
    yield openai.tool_call(part.get("name"), part.get("input"), part.get("id"), inline)


def tool_result(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield a tool's answer: its words as one part, then the images and files in it."""
    content = part.get("content")
    blocks = content if isinstance(content, list | tuple) else [content]
    words: list[str] = []
    others: list[Part] = []
    for block in blocks:
        if isinstance(block, Mapping) and block.get("type") == "image":
            others += image(block, inline)
        elif isinstance(block, Mapping) and block.get("type") == "document":
            others += document(block, inline)
        elif isinstance(block, Mapping) and not isinstance(block.get("text"), str):
            words.append(inline.words(inline.raw(block), "a tool's answer"))
        else:
            words.append(_plain_text(block, inline))
    answer = "\n".join(word for word in words if word)
    yield Part("tool_result", answer, call=inline.label(part.get("tool_use_id"), "a tool call's id"))
    yield from others


def thinking(part: Mapping[str, Any], inline: Inline) -> Iterator[Part]:
    """Yield what the model thought; encrypted thoughts leave an empty part."""
    yield Part("thinking", inline.words(part.get("thinking") or part.get("text"), "thinking"))


def _from_source(kind: MediaKind, source: Any, inline: Inline, **labels: Any) -> Iterator[Part]:
    if not isinstance(source, Mapping):
        raise inline.fail(f"the source of a {kind} is a {type(source).__name__}, not an object")
    media_type = inline.label(source.get("media_type"), "a media type")
    if source.get("type") == "base64" or source.get("data") is not None:
        yield inline.base64_part(kind, source.get("data"), media_type=media_type, **labels)
    else:
        yield inline.part_at(kind, source.get("url") or source.get("file_id"), media_type=media_type, **labels)


def _plain_text(content: Any, inline: Inline) -> str:
    """Return the words of a string, a text block, or a list of these."""
    if isinstance(content, list | tuple):
        return "\n".join(_plain_text(block, inline) for block in content)
    return inline.words(content.get("text") if isinstance(content, Mapping) else content, "a text block")
