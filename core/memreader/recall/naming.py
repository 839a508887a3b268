"""Which people a question names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from memreader.recall.chinese import folded
from memreader.recall.words import STOP_WORDS

_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff]")
_LETTER = rf"[^\W{_CJK.pattern[1:-1]}]"
"""Chinese goes on without a blank after an English name."""
_MARK = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;\n])[\s\"'“‘(\[¿¡]*\Z")

_TOGETHER = re.compile(r",|[&/、和與与跟及或]|还是|還是|\b(?:and|or|nor|than|versus|vs)\b", re.IGNORECASE)
"""Between two names: both are meant alike."""

_TITLES = frozenset(
    """
    dr mr mrs ms miss mx prof professor sir madam lady lord uncle aunt auntie grandma grandpa granny coach
    captain father mother sister brother saint st the my old little big
    """.split()
)
_NUMBERED = frozenset("user speaker participant person client agent customer member guest player student bot".split())
"""What stands before a number or a letter that makes a name of it: only the whole is one."""
_WORDS_TOO = frozenset(
    """
    will may mark grant bill drew sue rob pat hope grace joy rose art rich frank dawn summer autumn april june
    august jack gene faith chance dean max jan mar bob ray jay amber ruby olive ivy lily daisy iris heather
    holly penny ginger sunny angel guy chase hunter carter parker mason cooper baker taylor page case miles wade
    lane reed rusty buddy star sky rocky honey red blue long hung man sun young song king so do my an
    """.split()
)
"""English words that are names, too: only a capital inside a sentence, or an owner's 's, tells."""


def speaker_named(text: str, names: Sequence[str]) -> int | None:
    """Return the place of the name whose bearer `text` is about; None if it names none, or several alike.

    Of several names it is the first, the subject, unless the next one is listed with it: what Ana told Bo, Ana said.
    A name is named whole, or by its first word; in Chinese, Japanese and Korean whole, anywhere in the text. Case
    counts where the text has capitals inside its sentences; accents, width and the script of Chinese (張 or 张) never.
    What is a word of English, too (Will, May), has to stand there with a capital, or to own something. A whole name
    beats the first words of others.

    Args:
        text: A question.
        names: Of different people; an empty one is never named.

    >>> speaker_named("What did Ann's sister say?", ["Anna", "Ann Lee"])
    1
    >>> speaker_named("Will May come?", ["Will"]), speaker_named("Ana and Bo?", ["Ana", "Bo"])
    (None, None)
    >>> speaker_named("What did Bo recommend to Ana?", ["Ana", "Bo"])
    1
    """
    plain = " ".join(_folded(text).split())
    has_case = bool(capitalised(plain))
    found: list[tuple[int, int, int]] = []
    whole_text = plain
    parsed = [(place, _parts(name)) for place, name in enumerate(names)]
    here = set(_WORD.findall(_CJK.sub(" ", plain.lower())))
    for place, (whole, _) in sorted(parsed, key=lambda each: -len(each[1][0])):
        if whole and whole.lower() in plain.lower():
            plain, span = _without(plain, whole, has_case)
            found += [(*span, place)] if span else []
    named = {place for _, _, place in found}
    for place, (_, first) in parsed:
        if place not in named and first and first.lower() in here and (span := _without(plain, first, has_case)[1]):
            found.append((*span, place))
    return _subject(whole_text, sorted(found))


def _subject(text: str, named: list[tuple[int, int, int]]) -> int | None:
    """Return the place of the first of some names, None if there is none or the next is listed with it.

    Args:
        text: What names them.
        named: Start, end and place of each, in order.
    """
    if len(named) > 1:
        (start, end, _), (following, _, _) = named[:2]
        if start == following or _TOGETHER.search(text, end, following):
            return None
    return named[0][2] if named else None


def capitalised(text: str) -> tuple[str, ...]:
    """Return the capitalised words inside the sentences of `text`, without a possessive; () where case says nothing.

    >>> capitalised("When did Ana's brother visit New York?")
    ('Ana', 'New', 'York')
    """
    if text == text.upper():
        return ()
    words = []
    for match in _WORD.finditer(text):
        word = match[0]
        inside = not _SENTENCE_START.search(text[max(0, match.start() - 8) : match.start()])
        owner = re.match(r"['’]s\b", text[match.end() : match.end() + 3]) is not None
        if len(word) > 1 and word[0].isupper() and (inside or owner) and _is_name(word):
            words.append(word)
    return tuple(dict.fromkeys(words))


def _is_name(word: str) -> bool:
    return word.lower() not in STOP_WORDS or word.lower() in _WORDS_TOO


def _folded(text: str) -> str:
    """Return `text` in one width, without accents, and its Chinese in one script."""
    return folded(unicodedata.normalize("NFC", _MARK.sub("", unicodedata.normalize("NFKD", text))))


@lru_cache(maxsize=20_000)
def _parts(name: str) -> tuple[str, str]:
    """Return a name as it may be named: whole, and by its first word; "" for what would say nothing."""
    whole = " ".join(_folded(name).split())
    if _CJK.search(whole):
        return (whole if len(whole) > 1 else ""), ""
    words = whole.split()
    named = [word for word in words if word.lower().rstrip(".") not in _TITLES]
    first = named[0] if named and len(words) > 1 and _WORD.fullmatch(named[0]) else ""
    return ("" if _says_nothing(whole) else whole), (
        "" if _says_nothing(first) or first.lower() in _NUMBERED else first
    )


def _says_nothing(name: str) -> bool:
    return len(name) < 2 or (name.lower() in STOP_WORDS and name.lower() not in _WORDS_TOO)


def _without(text: str, name: str, has_case: bool) -> tuple[str, tuple[int, int] | None]:
    """Return `text` with the name blanked where it is named, and start and end of its first place; None for none."""
    if _CJK.search(name):
        at = text.find(name)
        return text.replace(name, " " * len(name)), None if at < 0 else (at, at + len(name))
    pattern = re.compile(rf"(?<!{_LETTER})(?<!-){re.escape(name)}(?!{_LETTER}|-\w)", re.IGNORECASE)
    word_too = name.lower() in _WORDS_TOO
    spans = []
    for match in pattern.finditer(text):
        owner = re.match(r"['’]s\b", text[match.end() : match.end() + 3]) is not None
        if has_case and match[0] == match[0].lower() and name != name.lower():
            continue
        start = _SENTENCE_START.search(text[max(0, match.start() - 8) : match.start()]) is not None
        if word_too and not owner and (start or not has_case or not match[0][0].isupper()):
            continue
        spans.append(match.span())
    for start_at, end in spans:
        text = text[:start_at] + " " * (end - start_at) + text[end:]
    return text, spans[0] if spans else None
