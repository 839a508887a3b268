"""Items as statements: what reconciling compares, by which keys they find each other, and what becomes of two."""

from __future__ import annotations

from dataclasses import replace

from memreader.extract.fast import FAST_TAG
from memreader.items import TextualMemoryItem
from memreader.reconcile import Statement, decide, keys
from memreader.records import Decision

AS_THEY_ARE = frozenset(
    {"OuterMemory", "ToolSchemaMemory", "ToolTrajectoryMemory", "RawFileMemory", "SkillMemory", "Context"}
)
"""Types of memories that state no fact about anybody."""


def statement_keys(item: TextualMemoryItem) -> tuple[str, ...]:
    """Return the keys by which a statement finds others; () for evidence, which stays as it was said."""
    known = item.metadata
    if known.is_fast or FAST_TAG in known.tags or known.memory_type in AS_THEY_ARE:
        return ()
    return keys(item.memory)


def statement_of(item: TextualMemoryItem) -> Statement:
    """Return what reconciling looks at in an item."""
    known = item.metadata
    first = known.sources[0] if known.sources else None
    place = None
    if first is not None and first.type == "chat" and first.index is not None:
        place = (first.session_id or known.session_id or "", first.index)
    return Statement(
        item.memory,
        known.memory_time or known.created_at,
        place,
        tuple(known.entities),
        tuple(source.model_dump_json() for source in known.sources),
    )


def settle(new: TextualMemoryItem, old: TextualMemoryItem) -> Decision:
    """Return what the rules make of a new statement and one that is there.

    Of two that differ in case or punctuation alone the one that is there stays: its id is known. A statement that names
    no source is never skipped: whoever gave it an id finds it by that. Nor is one under another session label: who
    looks at that session alone finds it there, though elsewhere the other one stands for it.
    """
    decision = decide(statement_of(new), statement_of(old))
    elsewhere = new.metadata.session_id != old.metadata.session_id
    if decision.action == "skip" and (elsewhere or not new.metadata.sources):
        return replace(decision, action="merge")
    if decision.action == "merge" and _letters(new.memory) <= _letters(old.memory):
        return replace(decision, keeps="old")
    return decision


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
