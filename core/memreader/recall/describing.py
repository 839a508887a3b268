"""The traits of an item: where it stands, who said it when, and what its words show at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b

from memreader.extract.fast import FAST_TAG
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.normalize import detect_language
from memreader.recall.lexical import terms
from memreader.recall.marks import spoken_marks, told_marks
from memreader.traits import CAPITAL, IN_DOCUMENT, MAX_WORDS, STATEMENT, Traits

SECTION_DEPTH = 2
"""Headings that make a section, from the outermost: below deeper ones a chunk would mostly be alone."""
MAX_NAME = 80
"""Characters of a name from which nobody is called by it."""

_BARE = frozenset(
    "user assistant system developer tool function participant human ai bot chatbot gpt model agent speaker you me"
    " 用户 用戶 助手 助理 系统 系統 我 你 机器人 機器人 人工智能".split()
)
"""Names that are only a role."""
_PLAINLY_ENGLISH = frozenset("the and you that with it are have this what your they been were from i'm it's".split())
_LOOKED_AT = 1_000
_MAX_GROUP = 200
_PLACE_BITS = 24
"""Of the place of a piece within its message."""
_SEPARATOR = "\x1f"


def traits_of(item: TextualMemoryItem) -> Traits:
    """Return what recall looks at in an item beside its words and its vector.

    A chat's group is its session (without one, the day), a document's its section. An item that no conversation or
    document is behind has none. The order is that of what it was made from; a statement's is that of its first source.
    Never raises for a valid item.

    >>> source = SourceMessage(role="user", name="Ana", session_id="s1", index=2)
    >>> item = TextualMemoryItem(
    ...     memory="Ana: I moved to Porto in 2021.",
    ...     metadata={"sources": [source], "is_fast": True, "memory_time": "2023-05-08"},
    ... )
    >>> traits = traits_of(item)
    >>> traits.speaker, traits.words, traits.day == datetime(2023, 5, 8).toordinal()
    ('Ana', 3, True)
    """
    metadata = item.metadata
    sources = metadata.sources
    raw = not metadata.evolve_from and (metadata.is_fast or FAST_TAG in metadata.tags)
    document = bool(sources) and sources[0].type == "doc"
    day = _day(metadata.memory_time)
    words = _said(item.memory, sources) if raw else item.memory
    language = _language(words)
    marks = told_marks(words, language)
    if document:
        marks = marks & ~CAPITAL | IN_DOCUMENT
    elif raw and _is_one_turn(sources):
        marks |= spoken_marks(words, language)
    return Traits(
        group=_group(item, day),
        order=_order(sources),
        speaker=_speaker(sources),
        day=day,
        marks=marks if raw else marks | STATEMENT,
        words=min(MAX_WORDS, len(terms(words))),
    )


def _language(words: str) -> str:
    """Return what `detect_language` says; most English shows at once by words that no other language has."""
    if words.isascii() and len(_PLAINLY_ENGLISH.intersection(words[:_LOOKED_AT].lower().split())) > 1:
        return "en"
    return detect_language(words)


def _day(time: str | None) -> int:
    return datetime.fromisoformat(time).toordinal() if time else 0


def _said(memory: str, sources: Sequence[SourceMessage]) -> str:
    """Return the words of a raw item without the speakers (and times) in front of its lines."""
    if not sources or sources[0].type == "doc":
        return memory
    if not _is_one_turn(sources):
        return "\n".join(source.content for source in sources if source.content) or memory
    return memory.removeprefix(f"{sources[0].name or sources[0].role}: ")


def _is_one_turn(sources: Sequence[SourceMessage]) -> bool:
    """Return whether all of them are one message of a chat."""
    return len({(source.index, source.message_id) for source in sources if source.type == "chat"}) == 1


def _speaker(sources: Sequence[SourceMessage]) -> str:
    names = {" ".join((source.name or "").split()) for source in sources}
    if len(names) != 1 or any(source.type != "chat" for source in sources):
        return ""
    name = names.pop()
    bare = name.casefold() in _BARE or name.casefold() == (sources[0].role or "").casefold()
    return "" if bare or len(name) > MAX_NAME else name


def _order(sources: Sequence[SourceMessage]) -> int:
    if not sources:
        return 0
    first = sources[0]
    start = min(first.start or 0, (1 << 38) - 1)
    if first.type == "doc":
        return start
    return min(first.index or 0, (1 << 38) - 1) << _PLACE_BITS | min(start, (1 << _PLACE_BITS) - 1)


def _group(item: TextualMemoryItem, day: int) -> str:
    if not item.metadata.sources:
        return ""
    first = item.metadata.sources[0]
    if first.type == "doc":
        headers = item.metadata.info.get("headers")
        section = headers[:SECTION_DEPTH] if isinstance(headers, list) else []
        parts = ("document", first.doc_path or "", *map(str, section))
    elif first.index is None:
        return ""
    else:
        session = first.session_id or item.metadata.session_id
        parts = ("session", session) if session else ("day", str(day))
    group = _SEPARATOR.join(parts)
    # A name as long as that would be kept once an item.
    return group if len(group) <= _MAX_GROUP else blake2b(group.encode(), digest_size=16).hexdigest()
