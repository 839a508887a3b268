"""English sentences that give somebody's one value of something: home, employer, age. Any doubt gives none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memreader.reconcile.english_rules import (
    ANYMORE,
    ARTICLES,
    BE,
    HABIT,
    MEETING,
    ONE_OF_A_KIND,
    PERFECT,
    RULES,
    STATES,
    STATUS,
    STATUS_IS,
    STOPPED,
    SWITCHED,
    YEARS,
)
from memreader.reconcile.english_words import (
    BLOCKED,
    FIRMS,
    NO_NAMES,
    NOT_JOINED,
    NUMBER_WORDS,
    TIMES,
    base_of,
    fits,
    number_in,
)
from memreader.reconcile.forms import Form
from memreader.reconcile.jobs import kind_of_job
from memreader.reconcile.places import level_of
from memreader.reconcile.statement import Slot
from memreader.reconcile.surface import FIGURES

_LETTERS = re.compile("[a-z]+")
_PLACES = {
    word: [place for place, (_, form, _) in enumerate(RULES) if word in form.words]
    for word in {word for _, form, _ in RULES for word in form.words}
}
"""Word -> the places in `RULES` of the forms that have it among their words."""
_UNITS = frozenset({"year", "years", "month", "months"})
_YEARS_OF_STUDY = ("freshman", "sophomore", "junior", "senior")


def english_slots(sentence: str) -> Iterator[Slot]:
    """Yield what one sentence gives, in one width, without its end mark; nothing for a sentence in any doubt."""
    words = set(_LETTERS.findall(sentence.lower()))
    if not words.isdisjoint(FIGURES):
        sentence = NUMBER_WORDS.sub(lambda match: FIGURES.get(match[0].lower(), match[0]), sentence)
    # Nearly all of a sentence's forms need a word that it doesn't have; to look for one form takes long.
    found = [
        (attribute, match, kind) for attribute, form, kind in _may_match(words) if (match := form.fullmatch(sentence))
    ]
    told = bool(words & STATUS.words or words & STATUS_IS.words or words & _UNITS)
    blocked = (bool(found) or told) and BLOCKED.search(sentence) is not None
    be = BE.fullmatch(sentence) if "is" in words else None
    yield from _ended(sentence, words, be)
    if blocked:
        yield from _over(found)
    if not words.isdisjoint(MEETING.words):
        yield from _moved(sentence)
    yield from _habit(sentence, be)
    if blocked:
        return
    said_new = bool(found) and re.search(r"\b[Nn]ow\b|\bnew\b", sentence) is not None
    for attribute, match, kind in found:
        if subject := _subject(match["subject"]):
            yield from _slot(attribute, subject, match, kind=kind, said_new=said_new)
    if told:
        yield from _status(sentence)
        yield from _lasting(sentence)


def _may_match(words: set[str]) -> list[tuple[str, Form, str]]:
    """Return the rules, in order, whose forms a sentence of these words may have."""
    places = sorted({place for word in words.intersection(_PLACES) for place in _PLACES[word]})
    return [RULES[place] for place in places]


def _slot(attribute: str, subject: str, match: re.Match[str], *, kind: str, said_new: bool) -> Iterator[Slot]:
    found = match.groupdict()
    value, what = _value(found["value"]), (found.get("what") or "").lower()
    if not value or _is_doubtful(attribute, subject, value, match, kind):
        return
    if attribute == "thing" and not fits(what, found["value"]):
        return
    if attribute == "year of study":
        value = str(_YEARS_OF_STUDY.index(value) + 1)
    if attribute == "prefers":
        what = " / ".join(sorted((value, _value(found["than"]))))
    if what:
        what = what.replace("email address", "email").replace("phone number", "phone")
        attribute = what if attribute in ("thing", "main") else f"{attribute} {what}"
    if found.get("unit"):
        attribute = f"{attribute} in {found['unit']}"
    new = kind.startswith("new") or said_new or bool(re.search(r"\b(?:became|become|went|gone|turned)\b", match[0]))
    if attribute == "home" and not kind.startswith("new") and level_of(value) == "region":
        new = False
    vague = kind == "vague" or (kind == "vague job" and not new)
    whole = not found.get("more")
    yield Slot(subject, attribute, value, whole=whole, new=new, ends=kind == "ends", vague=vague)


def _is_doubtful(attribute: str, subject: str, value: str, match: re.Match[str], kind: str) -> bool:
    """Return whether these words may well not be of the attribute that their form suggests."""
    if attribute == "employer":
        if match.groupdict().get("role"):
            return False
        joins, quits = (
            re.search(rf"\b{verb}", match[0])
            for verb in (r"(?:join(?:ed)?\b|left\s.+\sfor\s)", r"quit\s(?![hmt]\w+\sjob)")
        )
        return bool((joins and not FIRMS.search(value)) or (quits and NOT_JOINED.search(value)))
    if attribute == "home":
        return " and " in value
    if attribute == "age":
        by_itself = not match["old"] and "turn" not in match[0]
        return by_itself and subject != "user" and not subject.startswith("user's ")
    if attribute == "occupation" and kind.endswith("job") and kind_of_job(value) is None:
        return True
    if attribute in ("favorite", "occupation", "major"):
        return (
            re.search(
                r"\b(?:and|or|but|at|in|for|hard|unknown|same|any|anything|something|everything|whatever)\b", value
            )
            is not None
        )
    return False


def _status(sentence: str) -> Iterator[Slot]:
    match = STATUS.fullmatch(sentence) or STATUS_IS.fullmatch(sentence)
    if match and (subject := _subject(match["subject"])):
        found = match.groupdict()
        state = " ".join((found["state"] or found["act"]).split())
        whom = (found.get("whom") or found.get("other") or "").casefold()
        yield Slot(subject, "status", f"{STATES.get(state, state)} {whom}".strip())


def _moved(sentence: str) -> Iterator[Slot]:
    match = MEETING.fullmatch(sentence)
    if match and not re.search(r"\b(?:not|if|every|each|maybe|may|might|could|would)\b", sentence):
        subject = re.sub(r"^(?:the|my|user's)\s", "", match["subject"].lower())
        for kind, named in TIMES.items():
            if named.search(match["value"]):
                yield Slot(subject, kind, _value(match["value"]), new=match["moved"] is not None)


def _lasting(sentence: str) -> Iterator[Slot]:
    """Yield for how long something has been so: the rest of the sentence is what has been so."""
    match = YEARS.match(sentence) if PERFECT.search(sentence) else None
    if match and (subject := _subject(match["subject"])):
        rest = sentence[match.end("subject") : match.start("count")] + "#" + sentence[match.end("unit") :]
        unit = match["unit"].rstrip("s")
        if not re.search(r"\b(?:ago|left|warranty|contract|sentence|once|twice|times|day|week|per)\b", rest):
            yield Slot(subject, f"{unit}s of {' '.join(rest.lower().split())}", number_in(match["count"]))


def _habit(sentence: str, be: re.Match[str] | None) -> Iterator[Slot]:
    if be:
        if not be["ended"] and (subject := _subject(be["subject"])):
            yield Slot(subject, f"is{_rest(be['rest'])}", "yes")
        return
    match = HABIT.fullmatch(sentence)
    if match is None or not (match["verb"].endswith("s") or match["subject"] == "I"):
        return
    if subject := _subject(match["subject"]):
        yield Slot(subject, f"does {base_of(match['verb'])}{_rest(match['rest'])}", "yes")


def _ended(sentence: str, words: set[str], be: re.Match[str] | None) -> Iterator[Slot]:
    if be and be["ended"] and (subject := _subject(be["subject"])):
        yield Slot(subject, f"is{_rest(be['rest'])}", "yes", ends=True)
    forms = (form for form in (STOPPED, ANYMORE) if not words.isdisjoint(form.words))
    match = next((match for form in forms if (match := form.fullmatch(sentence))), None)
    if match and (subject := _subject(match["subject"])):
        named = match.groupdict()
        verb = base_of(named.get("verb") or named.get("doing") or "")
        yield Slot(subject, f"does {verb}{_rest(match['rest'])}", "yes", ends=True)
    match = SWITCHED.fullmatch(sentence) if "switched" in words else None
    if match and (subject := _subject(match["subject"])):
        yield Slot(subject, f"does us{_rest(match['was'])}", "yes", ends=True)


def _over(found: Iterable[tuple[str, re.Match[str], str]]) -> Iterator[Slot]:
    """Yield the ends among what a sentence in doubt tells: these it may well tell."""
    for attribute, match, kind in found:
        if kind == "ends" and (subject := _subject(match["subject"])):
            yield Slot(subject, attribute, _value(match["value"]), ends=True)


def _subject(words: str) -> str:
    """Return who it is, one name for the user; "" for who may be anybody."""
    who = " ".join(words.split())
    if who.lower() in ("i", "user", "my"):
        return "user"
    first, _, rest = who.partition(" ")
    if first.lower() in ("my", "user's"):
        return f"user's {rest.lower()}" if rest in ONE_OF_A_KIND or " " in rest else ""
    return "" if first.split("'")[0].lower() in NO_NAMES or "'s" in who else who.casefold()


def _value(words: str) -> str:
    return " ".join(words.split()).casefold().strip(".,").removeprefix("the ")


def _rest(words: str) -> str:
    rest = " ".join(ARTICLES.sub("", f"{words} ").split()).casefold()
    return f" {rest}" if rest else ""
