"""What a model says about numbered memories: how it is asked, and what of its answer can be relied on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memreader.calling import Answer, ModelFailure, Prompt
from memreader.extract.failing import failure_of
from memreader.extract.reply import parse_reply
from memreader.plan import Plan, ask
from memreader.prompts import Prompts
from memreader.text import clean

MAX_PER_PROMPT = 30
"""Memories that one call judges."""
_MAX_REASON_CHARS = 500
_NUMBER = re.compile(r"\D{0,20}(\d{1,6})\D{0,5}")
_NUMBER_FIELDS = ("index", "number", "id", "mem_idx", "no")
_YES = frozenset({"true", "yes", "是", "对", "真"})
_NO = frozenset({"false", "no", "否", "不", "不是", "假"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one memory."""

    keep: bool
    text: str
    """The new words of a reworded one, else the memory as it was."""
    reason: str
    """The model's; of "no verdict", what was wrong with its answer."""
    status: Literal["kept", "rewritten", "dropped", "no verdict"]
    failed: bool = False
    """Whether there is none because the call failed, or its answer can't be read at all."""


def kept(text: str, reason: str) -> Verdict:
    """Return that the model found nothing wrong."""
    return Verdict(True, text, reason, "kept")


def unjudged(text: str, reason: str) -> Verdict:
    """Return that nothing can be relied on: the memory stays."""
    return Verdict(True, text, reason, "no verdict")


@dataclass(frozen=True, slots=True)
class Gate:
    """One kind of second look."""

    task: str
    """Name of its prompt."""
    fields: Mapping[str, str]
    """Fields of a verdict and their JSON types; the first one decides."""
    read: Callable[[str, object], Verdict]
    """Makes a verdict on a memory of what the model said about it."""
    takes_words: bool = False
    """Whether words of the answer go into memories; then nothing of it may be a guess."""

    def __call__(
        self,
        memories: Sequence[str],
        *,
        evidence: str,
        language: str,
        prompts: Prompts,
        language_name: str | None = None,
        instructions: str = "",
    ) -> Plan[list[Verdict]]:
        """Return one verdict per memory, in order; many memories are asked about in several prompts of one batch.

        Where the model says nothing about a memory, or nothing that can be used (no answer, no JSON, another type), it
        is kept as it is, with the status "no verdict".

        Args:
            memories: Texts of memories; with none, nothing is asked.
            evidence: What they were read from, as a passage is shown; with none, nothing is asked.
            language: Of the memories, ISO 639-1.
            prompts: Where the prompt of `task` is taken from.
            language_name: What the prompt calls the language; None for its English name.
            instructions: Further rules.
        """
        if not evidence.strip():
            return [unjudged(memory, "there is no text to compare it with") for memory in memories]
        groups = [memories[start : start + MAX_PER_PROMPT] for start in range(0, len(memories), MAX_PER_PROMPT)]
        named = {} if language_name is None else {"language": language_name}
        asked = []
        for group in groups:
            values = {"conversation": evidence, "memories": _numbered(group), "instructions": instructions, **named}
            message = {"role": "user", "content": prompts.render(self.task, language, **values)}
            asked.append(Prompt((message,), schema=_schema(self, len(group)), task="general"))
        answers = yield from ask(asked)
        return [
            verdict for group, answer in zip(groups, answers, strict=True) for verdict in _read(self, group, answer)
        ]


def _numbered(memories: Sequence[str]) -> str:
    """Return one line per memory, each a JSON string: no memory can pose as another one."""
    return "\n".join(f"{number}: {json.dumps(memory, ensure_ascii=False)}" for number, memory in enumerate(memories))


def _schema(gate: Gate, count: int) -> dict[str, Any]:
    one = _object({name: {"type": kind} for name, kind in gate.fields.items()})
    return _object({str(number): one for number in range(count)})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _read(gate: Gate, memories: Sequence[str], answer: Answer) -> list[Verdict]:
    if isinstance(answer, ModelFailure):
        reason = failure_of(answer).reason
        return [replace(unjudged(memory, reason), failed=True) for memory in memories]
    parsed = parse_reply(answer.text, truncated=answer.truncated)
    if parsed.status == "failed":
        return [replace(unjudged(memory, "the answer is not JSON"), failed=True) for memory in memories]
    if gate.takes_words and parsed.status == "repaired" and parsed.lost:
        return [unjudged(memory, "the answer is damaged") for memory in memories]
    said = _by_number(parsed.value, gate, len(memories), whole=not parsed.lost and parsed.status != "truncated")
    return [
        gate.read(memory, said[number][0])
        if len(said.get(number, ())) == 1
        else unjudged(memory, "two verdicts on it" if number in said else "the answer says nothing about it")
        for number, memory in enumerate(memories)
    ]


def _by_number(value: object, gate: Gate, count: int, *, whole: bool) -> dict[int, list[object]]:
    """Return what is said about each memory; numbers that no memory has are left out."""
    entries = list(_entries(_unwrapped(value, gate), gate, count, whole=whole))
    if count > 1 and sorted(number for number, _ in entries) == list(range(1, count + 1)):
        # Counted from one, it seems; a memory may not fall for its neighbour's verdict.
        return {}
    said: dict[int, list[object]] = {}
    for number, entry in entries:
        if number < count:
            said.setdefault(number, []).append(entry)
    return said


def _unwrapped(value: object, gate: Gate) -> object:
    """Return the verdicts themselves, where an object such as {"verdicts": ...} holds them."""
    if not isinstance(value, Mapping) or any(name in gate.fields or _number(name) is not None for name in value):
        return value
    held = [one for one in value.values() if isinstance(one, Mapping | list)]
    return held[0] if len(held) == 1 else value


def _entries(value: object, gate: Gate, count: int, *, whole: bool) -> Iterator[tuple[int, object]]:
    deciding = next(iter(gate.fields))
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


def yes_or_no(value: object) -> bool | None:
    """Return a truth value, also one in words; None for anything else.

    >>> yes_or_no(False), yes_or_no(" Yes "), yes_or_no("否"), yes_or_no(1), yes_or_no("maybe")
    (False, True, False, None, None)
    """
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def reason_of(said: object) -> str:
    """Return the reason in a verdict, cut; "" if there is none."""
    reason = said.get("reason") if isinstance(said, Mapping) else None
    return clean(reason[:_MAX_REASON_CHARS]).strip() if isinstance(reason, str) else ""
