"""The same fact found twice: in the lines that two passages share, or in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from memreader.extract.fine import Found, PassageReading
from memreader.extract.words import normalised, same_fact
from memreader.items import SourceMessage
from memreader.types import Dropped

LOOK_BACK = 3
"""Passages whose memories are compared by more than their words: a line is seldom in more."""


class SameFacts:
    """Tells which of a passage's memories the passages before had, in one reading. Numbers count the new ones."""

    def __init__(self) -> None:
        self._by_words: dict[str, int] = {}
        self._known: list[tuple[int, Found, frozenset[SourceMessage]]] = []
        self._recent: list[list[tuple[int, Found, frozenset[SourceMessage]]]] = []
        self._count = 0

    def know(self, found: Found) -> None:
        """Take in a memory that was made at another time; it gets the number that follows."""
        self._known.append((self._count, found, frozenset(found.candidate.sources)))
        self._by_words.setdefault(normalised(found.candidate.text), self._count)
        self._count += 1

    def sort(self, reading: PassageReading) -> tuple[list[Found], list[tuple[int, Found]], list[Dropped]]:
        """Return what of a reading is new, what repeats (number of the memory it repeats, repetition), and what is
        neither: said in lines that were read at another time.

        The new ones get the numbers that follow.
        """
        new: list[Found] = []
        repeats: list[tuple[int, Found]] = []
        dropped: list[Dropped] = []
        shown = {source for line in reading.passage.lines for source in line.sources}
        current: list[tuple[int, Found, frozenset[SourceMessage]]] = []
        self._recent = [*self._recent[-(LOOK_BACK - 1) :], current]
        for found in reading.found:
            number = self._number_of(found, shown)
            if number is not None:
                repeats.append((number, found))
            elif all(line.state == "context" for line in found.lines):
                dropped.append(Dropped(found.candidate.text, "it stands in lines that were read before"))
            else:
                current.append((self._count, found, frozenset(found.candidate.sources)))
                self._by_words[normalised(found.candidate.text)] = self._count
                self._count += 1
                new.append(found)
        return new, repeats, dropped

    def _number_of(self, found: Found, shown: set[SourceMessage]) -> int | None:
        text = found.candidate.text
        number = self._by_words.get(normalised(text))
        if number is not None:
            return number
        sources = set(found.candidate.sources)
        for passage in (self._known, *self._recent):
            for number, earlier, cited in passage:
                # Both rest on some of the same lines.
                together = passage is self._recent[-1]
                if cited & shown & sources and same_fact(text, earlier.candidate.text, of_one_reply=together):
                    return number
        return None


def merged(readings: Sequence[PassageReading]) -> tuple[list[Found], list[Dropped]]:
    """Return the memories of consecutive passages, each once and with all its sources, and what was left out."""
    same, kept = SameFacts(), list[Found]()
    left_out: list[Dropped] = []
    for reading in readings:
        new, repeats, dropped = same.sort(reading)
        kept.extend(new)
        left_out.extend(dropped)
        for number, found in repeats:
            kept[number] = kept[number].joined(found)
    return kept, left_out
