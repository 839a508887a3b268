"""Where a text may be cut: after sentences, clauses and words, or between what a reader sees as characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]
"""Ascending offsets in code points."""

_STOP: Final = 1
"""Ends a sentence if a space follows."""
_FULL_STOP: Final = 2
"""Ends a sentence whatever follows."""
_CLOSER: Final = 4
_SPACE: Final = 8
_NEWLINE: Final = 16
_COMMA: Final = 32
"""Goes on with the sentence, even after a full stop and a quote."""

_KINDS: Final = (
    (".!?", _STOP),
    ("。！？；…．｡", _FULL_STOP),
    ("\"'”’»›)]}」』）】》〉］｝〕〗＂＇", _CLOSER),
    (",;:，、：", _COMMA),
    ("\n\r\x0b\x0c\x85\u2028\u2029", _NEWLINE | _SPACE),
)
_CJK = (
    "\u2e80-\u2eff\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
_NO_START = "\\s,.;:!?%)\\]}'\"”’»›，。、！？；：…）】》〉」』］｝〕〗々ー·～"
_NO_END = "(\\[{“‘«‹（【《〈「『［｛〔〖"
CLAUSE = re.compile(r"[,;:—–](?=\s)|[，、：]")
"""The end of a match is the end of a clause."""
WORD = re.compile(rf"(?<=\S)(?=\s)|(?<=[{_CJK}])(?=[^{_NO_START}])|(?<=[^\s{_NO_END}])(?=[{_CJK}])")
"""Empty matches where a word ends; between two characters of a script that has no spaces, too."""
# One set in front, so that the search skips to its next character; what follows is taken for good, so that no row of
# stops or spaces is walked twice.
_SENTENCE_START = re.compile(
    r"[.!?。！？；…．｡\r\n](?:(?<=[\r\n])\s*+|[.!?。！？；…．｡\"'”’»›)\]}』」）】》]*+"
    r"(?:\s++|(?<=[。！？；…．｡”』」）】》])(?![，、：,;:])))"
)
_SPACES = re.compile(r"\s*")
_BLANK_LINE = re.compile(r"\n\s*\n")
_NEVER_LAST = frozenset("mr mrs ms dr prof vs cf fig figs e.g i.e z.b d.h".split())
"""Abbreviations that a name or an example follows."""
_SELDOM_LAST = frozenset("st jr sr etc no nos vol eq dept approx a.m p.m u.s".split())
"""Abbreviations that end a sentence if a capital follows."""


@lru_cache(maxsize=1)
def _kind_table() -> npt.NDArray[np.uint8]:
    """Return the kind of every character of the basic plane, a bit set; characters beyond it have none."""
    table = np.zeros(0x10000, np.uint8)
    for code in range(0x10000):
        if chr(code).isspace():
            table[code] = _SPACE
    for characters, kind in _KINDS:
        for character in characters:
            table[ord(character)] = kind
    return table


def _kinds(text: str) -> npt.NDArray[np.uint8]:
    """Return the kind of each character, and a space for the end of the text."""
    table = _kind_table()
    if text.isascii():
        data = text.encode("ascii").translate(table[:256].tobytes()) + bytes([_SPACE])
        return np.frombuffer(data, np.uint8)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = np.empty(len(text) + 1, np.uint8)
    np.take(table, codes, out=kinds[:-1], mode="clip")
    kinds[-1] = _SPACE
    return kinds


def sentence_ends(text: str) -> Positions:
    """Return where sentences end, the space after them not included; the last one is the end of the text.

    A sentence ends after `.!?` before a space, after `。！？；…` anywhere, quotes and brackets that close there
    included, and before a line break. Full stops of abbreviations are among them: ask `goes_on` about the few at which
    a cut is wanted.
    """
    kinds = _kinds(text)
    stops = np.flatnonzero((kinds & (_STOP | _FULL_STOP)) != 0)
    ends = stops + 1
    more = np.zeros(len(stops), bool)
    for _ in range(4):
        more = (kinds[ends] & (_STOP | _FULL_STOP | _CLOSER)) != 0
        if not more.any():
            break
        ends += more
    after = kinds[ends]
    # Where the row of stops is longer than four, its last ones have the same end and find it.
    good = ~more & ((after & _SPACE != 0) | (kinds[stops] == _FULL_STOP)) & (after & _COMMA == 0)
    mark = np.zeros(len(text) + 1, bool)
    mark[ends[good]] = True
    mark[line_ends(text, kinds)] = True
    mark[0] = False
    mark[len(text)] = True
    return np.flatnonzero(mark)


def sentence_starts(text: str) -> Positions:
    """Return where the spaces after each sentence end: where the next one begins, and at last the end of the text."""
    starts = [0]
    for end in sentence_ends(text).tolist():
        # One inside the spaces that were skipped last leads to the same place; no space is walked twice.
        if end >= starts[-1] and (found := _SPACES.match(text, end)):
            starts.append(found.end())
    return np.unique(np.array(starts[1:], np.int64))


def next_sentences(text: str, low: int, high: int) -> Iterator[int]:
    """Yield where sentences begin in (low, high), found without looking at the rest of the text."""
    for found in _SENTENCE_START.finditer(text, low, high):
        at = found.end()
        if low < at < high and not goes_on(text, found.start() + 1):
            yield at


def line_ends(text: str, kinds: npt.NDArray[np.uint8] | None = None) -> Positions:
    """Return the offset of each line break that ends a line with something on it, and the end of the text."""
    kinds = _kinds(text) if kinds is None else kinds
    breaks = kinds & _NEWLINE
    found = np.flatnonzero(breaks[1:] > breaks[:-1]) + 1
    return np.append(found, len(text))


def paragraph_ends(text: str) -> Positions:
    """Return where the last line before each blank line ends, and the end of the text."""
    found = [m.start() - (text[m.start() - 1 : m.start()] == "\r") for m in _BLANK_LINE.finditer(text)]
    return np.array([*found, len(text)], np.int64)


def goes_on(text: str, end: int) -> bool:
    """Return whether the full stop before `end` belongs to an abbreviation or initial, not to a sentence's end.

    >>> goes_on("See Dr. Who.", 7), goes_on("See Dr. Who.", 12)
    (True, False)
    """
    if text[end - 1 : end] != "." or end >= len(text) or text[end] in "\r\n":
        return False
    follower = text[end : end + 8].lstrip()[:1]
    if follower.islower():
        return True
    words = text[max(0, end - 12) : end - 1].split()
    word = words[-1].lstrip("([{\"'“‘") if words else ""
    if len(word) == 1:
        return word.isupper()
    word = word.lower()
    return word in _NEVER_LAST or (word in _SELDOM_LAST and not follower.isupper())


def last_match(pattern: re.Pattern[str], text: str, low: int, high: int) -> int | None:
    """Return the largest end of a match in (low, high], or None. Searched from the right, in growing blocks."""
    width = 16
    right = high
    while right > low:
        left = max(low, right - width)
        best = None
        for found in pattern.finditer(text, left, min(len(text), right + 1)):
            if low < found.end() <= right:
                best = found.end()
        if best is not None:
            return best
        right, width = left, width * 2
    return None


def character_end(text: str, low: int, high: int) -> int:
    """Return the largest offset in (low, high] that parts no visible character (or pair of CR LF); `high` if all do.

    Looks back 64 code points at most: nobody reads longer piles of combining marks.
    """
    for at in range(high, max(low, high - 64), -1):
        if not _inside(text, at, low):
            return at
    return high


def _inside(text: str, at: int, low: int) -> bool:
    """Return whether a cut at `at` parts a character; flag letters pair up from `low`, which parts none."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if before == "\u200d" or after in "\u200d\u200c" or unicodedata.category(after)[0] == "M":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f" or "\u1160" <= after <= "\u11ff":
        return True
    if _is_regional(before) and _is_regional(after):
        row = 1
        while row < at - low and _is_regional(text[at - 1 - row]):
            row += 1
        return row % 2 == 1
    return unicodedata.combining(before) == 9


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
