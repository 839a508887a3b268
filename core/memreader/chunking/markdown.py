"""Chunks that keep Markdown's sections, code and tables whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from memreader.chunking.boundaries import Positions, line_ends, sentence_ends
from memreader.chunking.packing import Cutter
from memreader.chunking.tokens import TokenMap
from memreader.ports import Tokenizer
from memreader.types import Chunk

_MARK = re.compile(r"\n {0,3}(?:(?P<heading>#{1,6})(?=\s|\Z)|(?P<fence>`{3,}|~{3,})|(?P<table>\||:?-+:?[ \t]*\|))")
_TABLE = re.compile(r"(?:\n[^\n|]{0,2000}\|[^\n]*)+")
_LINE = re.compile(r"[^\n]*")
_CLOSING_MARKS = re.compile(r"(?:\s|\A)#+\s*\Z")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading's own words, up to the next heading."""

    start: int
    stop: int
    headers: tuple[str, ...]
    body: int
    """Offset at which the heading's line ends."""


def iter_markdown_chunks(text: str, tokenizer: Tokenizer, *, max_tokens: int, overlap_tokens: int) -> Iterator[Chunk]:
    """Yield chunks of whole sentences that don't reach beyond their section, with the headings it stands under.

    Code fences and tables are cut only if they are larger than the limit, and then between lines. A heading stays with
    what follows it; one without words of its own goes into the chunk of its first sub-section. The path of headings
    ends with the section's own.
    """
    sections, blocks = parse(text)
    cutter = Cutter(
        TokenMap(text, tokenizer),
        [
            lambda text: _outside(sentence_ends(text), blocks, sections),
            lambda text: _outside(line_ends(text), [], sections),
        ],
        max_tokens=max_tokens,
        overlap_tokens=overlap_tokens,
        repeat_words=False,
    )
    for section in sections:
        for start, end, count in cutter.pieces(section.start, section.stop):
            yield Chunk(text[start:end], start, end, count, section.headers)


def parse(text: str) -> tuple[list[Section], list[tuple[int, int]]]:
    """Return the sections of `text`, in order, and the spans of its code fences and tables."""
    sections = [Section(0, len(text), (), 0)]
    blocks = []
    path: list[tuple[int, str]] = []
    padded = "\n" + text  # So that the first line is found like every other; offsets below are those of `text`.
    at = 0
    while found := _MARK.search(padded, at):
        start = found.start()
        if found["heading"]:
            line = _LINE.match(text, start)
            at = line.end() - line[0].endswith("\r") if line else start
            level = len(found["heading"])
            title = _CLOSING_MARKS.sub("", text[found.end() - 1 : at]).strip()
            path = [(depth, name) for depth, name in path if depth < level] + [(level, title)]
            _begin_section(sections, text, start, at, tuple(name for _, name in path if name))
            continue
        if found["fence"]:
            at = _fence_end(padded, found) - 1
        else:
            start, at = _table(padded, text, start)
            at = max(at, found.end() - 1)
        blocks.append((start, at))
    return sections, blocks


def _begin_section(sections: list[Section], text: str, start: int, body: int, headers: tuple[str, ...]) -> None:
    before = sections.pop()
    bare = not text[before.body : start].strip()
    if bare and headers[: len(before.headers)] == before.headers:
        start = before.start
    else:
        sections.append(Section(before.start, start, before.headers, before.body))
    sections.append(Section(start, len(text), headers, body))


def _fence_end(padded: str, opening: re.Match[str]) -> int:
    """Return where the fence's last line ends; the end of the text if nothing closes it."""
    mark = opening["fence"]
    closing = re.compile(rf"\n {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?(?=\n|\Z)")
    found = closing.search(padded, opening.end())
    return found.end() if found else len(padded)


def _table(padded: str, text: str, start: int) -> tuple[int, int]:
    """Return the span of the table with a row at `start`; the row before it belongs to it if it has columns."""
    before = text.rfind("\n", 0, max(0, start - 1)) + 1
    if start and "|" in text[before : start - 1]:
        start = before
    rows = _TABLE.match(padded, start)
    return start, rows.end() - 1 if rows else start + 1


def _outside(ends: Positions, blocks: list[tuple[int, int]], sections: list[Section]) -> Positions:
    """Return `ends` but for those inside a block or right after a heading's line, and the blocks' own."""
    keep = np.ones(len(ends), bool)
    bodies = np.array([section.body for section in sections if section.headers and section.body < ends[-1]], np.int64)
    places = np.searchsorted(ends, bodies)
    keep[places[ends[places] == bodies]] = False
    if not blocks:
        return ends[keep]
    starts, stops = np.array(blocks, np.int64).T
    block = np.searchsorted(starts, ends, side="right") - 1
    keep &= (block < 0) | (ends >= stops[block])
    return np.union1d(ends[keep], stops)
