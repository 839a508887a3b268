"""What a model says about each of several numbered things, in one answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memreader.calling import Answer, ModelFailure
from memreader.extract.failing import failure_of
from memreader.extract.reply import parse_reply

_NUMBER = re.compile(r"\D{0,20}(\d{1,6})\D{0,5}")
_NUMBER_FIELDS = ("index", "number", "id", "mem_idx", "no")


@dataclass(frozen=True, slots=True)
class Unsaid:
    """That nothing usable was said about one of them."""

    reason: str
    failed: bool = False
    """Whether the call failed, or its answer can't be read at all."""


def numbered(things: Sequence[object]) -> str:
    """Return one line per thing, its number and JSON: no memory can pose as another one."""
    return "\n".join(f"{number}: {json.dumps(thing, ensure_ascii=False)}" for number, thing in enumerate(things))


def schema_of(fields: Mapping[str, str], count: int) -> dict[str, Any]:
    """Return the JSON schema of an answer: for every number an object with these fields and JSON types."""
    one = _object({name: {"type": kind} for name, kind in fields.items()})
    return _object({str(number): one for number in range(count)})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def said_about(answer: Answer, fields: Mapping[str, str], count: int, *, exact: bool = False) -> list[object | Unsaid]:
    """Return what an answer says about each of `count` things, in order.

    Args:
        answer: Of the model.
        fields: Of what is said about one thing; the first one decides.
        count: Of things, numbered from 0.
        exact: Whether words of the answer are used, so that nothing of it may be a guess.
    """
    if isinstance(answer, ModelFailure):
        return [Unsaid(failure_of(answer).reason, failed=True)] * count
    parsed = parse_reply(answer.text, truncated=answer.truncated)
    if parsed.status == "failed":
        return [Unsaid("the answer is not JSON", failed=True)] * count
    if exact and parsed.status == "repaired" and parsed.lost:
        return [Unsaid("the answer is damaged")] * count
    said = _by_number(parsed.value, fields, count, whole=not parsed.lost and parsed.status != "truncated")
    return [
        said[number][0]
        if len(said.get(number, ())) == 1
        else Unsaid("two verdicts on it" if number in said else "the answer says nothing about it")
        for number in range(count)
    ]


def _by_number(value: object, fields: Mapping[str, str], count: int, *, whole: bool) -> dict[int, list[object]]:
    """Return what is said about each memory; numbers that no memory has are left out."""
    entries = list(_entries(_unwrapped(value, fields), fields, count, whole=whole))
    if count > 1 and sorted(number for number, _ in entries) == list(range(1, count + 1)):
        # Counted from one, it seems; a memory may not fall for its neighbour's verdict.
        return {}
    said: dict[int, list[object]] = {}
    for number, entry in entries:
        if number < count:
            said.setdefault(number, []).append(entry)
    return said


def _unwrapped(value: object, fields: Mapping[str, str]) -> object:
    """Return the verdicts themselves, where an object such as {"verdicts": ...} holds them."""
    if not isinstance(value, Mapping) or any(name in fields or _number(name) is not None for name in value):
        return value
    held = [one for one in value.values() if isinstance(one, Mapping | list)]
    return held[0] if len(held) == 1 else value


def _entries(value: object, fields: Mapping[str, str], count: int, *, whole: bool) -> Iterator[tuple[int, object]]:
    deciding = next(iter(fields))
    if isinstance(value, Mapping):
        if deciding in value:
            # One verdict alone says which memory it is about only where there is one memory.
            yield from [(0, value)] if count == 1 else []
            return
        for name, entry in value.items():
            if (number := _number(name)) is not None:
                yield number, entry
    elif isinstance(value, list):
        numbers = [_own_number(entry) for entry in value]
        if all(number is None for number in numbers):
            # By their order, and only if none can be missing.
            yield from enumerate(value) if whole and len(value) == count else ()
            return
        yield from ((number, entry) for number, entry in zip(numbers, value, strict=True) if number is not None)


def _number(name: object) -> int | None:
    """Return the one number in a name such as "0" or "mem_0"."""
    match = _NUMBER.fullmatch(str(name))
    return int(match[1]) if match else None


def _own_number(entry: object) -> int | None:
    if not isinstance(entry, Mapping):
        return None
    held = next((entry[name] for name in _NUMBER_FIELDS if name in entry), None)
    return None if held is None or isinstance(held, bool) else _number(held)
