"""Names of days, months, seasons and numbers in English, and the edges of a word."""

from __future__ import annotations

SPACE = r"\s{1,3}"
"""Bounded, so that a megabyte of blanks costs no more than one of words."""

_LETTER = r"[^\W㐀-鿿]"
"""Chinese text goes on without a blank after an English word: its characters are no part of the word."""

LEFT = rf"(?<!{_LETTER})(?<![/@#=&$-])"
RIGHT = rf"(?!{_LETTER}|[/@=]|-{_LETTER}|\.(?:com|org|net|io)(?!{_LETTER})|['’](?!s(?!{_LETTER})){_LETTER})"
UNOWNED = "".join(f"(?<!{word} )" for word in "the my his her our their your its one every year's year’s".split())
"""Before "last", "next" and "this": "the last week", "my last year" count something else than the calendar."""

_MONTH_NAMES = "january february march april may june july august september october november december".split()
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
WEEKDAY = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:s|nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
SEASON = r"(?:spring|summer|autumn|fall|winter)"
PART = rf"(?:{SPACE}(?:morning|noon|lunchtime|afternoon|evening|night){RIGHT})?"
"""A part of the day, which belongs to the words but not to the date."""

_ONES = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBER = rf"(?:(?<![\d,.])\d{{1,4}}|an?|(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES)}))?|{'|'.join(_TEENS + _ONES)})"
_VALUES = (
    {word: value for value, word in enumerate(_ONES + _TEENS, start=1)}
    | {word: 10 * value for value, word in enumerate(_TENS, start=2)}
    | {"a": 1, "an": 1}
)


def number_of(words: str) -> int:
    """Return the number that NUMBER matched, 0 to 9999."""
    if words.isdigit():
        return int(words)
    return sum(_VALUES[word] for word in words.lower().replace("-", " ").split())


def month_number(word: str) -> int | None:
    """Return 1 to 12; None for "may" and "march" in small letters, which are rather verbs."""
    if word in ("may", "march", "mar"):
        return None
    return next(i for i, name in enumerate(_MONTH_NAMES, start=1) if name.startswith(word.lower()[:3]))


def weekday_number(word: str) -> int | None:
    """Return 0 (Monday) to 6; None for "sun", "sat" and "wed" in small letters, which are words of their own."""
    if word in ("sun", "sat", "wed"):
        return None
    return ("mon", "tue", "wed", "thu", "fri", "sat", "sun").index(word.lower()[:3])


def season_number(word: str) -> int:
    """Return 0 (spring) to 3 (winter)."""
    return {"spring": 0, "summer": 1, "autumn": 2, "fall": 2, "winter": 3}[word.lower()]
