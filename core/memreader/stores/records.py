"""What goes into a store in one transaction, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memreader.items import TextualMemoryItem
from memreader.ports import Vectors
from memreader.types import Document, Message


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message to keep, under its source key."""

    message: Message
    source_key: str
    digest: str
    """Of what is said; another digest under the same key is an edit."""


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A parsed document to keep. The same `doc_key` with another `source_key` replaces the old document's items."""

    document: Document
    doc_key: str
    source_key: str


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """An item to keep, with all that finding it needs."""

    item: TextualMemoryItem
    vector: Vectors
    """float32, shape (d,), unit length."""
    terms: Mapping[int, int]
    """Term id -> occurrences."""
    source_keys: tuple[str, ...] = ()
    replaces: bool = False
    """Whether an item of this id with other content is replaced (a caller's item) or kept (one that we made)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One write: everything in it becomes durable together, or nothing."""

    user_id: str
    session_id: str | None = None
    messages: tuple[MessageRecord, ...] = ()
    documents: tuple[DocumentRecord, ...] = ()
    items: tuple[ItemRecord, ...] = ()
    read: tuple[str, ...] = ()
    """Source keys that were read completely."""
    reading_key: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, ids in the order of the batch."""

    added: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """Items that went because their document or message changed, or because `added` holds a new one of their id."""
