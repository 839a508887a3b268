"""The single-valued facts of a statement, in either language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memreader.reconcile.chinese import chinese_slots
from memreader.reconcile.english import english_slots
from memreader.reconcile.statement import Slot
from memreader.reconcile.surface import plain

__all__ = ["Slot", "slots"]

MAX_CHARS = 300
"""A statement longer than that says more than one thing."""
_NOTE = re.compile(r"\s*[(（]\d{4}-\d\d(?:-\d\d)?[)）]")
_ENDS = ".。!！ ~～"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_QUOTES = str.maketrans("", "", '"“”《》「」『』〈〉')
_GAP = re.compile(rf"(?<=[{_HAN}])\s+|\s+(?=[{_HAN}])")
_END = re.compile("[.!?。！？]")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+(?=[A-Z])|(?<=[。！？])")


def slots(text: str) -> tuple[Slot, ...]:
    """Return what a statement gives one value of: whose, of what, and which; () for most statements.

    Only what people have one of at a time counts: home, employer, occupation, school and major, age, weight, for how
    long something has been so, a favourite, a phone number and the like, being single or married, when a meeting is;
    and habits, which only their end ("stopped smoking", 不再喝咖啡) replaces. Names are compared as they are written:
    "Ann" is not "Anna". Plans, conditions, what others say, the past, visits, and what holds "also" give none.

    >>> [(slot.attribute, slot.value) for slot in slots("The user moved to Lisbon.") if slot.new]
    [('home', 'lisbon')]
    """
    return () if len(text) > MAX_CHARS else _slots(text)


@lru_cache(maxsize=128)
def _slots(text: str) -> tuple[Slot, ...]:
    sentences = _sentences(plain(text))
    return tuple(dict.fromkeys(_of(sentences[0]))) if len(sentences) == 1 else ()


def _sentences(shown: str) -> list[str]:
    """Return the sentences of a text in one width, without notes, quotes and end marks."""
    noted = _NOTE.sub("", shown) if "(" in shown else shown
    shown = " ".join(noted.translate(_QUOTES).split())
    parts = _SENTENCE.split(shown) if _END.search(shown, 0, len(shown) - 1) else (shown,)
    return [part for part in (one.strip(_ENDS) for one in parts) if part]


def _of(sentence: str) -> Iterator[Slot]:
    if not sentence.isascii() and re.search(f"[{_HAN}]", sentence):
        yield from chinese_slots(_GAP.sub("", sentence))
    else:
        yield from english_slots(sentence)
