"""The JSON value in a model's answer, however it is wrapped or damaged, with a word on how far it can be trusted."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from memreader.extract.repair.choice import JOINT, Found, choose, rank
from memreader.extract.repair.endings import KEY_AHEAD
from memreader.extract.repair.mending import Mended, Mender, TooDeepError
from memreader.extract.repair.tokens import quoted
from memreader.extract.repair.words import decimal, has_surrogates, integer, unescape, whole

Status: TypeAlias = Literal["strict", "truncated", "repaired", "failed"]

MAX_CHARACTERS = 8 * 2**20
"""A longer answer is refused."""
_MOST_TRIES = 200
"""Brackets that are tried as the start of a value, after those that no value can start with."""

_Q = "\"'`\u201c\u201d\u201e\u2018\u300c\u300e\uff02"
_EDGES = "\ufeff\u200b\u200c\u200d\u200e\u200f\u2060 \t\r\n\f\v"
_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t>]{0,20}(?:`{3,}|~{3,})[ \t]*(\w*)[ \t]*$", re.MULTILINE)
_OPENER = re.compile(r"[{\[\uff5b\uff3b\u3010]")
_NEAR = r"[\s\ufeff\u200b\u2060]{0,99}"
_STARTS_OBJECT = re.compile(
    rf"[{{\uff5b](?:{_NEAR}(?:(?:[*_\-\u2022]{{1,3}}[ \t]{{0,9}})?[{_Q}{{}}\uff5d\[,]|[bBuUrR]['\"]|//|/\*|\#"
    r"|\\[\"n]|\Z)"
    rf"|{_NEAR}[^\W\d][\w\-]{{0,60}}[\"'*]?{_NEAR}[:\uff1a]|{_NEAR}&quot;|{_NEAR}\.\.\.)"
)
_STARTS_LIST = re.compile(
    rf"[\[\uff3b\u3010]{_NEAR}(?:[{_Q}{{\[\]\uff5b\uff3d(]|-?\d[\d.]{{0,20}}{_NEAR}[,\]]|(?:true|false|null|None|True|False)\b"
    r"|//|/\*|\\[\"n]|&quot;|\.\.\.|\Z)"
)
_ESCAPED = re.compile(r"[{\[]\s{0,99}(?:\\[nrt]|[{\[\s]){0,99}\\+\"")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_LAST_COMMA = re.compile(r",[ \n\r\t]*[}\]]")
_MOST_REST = 64
_CUT_REST = re.compile(r"\s*(?:[a-zA-Z]{0,8}|[-+.\deE]{0,40})\s*")
_FENCE_TAIL = re.compile(r"\s{0,50}(?:`{3,}|~{3,})\s{0,50}\Z")
_FIRST_NAME = re.compile(r"[\"'][\w \-]{1,60}[\"']\s{0,9}:")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What an answer holds.

    `strict`: it was JSON, perhaps in a fence, after a think block, or with words around it. `truncated`: its end is
    missing; what is there is as it was written. `repaired`: some of it is a guess. `failed`: no value.
    """

    value: Any
    """A JSON value; None if there is none. Never NaN, infinity, or half of a character."""
    status: Status
    lost: tuple[str, ...] = ()
    """What a repair or a cut dropped or had to guess, in words; of a failure, why."""


@dataclass(slots=True)
class _Reading:
    """One answer being read: its decoder, and what the decoder had to give up."""

    truncated: bool
    has_long_numbers: bool
    lost: list[str] = field(default_factory=list)
    decoder: json.JSONDecoder = field(init=False)
    known: tuple[str, json.JSONDecodeError] | None = None
    """The text in which `json` stumbled, and over what."""

    def __post_init__(self) -> None:
        # A hook for integers would cost more than all the rest: only texts that need it get it.
        parse_int = self._integer if self.has_long_numbers else None
        self.decoder = json.JSONDecoder(parse_constant=self._constant, parse_int=parse_int, parse_float=self._decimal)

    def _constant(self, name: str) -> None:
        self.lost.append(f"{name}, read as null")

    def _integer(self, digits: str) -> int | None:
        value = integer(digits)
        if value is None:
            self.lost.append(f"a number of {len(digits)} digits, read as null")
        return value

    def _decimal(self, digits: str) -> float | None:
        value = decimal(digits)
        if value is None:
            self.lost.append(f"{quoted(digits)}, too large for a number, read as null")
        return value


def parse_reply(text: str, *, truncated: bool = False) -> ParsedReply:
    """Return the JSON value in a model's answer, and how far it can be trusted. Never raises; linear in the length.

    Which value, where there are several: what follows the last `</think>`. Of that, an object with a list of objects
    or such a list before other objects, these before lists of words; then what stands in a fence; then the last of the
    first kind (a draft comes before the final answer), the largest of the others. Objects that follow one another with
    nothing but commas and space between them are one list. If a rival is passed over, the status is `repaired`.

    Of a cut answer only what is complete is kept: a string, number or name at the cut is dropped, whole fields and
    elements before it stay, in their objects and lists.

    Args:
        truncated: The model stopped at its length limit: a string without an end is cut, not just badly quoted.
    """
    if len(text) > MAX_CHARACTERS:
        return ParsedReply(None, "failed", (f"the answer has {len(text)} characters, more than {MAX_CHARACTERS}",))
    halves = has_surrogates(text)
    plain = whole(text) if halves else text
    try:
        parsed = _parse(plain, reading := _Reading(truncated, False), nested=0)
    except ValueError:
        # A number of more digits than Python turns into an int.
        parsed = _parse(plain, reading := _Reading(truncated, True), nested=0)
    value, lost = parsed.value, parsed.lost + tuple(dict.fromkeys(reading.lost))
    status: Status = "repaired" if reading.lost and parsed.status in ("strict", "truncated") else parsed.status
    if parsed.status == "failed":
        return parsed
    if halves or (("\\ud" in text or "\\uD" in text) and _HALF.search(text)):
        value, changed = _mended_characters(value)
        if changed or halves:
            status, lost = "repaired", (*lost, "characters of which only half was there")
    return ParsedReply(value, status, lost)


def _parse(text: str, reading: _Reading, *, nested: int) -> ParsedReply:
    body = text.strip(_EDGES)
    for candidate in dict.fromkeys((body, _unfenced(_without_thoughts(body)))):
        try:
            value = reading.decoder.decode(candidate)
        except json.JSONDecodeError as error:
            reading.known = candidate, error
            reading.lost.clear()
            continue
        except RecursionError:
            reading.lost.clear()
            continue
        if isinstance(value, str) and nested < 2 and _OPENER.match(value.strip(_EDGES)):
            inner = _parse(value, reading, nested=nested + 1)
            if inner.status != "failed":
                return inner
        return ParsedReply(value, "strict")
    body = _without_thoughts(body)
    if not body:
        return ParsedReply(None, "failed", ("the answer is blank",))
    if nested < 2 and (plainer := _plainer(body)) is not None:
        inner = _parse(plainer, reading, nested=nested + 1)
        if inner.status != "failed":
            return ParsedReply(inner.value, "repaired", inner.lost)
    try:
        found = _candidates(body, reading)
    except TooDeepError as error:
        return ParsedReply(None, "failed", (str(error),))
    if _THINKING.match(body):
        # Never closed: what was thought isn't an answer, but for a value at its very end.
        end = len(_trimmed(body, len(body)))
        found = [replace(one, exact=False) for one in found if one.end >= end]
    chosen = choose(body, found)
    if chosen is None:
        return ParsedReply(None, "failed", (f"there is no JSON in {quoted(body)}",))
    status: Status = "repaired" if not chosen.exact else "truncated" if chosen.cut else "strict"
    return ParsedReply(chosen.value, status, chosen.lost)


def _without_thoughts(text: str) -> str:
    """Return the text after the last think block; what a model thinks may hold drafts."""
    ends = [match.end() for match in _THOUGHT.finditer(text)] if "</" in text else []
    return text[ends[-1] :].strip(_EDGES) or text if ends else text


def _unfenced(text: str) -> str:
    """Return what is in the fence, if the text is one fence."""
    first = _FENCE.match(text)
    lines = text.rstrip().rsplit("\n", 1)
    if first and len(lines) == 2 and _FENCE.fullmatch(lines[1]):
        return text[first.end() : len(lines[0])].strip(_EDGES)
    return text


def _plainer(text: str) -> str | None:
    """Return the text with one level of escaping taken off, if all of its quotes are escaped."""
    opener = _OPENER.search(text)
    if opener is None:
        return None
    start = opener.start()
    head = text[start : start + 200]
    if "&quot;" in head and '"' not in head:
        return html.unescape(text)
    if _ESCAPED.match(text, start):
        return text[:start] + unescape(text[start:])[0]
    return None


def _candidates(text: str, reading: _Reading) -> list[Found]:
    """Return the values in the text that stand in no other, in order."""
    fences = [match.span() for match in _FENCE.finditer(text)] if "```" in text or "~~~" in text else []
    menders: dict[int, Mender] = {}
    found: list[Found] = []
    at = passed = 0
    for _ in range(_MOST_TRIES):
        start, implied = _next_start(text, at)
        if start < 0:
            break
        while passed < len(fences) and fences[passed][1] <= start:
            passed += 1
        fenced = passed % 2 == 1
        limit = fences[passed][0] if fenced and passed < len(fences) else len(text)
        one = None if implied else _in_order(text, start, reading, fenced=fenced)
        if not isinstance(one, Found):
            ended = _trimmed(text, limit)
            bad = 0 if one is None else one.pos
            one = (
                None
                if one is None
                else (
                    _without_comma(text, start, one, reading, fenced=fenced)
                    or _cut_off(ended, start, one, reading, fenced=fenced)
                )
            )
        if one is None:
            if limit not in menders:
                menders[limit] = Mender(ended, reading.decoder, truncated=reading.truncated)
            one = _as_found(menders[limit].mend(start, implied=implied, bad=bad), start, fenced=fenced)
        found.append(one)
        at = max(one.end, start + 1)
    return found


def _next_start(text: str, at: int) -> tuple[int, bool]:
    """Return where the next value starts, and whether its opening brace is missing there; -1: nowhere."""
    first = at
    while opener := _OPENER.search(text, at):
        start = opener.start()
        pattern = _STARTS_LIST if opener[0] in "[\uff3b\u3010" else _STARTS_OBJECT
        if pattern.match(text, start):
            name = _FIRST_NAME.search(text, first, start)
            return (name.start(), True) if name else (start, False)
        at = opener.end()
    name = _FIRST_NAME.match(text, first) if not first else None
    return (name.start(), True) if name else (-1, False)


def _in_order(text: str, start: int, reading: _Reading, *, fenced: bool) -> Found | json.JSONDecodeError | None:
    """Return the value at `start`, or what is wrong with it; None if what is behind it looks like more of it."""
    noted = len(reading.lost)
    if reading.known and not start and reading.known[0] == text and reading.known[1].msg != "Extra data":
        return reading.known[1]
    try:
        value, end = reading.decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        del reading.lost[noted:]
        return error
    except RecursionError:
        return None
    joint = JOINT.match(text, end)
    assert joint is not None
    behind = text[joint.end() : joint.end() + 1]
    if KEY_AHEAD.match(text, joint.end()) or (
        isinstance(value, list) and "," in joint[0] and behind in ("{", "[", '"')
    ):
        del reading.lost[noted:]
        return None
    return Found(start, end, value, behind not in ("}", "]"), fenced=fenced)


def _without_comma(
    text: str, start: int, error: json.JSONDecodeError, reading: _Reading, *, fenced: bool
) -> Found | None:
    """Return the value at `start`, if all that is wrong with it is a comma or two before a closing bracket."""
    for dropped in range(1, 4):
        at = error.pos if text[error.pos : error.pos + 1] == "," else len(text[: error.pos].rstrip()) - 1
        if not (comma := _LAST_COMMA.match(text, max(at, 0))):
            return None
        text = text[: comma.start()] + text[comma.start() + 1 :]
        one = _in_order(text, start, reading, fenced=fenced)
        if isinstance(one, Found):
            return replace(one, end=one.end + dropped, exact=False)
        if one is None:
            return None
        error = one
    return None


def _cut_off(text: str, start: int, error: json.JSONDecodeError, reading: _Reading, *, fenced: bool) -> Found | None:
    """Return what is complete of the value at `start`, if all that is wrong with it is that its end is missing."""
    rest = len(text) - error.pos
    is_end = (rest < _MOST_REST and _CUT_REST.fullmatch(text, error.pos)) or (rest < 16 and "\\" in error.msg)
    if not is_end and not error.msg.startswith("Unterminated string"):
        return None
    mender = Mender(text, reading.decoder, truncated=reading.truncated, literal=True)
    mended = mender.mend(start, bad=error.pos)
    return _as_found(mended, start, fenced=fenced) if mended.exact and mended.cut else None


def _trimmed(text: str, limit: int) -> str:
    """Return the text up to `limit`, without a fence's end."""
    tail = _FENCE_TAIL.search(text, max(0, limit - 100), limit)
    return text[: tail.start() if tail else limit]


def _as_found(mended: Mended, start: int, *, fenced: bool) -> Found:
    value, exact = mended.value, mended.exact and mended.cut
    if mended.cut and exact and mended.open == 1 and isinstance(value, list) and len(value) == 1:
        # A list that ends right behind its only element: where that is an answer of its own, the bracket is stray.
        only = value[0]
        if isinstance(only, list) or rank(only) == 3:
            value, exact = only, False
    return Found(start, mended.end, value, exact, mended.cut, mended.lost, fenced)


def _mended_characters(value: Any) -> tuple[Any, bool]:
    """Return the value with halves of characters replaced, and whether there were any."""
    holder = [value]
    waiting: list[Any] = [holder]
    changed = False
    while waiting:
        inner = waiting.pop()
        for key in list(inner) if isinstance(inner, dict) else range(len(inner)):
            entry = inner[key]
            if isinstance(entry, str) and has_surrogates(entry):
                entry, changed = whole(entry), True
                inner[key] = entry
            elif isinstance(entry, dict | list):
                waiting.append(entry)
            if isinstance(key, str) and has_surrogates(key):
                changed = True
                inner[whole(key)] = inner.pop(key)
    return holder[0], changed
