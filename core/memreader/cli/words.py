"""Memories as a person reads them: when, from where, and the part that matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from rich.text import Text

from memreader.cli.screen import memories, one_line, plain
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.recall.lexical import terms
from memreader.records import Decided
from memreader.types import Hit

WIDTH = 240
"""Characters of a memory in a table; `show` has all of them."""


def day(item: TextualMemoryItem) -> str:
    """Return the day of what the memory tells, or "" where it is unknown; with that of its end, if it has one."""
    known = item.metadata
    day = (known.memory_time or "")[:10]
    return day if known.valid_until is None else f"{day} - {known.valid_until[:10]}".strip()


def when(item: TextualMemoryItem) -> str:
    """Return `day`, and on which day a memory that isn't kept for good expires."""
    end = item.metadata.expires_at
    return day(item) if end is None else f"{day(item)} (expires {end[:10]})".strip()


def where(item: TextualMemoryItem) -> str:
    """Return the first source of a memory, and how many there are besides; "" for none."""
    sources = item.metadata.sources
    if not sources:
        return ""
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return one_line(cited(sources[0]) + more)


def cited(source: SourceMessage, *, whole_path: bool = False) -> str:
    """Return which message or document a memory cites, and which characters of it."""
    span = "" if source.start is None else f", characters {source.start}-{source.end}"
    if source.type == "doc":
        path = source.doc_path or "a document"
        name = path if whole_path else PurePath(path.replace("\\", "/")).name or path
        return f"{name}{f', page {source.page}' if source.page else ''}{span}"
    number = "" if source.index is None else f" {source.index}"
    speaker = source.name or source.role
    session = f" in {source.session_id}" if source.session_id else ""
    return f"message{number}{f' by {speaker}' if speaker else ''}{session}{span}"


def excerpt(text: str, question: str = "", *, width: int = WIDTH) -> str:
    """Return one line of at most about `width` characters: the part that shares most terms with the question.

    >>> excerpt("one two three", width=8), excerpt("the cat sat. It was Biscuit the dog who ate it", "dog", width=20)
    ('one two …', '…uit the dog who ate …')
    """
    line = one_line(text)
    if len(line) <= width:
        return line
    asked = set(terms(question))
    starts = range(0, len(line) - width // 2, max(1, width // 10)) if asked else range(1)
    shared = {start: len(asked.intersection(terms(line[start : start + width]))) for start in starts}
    tied = [start for start, count in shared.items() if count == max(shared.values())]
    best = tied[len(tied) // 2] if any(shared.values()) else 0
    return "…" * (best > 0) + line[best : best + width] + "…" * (best + width < len(line))


def with_small_print(text: str, *small: str) -> Text:
    """Return a cell: the text, and below it in grey what is less important."""
    return Text.assemble(one_line(text), *((f"\n{one_line(line)}", "dim") for line in small if line))


def hit_fields(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON-ready fields: score, similarity, parts, and those of its item."""
    fields: dict[str, Any] = plain(hit.item)
    return {"score": hit.score, "similarity": hit.similarity, "parts": plain(hit.parts), **fields}


def told(added: int, existing: int = 0, replaced: int = 0) -> str:
    """Return what became of memories, in words.

    >>> told(2, 1), told(0)
    ('2 memories added, 1 known before', '0 memories added')
    """
    parts = [f"{memories(added)} added"]
    parts += [f"{existing:,} known before"] if existing else []
    parts += [f"{replaced:,} replaced"] if replaced else []
    return ", ".join(parts)


def settled(decisions: Sequence[Decided]) -> list[str]:
    """Return what was decided about memories that repeat or end others, in words; [] where nothing was.

    >>> settled([Decided("b", "merge", "a", "old", "same words", "rules")])
    ['1 merged']
    """
    counts = Counter[str](one.action for one in decisions)
    words = {"merge": "merged", "supersede": "superseded"}
    return [f"{counts[action]:,} {word}" for action, word in words.items() if counts[action]]
