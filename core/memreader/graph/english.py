"""Names in Latin letters, by capitals inside sentences and by closed word lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from memreader.graph.english_kinds import kind_of
from memreader.graph.english_text import CJK_CHARACTER, LINKERS, Quiet, Text, Word, loud_lines, matches, word_at
from memreader.graph.english_words import (
    BOTH_WORD_AND_NAME,
    GIVEN_NAMES,
    NEVER,
    ORGANISATION_ENDS,
    PLACE_ENDS,
    PLACES,
    STARTERS,
)
from memreader.graph.found import Found
from memreader.spelling import entity_key

_TITLES = frozenset("mr mrs ms mx dr prof".split())
_KIN = frozenset("aunt auntie uncle cousin grandma grandpa granny brother sister coach captain sir".split())
_AFTER_VERBS = frozenset("i you he she we they it the a this that be not my your".split())
_AMOUNTS = frozenset(
    "some most one all each many half both none part much any few two three several neither either".split()
)
_PRONOUNS = frozenset("i me my we us our you your he him his she her it its they them their what who why how".split())
_AT = re.compile(r"\b(?:at|join(?:ed|ing)?|work(?:s|ed|ing)? for)\s\Z", re.IGNORECASE)
_IN = re.compile(r"\b(?:in|to|from)\s(?:the\s)?\Z", re.IGNORECASE)
_NEVER_ALONE = (NEVER | STARTERS) - BOTH_WORD_AND_NAME - PLACES - _TITLES
"""No name, unless other words belong to it; most capitals are theirs, so they are looked at when something follows."""
MAX_NAME = 80
"""Characters of a name, at most."""


def english_names(text: str, *, speakers: Collection[str] = (), language: str | None = None) -> list[Found]:
    """Return names in Latin letters, in text order; they never overlap.

    Args:
        text: Masked.
        speakers: Names that count at the start of a sentence, too.
        language: "de" capitalises every noun: then only known names count.
    """
    seen = Text(text, speakers, language)
    groups = (_trimmed(group, seen) for group in _groups(text))
    found = [_found(group, stripped, seen) for group, stripped in groups if group]
    names = [each for each in found if each is not None]
    if not names:
        return []
    # A name is never in two lines, so those that are loud can go last.
    quiet = Quiet(loud_lines(text))
    return [each for each in names if quiet.at(each.start)]


def _groups(text: str) -> Iterator[list[Word]]:
    """Yield runs of words that may be one name: capitalised, with small linking words inside."""
    group: list[Word] = []
    links: list[Word] = []
    alone: re.Match[str] | None = None
    for match in matches(text):
        if not group:
            found = match[0]
            if found == "I" or (found.islower() and (alone is None or found not in LINKERS)):
                alone = None
                continue
            if alone is not None:
                before, alone = word_at(text, alone), None
                group = [before] if before.capital else []
            elif len(found) > 1 and found.lower().partition("'")[0] in _NEVER_ALONE:
                alone = match
                continue
        word = word_at(text, match)
        last = (links or group)[-1:]
        if last and not _joined(text[last[0].end : word.start], group, last[0], word):
            yield group
            group, links = [], []
        if word.capital or _short(text, word, bool(group)):
            group = [*group, *links, word]
            links = []
        elif group and not links and word.lower in LINKERS and len(group[-1].text) > 1 and not group[-1].owner:
            links = [word]
        elif links and word.lower in {"the", "la"}:
            links.append(word)
        elif group:
            yield group
            group, links = [], []
    if group:
        yield group


def _short(text: str, word: Word, goes_on: bool) -> bool:
    """Return whether capitals only are a name: an initial inside one, a short form where a name has to stand."""
    if word.initial:
        follows = re.match(r"\.?\s[A-Z](?:[^\W\d_]|\.)", text[word.end : word.end + 4]) is not None
        return follows and (goes_on or text[word.end : word.end + 1] == ".")
    if not 2 <= len(word.text) <= 6 or word.text != word.text.upper() or not word.text.isalpha() or word.starter:
        return False
    before = text[max(0, word.start - 14) : word.start]
    return _AT.search(before) is not None or (word.lower in PLACES and _IN.search(before) is not None)


def _joined(between: str, group: list[Word], last: Word, word: Word) -> bool:
    """Return whether two neighbouring words can be one name."""
    if last.owner:
        whole = word.lower in PLACE_ENDS | ORGANISATION_ENDS
        return whole and between[:2].lower() in {"'s", "’s"} and between[2:] == " "
    if between == " ":
        return True
    return between == ". " and len(group) > 0 and (last.initial or last.lower in _TITLES or last.lower == "st")


def _trimmed(group: list[Word], seen: Text) -> tuple[list[Word], bool]:
    """Return the group without words that only stand before or after a name, and whether one stood before."""
    stripped = False
    while group and not _is_place(group):
        if not _no_part(group, seen):
            break
        of = len(group) > 2 and group[1].lower in LINKERS and not group[1].capital
        if of and group[0].lower not in _AMOUNTS and not _is_known(group[2]):
            return [], True
        group = group[1:]
        stripped = True
        while group and group[0].lower in LINKERS and not group[0].capital:
            group = group[1:]
    if any(word.lower in _PRONOUNS for word in group):
        return [], stripped
    while group and (group[-1].says_nothing or (len(group) > 1 and group[-1].lower in LINKERS)):
        group = group[:-1]
    return group, stripped


def _no_part(group: list[Word], seen: Text) -> bool:
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


def _only_begins(group: list[Word], seen: Text) -> bool:
    """Return whether the first of several capitalised words has its capital from the sentence."""
    first, second = group[0].lower, group[1].lower
    if first in GIVEN_NAMES or first in _TITLES or first == "st" or group[0].initial:
        return False
    doing = first.endswith(("ing", "ly", "ed")) and len(first) > 5
    return doing or seen.has_small(first) or second in GIVEN_NAMES | BOTH_WORD_AND_NAME or second in seen.speakers


def _is_known(word: Word) -> bool:
    return word.lower in GIVEN_NAMES or word.lower in PLACES


def _is_place(group: list[Word]) -> bool:
    return any("-".join(word.lower for word in group[:size]) in PLACES for size in (2, 3) if size <= len(group))


def _found(group: list[Word], stripped: bool, seen: Text) -> Found | None:
    start, end = group[0].start, group[-1].end
    if group[-1].owner and entity_key(seen.text[start : end + 2]) != entity_key(seen.text[start:end]):
        end += 2
    name = seen.text[start:end]
    if not 2 <= len(name) <= MAX_NAME or not _trusted(group, stripped, seen):
        return None
    return Found(name, kind_of(name, seen.text, start, end, seen.speakers), start, end)


def _trusted(group: list[Word], stripped: bool, seen: Text) -> bool:
    first = group[0]
    known = _is_known(first) or _is_place(group) or first.lower in _TITLES
    if entity_key(seen.text[first.start : group[-1].end]) in seen.speakers:
        return not (first.begins and first.lower in BOTH_WORD_AND_NAME) or _goes_on(group, seen)
    if len(group) == 1 and first.lower in BOTH_WORD_AND_NAME and not first.says_nothing:
        return (stripped or not first.begins) and _goes_on(group, seen) and not seen.strict
    if all(word.starter for word in group) or (first.lower in _TITLES and len(group) == 1):
        return False
    if known:
        return True
    return _looks_like_a_name(group, stripped, seen) and not seen.strict


def _looks_like_a_name(group: list[Word], stripped: bool, seen: Text) -> bool:
    first = group[0]
    if len(group) > 1:
        return True
    if not first.text[0].isupper():
        return re.match(r"[a-z]{1,2}[A-Z][a-z]{2}", first.text) is not None
    if first.begins and not stripped:
        beside = CJK_CHARACTER.match(seen.text[first.end : first.end + 1]) is not None
        return (seen.has_inside(first.lower) and not seen.has_small(first.lower)) or beside
    return not seen.has_small(first.lower)


def _goes_on(group: list[Word], seen: Text) -> bool:
    """Return whether what follows doesn't make a verb of a name: "Will you", "May I"."""
    if group[-1].owner:
        return True
    after = re.match(r"\s([^\W\d_]+)", seen.text[group[-1].end : group[-1].end + 12])
    return after is None or after[1].lower() not in _AFTER_VERBS
