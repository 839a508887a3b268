"""A name found in a text, and what of a text is no prose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["person", "place", "organisation", "work", "other"]

CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
HAN = "\u4e00-\u9fff"
MASK = "\x00"
"""Stands for each character of what is no prose."""


@dataclass(frozen=True, slots=True)
class Found:
    """A name: `text[start:end] == name`, offsets in code points; `kind` is "other" unless the text tells."""

    name: str
    kind: Kind
    start: int
    end: int


# The length limits keep a text full of openings without an end linear.
_NO_PROSE = re.compile(
    rf"""```(?:[^`]|`(?!``)){{0,20000}}```  |  `[^`\n]{{1,300}}`
    | (?:https?|ftp)://[^\s{CJK}，。）]+  |  \bwww\.[^\s{CJK}]+
    | (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[\w.-]+  |  (?<!\w)[@\#][^\W_][\w-]{{0,80}}
    | </?[A-Za-z][^<>\n]{{0,200}}>
    | (?<![\w/])(?:\.{{0,2}}/|[A-Za-z]:\\)[\w./\\-]{{2,200}}
    | \b[A-Za-z](?:\w{{0,60}}_\w{{1,60}}|\w{{0,60}}\(\)|\w{{2,60}}\.(?:[a-z]\w{{0,60}}\b|\w{{1,60}}\())
    | ^[^\S\n]{{0,40}}(?:def|class|import|from|return|const|let|var|function|public|private|SELECT|INSERT|UPDATE|
      \#include|>>>|\$)\s[^\n]{{0,500}}(?:[;{{}}():=*]|\bimport\b|\bFROM\b)[^\n]{{0,500}}$
    | ^[^\n]{{0,500}}[;{{}}][^\S\n]{{0,9}}$
    | \[(?:shared|image|photo|file|link|voice|video)\b[^\]\n]{{0,200}}\]""",
    re.VERBOSE | re.MULTILINE,
)

_MAY_BE_NO_PROSE = re.compile(r"[`@#<>\\/_;{}\[$]|\(\)|\.\w|www\.", re.IGNORECASE)
_CODE_LINE = re.compile(
    r"^[^\S\n]{0,40}(?:def|class|import|from|return|const|let|var|function|public|private|SELECT|INSERT|UPDATE)\s",
    re.MULTILINE,
)
"""One of the two is in every text that holds any of it; looking for them costs a tenth."""


def masked(text: str) -> str:
    """Return `text` of the same length with code, addresses, tags and paths blanked by NULs.

    >>> masked("see `Foo` at https://Bar.example now").replace(MASK, "_")
    'see _____ at ___________________ now'
    """
    if not _MAY_BE_NO_PROSE.search(text) and not _CODE_LINE.search(text):
        return text
    return _NO_PROSE.sub(lambda match: MASK * len(match[0]), text)


def without_overlaps(found: list[Found]) -> tuple[Found, ...]:
    """Return what doesn't overlap, in text order; where two do, the earlier of the list stays."""
    taken: dict[int, Found] = {}
    kept = []
    for each in found:
        if each.start < each.end and not any(place in taken for place in range(each.start, each.end)):
            taken.update(dict.fromkeys(range(each.start, each.end), each))
            kept.append(each)
    return tuple(sorted(kept, key=lambda each: each.start))


def occurrences(text: str, names: Collection[str], kind: Kind) -> Iterator[Found]:
    """Yield every place where one of `names` of at most 24 characters stands, the longest first where several begin.

    Looked up and not searched for one by one, so that many names cost no more than one.
    """
    sizes = sorted({len(name) for name in names if 1 < len(name) <= 24}, reverse=True)
    place = 0
    while sizes and place < len(text):
        size = next((size for size in sizes if text[place : place + size] in names), 0)
        if size:
            yield Found(text[place : place + size], kind, place, place + size)
        place += size or 1
