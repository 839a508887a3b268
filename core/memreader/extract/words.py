"""Words of a text, to see whether two texts speak of the same: case, width and endings apart, Chinese by pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
_RUN = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<number>\d+(?:[.,:]\d+)*)|[^\W\d_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?")
_STEM = 5
"""Letters of a Latin word that count: "moved" is "moves", most of the time."""
_SMALL = frozenset(
    """
    a an the this that these those i me my you your he him his she her it its we us our they them their and or but of to
    in on at for with from by as is am are was were be been being do does did have has had will would can could should
    user assistant said says
    """.split()
)
_NOT = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|neither|nor|without|stopped|quit|cannot|unable|refuses?)\b|n['’]t\b|[不没沒无無未别別非]",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|[零〇一二两兩三四五六七八九十百千万萬亿億]+(?=[个個岁歲年月日号號天周週点點分元块塊次只隻人])"
)
_MINUS = re.compile(r"(?<![\w)\]])-(?=\d)")
_TELLING = frozenset({"Mn", "Mc", "Sc", "Sm", "So"})
_WHO = re.compile(r"\b(?:user|assistant)\b|用户|使用者|助手", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?。！？\n] )(?<!^)\b[A-Z][\w'’-]*", re.MULTILINE)


def words_of(text: str) -> set[str]:
    """Return the words that carry what a text says; of a text without any, its own words.

    >>> sorted(words_of("Ana moved to 上海市")), words_of("the")
    (['ana', 'moved', '上海', '海市'], {'the'})
    """
    found: set[str] = set()
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).lower()):
        run = match[0]
        if match["cjk"]:
            found.update(run[place : place + 2] for place in range(max(1, len(run) - 1)))
        else:
            found.add(run if match["number"] else run[:_STEM])
    return (found - {word[:_STEM] for word in _SMALL}) or found


def normalised(text: str) -> str:
    """Return `text` without what makes no other statement of it: case, width, punctuation and spaces.

    >>> normalised("Likes  TEA.") == normalised("likes tea")
    True
    """
    letters = _MINUS.sub("\u2212", unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(c if _tells(c) else " " for c in letters).split())


def _tells(character: str) -> bool:
    """Return whether a character can make another statement: letters with their vowel signs, but also $, +, %, 😀."""
    return character.isalnum() or character in "#%&@" or unicodedata.category(character) in _TELLING


def _signs(text: str) -> set[str]:
    return {c for c in normalised(text) if c in "#%&@" or unicodedata.category(c).startswith("S")}


def same_fact(one: str, other: str, *, of_one_reply: bool = False) -> bool:
    """Return whether two statements read from the same lines say the same: equal but for case, width and punctuation;
    or mostly the same words, with equal numbers, negations and names, these in the same order.

    Args:
        one: A statement.
        other: Another.
        of_one_reply: Whether one reply tells them apart: then all of their words must be the same.

    >>> same_fact("Ana moved to Lisbon in May.", "Ana moved to Lisbon in May 2023")
    False
    >>> same_fact("Ana has a cat called Biscuit.", "Ana has a cat whose name is Biscuit.")
    True
    """
    if normalised(one) == normalised(other):
        return True
    for marks in (_NUMBER, _NOT, _WHO):
        if _all(marks, one) != _all(marks, other):
            return False
    if _NAME.findall(one) != _NAME.findall(other) or _signs(one) != _signs(other):
        return False
    first, second = words_of(one), words_of(other)
    if of_one_reply:
        return first == second
    shared = len(first & second)
    return shared >= 2 and shared / min(len(first), len(second)) >= 0.75 and shared / len(first | second) >= 0.5


def support(statement: str, lines: Iterable[str]) -> list[float]:
    """Return for each line how much of the statement's words it holds, in [0, 1]; rare words count more.

    A word's weight is 1 / (1 + the number of lines that hold it).
    """
    words = words_of(statement)
    held = [words_of(line) & words for line in lines]
    weight = {word: 1 / (1 + sum(word in line for line in held)) for word in words}
    total = sum(weight.values())
    return [sum(weight[word] for word in line) / total if total else 0.0 for line in held]


def _all(pattern: re.Pattern[str], text: str) -> set[str]:
    found = {match.lower() for match in pattern.findall(text)}
    return {"not"} if pattern is _NOT and found else found
