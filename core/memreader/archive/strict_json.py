"""JSON without its loose ends: no key twice, no NaN, no number that is infinite, no nesting without bottom."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from memreader.archive.flaws import Flaw

MAX_FRAME = 1_000_000


def decode(text: str, *, max_frame: int = MAX_FRAME) -> Any:
    """Return the value of a whole JSON text.

    Args:
        text: JSON.
        max_frame: See `check_frame`.

    Raises:
        Flaw: It is none, or has something that we don't take.
    """
    check_frame(text, max_frame)
    value, end = decode_at(text, 0)
    if text[end:].strip(" \t\r\n"):
        raise Flaw("is not JSON: something follows after its end")
    return value


def check_frame(text: str, limit: int = MAX_FRAME) -> None:
    """Return if at most `limit` characters of a JSON text stand outside of its strings.

    Brackets and commas take up to 25 times their size of memory as Python's objects; strings hardly more than theirs.

    Raises:
        Flaw: There are more.
    """
    if len(text) <= limit:
        return
    outside = last = 0
    for match in _STRING.finditer(text):
        outside += match.start() - last
        last = match.end()
        if outside > limit:
            break
    else:
        outside += len(text) - last
    if outside > limit:
        raise Flaw("has far more parts than it can need")


def decode_at(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that begins at `start`, and where it ends.

    Raises:
        Flaw: As for `decode`.
    """
    try:
        return _DECODER.raw_decode(text, start)
    except Flaw:
        raise
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError:
        # Python's own limit on digits.
        problem = "has a number of thousands of digits"
    raise Flaw(problem)


def encode(value: Any) -> str:
    """Return JSON text on one line, nothing escaped that need not be.

    Raises:
        Flaw: `value` holds something that JSON can't.
    """
    try:
        return _ENCODER.encode(value)
    except (ValueError, TypeError, RecursionError):
        problem = "holds something that JSON can't: a number that is not finite, an object, or itself"
    raise Flaw(problem)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise Flaw(f"has the key {twice[:80]!r} twice")
    return made


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Flaw("has a number too large to keep")
    return number


def _refused(name: str) -> Any:
    raise Flaw(f"has {name}, which is not JSON")


# Possessive, and to the end where a string has none: linear, whatever the text.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_refused)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
