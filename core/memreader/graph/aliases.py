"""Two names of one: what a text states, and what only looks like it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from memreader.graph.chinese import name_at
from memreader.graph.english_words import NEVER, STARTERS
from memreader.graph.found import CJK, HAN, MASK, masked
from memreader.graph.names import bare_name, entity_key
from memreader.graph.nicknames import FORMS
from memreader.graph.pinyin import reads_as, sounds

_CAPITAL = rf"(?:(?![{CJK}{MASK}])[^\W\d_a-zß-öø-ÿ])"
_LETTER = rf"(?:(?![{CJK}{MASK}])[^\W_])"
_PART = rf"{_CAPITAL}(?:{_LETTER}|['’-](?={_LETTER})|\.(?=\s{_CAPITAL}))*"
_LATIN = rf"{_PART}(?:\s(?:(?:of|de|van|von|da|del|la|bin)\s)?{_PART}){{0,4}}"
_SAID = (
    r"(?:a\.?k\.?a\.?|also (?:known|called)(?: as)?|(?:better|formerly) known as|nicknamed|goes by|short for|formerly|"
    r"alias)"
)
_QUOTE = "[\"“”'‘’]?"
_STATED = re.compile(
    rf"(?P<one>{_LATIN}){_QUOTE}(?:\s?,|\s?\(|,?\s(?:is|was|who|who is|who was))?\s?{_SAID}\s(?:the name )?"
    rf"{_QUOTE}(?P<other>(?:[Tt]he\s)?{_LATIN})"
)
_FOR_SHORT = re.compile(rf"(?P<one>{_LATIN})(?:,| \()\s?(?:or )?{_QUOTE}(?P<other>{_LATIN}){_QUOTE},? for short\b")

_IN_BRACKETS = re.compile(
    rf"(?P<before>[^\s()（）\[\]{MASK}][^()（）\n{MASK}]{{0,60}}?)\s?[(（]\s?(?P<inside>[^()（）\n{MASK}]{{2,40}}?)\s?[)）]"
)
_LAST_LATIN = re.compile(rf"(?<!{_LETTER})({_LATIN})\Z")
_LAST_HAN = re.compile(rf"[{HAN}]{{2,8}}\Z")
_ALL_HAN = re.compile(rf"[{HAN}]{{2,8}}")

_HAN_SAID = (
    "又名|又叫|又称|也叫做|也叫|亦称|人称|外号叫?|绰号叫?|昵称叫?|小名叫?|小名|"
    "网名叫?|笔名叫?|艺名叫?|原名叫?|本名叫?|曾用名|简称为?|英文名叫?|中文名叫?|别名"
)
_NAME_ENDS = r"(?=[，。；！？、,.;!?）)」”\"\s]|\Z)"
_HAN_STATED = re.compile(
    rf"(?P<one>[{HAN}·]{{2,12}}|{_LATIN})(?P<gap>[，,]|\s?[（(]|的)(?:他|她)?(?:的)?(?P<said>{_HAN_SAID})[是为]?[:：]?"
    rf"[“「\"'‘]?(?P<other>[{HAN}·]{{2,8}}|{_LATIN})[”」\"'’]?{_NAME_ENDS}"
)
_CUES = (
    *"( （ aka a.ka ak.a a.k.a nicknamed formerly alias 又 也叫 亦称 人称 号 昵称 名 简称".split(),
    *("also known", "also called", "better known", "goes by", "short for", "for short"),
)
"""One of them stands in every text that states a pair; looking for them costs less than all the patterns."""
_LOOSE = frozenset({"也叫", "又叫"})
_FUNCTION = re.compile("[的了是在我你他她它们这那有和就都也很要会到说去来把被给让跟对从吗呢吧啊不没叫着过]")
_SMALL = frozenset({"of", "the", "and", "for", "de", "&"})
_FAMILIAR = re.compile("^[阿小老]|[哥姐叔爷婶伯嫂弟妹仔]$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two names that may be one; nothing is merged for it."""

    one: str
    other: str
    """As given; `one` stands before `other` in the names given."""
    reason: str
    """"pinyin", "title", "nickname", "initials", "part", "accents" or "spelling"."""
    score: float
    """How often such a pair is one, roughly, in (0, 1)."""


def alias_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of names that `text` states to be one, in its order, each once; () if it states nothing.

    Stated is: "Robert, a.k.a. Bob", "also known as", "nicknamed", "goes by", "short for", "formerly", "Robert, or Bob
    for short"; 又名, 也叫, 外号, 小名, 简称, 英文名 and their like; and a Chinese name beside its pinyin in brackets,
    "张三 (Zhang San)", either way around. Otherwise what stands in brackets is an age, a place, a job, and no second
    name: "Paris (France)". Nothing in code or addresses. Linear; never raises.

    >>> alias_pairs("我的朋友张三 (Zhang San) met Robert, a.k.a. Bob, in Paris (France).")
    (('张三', 'Zhang San'), ('Robert', 'Bob'))
    """
    if not any(cue in text for cue in _CUES):
        return ()
    prose = masked(text)
    found = [*_in_brackets(prose), *_said(prose), *_said_in_chinese(prose)]
    pairs = dict.fromkeys((one, other) for _, one, other in sorted(found))
    return tuple((one, other) for one, other in pairs if entity_key(one) != entity_key(other))


def _in_brackets(text: str) -> Iterator[tuple[int, str, str]]:
    for match in _IN_BRACKETS.finditer(text):
        before, inside = match["before"].rstrip(), match["inside"]
        if _ALL_HAN.fullmatch(inside):
            latin = _LAST_LATIN.search(before)
            words = latin[1].split() if latin else []
            ends = (" ".join(words[-size:]) for size in range(1, min(4, len(words)) + 1))
            name = next((end for end in ends if reads_as(inside, end)), "")
            if name:
                yield match.start(), name, inside
        elif inside[:1].isupper() and (han := _LAST_HAN.search(before)):
            names = (han[0][-size:] for size in range(2, len(han[0]) + 1))
            name = next((each for each in names if reads_as(each, inside)), "")
            if name:
                yield match.start(), name, inside


def _said(text: str) -> Iterator[tuple[int, str, str]]:
    for pattern in (_STATED, _FOR_SHORT):
        for match in pattern.finditer(text):
            one, other = _named(match["one"]), _named(match["other"])
            if one and other:
                yield match.start(), one, other


def _named(words: str) -> str:
    """Return a name without the words that begin its sentence, "" if none is left."""
    parts = words.split()
    while parts and parts[0].lower() in NEVER | STARTERS and not (parts[0].lower() == "the" and len(parts) > 1):
        parts = parts[1:]
    return " ".join(parts)


def _said_in_chinese(text: str) -> Iterator[tuple[int, str, str]]:
    for match in _HAN_STATED.finditer(text):
        one, other = match["one"], match["other"]
        if match["gap"] == "的" and match["said"] in _LOOSE | {"人称", "简称"}:
            continue
        if _ALL_HAN.match(one):
            one = _last_name(one)
        loose = match["said"].removesuffix("叫") in {"也", "又"} and match["gap"] in "，,"
        if loose and not (
            _FAMILIAR.search(other) or set(one) & set(other) or name_at(other, 0, strict=True) == len(other)
        ):
            continue
        if one and not _FUNCTION.search(other):
            yield match.start(), one, other


def _last_name(run: str) -> str:
    """Return the name that Chinese characters end with, "" if that is not sure."""
    for size in (4, 3, 2):
        if len(run) >= size and name_at(run, len(run) - size, strict=False) == len(run):
            return run[-size:]
    rest = _FUNCTION.split(run)[-1]
    return rest if 2 <= len(rest) <= 8 else ""


def suggestions(names: Sequence[str], aliases: Collection[tuple[str, str]] = ()) -> list[Suggestion]:
    """Return which of `names` may be one, the likeliest first; for a person to decide, never to merge.

    Args:
        names: Of different entities; spellings of one key count once, as the first.
        aliases: Pairs known to be one, or told apart by the user: not suggested again.

    Pairs are looked up by keys of what they share, so the cost grows with the pairs that share something.

    >>> names = ["张三", "Zhang San", "Bob", "Robert", "Ann", "Anna"]
    >>> [(each.one, each.other, each.reason) for each in suggestions(names)]
    [('张三', 'Zhang San', 'pinyin'), ('Bob', 'Robert', 'nickname')]
    """
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(entity_key(name), name)
    first.pop("", None)
    known = {frozenset(map(entity_key, pair)) for pair in aliases}
    place = {key: at for at, key in enumerate(first)}
    best: dict[tuple[str, str], Suggestion] = {}
    for one, other in _near(list(first)):
        why = _reason(one, other)
        if why and frozenset((one, other)) not in known:
            one, other = sorted((one, other), key=place.__getitem__)
            best[one, other] = Suggestion(first[one], first[other], *why)
    return sorted(
        best.values(), key=lambda each: (-each.score, place[entity_key(each.one)], place[entity_key(each.other)])
    )


MAX_SHARING = 60
"""Names that share a clue, at most: what more have in common tells nothing."""


def _near(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of keys that share a clue, some of them twice."""
    shared: dict[str, list[str]] = {}
    for key in keys:
        for clue in _clues(key):
            shared.setdefault(clue, []).append(key)
    for members in shared.values():
        if len(members) <= MAX_SHARING:
            yield from combinations(members, 2)


def _clues(key: str) -> set[str]:
    words = key.split()
    clues = {f"bare {bare_name(key)}", f"plain {_plain(key)}"}
    if _ALL_HAN.fullmatch(key):
        clues |= {f"sound {sound}" for sound in sounds(key)}
        return clues
    if re.fullmatch(r"[^\W\d_]+(?:\.?[ '-][^\W\d_]+)*", key):
        turned = [words[-1:] + words[:-1], words[1:] + words[:1]] if len(words) > 1 else []
        clues |= {f"sound {_plain(''.join(order))}" for order in (words, *turned)}
        clues |= {f"form {form} {' '.join(words[1:])}" for form in (words[0], *FORMS.get(words[0], ()))}
        clues |= {f"word {words[0]}", f"word {words[-1]}"} if len(words) > 1 else {f"word {key}"}
        clues.add(f"initial {words[0][0]} {' '.join(words[1:])}")
        if len(key) >= 6:
            clues |= {f"less {key[:at]}{key[at + 1 :]}" for at in range(min(len(key), 40))} | {f"less {key}"}
    if len(words) >= 3:
        clues.add(f"short {_initials(key)}")
    elif len(words) == 1 and 3 <= len(key) <= 6:
        clues.add(f"short {key}")
    return clues


def _reason(one: str, other: str) -> tuple[str, float] | None:
    """Return why two keys may be one, and how likely that is; None if nothing sure enough speaks for it."""
    if reads_as(one, other) or reads_as(other, one):
        return "pinyin", 0.8
    if bare_name(one) == bare_name(other):
        return "title", 0.7
    if _plain(one) == _plain(other):
        return "accents", 0.8
    words, others = one.split(), other.split()
    same_rest = words[1:] == others[1:]
    if same_rest and (others[0] in FORMS.get(words[0], ()) or words[0] in FORMS.get(others[0], ())):
        return "nickname", 0.75 if len(words) > 1 else 0.5
    if _initials(one) == other or _initials(other) == one:
        return "initials", 0.6
    short, long = sorted((words, others), key=len)
    if len(short) < len(long) and (long[: len(short)] == short or long[-len(short) :] == short):
        return "part", 0.6 if long[: len(short)] == short else 0.4
    one_letter = min(len(words[0].rstrip(".")), len(others[0].rstrip("."))) == 1
    if same_rest and len(words) > 1 and one_letter and words[0][0] == others[0][0]:
        return "initials", 0.7
    return ("spelling", 0.4) if _one_letter_apart(one, other) else None


def _initials(key: str) -> str:
    """Return the first letters of three words or more, "" of fewer."""
    words = [word for word in key.split() if word not in _SMALL]
    return "".join(word[0] for word in words) if len(words) > 2 else ""


def _plain(key: str) -> str:
    """Return `key` without accents, blanks and hyphens."""
    letters = unicodedata.normalize("NFD", key)
    return "".join(c for c in letters if not unicodedata.combining(c) and c not in " -'·.")


def _one_letter_apart(one: str, other: str) -> bool:
    """Return whether one letter more, less, other or two changed places make `other` of `one`, both of >= 6 letters."""
    if min(len(one), len(other)) < 6 or abs(len(one) - len(other)) > 1 or re.search(r"\d", one + other):
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, others = one[start:], other[start:]
    swapped = rest[1:2] + rest[:1] == others[:2] and rest[2:] == others[2:]
    return rest[1:] == others or rest == others[1:] or rest[1:] == others[1:] or swapped
