"""Items as rows of the database, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from memreader.errors import StoreCorruptError
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.ports import Vectors
from memreader.traits import moved

# The times would be compared with their defaults, each of which is a look at the clock.
_OWN = {"embedding", "created_at", "updated_at"}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
MAX_COUNT = 65535
"""Occurrences of a term are kept in two bytes."""


def kept_metadata(
    metadata: TextualMemoryMetadata, source_keys: Sequence[str] = (), positions: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return what is kept of metadata, as JSON would give it back: neither its vector nor what has its default.

    Args:
        metadata: Of an item.
        source_keys: Of its sources, in their order.
        positions: Of messages in the session, by source key: chat sources are numbered by them.
    """
    data = metadata.model_dump(mode="json", exclude=_OWN, exclude_defaults=True)
    data["created_at"], data["updated_at"] = metadata.created_at, metadata.updated_at
    if positions and len(source_keys) == len(metadata.sources):
        for source, key in zip(data.get("sources", ()), source_keys, strict=True):
            if key in positions:
                source["index"] = positions[key]
    return data


def as_json(data: Mapping[str, Any]) -> str:
    """Return metadata as the database keeps it."""
    return _encode(data)


def item_of(path: Path, item_id: str, memory: str, metadata: str) -> TextualMemoryItem:
    """Return the item of a row of the database at `path`.

    Raises:
        StoreCorruptError: The row is not one that was written.
    """
    try:
        known = TextualMemoryMetadata.model_validate_json(metadata)
        return TextualMemoryItem(id=item_id, memory=memory, metadata=known)
    except ValidationError:
        # Not chained: it cites the values.
        raise StoreCorruptError(path=str(path), detail="there are memories that are not what was written") from None


def evidence_of(vector: Vectors, terms: Mapping[int, int]) -> tuple[bytes, bytes, bytes]:
    """Return a vector, and its text's term ids and their counts, as blobs; little-endian everywhere."""
    return vector.astype("<f4", copy=False).tobytes(), *terms_as_blobs(terms)


def terms_as_blobs(terms: Mapping[int, int]) -> tuple[bytes, bytes]:
    """Return term ids and their counts as blobs."""
    counts = np.minimum(np.fromiter(terms.values(), np.int64, len(terms)), MAX_COUNT)
    ids = np.fromiter(terms.keys(), "<i8", len(terms))
    return ids.tobytes(), counts.astype("<u2").tobytes()


def placed(traits: bytes, metadata: Mapping[str, Any]) -> bytes:
    """Return traits with the place of the message that an item's first source names: the store gives it its position.

    Args:
        traits: Packed; empty ones stay empty.
        metadata: Of the item, as `kept_metadata` gives it.
    """
    if not traits:
        return traits
    sources = metadata.get("sources")
    index = sources[0].get("index") if sources and sources[0].get("type", "chat") == "chat" else None
    return traits if index is None else moved(traits, index)


def bound(item_id: Any) -> str | None:
    """Return an id as SQLite takes it; None, which equals nothing, for one that nothing can have (a lone surrogate)."""
    return item_id if isinstance(item_id, str) and item_id.encode("utf-8", "ignore").decode() == item_id else None
