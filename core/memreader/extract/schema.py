"""A model's answer as fields: what it found, however it spelled that, and what of it was of no use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from memreader.extract.field_values import (
    MAX_KEY_CHARS,
    Fields,
    normal,
    read_lines,
    read_names,
    read_relations,
    read_tags,
    read_text,
    read_time,
    says_nothing,
)
from memreader.text import clean
from memreader.types import Dropped

MAX_MEMORIES = 1000
"""Of one answer; the rest is dropped."""
MAX_VALUE_CHARS = 10_000
"""A longer statement is no statement."""
_MAX_WRAPPERS = 3
"""Objects around the list."""

_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
_FIELDS: Final[dict[str, Any]] = {
    "key": {"type": "string"},
    "memory_type": {"type": "string", "enum": ["UserMemory", "LongTermMemory"]},
    "value": {"type": "string"},
    "tags": _STRINGS,
    "lines": {"type": "array", "items": {"type": "integer"}},
    "entities": _STRINGS,
    "relations": {"type": "array", "items": _STRINGS},
    "time": {"type": ["string", "null"]},
    "lifetime": {"type": "string", "enum": ["short", "long"]},
}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


REPLY_SCHEMA: Final[Mapping[str, Any]] = _object(
    {"memory list": {"type": "array", "items": _object(_FIELDS)}, "summary": {"type": "string"}}
)
"""JSON schema of the answer, such as strict endpoints take: every key required, no other allowed."""

# Names of fields, the best first, as `normal` spells them.
_LISTS = ("memorylist", "memories", "memory", "memoryitems", "items", "facts", "记忆列表", "记忆")
_WRAPPERS = ("list", "data", "result", "results", "output", "response", "answer")
_STRONG_VALUES = ("value", "memory", "statement", "fact", "记忆", "正文")
_WEAK_VALUES = ("content", "text", "内容")
_VALUES = _STRONG_VALUES + _WEAK_VALUES
_SUMMARIES = ("summary", "摘要", "总结", "概括")
_KEYS = ("key", "title", "标题", "关键词")
_TYPES = ("memorytype", "type", "记忆类型", "类型")
_TAGS = ("tags", "tag", "标签", "主题")
_LINES = ("lines", "line", "linenumbers", "sourcelines", "行号", "行")
_ENTITIES = ("entities", "entity", "实体")
_RELATIONS = ("relations", "relation", "triples", "关系")
_TIMES = ("time", "memorytime", "eventtime", "date", "when", "时间", "日期")
_LIFETIMES = ("lifetime", "duration", "期限")
_OTHERS = (*_KEYS, *_TYPES, *_TAGS, *_LINES, *_ENTITIES, *_RELATIONS, *_TIMES, *_LIFETIMES)
_USER_TYPES = frozenset({"usermemory", "user", "用户记忆"})
_SHORT = frozenset({"short", "shortterm", "session", "短", "短期"})
_NOTHING = frozenset({"", "none", "null", "nil", "nothing", "na", "n/a", "empty", "无", "没有", "空"})


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """One memory as the model gave it, cleaned; nothing is checked against the text it was read from."""

    value: str
    """The statement; never empty."""
    key: str | None = None
    """Its title; None where the model gave none."""
    memory_type: str = "LongTermMemory"
    """UserMemory or LongTermMemory."""
    tags: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    """Numbers of the lines it rests on, in the model's order; they may not exist."""
    entities: tuple[str, ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    """Subject, predicate, object."""
    time: str | None = None
    """When it was, in the model's words."""
    lifetime: str = "long"
    """short or long."""
    unsaid: tuple[str, ...] = ()
    """Which of "key", "entities" and "time" the answer did not give: see `_unsaid`."""


@dataclass(frozen=True, slots=True)
class FoundReply:
    """What an answer holds."""

    memories: tuple[FoundMemory, ...] = ()
    summary: str = ""
    dropped: tuple[Dropped, ...] = ()
    """What was no memory, with the reason and its place in the list (`[3]`)."""


def read_fields(value: object) -> FoundReply | None:
    """Return the memories of a parsed answer, or None where it has no shape of an answer.

    An answer is an object with a list of memories under "memory list" or a name like it (a null list is an empty one),
    that list alone, one memory alone, or an object whose values are memories. A memory is an object with the
    statement under "value", "memory", "content" or "text", or the statement alone. Fields that can't be understood are
    as if they weren't there. What is no memory, has no words, or more than 10,000 characters, is dropped with a
    reason and costs no other; so is all after the thousandth. A list none of whose entries looks like a memory, a
    plain string, a number and an object without memories are no answer.

    >>> found = read_fields({"memories": [{"text": "Ana likes tea.", "tags": "tea, taste", "lines": "[3]"}]})
    >>> found.memories[0].value, found.memories[0].tags, found.memories[0].lines
    ('Ana likes tea.', ('tea', 'taste'), (3,))
    >>> read_fields("Sorry, I can't do that.")
    """
    if isinstance(value, Mapping):
        return _read_object(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _read_entries(value, "")
    return None


def _read_object(answer: Mapping[Any, Any], depth: int = 0) -> FoundReply | None:
    fields = Fields(answer)
    summary = read_text(fields.get(*_SUMMARIES), MAX_VALUE_CHARS) or ""
    for name in filter(fields.has, (*_LISTS, *_WRAPPERS)):
        if (found := _read_held(fields.get(name), depth)) is not None:
            return FoundReply(found.memories, found.summary or summary, found.dropped)
    if _stands_alone(fields):
        return _read_entries([answer], summary)
    if any(_is_nothing(fields.get(name)) for name in _LISTS if fields.has(name)):
        return FoundReply(summary=summary)
    children = [
        child
        for name, child in answer.items()
        if _is_number(name) or (isinstance(child, Mapping) and _stands_alone(Fields(child)))
    ]
    return _read_entries(children, summary) if children else None


def _is_nothing(held: object) -> bool:
    """Whether what stands in the place of a list says that it is empty."""
    return held is None or held in ([], {}) or (isinstance(held, str) and normal(held.strip()) in _NOTHING)


def _read_held(held: object, depth: int) -> FoundReply | None:
    """Return what stands in the place of a list; a text is none: it may say why there are no memories."""
    if isinstance(held, Mapping):
        found = _read_object(held, depth + 1) if depth < _MAX_WRAPPERS else None
        return found or (_read_entries([held], "") if _is_memory(held) else None)
    if isinstance(held, Sequence) and not isinstance(held, str | bytes):
        return _read_entries(held, "") if held else None
    return None


def _read_entries(entries: Sequence[Any], summary: str) -> FoundReply | None:
    """Return the memories among `entries`; None if there are entries, and none looks like a memory."""
    if entries and not any(isinstance(entry, str) or _is_memory(entry) for entry in islice(entries, MAX_MEMORIES)):
        return None
    memories: list[FoundMemory] = []
    dropped: list[Dropped] = []
    for place, entry in enumerate(islice(entries, MAX_MEMORIES)):
        read = _read_memory(entry)
        if isinstance(read, FoundMemory):
            memories.append(read)
        else:
            dropped.append(Dropped(_shown(entry), read, f"[{place}]"))
    if len(entries) > MAX_MEMORIES:
        reason = f"{len(entries) - MAX_MEMORIES} memories after the first {MAX_MEMORIES} of one answer"
        dropped.append(Dropped("", reason, f"[{MAX_MEMORIES}]"))
    return FoundReply(tuple(memories), summary, tuple(dropped))


def _read_memory(entry: object) -> FoundMemory | str:
    """Return the memory, or why there is none."""
    if isinstance(entry, str):
        entry = {"value": entry}
    if not isinstance(entry, Mapping):
        return f"not a memory but {_kind(entry)}"
    fields = Fields(entry)
    if fields.has("role") and not fields.has(*_STRONG_VALUES):
        return "a message, not a memory"
    held = next(_statements(fields), None)
    if not isinstance(held, str):
        return f"the value is not text but {_kind(held)}" if fields.has(*_VALUES) else "an object without a value"
    if len(held) > MAX_VALUE_CHARS:
        return f"the value has {len(held)} characters, more than {MAX_VALUE_CHARS}"
    value = clean(held).strip()
    if normal(value) in _NOTHING:
        return "the value says nothing" if value else "the value is empty"
    kind, lifetime = fields.get(*_TYPES), fields.get(*_LIFETIMES)
    found = FoundMemory(
        value=value,
        key=read_text(fields.get(*_KEYS), MAX_KEY_CHARS),
        memory_type="UserMemory" if isinstance(kind, str) and normal(kind) in _USER_TYPES else "LongTermMemory",
        tags=read_tags(fields.get(*_TAGS)),
        lines=read_lines(fields.get(*_LINES)),
        entities=read_names(fields.get(*_ENTITIES)),
        relations=read_relations(fields.get(*_RELATIONS)),
        time=read_time(fields.get(*_TIMES)),
        lifetime="short" if isinstance(lifetime, str) and normal(lifetime) in _SHORT else "long",
    )
    return replace(found, unsaid=_unsaid(found, fields))


def _unsaid(found: FoundMemory, fields: Fields) -> tuple[str, ...]:
    """Return what an answer did not give of a memory.

    That it names nobody ([] or null), or that no time was said (null), is an answer; no field, or one that can't be
    understood, is none. A title there always is.
    """
    unsaid = [] if found.key else ["key"]
    for name, names, read in (("entities", _ENTITIES, found.entities), ("time", _TIMES, found.time)):
        said_none = fields.has(*names) and says_nothing(fields.get(*names))
        unsaid += [] if read or said_none else [name]
    return tuple(unsaid)


def _statements(fields: Fields) -> Iterator[Any]:
    """Yield what stands under the names of a statement: words, then empty text, then anything else."""
    held = list(fields.held(*_VALUES))
    texts = [one for one in held if isinstance(one, str)]
    yield from (one for one in texts if one.strip())
    yield from texts
    yield from held


def _is_memory(entry: object) -> bool:
    """Whether it looks like one; an object with a role is a message."""
    if not isinstance(entry, Mapping):
        return False
    fields = Fields(entry)
    return fields.has(*_STRONG_VALUES) or (fields.has(*_WEAK_VALUES) and not fields.has("role"))


def _stands_alone(fields: Fields) -> bool:
    """Whether an object is a memory even where no list is expected, and not a refusal or an error in JSON."""
    strong = any(isinstance(held, str) for held in fields.held(*_STRONG_VALUES))
    return strong or (fields.has(*_WEAK_VALUES) and fields.has(*_OTHERS) and not fields.has("role"))


def _is_number(name: object) -> bool:
    return str(name).strip(" #[]").isdecimal()


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "a yes or no", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def _shown(entry: object) -> str:
    """Return the words of a dropped entry, cut."""
    if isinstance(entry, Mapping):
        fields = Fields(entry)
        entry = next((held for held in (*_statements(fields), fields.get(*_KEYS)) if isinstance(held, str)), None)
    return clean(entry[:200]).strip() if isinstance(entry, str) else ""
