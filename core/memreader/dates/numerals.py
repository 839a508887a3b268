"""Chinese numerals up to 999, and years spelled figure by figure."""

from __future__ import annotations

import re

_FIGURES = {"〇": 0, "零": 0} | {c: i for i, c in enumerate("一二三四五六七八九", start=1)} | {"两": 2, "兩": 2}
_ONE = "[一二三四五六七八九两兩]"
_GRAMMAR = re.compile(rf"(?:({_ONE})百零?)?(?:({_ONE})?(十))?({_ONE})?")

NUMERAL = "〇零一二三四五六七八九两兩十百"
"""For use in a character class."""


def numeral_value(words: str) -> int | None:
    """Return the number, or None for what isn't one exact number (两三, 百).

    >>> numeral_value("二十三"), numeral_value("１２"), numeral_value("两三")
    (23, 12, None)
    """
    if words.isdecimal():
        return int(words)
    match = _GRAMMAR.fullmatch(words)
    if not words or match is None:
        return None
    hundreds, tens, ten, ones = match.groups()
    return 100 * _FIGURES.get(hundreds, 0) + 10 * (_FIGURES.get(tens, 1) if ten else 0) + _FIGURES.get(ones, 0)


def year_value(words: str) -> int | None:
    """Return the year of four figures (2023, 二〇二三), or None."""
    if words.isdecimal():
        return int(words)
    return int("".join(str(_FIGURES[c]) for c in words)) if set(words) <= _FIGURES.keys() else None
