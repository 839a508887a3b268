"""Whom and what an item mentions, by rules, where nobody says it."""

from __future__ import annotations

from collections.abc import Sequence

from memreader.graph.find import entities_in
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.spelling import entity_key

MOST = 200
"""Names of one item, at most: a text with more is a list, and connects nothing."""


def mentioned_in(text: str, sources: Sequence[SourceMessage] = ()) -> tuple[str, ...]:
    """Return the names that an item mentions, in the order of its words, each once in its first spelling.

    Nobody is mentioned by what he says himself: where the item is made of the very words of its sources, as turns and
    windows are, names are looked for in what each speaker said, and his own is left out. A statement is about its
    speakers, too, so there they count.

    Args:
        text: The item's words.
        sources: What it was made from; their names are known to be names.

    >>> said = SourceMessage(name="Ana", content="Ana here, Ben is in Lisbon.")
    >>> mentioned_in("Ana: Ana here, Ben is in Lisbon.", [said]), mentioned_in("Ana knows Ben.", [said])
    (('Ben', 'Lisbon'), ('Ana', 'Ben'))
    """
    speakers = {name for source in sources if (name := (source.name or "").strip())}
    parts = (
        [(source.content or "", _own(source)) for source in sources] if _is_verbatim(text, sources) else [(text, ())]
    )
    found: dict[str, str] = {}
    for words, own in parts:
        for each in entities_in(words, speakers=speakers):
            key = entity_key(each.name)
            if key not in own:
                found.setdefault(key, each.name)
    return tuple(found.values())[:MOST]


def found_entities(item: TextualMemoryItem) -> list[str]:
    """Return an item's entities: those that it was given, else those that are found.

    None are looked for in what only matters in its session.
    """
    known = item.metadata
    return known.entities or ([] if _is_passing(item) else list(mentioned_in(item.memory, known.sources)))


def entities_after(item: TextualMemoryItem, new: str) -> list[str]:
    """Return an item's entities when `new` are its words: found anew if they were found, else as they were given."""
    known = item.metadata
    if _is_passing(item) or known.entities not in ([], list(mentioned_in(item.memory, known.sources))):
        return known.entities
    own = {key for source in known.sources for key in _own(source)} if _is_verbatim(item.memory, known.sources) else ()
    return [name for name in mentioned_in(new, known.sources) if entity_key(name) not in own]


def _is_passing(item: TextualMemoryItem) -> bool:
    return item.metadata.info.get("lifetime") == "short"


def _is_verbatim(text: str, sources: Sequence[SourceMessage]) -> bool:
    return bool(sources) and all(source.content and source.content in text for source in sources)


def _own(source: SourceMessage) -> tuple[str, ...]:
    """Return by which keys whoever said something is known: whole name and first name."""
    name = source.name or ""
    return tuple(key for key in (entity_key(name), entity_key(name.partition(" ")[0])) if key)
