"""What goes into a store in one transaction, what came of it, and what its indexes are kept in step with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.filters import Filter
from memreader.items import TextualMemoryItem
from memreader.types import Document, Message, TokenVectors, Vectors

Keys: TypeAlias = npt.NDArray[np.int64]
"""A store's own numbers of items, int64; an item keeps its number for life, and a number is never used again."""
Label: TypeAlias = tuple[str | None, str | None, str, str, str | None]
"""session_id, agent_id, visibility, status (or `REPEATED`), source of one item: what a search without filters looks
at."""
REPEATED: Final = "repeated"
"""In place of the status of a statement that stands behind one of another session which says the same."""
Event = Literal["add", "update", "delete", "replace", "restore"]
Action = Literal["skip", "merge", "supersede", "add"]
Side = Literal["new", "old"]
WhenFull = Literal["reject", "archive"]
"""What becomes of items that are too many: they are refused, or the least useful ones are archived."""
REJECTED_BEFORE: Final = "rejected before"
"""Why words are left out that a user rejected."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of two statements, the one that comes and one that is there."""

    action: Action
    """add: both stay as they are; merge: both say the same, and one stands for both, with the sources and entities of
    both; skip: the one that is there has all of that already, so there is nothing to keep; supersede: both stay, and
    one of them is of the past."""
    reason: str = ""
    keeps: Side = "new"
    """Of merge and skip, which stands; of supersede, which one is so now; of add, nothing."""
    by: Literal["rules", "model"] = "rules"


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was carried out."""

    item_id: str
    """Of the statement that came."""
    action: Action
    other: str
    """Id of the one that was there."""
    keeps: Side
    reason: str
    by: Literal["rules", "model"]


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
    vector: Vectors | None
    """float32, shape (d,), unit length; None for a new version with the same words, which keeps the old one's."""
    terms: Mapping[int, int]
    """Term id -> occurrences."""
    source_keys: tuple[str, ...] = ()
    replaces: bool = False
    """Whether an item of this id with other content is replaced (a caller's item) or kept (one that we made)."""
    relations: tuple[tuple[str, str, str], ...] = ()
    """Head, relation, tail, as the item states them."""
    traits: bytes = b""
    """What else recall looks at, packed (`traits.Traits`); empty for nothing. The store places an item of a chat."""
    tokens: TokenVectors | None = None
    """Vectors of its word pieces, for late interaction."""
    keys: tuple[str, ...] = ()
    """By which a statement is found by others that may repeat or replace it; () for evidence, which stays as it is."""
    base_version: int | None = None
    """Replace only this version of the item; if it has another, or is gone, the record is left in `conflicts`."""
    restores: bool = False
    """Whether the statement stands again by its new version, if it stood behind another."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Pairs of names that its words state to be one, the one to show first."""


@dataclass(frozen=True, slots=True)
class Cap:
    """How many activated items a user may have."""

    limit: int
    when_full: WhenFull


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of a user's items are meant; every condition given must hold."""

    session_id: str | None = None
    agent_id: str | None = None
    where: Filter | None = None
    source_keys: tuple[str, ...] | None = None
    """Items made from any of these sources."""
    message_id: str | None = None
    """Items made from a message of this id, in `session_id` if that is given too."""
    document: str | None = None
    """Items made from a document of this `doc_path` or absolute path."""
    behind: bool = True
    """Also statements that stand behind another: repeated or superseded."""
    repeats: bool = True
    """Also those that only repeat another, which has all their sources."""
    live_at: float | None = None
    """Without items that have expired by this time, in Unix seconds."""
    expired_by: float | None = None
    """Only items that have expired by this time, in Unix seconds."""
    pending: bool = True
    """Also those under review."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was decided about two statements that are there, each in one version."""

    new: TextualMemoryItem
    old: TextualMemoryItem
    decision: Decision


@dataclass(frozen=True, slots=True)
class Batch:
    """One write: everything in it becomes durable together, or nothing. Deletions come first."""

    user_id: str
    session_id: str | None = None
    doomed: tuple[str, ...] | Selection | None = None
    """Ids of the items to delete, or which they are; an empty selection means everything of the user."""
    cause: str = "delete"
    """Why they are deleted, for the history."""
    traceless: bool = False
    """Whether the history forgets them too (delete_all), or keeps that there was something."""
    messages: tuple[MessageRecord, ...] = ()
    documents: tuple[DocumentRecord, ...] = ()
    items: tuple[ItemRecord, ...] = ()
    read: tuple[str, ...] = ()
    """Source keys that were read completely."""
    reading_key: str = ""
    refuse_known: bool = False
    """Whether an item whose id is there already makes the whole write fail."""
    embedder: str = ""
    """Which the vectors are of; written only to a store for it. "" is not compared."""
    base: Mapping[str, int] = field(default_factory=dict)
    """Raw items that the batch was made from: id -> version. Where one has another version now, is gone or has been
    refined by somebody else, nothing is written and their ids are the `conflicts`. Each is linked (`evolve_to`) to the
    items of the batch that name it in `evolve_from`."""
    tokens: tuple[tuple[str, str, TokenVectors], ...] = ()
    """Ids of items that stand in another context now, their words, and the vectors of their pieces in it."""
    token_model: str | None = None
    """Fingerprint of what the token vectors are of; where those of another model are kept, these are not."""
    heard: tuple[tuple[str, str], ...] = ()
    """Source key and words of messages that the token vectors were made with. Where one is said no longer, the batch is
    written without token vectors."""
    shown: tuple[tuple[str, int, str], ...] = ()
    """Source key, offset and words of what else the batch was made from. Where these words stand there no longer,
    nothing is written either: what is deleted must not come back."""
    refined: tuple[str, ...] = ()
    """Those of `base` that are read completely with this batch: they are raw no longer."""
    archives: bool = False
    """Whether those of `refined` that something was made from are archived."""
    spelled: Callable[[str], str] | None = None
    """What two wordings of the same have in common: new items whose words were rejected are refused then. None: all are
    taken, as by an import."""
    decided: tuple[Judged, ...] = ()
    """Decisions about statements that are there, carried out if both still are what they were."""
    settle: Callable[[TextualMemoryItem, TextualMemoryItem], Decision] | None = None
    """Decides about a new statement and one of the user's that shares a key with it, inside the transaction; None:
    every statement is kept for itself."""
    cap: Cap | None = None
    """Refuse the batch, or archive items, where the user would have more activated items by it than this."""


@dataclass(frozen=True, slots=True)
class RawItem:
    """An item that no model has read yet, and what it was made from."""

    item: TextualMemoryItem
    source_keys: Mapping[str, int | None]
    """Source key -> position in the session; None for a document's."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion took away."""

    ids: list[str] = field(default_factory=list)
    """Ids of the items that were there and are gone, in the order asked, else oldest first."""
    messages: int = 0
    """Messages whose words were erased, wholly or in part."""
    documents: int = 0
    """Documents whose words were erased, wholly or in part."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An item of a batch that was not written, on purpose."""

    item_id: str
    memory: str
    reason: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, ids in the order of the batch."""

    added: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """Items that went because their document or message changed, or because `added` holds a new one of their id."""
    decisions: list[Decided] = field(default_factory=list)
    """What was decided about new statements and those that were there, but "add"."""
    conflicts: list[str] = field(default_factory=list)
    """Items that were not replaced: they have another version than `base_version`, or are gone."""
    deleted: Deleted = field(default_factory=Deleted)
    archived: list[str] = field(default_factory=list)
    """Items that were archived because of the batch's `cap`; some of `added` may be among them."""
    refused: list[Refused] = field(default_factory=list)
    """Items that were left out: rejected before, or a version under review of one that stands."""


@dataclass(frozen=True, slots=True)
class Version:
    """One step in the life of an item."""

    version: int
    event: Event
    at: str
    """When it was recorded, ISO 8601."""
    item: TextualMemoryItem | None
    """The item from then on; None after a deletion and for every version before one: deleted words are gone."""
    cause: str = ""
    """Why, in words: "update", "delete", "delete_by_source", "the document changed", ..."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to a user's items since a change sequence number; arrays of n items, oldest change first."""

    seq: int
    """Number of the last change in here; ask again from it."""
    more: bool
    """Whether there are changes after `seq` already."""
    restart: bool
    """Whether everything known before is void: the user's memories were erased, or the store was reindexed."""
    gone: Keys
    """Items to forget, those of `keys` that may be known in an older version included."""
    keys: Keys
    """Items that are new or changed, shape (n,)."""
    vectors: Vectors
    """Shape (n, d)."""
    sizes: npt.NDArray[np.int64]
    """How many different terms each item has, shape (n,)."""
    terms: npt.NDArray[np.int64]
    """Term ids of the first item, then of the second, ...; shape (sum(sizes),)."""
    counts: npt.NDArray[np.int64]
    """Occurrences of each of `terms`."""
    labels: tuple[Label, ...]
    """n of them."""
    traits: tuple[bytes, ...] = ()
    """n of them, packed (`traits.Traits`); empty ones stand for no traits."""
    expires: tuple[int | None, ...] = ()
    """n of them: when each expires, in Unix seconds, None for never; empty where none does."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place or thing that a user's items name."""

    name: str
    """As it was first written."""
    key: str
    """What makes two spellings one; see `spelling.entity_key`."""
    items: int
    """How many items mention it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement between two entities, by an item."""

    head: str
    relation: str
    tail: str
    item_id: str


@dataclass(frozen=True, slots=True)
class Link:
    """An entity that leads from some items to others."""

    keys: tuple[str, ...]
    """Of all its names."""
    seeds: frozenset[int]
    """Numbers of the items that it was reached from."""
    items: tuple[int, ...]
    """Numbers of the items that mention it, at most as many as were asked for and one more; those then are not all."""
    by: frozenset[int] = frozenset()
    """Numbers of the items that relate it to what `seeds` mention; empty where these mention it themselves."""


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """Whether nothing of what was deleted is left in the files."""

    complete: bool
    reason: str = ""
    """What stood in the way; then call purge again later."""


@dataclass(frozen=True, slots=True)
class Stats:
    """How much is in a store, or of one user in it."""

    users: int
    items: int
    messages: int
    """Without deleted ones."""
    documents: int
    entities: int
    """Names, those that are one with another counted for themselves."""
    useful: int = 0
    """How often memories were called useful, or useless; of each memory the last times."""
    useless: int = 0
    seen_once: float = 0.0
    """Share of the entities that only one item mentions, in [0, 1]; 0.0 for none. More figures: `Graph.quality`."""
    encoded: int = 0
    """Items with token vectors, for late interaction; see `Admin.encode`."""
    partial: int = 0
    """Items that a model made without their key, entities or time; see `Memory.refine`."""
    by_type: dict[str, int] = field(default_factory=dict)
    """Items by `memory_type`."""
    by_status: dict[str, int] = field(default_factory=dict)
    embedder: str = ""
    dimension: int = 0
    lexicon: str = ""
    schema_version: int = 0
    durability: str = ""
    database_bytes: int = 0
    """With the write-ahead log."""
    checkpoint_bytes: int = 0
    resident_bytes: int = 0
    """Of the indexes that this process holds in memory."""
    purge_due: bool = False
    """Whether the files may still hold what was deleted; see `purge`."""


@dataclass(frozen=True, slots=True)
class DeleteReport:
    """What a deletion took away, and whether the files are rid of it."""

    ids: list[str]
    """Of the items that were there."""
    messages: int
    """Messages whose words were erased, wholly or in part."""
    documents: int
    """Documents whose words were erased, wholly or in part."""
    purge: PurgeReport
