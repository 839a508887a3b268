"""What kind of thing a name in Latin letters is, where its words or those around it tell."""

from __future__ import annotations

import re
from collections.abc import Collection

from memreader.graph.english_words import GIVEN_NAMES, ORGANISATION_ENDS, PLACE_ENDS, PLACES
from memreader.graph.found import Found, Kind
from memreader.graph.pinyin import is_name_in_pinyin
from memreader.spelling import entity_key

_TITLED = re.compile(r"(?:mr|mrs|ms|mx|dr|prof)\.?\s", re.IGNORECASE)
_TO_A_PLACE = re.compile(
    r"\b(?:(?:li(?:ve|ves|ved|ving)|born|grew up|raised|based|stay(?:s|ed|ing)?) in|"
    r"(?:mov(?:e|ed|es|ing)|fl(?:y|ew|ying)|"
    r"travel(?:l?ed|l?ing|s)?|drove|drive|trip|flight|train|vacation) (?:to|from|in)) (?:the )?\Z",
    re.IGNORECASE,
)
_AT_WORK = re.compile(
    r"\b(?:work(?:s|ed|ing)? (?:at|for)|job at|intern(?:ed|ing)? at|hired by|employed by) (?:the )?\Z", re.IGNORECASE
)
_PERSON_BEFORE = re.compile(
    r"\b(?:friend|brother|sister|wife|husband|boss|colleague|coworker|co-worker|cousin|uncle|aunt|auntie|neighbou?r|"
    r"roommate|boyfriend|girlfriend|son|daughter|fianc[eé]e?|manager|teacher|classmate|partner|grandma|grandpa),? \Z",
    re.IGNORECASE,
)
_PERSON_AFTER = re.compile(
    r"['’]s (?:birthday|wife|husband|brother|sister|mother|father|mom|dad)\b|"
    r" (?:said|says|told|asked|laughed|smiled)\b"
)
_CUE = re.compile(
    r"\b(?:(?P<work>book|novel|movie|film|song|show|series|album|game|podcast|play|poem|paper|article|documentary|musical|"
    r"read|reading|reads|watch|watched|watching|listening to|finished)|titled|called|named)"
    r"(?: (?:is|was|called|titled|named))?,? ?\Z",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?<!\w)[\"“]([A-Z][^\"“”\n]{1,60})[\"”](?!\w)")
_MOSTLY_PEOPLE = frozenset(
    "will mark grant bill drew sue rob pat frank jack gene dean max ray jay parker mason cooper taylor wade".split()
)
_SMALL = frozenset("a an the of and or in on at to for with from by de la le is as vs".split())
_SPEECH = re.compile(
    r"(?:\b(?:said|says|say|asked|told|yelled|shouted|replied|like)\b.{0,20}|[,:])\s?\Z", re.IGNORECASE
)


def kind_of(name: str, text: str, start: int, end: int, speakers: Collection[str]) -> Kind:
    """Return what kind `text[start:end]` is, "other" unless something tells.

    Args:
        name: `text[start:end]`.
        text: Masked.
        start: Of the name.
        end: Of the name.
        speakers: Keys of people's names.
    """
    words = [word.strip(".,").lower() for word in name.split()]
    several = len(words) > 1
    before, after = text[max(0, start - 40) : start], text[end : end + 24]
    if entity_key(name) in speakers or _TITLED.match(name):
        return "person"
    if len(words) > 1 and (
        words[-1] in ORGANISATION_ENDS or words[0] in {"university", "bank", "ministry", "institute"}
    ):
        return "organisation"
    if "-".join(words) in PLACES or (several and (words[-1] in PLACE_ENDS or words[0] in {"lake", "mount"})):
        return "place"
    if words[0] in GIVEN_NAMES or (several and words[0] in _MOSTLY_PEOPLE):
        return "person"
    if is_name_in_pinyin(words):
        return "person"
    if _AT_WORK.search(before):
        return "organisation"
    if _PERSON_BEFORE.search(before) or _PERSON_AFTER.match(after):
        return "person"
    if _TO_A_PLACE.search(before):
        return "place"
    return "person" if name.lower() in _MOSTLY_PEOPLE else "other"


def quoted_titles(text: str) -> list[Found]:
    """Return titles in quotes: every word has its capital, and nothing says that it is speech.

    >>> [found.name for found in quoted_titles('I read "Dune" and he said "Come Here"')]
    ['Dune']
    """
    if '"' not in text and "“" not in text:
        return []
    found = []
    for match in _QUOTED.finditer(text):
        title, before = match[1], text[max(0, match.start() - 40) : match.start()]
        words = re.findall(r"[^\W_][\w'’-]*", title)
        titled = all(word[0].isupper() or word[0].isdigit() or word in _SMALL for word in words)
        if not titled or not words or len(words) > 9 or title[-1] in ".,":
            continue
        cue = _CUE.search(before)
        alone = len(words) > 1 and title[-1] not in "!?…" and not _SPEECH.search(before)
        if cue or alone:
            kind: Kind = "work" if cue and cue["work"] else "other"
            found.append(Found(title, kind, match.start(1), match.end(1)))
    return found
