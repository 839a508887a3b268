"""What a model found, tied to the lines it stands in: who said it, and when it happened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from memreader.chunking.boundaries import sentence_starts
from memreader.dates import annotate, find_dates, resolve_date
from memreader.extract.passage import Line, Passage
from memreader.extract.schema import FoundMemory
from memreader.extract.words import support

STRONG = 0.5
"""Of a statement's words that a line must hold to be its source where the model names none."""
_OF_USER = re.compile(r"^(?:the )?user\b|^用户|^使用者", re.IGNORECASE)
_BRACKETED = re.compile(r"[(（](\d{4}-\d{2}-\d{2})[)）]")
_SAID = {"zh": "助手说：{}"}


def cited_lines(found: FoundMemory, passage: Passage) -> tuple[Line, ...]:
    """Return the lines that a memory rests on, in the passage's order.

    Those that the model names, if they exist; where none of them holds a word of the memory and another line holds half
    of it, that one. Without a name the line that holds most, if that is half; else all lines that were to be read.
    """
    lines = passage.lines
    named = [lines[number - 1] for number in sorted(set(found.lines)) if 1 <= number <= len(lines)]
    scores = support(found.value, [line.text for line in lines])
    if named and any(scores[number - 1] for number in found.lines if 1 <= number <= len(lines)):
        return tuple(named)
    best = max(range(len(lines)), key=lambda place: scores[place])
    if scores[best] >= STRONG:
        return (lines[best],)
    return tuple(named) or passage.fresh


def said_by(found: FoundMemory, lines: Sequence[Line], language: str) -> tuple[str, str]:
    """Return a memory's words and type with the roles kept apart: what only an assistant said is no fact of the user's.

    Where such words speak of the user, they say who said so.
    """
    roles = {line.role for line in lines}
    if roles != {"assistant"}:
        return found.value, found.memory_type
    kind = "LongTermMemory" if found.memory_type == "UserMemory" else found.memory_type
    if _OF_USER.search(found.value.strip()):
        return _SAID.get(language, "The assistant said: {}").format(found.value), kind
    return found.value, kind


def dated(
    text: str, time: str | None, lines: Sequence[Line], passage: Passage, language: str
) -> tuple[str, str | None, bool]:
    """Return the words with dates beside relative ones, when it happened, and whether that is only the time of reading.

    It happened on the one day that the words name in relation to when they were said ("yesterday"), or have in brackets
    beside such words; else when the model says, if that is a whole date; else on the one day that the sentences they
    rest on name; else when they were said.

    Args:
        text: Words of a memory.
        time: What the model said about the time.
        lines: What the memory rests on.
        passage: Where they stand.
        language: Of the words.
    """
    said = next((line.time for line in lines if line.time is not None), None)
    base = _moment(said)
    if base is None:
        # Nobody said when: a date in relation to the time of reading would be made up.
        named = _whole(resolve_date(time, datetime.min)) if time and _is_iso(time) else None
        return (text, named, False) if named else (text, passage.time, passage.time_inferred)
    happened = _one(set(_BRACKETED.findall(text))) or _one(_days(text, base))
    if happened is None and time:
        happened = _whole(resolve_date(time, base))
    if happened is None and not _days(text, base):
        happened = _one({day for line in lines for day in _days(_closest(text, line.text), _moment(line.time))})
    return annotate(text, base, language=language), happened or said, False


def _one(days: set[str]) -> str | None:
    """Return the only one of several days that is a date, None where there is none or more."""
    return _whole(next(iter(days))) if len(days) == 1 else None


def _whole(time: str | None) -> str | None:
    """Return a time that names a day of the calendar; "2023-03" doesn't."""
    return time if _moment(time) is not None and time and len(time) >= len("2023-03-01") else None


def _closest(text: str, line: str) -> str:
    """Return the sentence of a line that holds most of a memory's words: the others may be about another day."""
    said = [line[start:end] for start, end in pairwise([0, *sentence_starts(line).tolist(), len(line)])]
    scores = support(text, said)
    return said[max(range(len(said)), key=lambda place: scores[place])]


def _days(text: str, base: datetime | None) -> set[str]:
    if base is None:
        return set()
    return {found.iso for found in find_dates(text, base, day_only=True) if found.relative}


def _moment(time: str | None) -> datetime | None:
    try:
        return None if time is None else datetime.fromisoformat(time)
    except ValueError:
        return None


def _is_iso(time: str) -> bool:
    return bool(re.match(r"\d{4}-\d{2}-\d{2}", time.strip()))
