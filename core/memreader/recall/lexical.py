"""Words to terms, and BM25 over one user's postings.

Terms: English words and numbers, stopped, brought to their base form and stemmed (Snowball English); everything in
Chinese, Japanese or Korean script as character bigrams, traditional and simplified characters as one. BM25 as in
Robertson and Zaragoza (2009), with Lucene's never-negative idf.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from memreader.forksafe import Guard
from memreader.recall.chinese import folded
from memreader.recall.words import ASKING_WORDS, BASE_FORMS, CJK_FUNCTION_CHARACTERS, STOP_WORDS

LEXICON = "memreader-terms-2"
"""Name of this way to make terms; part of what a store remembers. Change it when a text would give other terms."""
OLDER_LEXICONS = frozenset({"memreader-terms-1"})
"""Ways of older versions: the items of such a store get the terms of this one when a memory opens it."""

SHORT = 8
"""Terms up to which a question is short."""
CHARACTER_WEIGHT = 0.3
ASKING_WEIGHT = 0.3
"""Of words that say how something is asked for."""

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
_TOKEN = re.compile(
    rf"(?P<cjk>[{_CJK}]+)|(?P<word>[^\W\d_{_CJK}]+(?:[-'’][^\W\d_{_CJK}]+)*)|(?P<number>\d+(?:[.,:]\d+)*)"
)
_ASCII_TOKEN = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*|[0-9]+(?:[.,:][0-9]+)*")
"""`_TOKEN` for ASCII: words and numbers."""
_FUNCTION = re.compile(f"[{CJK_FUNCTION_CHARACTERS}]")
_MARK = re.compile(r"[\u0300-\u036f]")


def terms(text: str) -> list[str]:
    """Return the terms of `text`, in order, repeated as often as they occur; none for text without content words.

    >>> terms("Ana's check-up went well in 2023")
    ['ana', 'check', 'checkup', 'go', 'well', '2023']
    >>> terms("搬到上海 with iPhone 15")
    ['搬到', '到上', '上海', 'iphon', '15']
    >>> terms("我的猫叫什么名字"), terms("我的貓叫什麼名字")
    (['猫叫', '名字'], ['猫叫', '名字'])
    """
    return list(_terms(text))


@lru_cache(maxsize=256)
def _terms(text: str) -> tuple[str, ...]:
    # What is written is asked for its terms several times in a row.
    found: list[str] = []
    if text.isascii():
        for said in _ASCII_TOKEN.findall(text):
            found.extend(_word_terms(said) if said[0].isalpha() else (said.replace(",", ""),))
        return tuple(found)
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        kind, said = match.lastgroup, match[0]
        if kind == "word":
            found.extend(_word_terms(said))
        elif kind == "number":
            found.append(said.replace(",", ""))
        else:
            found.extend(_bigrams(folded(said)))
    return tuple(found)


def is_mostly_cjk(text: str) -> bool:
    """Return whether Chinese, Japanese or Korean characters outnumber Latin words.

    >>> is_mostly_cjk("我用 Python 写代码"), is_mostly_cjk("I met 张三 at the office")
    (True, False)
    """
    plain = unicodedata.normalize("NFKC", text)
    characters = sum(len(match["cjk"]) for match in _TOKEN.finditer(plain) if match["cjk"])
    words = sum(1 for match in _TOKEN.finditer(plain) if match["word"])
    return characters > words


def characters(text: str) -> list[str]:
    """Return the Chinese, Japanese and Korean characters of `text` that carry content, in order.

    >>> characters("我有猫吗")
    ['有', '猫']
    """
    if text.isascii():
        return []
    runs = (folded(match["cjk"]) for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)) if match["cjk"])
    return [character for run in runs for character in _FUNCTION.sub("", run)]


def _bigrams(run: str) -> list[str]:
    """Return the character bigrams between function characters."""
    return [piece[i : i + 2] for piece in _FUNCTION.split(run) for i in range(len(piece) - 1)]


@lru_cache(maxsize=200_000)
def _word_terms(word: str) -> tuple[str, ...]:
    plain = _MARK.sub("", unicodedata.normalize("NFKD", word.lower().replace("’", "'")))
    parts = [part.removesuffix("'s") for part in plain.split("-")]
    if len(parts) > 1:
        parts.append("".join(parts))
    kept: list[str] = []
    for part in parts:
        for piece in part.split("'"):
            if piece and piece not in STOP_WORDS:
                kept.append(_stem(BASE_FORMS.get(piece, piece)))
    return tuple(kept)


_importing = Guard()


def _stem(word: str) -> str:
    # A stemmer keeps the word it works on in itself, so each call has its own: next to nothing beside the work.
    stem: str = _stemmer()().stemWord(word)
    return stem


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    with _importing.lock:
        # The pure one by name: snowballstemmer.stemmer() would take whatever C build happens to be installed.
        from snowballstemmer.english_stemmer import EnglishStemmer

        return EnglishStemmer


@lru_cache(maxsize=1)
def _asking_terms() -> frozenset[str]:
    return frozenset(term for word in ASKING_WORDS for term in _word_terms(word))


@lru_cache(maxsize=500_000)
def term_id(term: str) -> int:
    """Return the signed 64-bit id of a term: the start of its BLAKE2b digest, so that no table of terms is needed."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little", signed=True)


def term_counts(text: str) -> dict[int, int]:
    """Return term id -> occurrences in `text`, single characters included."""
    return dict(Counter(map(term_id, (*terms(text), *characters(text)))))


def query_weights(text: str) -> dict[int, float]:
    """Return term id -> weight of a question's terms: 1, less for single characters and the words of asking.

    A short question in Chinese has few bigrams, and its one noun is often a single character, so characters count
    there; in a long one they would only blur the bigrams.

    >>> sorted(query_weights("我的猫叫什么？").values())
    [0.3, 0.3, 1.0]
    >>> sorted(query_weights("What kind of tea?").values())
    [0.3, 1.0]
    """
    whole = terms(text)
    asking = _asking_terms()
    weights = {term_id(term): ASKING_WEIGHT if term in asking else 1.0 for term in whole}
    if len(whole) <= SHORT:
        weight = CHARACTER_WEIGHT if whole else 1.0
        for character in characters(text):
            weights.setdefault(term_id(character), weight)
    return weights
