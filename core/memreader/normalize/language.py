"""Which language a text is in, by its letters and its small words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from memreader.normalize.language_words import (
    CHINESE_ONLY,
    HAN_GRAMMAR,
    LATIN_LETTERS,
    LATIN_WORDS,
    OWN_LETTERS,
    SCRIPTS,
    SMALL_WORDS,
)

LOOKED_AT = 20_000
"""Characters of a text that are looked at, from its start."""

_SMALL_WORD_BONUS = 2.0
_NAME_WEIGHT = 0.6

# The lookbehinds and length limits keep long runs without a match linear.
_FIGURES = r"(?<![\w-])(?=[\w-]*\d)[\w-]+(?::[\d.:]+)?"
_NOISE = re.compile(
    rf"""(?:https?|ftp)://[^\s\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]+ | \bwww\.[^\s\u3000-\uffef]+
    | (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[\w.-]+
    | ^[^\S\n]{{0,9}}(?:user|assistant|system|developer|tool|function|participant)[^\S\n]{{0,9}}:
    | (?:^[^\n:\[\]]{{0,64}}:[^\S\n]?)?\[?(?<!\d)\d\d?:\d\d[ ][AP]M[ ]on[ ]\d\d?[ ][A-Z]{{3,9}},[ ]\d{{4}}\]?:?
    | \[shared[ ]image\b
    | {_FIGURES}""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE | re.ASCII,
)
_NOISY = (":", "@", "www.", "[shared")
"""What is in all noise but tokens with digits, in any case."""
_FIGURED = re.compile(_FIGURES, re.ASCII)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々〇]")
_KANA = re.compile("[ぁ-ゖゝゞァ-ヺｦ-ﾝ]")
_HANGUL = re.compile("[가-힣ᄀ-ᇿㄱ-ㆎ]")
_LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_LATIN = re.compile(f"[{_LETTERS}]+(?:['’][{_LETTERS}]+)*")


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the language most of `text` is in; "und" where nothing tells (digits, emoji, empty).

    Role prefixes, shown times, URLs, addresses and tokens with digits are left out first. Then words are weighed
    against words: names and terms travel between languages while grammar stays at home, so small words (的 在, the is
    and) weigh most, and Latin words with a capital no more than a Han character. Where Han, kana and hangul weigh at
    least as much as the Latin words, it is "ko" if there is more hangul than Han, "ja" if more than one of twenty Han
    and kana characters is kana and kana outnumber the characters only Chinese uses, else "zh". Other scripts are
    named by their most spoken language (Cyrillic "ru"), or by letters of their own ("uk", "fa", "ur"). Among Latin
    languages the small words decide; without any, it is "en" if all letters are ASCII, else "und". Only the first
    20,000 characters are looked at.

    >>> detect_language("我昨天在 Starbucks 用 MacBook Pro 写 Python 代码"), detect_language("I met 张三 yesterday")
    ('zh', 'en')
    """
    text = _without_noise(text[:LOOKED_AT])
    written = _LATIN.findall(text)
    words = [word.lower().replace("’", "'") for word in written]
    if text.isascii():
        # No letter of another script, nor one that a language has for its own.
        return _by_small_words(words) if words else "und"
    latin = sum(1.0 if word.islower() else _NAME_WEIGHT for word in written)
    latin += _SMALL_WORD_BONUS * sum(word in SMALL_WORDS for word in words)
    han, kana, hangul = (len(letters.findall(text)) for letters in (_HAN, _KANA, _HANGUL))
    cjk = _NAME_WEIGHT * (han + hangul) + kana + _SMALL_WORD_BONUS * _count(text, HAN_GRAMMAR, han)
    other, script = max((weight * len(pattern.findall(text)), code) for code, (pattern, weight) in SCRIPTS.items())
    if not (latin or cjk or other):
        return "und"
    if cjk >= max(latin, other):
        if hangul > max(han, kana):
            return "ko"
        # A Chinese text may quote a Japanese name; a Japanese one can't do without kana.
        return "ja" if kana * 20 > han + kana and kana > _count(text, CHINESE_ONLY, han) else "zh"
    return _latin_language(words) if latin >= other else _script_language(text, script)


def _without_noise(text: str) -> str:
    lower = text.lower()
    noise = _NOISE if any(sign in lower for sign in _NOISY) else _FIGURED
    return noise.sub(" ", text)


def _count(text: str, letters: frozenset[str], han: int) -> int:
    return sum(text.count(letter) for letter in letters) if han else 0


def _latin_language(words: Sequence[str]) -> str:
    letters = set("".join(words))
    return _by_small_words(words, {code: 2 * len(letters.intersection(own)) for code, own in LATIN_LETTERS.items()})


def _by_small_words(words: Sequence[str], more: Mapping[str, int] = MappingProxyType({})) -> str:
    known = [word for word in words if word in SMALL_WORDS]
    if not known and not more:
        return "en" if all(word.isascii() for word in words) else "und"
    scores = {code: sum(map(small.__contains__, known)) + more.get(code, 0) for code, small in LATIN_WORDS.items()}
    best = max(scores, key=lambda code: scores[code])  # the first of equals, and English stands first
    if scores[best]:
        return best
    return "en" if all(word.isascii() for word in words) else "und"


def _script_language(text: str, script: str) -> str:
    for code, own, foreign in OWN_LETTERS.get(script, ()):
        if any(letter in text for letter in own) and not any(letter in text for letter in foreign):
            return code
    return script
