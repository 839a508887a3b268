"""Words in Latin letters, where they stand in a text, and where their capitals say nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from memreader.graph.english_words import NEVER, STARTERS
from memreader.graph.found import CJK, MASK
from memreader.spelling import entity_key

_LETTER = rf"(?:(?![{CJK}])[^\W\d_])"
_WORD = re.compile(
    rf"(?<![\w{MASK}]){_LETTER}(?:{_LETTER}|\d)*(?:[-'’&]{_LETTER}+)*|(?<=[{CJK}]){_LETTER}(?:{_LETTER}|\d)*"
)
_ASCII_WORD = re.compile(rf"(?<![\w{MASK}])[A-Za-z][A-Za-z0-9]*(?:[-'&][A-Za-z]+)*")
"""The same where there is nothing but ASCII, in a third of the time."""
_START = re.compile(r"(?:\A|[.!?…:;\n。！？：；—–(（\[\"“«*•>|])[\s\"'“‘«(\[*_#>•¿¡-]*\Z")
_HYPHEN_START = re.compile(r"(?:^|\n)[\s\d.)]*[-–][ \t]*\Z")
CJK_CHARACTER = re.compile(f"[{CJK}，、“”《》]")
LINKERS = frozenset("of de la le du van von der den da del di dos das bin ibn al el y & the".split())
_GERMAN = frozenset(
    "der die das und ist nicht mit ein eine einen einem ich wir auf für von dem den auch im zu zum zur bei".split()
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word and what its letters tell."""

    text: str
    """Without an owner's 's."""
    start: int
    owner: bool
    before: str
    """What stands before it, 12 characters."""

    @property
    def begins(self) -> bool:
        """Whether it begins a sentence."""
        return _begins(self.before)

    @property
    def end(self) -> int:
        """Without an owner's 's."""
        return self.start + len(self.text)

    @property
    def lower(self) -> str:
        """In small letters, with straight quotes."""
        return self.text.lower().replace("’", "'")

    @property
    def capital(self) -> bool:
        """Whether a letter of it is a capital, but not all."""
        letters = self.text
        if letters.islower() or letters == letters.upper():
            return False
        return letters[0].isupper() or any(c.isupper() for c in letters[1:-1])

    @property
    def initial(self) -> bool:
        """Whether it is a single capital, but "I"."""
        return len(self.text) == 1 and self.text.isupper() and self.text != "I"

    @property
    def says_nothing(self) -> bool:
        """Whether it is no name wherever it stands."""
        return self.lower in NEVER or self.lower.partition("'")[0] in NEVER

    @property
    def starter(self) -> bool:
        """Whether it says nothing at the start of a sentence."""
        return self.says_nothing or self.lower in STARTERS or self.lower.partition("'")[0] in STARTERS


class Text:
    """A text and what is looked up in it: only when it is first needed, as most texts hold no name."""

    def __init__(self, text: str, speakers: Collection[str], language: str | None) -> None:
        self.text = text
        self.speakers = frozenset(entity_key(name) for name in speakers)
        self._language = language

    @cached_property
    def _words(self) -> list[str]:
        return [_unowned(match[0]) for match in matches(self.text)]

    @cached_property
    def _folded(self) -> str:
        return self.text.lower().replace("’", "'")

    @cached_property
    def _small(self) -> frozenset[str]:
        return frozenset(word.replace("’", "'") for word in self._words if word == word.lower())

    @cached_property
    def _inside(self) -> frozenset[str]:
        capitals = (word_at(self.text, match) for match in matches(self.text) if not match[0].islower())
        return frozenset(word.lower for word in capitals if word.capital and not word.begins and not word.starter)

    def has_small(self, word: str) -> bool:
        """Return whether a word that stands in it with a capital stands there without one, too."""
        return self._folded.count(word) > 1 and word in self._small

    def has_inside(self, word: str) -> bool:
        """Return whether a word that begins a sentence of it stands with a capital inside another one, too."""
        return self._folded.count(word) > 1 and word in self._inside

    @cached_property
    def strict(self) -> bool:
        """Whether a capital alone says nothing here."""
        return self._language == "de" or (self._language is None and _is_german(self._words))


def _is_german(words: list[str]) -> bool:
    small = sum(word in _GERMAN for word in words)
    return small >= 3 and small > 0.2 * len(words)


def matches(text: str) -> Iterator[re.Match[str]]:
    """Return where the words of `text` stand, in order."""
    return (_ASCII_WORD if text.isascii() else _WORD).finditer(text)


def _unowned(word: str) -> str:
    """Return `word` without an owner's 's."""
    owner = word[-1] in "sS" and word[-2:-1] in ("'", "’") and entity_key(word) != word.lower().replace("’", "'")
    return word[:-2] if owner else word


def word_at(text: str, match: re.Match[str]) -> Word:
    """Return the word of one of the `matches` in `text`."""
    bare, start = _unowned(match[0]), match.start()
    return Word(bare, start, len(bare) < len(match[0]), text[max(0, start - 12) : start])


def _begins(before: str) -> bool:
    if _START.search(before) or _HYPHEN_START.search(before):
        return True
    last = before.rstrip()[-1:]
    return not last or (unicodedata.category(last) in {"So", "Sk", "Cf", "Mn"} and last != MASK)


def loud_lines(text: str) -> list[tuple[int, int]]:
    """Return the spans of headings and shouting, where capitals say nothing."""
    spans = []
    for match in re.finditer(r"[^\n]+", text):
        line = match[0]
        words = [word for word in re.findall(r"[^\W\d_][\w'’-]*", line) if not CJK_CHARACTER.match(word)]
        telling = [word for word in words if word.lower() not in LINKERS and len(word) > 3] or words
        shouted = sum(word.isupper() and len(word) > 1 for word in words)
        titled = all(word[0].isupper() for word in telling) and not re.search(r"[.!?,。！？，]", line.strip())
        heading = len(words) >= 4 and len(telling) >= 3 and titled
        if heading or re.match(r"\s{0,3}#{1,6}\s", line) or (shouted >= 2 and shouted > 0.5 * len(words)):
            spans.append(match.span())
    return spans


class Quiet:
    """Tells, for rising places, whether a place is outside all spans."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._next = 0

    def at(self, place: int) -> bool:
        """Return whether `place`, not before the last one asked for, is outside."""
        while self._next < len(self._spans) and self._spans[self._next][1] <= place:
            self._next += 1
        return self._next == len(self._spans) or place < self._spans[self._next][0]
