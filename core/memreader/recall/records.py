"""An item with all that finding it needs, as a store takes it."""

from __future__ import annotations

from memreader.graph.aliases import alias_pairs
from memreader.items import TextualMemoryItem
from memreader.ports import Vectors
from memreader.recall.describing import traits_of
from memreader.recall.lexical import term_counts
from memreader.reconciling import statement_keys
from memreader.records import ItemRecord
from memreader.types import TokenVectors


def item_record(
    item: TextualMemoryItem,
    vector: Vectors | None,
    source_keys: tuple[str, ...] = (),
    *,
    replaces: bool = False,
    relations: tuple[tuple[str, str, str], ...] = (),
    base_version: int | None = None,
    tokens: TokenVectors | None = None,
    restores: bool = False,
) -> ItemRecord:
    """Return the record of an item: its terms, traits and keys from its words and metadata; see `ItemRecord`."""
    return ItemRecord(
        item,
        vector,
        term_counts(item.memory),
        source_keys,
        replaces,
        relations,
        traits_of(item).pack(),
        tokens,
        statement_keys(item),
        base_version,
        restores,
        alias_pairs(item.memory),
    )
