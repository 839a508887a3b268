"""What the contracts of a store's ports write: small records, always the same for the same arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import TestCase

import numpy as np

from memreader.items import TextualMemoryItem
from memreader.records import DocumentRecord, ItemRecord, MessageRecord, Selection
from memreader.types import Document, Message, Vectors

DIMENSION = 8
"""Of the vectors in the contracts."""
TOLERANCE = 1e-5
USER, OTHER = "ana", "ben"
EVERYTHING = Selection()

# Not pytest's: what else this package ships must be importable without it.
raises = TestCase().assertRaises


def unit_vector(seed: int) -> Vectors:
    """Return a unit vector, float32, shape (DIMENSION,), always the same for a seed."""
    vector = np.random.default_rng(seed).normal(size=DIMENSION)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def item_record(
    item_id: str, memory: str = "likes tea", *, seed: int = 0, terms: Mapping[int, int] | None = None, **rest: Any
) -> ItemRecord:
    """Return a record of an item; `metadata`, and fields of the record, by name."""
    item = TextualMemoryItem(id=item_id, memory=memory, metadata=rest.pop("metadata", {}))
    return ItemRecord(item, unit_vector(seed), {1: 1, 2: 3} if terms is None else terms, **rest)


def message_record(key: str, content: str = "I like tea", *, digest: str = "one", **fields: Any) -> MessageRecord:
    """Return a record of a user's message."""
    return MessageRecord(Message("user", content, **fields), key, digest)


def document_record(source_key: str, text: str = "Tea is good.", *, path: str = "tea.md") -> DocumentRecord:
    """Return a record of a document; another `source_key` is another version of the file."""
    return DocumentRecord(Document(text, path, source_key), f"/home/{path}", source_key)
