"""The text of a parsed document: cleaned, its pages put together, its title found, and whether it says anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memreader.text import clean

_INLINE_IMAGE = re.compile(r"!\[([^\[\]\n]{0,500})\]\(\s{0,9}data:[^)\s!\[]*(?:[ \t][^)\n!\[]{0,500})?\)")
_IMAGE = re.compile(r"!\[[^\[\]\n]{0,500}\]\([^)\n!\[]{0,2000}\)")
_RULES = re.compile(r"[\s|#*_>=:\-]+")
_NO_VALUE = re.compile(r"(?<=\| )(?:NaN|NaT|Unnamed: \d{1,6})(?= \|)")
_SCAFFOLD = {
    "xlsx": re.compile(r"^## .*$", re.MULTILINE),
    "msg": re.compile(r"^# Email Message$|^## Content$", re.MULTILINE),
    "epub": re.compile(r"\A(?:\*\*[A-Z][a-z]+:\*\* .*\n?)+"),
}
"""What markitdown writes around a document's own words, by kind."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*\Z")
_TITLE_WITHIN = 200
_MAX_TITLE = 200


def drop_inline_images(text: str) -> str:
    """Return markdown with images that carry their bytes in the text (`data:`) replaced by their alt text.

    >>> drop_inline_images("a ![a cat](data:image/png;base64,iVBORw0=) b")
    'a a cat b'
    """
    return _INLINE_IMAGE.sub(r"\1", text)


def drop_missing_values(text: str) -> str:
    r"""Return the tables of a workbook with empty cells where pandas writes NaN, NaT and Unnamed: 3.

    >>> drop_missing_values("| city | Unnamed: 1 |\n| --- | --- |\n| NaN | NaN |")
    '| city |  |\n| --- | --- |\n|  |  |'
    """
    return _NO_VALUE.sub("", text)


def join_pages(parts: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    r"""Return the cleaned text of all pages, and the offset at which each page begins in it.

    Pages are stripped of blank lines around them and parted by an empty line. A page without words begins where the
    next one with words does, or at the end.

    >>> join_pages(["one\r\n", "", "three\n"])
    ('one\n\nthree', (0, 5, 5))
    """
    pieces: list[str] = []
    starts: list[int | None] = []
    end = 0
    for part in parts:
        piece = clean(part).strip()
        start = end + 2 if pieces else 0
        starts.append(start if piece else None)
        if piece:
            pieces.append(piece)
            end = start + len(piece)
    following = end
    filled: list[int] = []
    for begin in reversed(starts):
        following = following if begin is None else begin
        filled.append(following)
    return "\n\n".join(pieces), tuple(reversed(filled))


def says_nothing(text: str, kind: str) -> bool:
    r"""Return whether a document's text is only white space, pictures, table rules and what its reader put around.

    >>> says_nothing("## Sheet1\n|  |\n| --- |", "xlsx"), says_nothing("![Picture 2](Picture2.jpg)", "pptx")
    (True, True)
    """
    scaffold = _SCAFFOLD.get(kind)
    words = scaffold.sub("", text) if scaffold else text
    return not _RULES.sub("", _IMAGE.sub("", words))


def title_of(text: str) -> str | None:
    r"""Return the title of cleaned markdown: `title:` of its front matter, else the first heading near the top.

    >>> title_of("intro\n\n## The *plan* ##\n\n# More")
    'The *plan*'
    """
    lines = text.lstrip("\n").split("\n", _TITLE_WITHIN)[:_TITLE_WITHIN]
    if lines[0].rstrip() == "---" and "---" in (rest := [line.rstrip() for line in lines[1:]]):
        front, lines = rest[: rest.index("---")], rest[rest.index("---") + 1 :]
        for line in front:
            if line.startswith("title:") and line[6:].strip(" \"'"):
                return as_title(line[6:].strip(" \"'"))
    fence = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            return as_title(heading[1].strip().rstrip("#"))
        elif not fence and line.strip() and _UNDERLINE.match(below):
            return as_title(line)
    return None


def as_title(words: str | None) -> str | None:
    """Return `words` cleaned, on one line, at most 200 characters; None if nothing is left."""
    return " ".join(clean(words or "").split())[:_MAX_TITLE].strip() or None
