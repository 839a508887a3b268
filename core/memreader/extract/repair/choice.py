"""Which of several JSON values in an answer is the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from memreader.extract.repair.endings import COMMAS
from memreader.extract.repair.tokens import quoted

JOINT = re.compile(rf"[\s{COMMAS}]*")
_ALONE_BEFORE = re.compile(r"(?:^|\n|[:\uff1a=>`(])[ \t]*\Z")
_ALONE_AFTER = re.compile(r"[ \t.;)]*(?:\n|\Z|</|```)")


@dataclass(frozen=True, slots=True)
class Found:
    """A value in the text and where it stands."""

    start: int
    end: int
    value: Any
    exact: bool
    cut: bool = False
    lost: tuple[str, ...] = ()
    fenced: bool = False


def choose(text: str, found: list[Found]) -> Found | None:
    """Return the value that is the answer, None if none is; `parse_reply` tells the rule."""
    kept = [one for one in _grouped(text, found) if _counts(text, one)]
    if not kept:
        return None
    best = max(rank(one.value) for one in kept)
    rivals = [one for one in kept if rank(one.value) == best]
    rivals = [one for one in rivals if one.fenced] or rivals
    chosen = rivals[-1] if best == 3 or len(rivals) == 1 else max(reversed(rivals), key=lambda one: _entries(one.value))
    passed = [one for one in kept if one is not chosen and rank(one.value) >= 2 and one.value != chosen.value]
    lost = chosen.lost + tuple(f"another value: {quoted(text[one.start : one.end])}" for one in passed)
    return replace(chosen, exact=chosen.exact and not passed, lost=lost[:30])


def _grouped(text: str, found: list[Found]) -> list[Found]:
    """Return the values with objects that follow one another as one list, unless one of them is an answer itself."""
    groups: list[list[Found]] = []
    for one in found:
        before = groups[-1][-1] if groups else None
        joins = before is not None and JOINT.fullmatch(text, before.end, one.start) and _is_entry(before, one)
        if joins:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [group[0] if len(group) == 1 else _joined(group) for group in groups]


def _is_entry(before: Found, one: Found) -> bool:
    return all(isinstance(value, dict) and value and rank(value) == 2 for value in (before.value, one.value))


def _joined(group: list[Found]) -> Found:
    first, last = group[0], group[-1]
    lost = tuple(what for one in group for what in one.lost)
    return Found(first.start, last.end, [one.value for one in group], False, last.cut, lost, first.fenced)


def _counts(text: str, one: Found) -> bool:
    """Tell whether a value may be an answer: a list of words, or nothing, in the middle of a sentence may not."""
    if rank(one.value) >= 2:
        return True
    before = _ALONE_BEFORE.search(text, max(0, one.start - 50), one.start)
    is_alone = one.fenced or bool(before and _ALONE_AFTER.match(text, one.end))
    return is_alone and (bool(one.value) or one.exact or one.cut)


def rank(value: Any) -> int:
    """Return 3 for what holds a list of objects or is one, 2 for other objects, 1 for the rest."""
    if isinstance(value, dict):
        return 3 if any(_is_list_of_objects(inner) for inner in value.values()) else 2 if value else 1
    return 3 if _is_list_of_objects(value) else 1


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(inner, dict) for inner in value)


def _entries(value: Any) -> int:
    """Return how many names and elements a value has in all."""
    count, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict | list):
            count += len(inner)
            waiting.extend(inner.values() if isinstance(inner, dict) else inner)
    return count
