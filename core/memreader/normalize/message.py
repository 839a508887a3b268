"""One message in any chat format to a Message whose time is still as it was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memreader.errors import InputError
from memreader.normalize import openai
from memreader.normalize.inline import Inline
from memreader.normalize.parts import is_any_part, read_content, spoken
from memreader.text import clean
from memreader.types import FLAGS, ROLES, Message, Part

_TIME_KEYS = ("chat_time", "timestamp", "created_at", "create_time", "time", "date")
_ID_KEYS = ("message_id", "id")
_PARENT_KEYS = ("parent_id", "parent")
_NAME_KEYS = ("name", "speaker", "author", "sender", "from", "user_name")
_CONTENT_KEYS = ("content", "text", "parts", "value", "message")
_CALL_KEYS = ("tool_calls", "function_call", "refusal", "audio", "reasoning_content", "reasoning")

_FLAG_KEYS = ("hidden", "deleted", "edited", "bot", "sidechain", "inactive_branch")

_ROLE_ALIASES = {
    **dict.fromkeys(("human", "用户"), "user"),
    **dict.fromkeys(("ai", "model", "bot", "chatbot", "gpt", "助手"), "assistant"),
    "系统": "system",
}
_PLAIN_ROLES = frozenset({"user", "assistant", "system"})

_TOOL_ROLES = frozenset({"tool", "function"})
_CONTEXT_ROLES = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before its time is settled."""

    message: Message
    when: Any = None
    """The time as the caller gave it, None where none was."""
    is_own: bool = False
    """Whether it was a Message already, which knows where its time is from."""


def is_message(value: Mapping[str, Any]) -> bool:
    """Return whether a dict means to be a message: it has a role or a speaker, or is an item of a Responses API."""
    if value.get("role") is not None or openai.is_response_item(value):
        return True
    return any(value.get(key) is not None for key in _NAME_KEYS) and any(key in value for key in _CONTENT_KEYS)


def plain_message(text: str, locator: str | None) -> Draft:
    """Return a bare string as a user's message."""
    inline = Inline(locator)
    return Draft(_built("user", read_content(text, inline), locator=locator, is_text=True))


def part_message(parts: Sequence[Mapping[str, Any]], locator: str | None) -> Draft:
    """Return a bare content list as a user's message."""
    inline = Inline(locator)
    message = _built("user", read_content(list(parts), inline), locator=locator)
    return Draft(replace(message, raw=inline.raw(list(parts))))


def own_message(message: Message, locator: str | None) -> Draft:
    """Return a Message of ours as it is, its words cleaned.

    Raises:
        InputError: It has a role or a flag that doesn't exist; names the position.
    """
    if message.role not in ROLES:
        raise InputError(f"unknown role {message.role!r:.60}; known are {', '.join(sorted(ROLES))}", locator=locator)
    _check_flags(message.flags, locator)
    name = None if message.name is None else clean(message.name).strip() or None
    cleaned = replace(message, content=clean(message.content), name=name, locator=message.locator or locator)
    return Draft(cleaned, None if message.time_inferred else message.chat_time, is_own=True)


def read_message(given: Mapping[str, Any], locator: str | None) -> Draft:
    """Return what a dict says, flagged where it isn't plain speech.

    Flags: `context` for system and developer messages, `tool_result` for a tool's answer, `tool_call`, `media_only` and
    `thinking` for a message that has nothing else and no words; and those the dict gives, as a list `flags` or as
    `hidden`, `deleted`, `edited`, `bot`, `sidechain` or `inactive_branch` set to True.

    Raises:
        InputError: Unknown role, no content, or content that can't be read; names the position.
    """
    inline = Inline(locator)
    fields = openai.response_item(given) if openai.is_response_item(given) else given
    role, name = _who(fields, inline)
    content = _content(fields, inline)
    if role in _TOOL_ROLES and not _is_readable(content):
        content = inline.raw(content)  # a tool may answer with any JSON
    parts = (*_extra_parts(fields, inline, before=True), *read_content(content, inline), *_extra_parts(fields, inline))
    call_id = inline.label(fields.get("tool_call_id"), "tool_call_id")
    message = _built(role, parts, locator=locator, name=name, call_id=call_id, is_text=isinstance(content, str))
    message = replace(
        message,
        flags=message.flags | _given_flags(fields, locator),
        message_id=inline.label(_first(fields, _ID_KEYS), "a message id"),
        parent_id=inline.label(_first(fields, _PARENT_KEYS), "a parent id"),
        raw=inline.raw(given),
    )
    return Draft(message, time_given(fields))


def time_given(fields: Mapping[str, Any], keys: Sequence[str] = _TIME_KEYS) -> Any:
    """Return the first time among `fields` as it was given; None for none or a blank one."""
    when = _first(fields, keys)
    return None if isinstance(when, str) and not when.strip() else when


def _built(
    role: str, parts: tuple[Part, ...], *, locator: str | None, name: str | None = None, call_id: str | None = None,
    is_text: bool = False,
) -> Message:  # fmt: skip
    words = spoken(parts)
    results = "\n".join(part.text for part in parts if part.kind == "tool_result" and part.text)
    if role in _TOOL_ROLES:
        words = "\n".join(text for text in (words, results) if text)
        others = tuple(part for part in parts if part.kind not in {"text", "tool_result"})
        call_id = call_id or next((part.call for part in parts if part.kind == "tool_result"), None)
        parts = (Part("tool_result", words, name=name, call=call_id), *others)
    elif is_text and len(parts) == 1:
        parts = ()
    flags = _flags(role, {part.kind for part in parts}, has_words=bool(words.strip()))
    return Message(role, words or results, name=name, parts=parts, flags=flags, locator=locator)


def _flags(role: str, kinds: set[str], *, has_words: bool) -> frozenset[str]:
    flags = {"context"} if role in _CONTEXT_ROLES else {"tool_result"} if role in _TOOL_ROLES else set()
    if not has_words and role not in _TOOL_ROLES:
        flags |= kinds & {"tool_call", "tool_result"}
        if not flags and kinds & {"image", "file", "audio"}:
            flags.add("media_only")
        elif not flags and "thinking" in kinds:
            flags.add("thinking")
    return frozenset(flags)


def _given_flags(fields: Mapping[str, Any], locator: str | None) -> frozenset[str]:
    listed = fields.get("flags")
    listed = [listed] if isinstance(listed, str) else listed or ()
    if not isinstance(listed, list | tuple | set | frozenset):
        raise InputError(f"'flags' is a {type(listed).__name__}, not a list", locator=locator)
    _check_flags(listed, locator)
    return frozenset(listed) | {flag for flag in _FLAG_KEYS if fields.get(flag) is True}


def _check_flags(flags: Iterable[Any], locator: str | None) -> None:
    unknown = [flag for flag in flags if not isinstance(flag, str) or flag not in FLAGS]
    if unknown:
        raise InputError(f"unknown flag {unknown[0]!r:.60}; known are {', '.join(sorted(FLAGS))}", locator=locator)


def _who(fields: Mapping[str, Any], inline: Inline) -> tuple[str, str | None]:
    """Return role and speaker's name. A person without a role is a participant, never a user or assistant."""
    given = fields.get("role")
    name = inline.label(_first(fields, _NAME_KEYS), "the speaker's name")
    if given is None:
        if name is None:
            raise inline.fail("a message has no role and no speaker")
        sender = inline.label(fields.get("from"), "the sender") or ""
        role = name.lower() if name.lower() in _PLAIN_ROLES else _ROLE_ALIASES.get(sender, "participant")
        is_role_word = role != "participant" and (name == sender or name.lower() == role)
        return role, None if is_role_word else name
    if not isinstance(given, str):
        raise inline.fail(f"the role of a message is a {type(given).__name__}, not text")
    role = clean(given).strip().lower()
    role = _ROLE_ALIASES.get(role, role)
    if role not in ROLES:
        known = ", ".join(sorted(ROLES))
        raise inline.fail(f"unknown role {given[:40]!r}; known are {known}; a person in a human chat is a participant")
    return role, name


def _content(fields: Mapping[str, Any], inline: Inline) -> Any:
    if any(key in fields for key in _CONTENT_KEYS):
        return _first(fields, _CONTENT_KEYS)
    if any(fields.get(key) is not None for key in _CALL_KEYS):
        return None
    raise inline.fail("a message has no content")


def _is_readable(content: Any) -> bool:
    pieces = content if isinstance(content, list | tuple) else [content]
    return all(piece is None or isinstance(piece, str) or is_any_part(piece) for piece in pieces)


def _extra_parts(fields: Mapping[str, Any], inline: Inline, *, before: bool = False) -> tuple[Part, ...]:
    """Return what stands beside the content: thoughts before it, calls, a refusal and a recording after it."""
    if before:
        thoughts = (inline.words(fields.get(key), "reasoning") for key in ("reasoning_content", "reasoning"))
        return tuple(Part("thinking", thought) for thought in thoughts if thought)
    parts = list(openai.tool_calls(fields.get("tool_calls"), inline))
    if (call := fields.get("function_call")) is not None:
        parts += openai.tool_calls([call], inline)
    if refused := inline.words(fields.get("refusal"), "a refusal"):
        parts.append(Part("refusal", refused))
    if fields.get("audio") is not None:
        parts += openai.audio({"audio": fields["audio"]}, inline)
    return tuple(parts)


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)
