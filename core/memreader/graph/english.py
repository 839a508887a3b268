"""Names in Latin letters, by capitals inside sentences and by closed word lists."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from memreader.graph.english_kinds import kind_of
from memreader.graph.english_words import BOTH_WORD_AND_NAME, GIVEN_NAMES, NEVER, ORGANISATION_ENDS, PLACE_ENDS, PLACES
from memreader.graph.english_words import STARTERS as _STARTERS
from memreader.graph.found import CJK, MASK, Found
from memreader.spelling import entity_key

_LETTER = rf"(?:(?![{CJK}])[^\W\d_])"
_WORD = re.compile(
    rf"(?<![\w{MASK}]){_LETTER}(?:{_LETTER}|\d)*(?:[-'’&]{_LETTER}+)*|(?<=[{CJK}]){_LETTER}(?:{_LETTER}|\d)*"
)
_START = re.compile(r"(?:\A|[.!?…:;\n。！？：；—–(（\[\"“«*•>|])[\s\"'“‘«(\[*_#>•¿¡-]*\Z")
_HYPHEN_START = re.compile(r"(?:^|\n)[\s\d.)]*[-–][ \t]*\Z")
_CJK_CHARACTER = re.compile(f"[{CJK}，、“”《》]")
_LINKERS = frozenset("of de la le du van von der den da del di dos das bin ibn al el y & the".split())
_TITLES = frozenset("mr mrs ms mx dr prof".split())
_KIN = frozenset("aunt auntie uncle cousin grandma grandpa granny brother sister coach captain sir".split())
_AFTER_VERBS = frozenset("i you he she we they it the a this that be not my your".split())
_AMOUNTS = frozenset(
    "some most one all each many half both none part much any few two three several neither either".split()
)
_PRONOUNS = frozenset("i me my we us our you your he him his she her it its they them their what who why how".split())
_AT = re.compile(r"\b(?:at|join(?:ed|ing)?|work(?:s|ed|ing)? for)\s\Z", re.IGNORECASE)
_IN = re.compile(r"\b(?:in|to|from)\s(?:the\s)?\Z", re.IGNORECASE)
_GERMAN = frozenset(
    "der die das und ist nicht mit ein eine einen einem ich wir auf für von dem den auch im zu zum zur bei".split()
)


MAX_NAME = 80
"""Characters of a name, at most."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    """Without an owner's 's."""
    start: int
    owner: bool
    begins: bool
    """Whether it begins a sentence."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def lower(self) -> str:
        return self.text.lower().replace("’", "'")

    @property
    def capital(self) -> bool:
        letters = self.text
        return letters != letters.upper() and (letters[0].isupper() or any(c.isupper() for c in letters[1:-1]))

    @property
    def initial(self) -> bool:
        return len(self.text) == 1 and self.text.isupper() and self.text != "I"

    @property
    def says_nothing(self) -> bool:
        return self.lower in NEVER or self.lower.partition("'")[0] in NEVER

    @property
    def starter(self) -> bool:
        return self.says_nothing or self.lower in _STARTERS or self.lower.partition("'")[0] in _STARTERS


@dataclass(frozen=True, slots=True)
class _Text:
    """A text with what is looked up in it again and again."""

    text: str
    words: list[_Word]
    lower: frozenset[str]
    """Words that stand in it without a capital."""
    inside: frozenset[str]
    """Words with a capital inside a sentence."""
    speakers: frozenset[str]
    strict: bool
    """Whether a capital alone says nothing here."""


def english_names(text: str, *, speakers: Collection[str] = (), language: str | None = None) -> list[Found]:
    """Return names in Latin letters, in text order; they never overlap.

    Args:
        text: Masked.
        speakers: Names that count at the start of a sentence, too.
        language: "de" capitalises every noun: then only known names count.
    """
    words = list(_words(text))
    seen = _Text(
        text,
        words,
        frozenset(word.lower for word in words if word.text == word.text.lower()),
        frozenset(word.lower for word in words if word.capital and not word.begins and not word.starter),
        frozenset(entity_key(name) for name in speakers),
        language == "de" or (language is None and _is_german(words)),
    )
    groups = (_trimmed(group, seen) for group in _groups(text, words, _loud_lines(text)))
    found = (_found(group, stripped, seen) for group, stripped in groups if group)
    return [each for each in found if each is not None]


def _is_german(words: list[_Word]) -> bool:
    small = sum(word.text in _GERMAN for word in words)
    return small >= 3 and small > 0.2 * len(words)


def _words(text: str) -> Iterator[_Word]:
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        before = text[max(0, start - 12) : start]
        owner = word[-2:].lower() in {"'s", "’s"} and entity_key(word) != word.lower().replace("’", "'")
        yield _Word(word[:-2] if owner else word, start, owner, _begins(before))


def _begins(before: str) -> bool:
    if _START.search(before) or _HYPHEN_START.search(before):
        return True
    last = before.rstrip()[-1:]
    return not last or (unicodedata.category(last) in {"So", "Sk", "Cf", "Mn"} and last != MASK)


def _loud_lines(text: str) -> list[tuple[int, int]]:
    """Return the spans of headings and shouting, where capitals say nothing."""
    spans = []
    for match in re.finditer(r"[^\n]+", text):
        line = match[0]
        words = [word for word in re.findall(r"[^\W\d_][\w'’-]*", line) if not _CJK_CHARACTER.match(word)]
        telling = [word for word in words if word.lower() not in _LINKERS and len(word) > 3] or words
        shouted = sum(word.isupper() and len(word) > 1 for word in words)
        titled = all(word[0].isupper() for word in telling) and not re.search(r"[.!?,。！？，]", line.strip())
        heading = len(words) >= 4 and len(telling) >= 3 and titled
        if heading or re.match(r"\s{0,3}#{1,6}\s", line) or (shouted >= 2 and shouted > 0.5 * len(words)):
            spans.append(match.span())
    return spans


def _groups(text: str, words: list[_Word], loud: list[tuple[int, int]]) -> Iterator[list[_Word]]:
    """Yield runs of words that may be one name: capitalised, with small linking words inside."""
    group: list[_Word] = []
    links: list[_Word] = []
    quiet = _Quiet(loud)
    for word in words:
        last = (links or group)[-1:]
        if last and not _joined(text[last[0].end : word.start], group, last[0], word):
            yield group
            group, links = [], []
        if quiet.at(word.start) and (word.capital or _short(text, word, bool(group))):
            group = [*group, *links, word]
            links = []
        elif group and not links and word.lower in _LINKERS and len(group[-1].text) > 1 and not group[-1].owner:
            links = [word]
        elif links and word.lower in {"the", "la"}:
            links.append(word)
        else:
            yield group
            group, links = [], []
    yield group


class _Quiet:
    """Tells, for rising places, whether a place is outside all spans."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._next = 0

    def at(self, place: int) -> bool:
        while self._next < len(self._spans) and self._spans[self._next][1] <= place:
            self._next += 1
        return self._next == len(self._spans) or place < self._spans[self._next][0]


def _short(text: str, word: _Word, goes_on: bool) -> bool:
    """Return whether capitals only are a name: an initial inside one, a short form where a name has to stand."""
    if word.initial:
        follows = re.match(r"\.?\s[A-Z](?:[^\W\d_]|\.)", text[word.end : word.end + 4]) is not None
        return follows and (goes_on or text[word.end : word.end + 1] == ".")
    if not 2 <= len(word.text) <= 6 or word.text != word.text.upper() or not word.text.isalpha() or word.starter:
        return False
    before = text[max(0, word.start - 14) : word.start]
    return _AT.search(before) is not None or (word.lower in PLACES and _IN.search(before) is not None)


def _joined(between: str, group: list[_Word], last: _Word, word: _Word) -> bool:
    """Return whether two neighbouring words can be one name."""
    if last.owner:
        whole = word.lower in PLACE_ENDS | ORGANISATION_ENDS
        return whole and between[:2].lower() in {"'s", "’s"} and between[2:] == " "
    if between == " ":
        return True
    return between == ". " and len(group) > 0 and (last.initial or last.lower in _TITLES or last.lower == "st")


def _trimmed(group: list[_Word], seen: _Text) -> tuple[list[_Word], bool]:
    """Return the group without words that only stand before or after a name, and whether one stood before."""
    stripped = False
    while group and not _is_place(group):
        if not _no_part(group, seen):
            break
        of = len(group) > 2 and group[1].lower in _LINKERS and not group[1].capital
        if of and group[0].lower not in _AMOUNTS and not _is_known(group[2]):
            return [], True
        group = group[1:]
        stripped = True
        while group and group[0].lower in _LINKERS and not group[0].capital:
            group = group[1:]
    if any(word.lower in _PRONOUNS for word in group):
        return [], stripped
    while group and (group[-1].says_nothing or (len(group) > 1 and group[-1].lower in _LINKERS)):
        group = group[:-1]
    return group, stripped


def _no_part(group: list[_Word], seen: _Text) -> bool:
    """Return whether the first of the capitalised words only stands before a name, if there is one."""
    first, more = group[0], group[1:]
    if first.lower in _TITLES:
        return not more
    if first.lower in BOTH_WORD_AND_NAME:
        named = bool(more) and more[0].lower not in GIVEN_NAMES and not more[0].starter
        return (first.begins and not named and bool(more)) or (not more and first.says_nothing)
    if first.says_nothing or first.lower in _KIN:
        return True
    if first.starter:
        return first.begins or not more
    return first.begins and bool(more) and _only_begins(group, seen)


def _only_begins(group: list[_Word], seen: _Text) -> bool:
    """Return whether the first of several capitalised words has its capital from the sentence."""
    first, second = group[0].lower, group[1].lower
    if first in GIVEN_NAMES or first in _TITLES or first == "st" or group[0].initial:
        return False
    doing = first.endswith(("ing", "ly", "ed")) and len(first) > 5
    return doing or first in seen.lower or second in GIVEN_NAMES | BOTH_WORD_AND_NAME or second in seen.speakers


def _is_known(word: _Word) -> bool:
    return word.lower in GIVEN_NAMES or word.lower in PLACES


def _is_place(group: list[_Word]) -> bool:
    return any("-".join(word.lower for word in group[:size]) in PLACES for size in (2, 3) if size <= len(group))


def _found(group: list[_Word], stripped: bool, seen: _Text) -> Found | None:
    start, end = group[0].start, group[-1].end
    if group[-1].owner and entity_key(seen.text[start : end + 2]) != entity_key(seen.text[start:end]):
        end += 2
    name = seen.text[start:end]
    if not 2 <= len(name) <= MAX_NAME or not _trusted(group, stripped, seen):
        return None
    return Found(name, kind_of(name, seen.text, start, end, seen.speakers), start, end)


def _trusted(group: list[_Word], stripped: bool, seen: _Text) -> bool:
    first = group[0]
    known = _is_known(first) or _is_place(group) or first.lower in _TITLES
    if entity_key(seen.text[first.start : group[-1].end]) in seen.speakers:
        return not (first.begins and first.lower in BOTH_WORD_AND_NAME) or _goes_on(group, seen)
    if len(group) == 1 and first.lower in BOTH_WORD_AND_NAME and not first.says_nothing:
        return (stripped or not first.begins) and _goes_on(group, seen) and not seen.strict
    if all(word.starter for word in group) or (first.lower in _TITLES and len(group) == 1):
        return False
    if seen.strict:
        return known
    if len(group) > 1:
        return True
    if known:
        return True
    if not first.text[0].isupper():
        return re.match(r"[a-z]{1,2}[A-Z][a-z]{2}", first.text) is not None
    if first.begins and not stripped:
        beside = _CJK_CHARACTER.match(seen.text[first.end : first.end + 1]) is not None
        return (first.lower in seen.inside and first.lower not in seen.lower) or beside
    return first.lower not in seen.lower


def _goes_on(group: list[_Word], seen: _Text) -> bool:
    """Return whether what follows doesn't make a verb of a name: "Will you", "May I"."""
    if group[-1].owner:
        return True
    after = re.match(r"\s([^\W\d_]+)", seen.text[group[-1].end : group[-1].end + 12])
    return after is None or after[1].lower() not in _AFTER_VERBS
