"""What words and escapes in damaged JSON mean: Python's and JavaScript's literals, odd numbers, wrong backslashes."""

from __future__ import annotations

import math
import re
from typing import Any, Final

NOT_A_VALUE: Final = object()
"""Says that words are neither a number nor a literal."""

MOST_DIGITS = 4000
"""A longer number is read as null: Python refuses to turn it into an int."""

_LITERALS = {
    "true": True, "false": False, "null": None, "none": None, "undefined": None, "nil": None, "nan": None,
    "infinity": None, "-infinity": None, "+infinity": None, "inf": None, "-inf": None,
}  # fmt: skip
_INTEGER = re.compile(r"[+-]?\d[\d_]*")
_DECIMAL = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.|\Z)", re.DOTALL)
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LENIENT = {"'": "'", "`": "`", "\n": "", "\u201c": "\u201c", "\u201d": "\u201d"}
_DRIVE = re.compile(r"[A-Za-z]:\\[^\\]")
_COMMAND = re.compile(r"\\[a-zA-Z(\[]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def integer(digits: str) -> int | None:
    """Return the number; None if it is longer than any that is meant."""
    return int(digits) if len(digits) <= MOST_DIGITS else None


def decimal(digits: str) -> float | None:
    """Return the number; None if it is too large for a float."""
    value = float(digits)
    return value if math.isfinite(value) else None


def plain_value(words: str) -> Any:
    """Return the number or literal that stands there without quotes, or `NOT_A_VALUE`."""
    if (low := words.lower()) in _LITERALS:
        return _LITERALS[low]
    if _HEXADECIMAL.fullmatch(words):
        return int(words, 16)
    if _INTEGER.fullmatch(words):
        return integer(words.replace("_", ""))
    if _DECIMAL.fullmatch(words):
        return decimal(words.replace("_", ""))
    return NOT_A_VALUE


def unescape(raw: str) -> tuple[str, bool]:
    r"""Return what a string with backslashes says, and whether they all were JSON's.

    A backslash before anything that JSON doesn't know stays (`C:\Program`, `\alpha`). In a path with a drive, and
    beside LaTeX commands, what looks like `\n` or `\t` before letters stays too.
    """
    exact = True
    literal = bool(_DRIVE.match(raw)) and "\\\\" not in raw
    latex = any(found[0][1] not in "bfnrtux" for found in _COMMAND.finditer(raw))

    def meaning(match: re.Match[str]) -> str:
        nonlocal exact
        code = match[1]
        following = raw[match.end() : match.end() + 1]
        if code in _SIMPLE and not (code in "bfnrt" and (literal or (latex and code in "bft" and following.isalpha()))):
            return _SIMPLE[code]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        exact = False
        if len(code) == 3 and not literal:
            return chr(int(code[1:], 16))
        return _LENIENT.get(code, match[0])

    return whole(_ESCAPE.sub(meaning, raw)), exact


def has_surrogates(text: str) -> bool:
    """Tell whether the text has halves of characters, which no encoding takes."""
    return not text.isascii() and bool(_SURROGATE.search(text))


def whole(text: str) -> str:
    """Return the text with halves of a character joined, and those without their other half as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if has_surrogates(text) else text
