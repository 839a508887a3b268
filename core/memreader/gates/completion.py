"""What memories lack, asked of a model once more: just the missing fields, and no word of theirs changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memreader.calling import Answer, ModelFailure, Prompt
from memreader.extract.failing import failure_of
from memreader.extract.field_values import MAX_KEY_CHARS, Fields, read_names, read_text, read_time, says_nothing
from memreader.gates.numbered import Unsaid, numbered, said_about
from memreader.lacking import FIELD_OF, Missing
from memreader.plan import Plan, ask
from memreader.prompts import Prompts
from memreader.types import Failure

_SCHEMAS: Mapping[Missing, Mapping[str, Any]] = {
    "key": {"type": "string"},
    "entities": {"type": "array", "items": {"type": "string"}},
    "time": {"type": ["string", "null"]},
}
_DAY = len("2023-05-08")


@dataclass(frozen=True, slots=True)
class Lacking:
    """A memory, and what it lacks."""

    memory: str
    missing: tuple[Missing, ...]
    """At least one."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What one call gave."""

    fields: tuple[Mapping[str, Any], ...]
    """Of each memory in order: field of the metadata -> value. What the model did not give isn't in it."""
    failure: Failure | None = None
    """Why none was given: the call failed, or its answer can't be relied on."""


def complete(
    memories: Sequence[Lacking], *, evidence: str, language: str, prompts: Prompts, instructions: str = ""
) -> Plan[Completion]:
    """Return what a model gives of what memories lack, by one call.

    A time is a whole date; null, and one that isn't, gives none. That a memory names nobody ([]) is an answer.

    Args:
        memories: At least one.
        evidence: What they were made from, as a passage is shown.
        language: Of the memories, ISO 639-1.
        prompts: Where the prompt of the task "complete" is taken from.
        instructions: Further rules.
    """
    shown = numbered([{"note": one.memory, "missing": one.missing} for one in memories])
    values = {"conversation": evidence, "memories": shown, "instructions": instructions}
    message = {"role": "user", "content": prompts.render("complete", language, **values)}
    (answer,) = yield from ask([Prompt((message,), schema=_schema(memories), task="general")])
    return _read(answer, memories)


def _schema(memories: Sequence[Lacking]) -> dict[str, Any]:
    """Return the JSON schema of the answer: for every number an object with the fields that the memory lacks."""
    each = {str(number): _object({name: _SCHEMAS[name] for name in one.missing}) for number, one in enumerate(memories)}
    return _object(each)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _read(answer: Answer, memories: Sequence[Lacking]) -> Completion:
    names = dict.fromkeys(name for one in memories for name in one.missing)
    # Words of the answer go into memories: nothing of it may be a guess.
    said = said_about(answer, dict.fromkeys(names, ""), len(memories), exact=True)
    nothing = [one for one in said if not isinstance(one, Mapping)]
    failure = None
    if isinstance(answer, ModelFailure):
        failure = failure_of(answer)
    elif len(nothing) == len(said):
        why = nothing[0].reason if isinstance(nothing[0], Unsaid) else "what it says is no object"
        failure = Failure("UnreadableReply", f"none of {len(said)} memories was completed: {why}")
    given = tuple(
        _fields(value, one.missing) if isinstance(value, Mapping) else {}
        for value, one in zip(said, memories, strict=True)
    )
    return Completion(given, failure)


def _fields(said: Mapping[Any, Any], missing: Sequence[Missing]) -> dict[str, Any]:
    fields = Fields(said)
    given: dict[str, Any] = {
        "key": read_text(fields.get("key"), MAX_KEY_CHARS),
        "entities": _names(fields),
        "time": _day(read_time(fields.get("time"))),
    }
    return {FIELD_OF[name]: given[name] for name in missing if given[name] is not None}


def _names(fields: Fields) -> list[str] | None:
    held = fields.get("entities")
    if held is None:
        return None
    return list(read_names(held)) or ([] if says_nothing(held) else None)


def _day(time: str | None) -> str | None:
    """Return a time that names a day of the calendar, else None."""
    try:
        datetime.fromisoformat(time or "")
    except ValueError:
        return None
    return time if time and len(time) >= _DAY else None
