"""What an archive holds: its entries, their columns (those of the store's tables), and what each may be.

The one place to change when a table changes; another set of columns is another `VERSION`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, get_args

from pydantic import ValidationError

from memreader.archive.flaws import Flaw, flaw_of
from memreader.archive.strict_json import decode
from memreader.items import MAX_ID_LENGTH, TextualMemoryItem, TextualMemoryMetadata
from memreader.records import Event
from memreader.types import Scope

FORMAT = "memreader-archive"
VERSION = 3
"""2: who stands behind whom, in items. 3: which names the user says are one, partial items, and what was said of an
item's use; hashes of what was rejected."""
MANIFEST = "manifest.json"
VECTORS = "vectors.f32"

Row: TypeAlias = dict[str, Any]
"""Column -> value: text, whole numbers, None; in items also lists of texts."""
Check: TypeAlias = Callable[[Any], None]
"""Returns if the value can be taken, else raises Flaw."""

_LARGEST = 2**63 - 1
"""SQLite's largest whole number."""
_HALVES = re.compile(r"(?:[0-9a-f]{2}(?:[0-689a-e][0-9a-f]|7[0-9ab]|f[0-9ab]))+\Z")
"""Numbers of half precision, little-endian, in hex; none of which is infinite."""
_EVENTS = frozenset(get_args(Event))
_HASH = re.compile(r"[0-9a-f]{32}\Z")


def text(value: Any) -> None:
    """Text that can be stored as UTF-8."""
    if not isinstance(value, str):
        raise Flaw(f"is {'null' if value is None else type(value).__name__}, not text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Flaw("holds a lone surrogate, which is half a character and can't be stored") from None


def name(value: Any) -> None:
    """Text that says something."""
    text(value)
    if not value:
        raise Flaw("is empty")


def user(value: Any) -> None:
    """The id of a user."""
    text(value)
    try:
        Scope(value)
    except ValueError:
        problem = "is not the id of a user: text that is not blank, without a NUL"
    else:
        return
    raise Flaw(problem)


def item_name(value: Any) -> None:
    """The id of an item."""
    name(value)
    if len(value) > MAX_ID_LENGTH:
        raise Flaw(f"has {len(value)} characters, an id has at most {MAX_ID_LENGTH}")


def number(value: Any) -> None:
    """A whole number that SQLite can hold, from 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Flaw(f"is {'null' if value is None else type(value).__name__}, not a whole number")
    if not 0 <= value <= _LARGEST:
        raise Flaw("is not between 0 and 2**63 - 1")


def flag(value: Any) -> None:
    """0 or 1."""
    number(value)
    if value > 1:
        raise Flaw("is neither 0 nor 1")


def time(value: Any) -> None:
    """An ISO 8601 time or date."""
    text(value)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise Flaw("is not an ISO 8601 time") from None


def event(value: Any) -> None:
    """What happened to an item."""
    if not isinstance(value, str) or value not in _EVENTS:
        raise Flaw(f"is none of {', '.join(sorted(_EVENTS))}")


def decision(value: Any) -> None:
    """Whether the user says that two names are one, or that they are not."""
    if value not in ("user", "apart"):
        raise Flaw("is neither user nor apart")


def rejected_hash(value: Any) -> None:
    """The hash of rejected words: 32 hex digits."""
    text(value)
    if not _HASH.match(value):
        raise Flaw("is not 32 hex digits")


def names_json(value: Any) -> None:
    """JSON text of a list of texts."""
    names(_json_list(value))


def offsets_json(value: Any) -> None:
    """JSON text of a list of ascending offsets."""
    offsets = _json_list(value)
    for offset in offsets:
        number(offset)
    if offsets != sorted(offsets):
        raise Flaw("does not ascend")


def names(value: Any) -> None:
    """A list of texts that say something."""
    for one in _list(value):
        name(one)


def relations(value: Any) -> None:
    """A list of [head, relation, tail]."""
    for one in _list(value):
        if len(_list(one)) != 3:
            raise Flaw("has a relation that is not [head, relation, tail]")
        names(one)


def settled(value: Any) -> None:
    """A list of [id of the item in front, "merge" or "supersede", when, why]; the time of a merge is ""."""
    known: set[str] = set()
    for one in _list(value):
        if len(_list(one)) != 4:
            raise Flaw("has an entry that is not [item, kind, at, reason]")
        by_item, kind, at, reason = one
        item_name(by_item)
        if by_item in known:
            raise Flaw("names an item twice")
        known.add(by_item)
        if not isinstance(kind, str) or kind not in ("merge", "supersede"):
            raise Flaw("has a kind that is neither merge nor supersede")
        if kind == "supersede" or at != "":
            time(at)
        text(reason)


def standing_json(value: Any) -> None:
    """JSON text of {"sources": [...], "entities": [...]}, as in an item's metadata."""
    text(value)
    brought = decode(value)
    if not isinstance(brought, dict) or set(brought) != {"sources", "entities"}:
        raise Flaw('is not {"sources": [...], "entities": [...]}')
    try:
        TextualMemoryMetadata.model_validate(brought)
    except ValidationError as error:
        raise flaw_of(error) from None


def feedback(value: Any) -> None:
    """A list of [1 or 0, when in seconds, ids of terms or null, a vector of half-precision numbers in hex or null]."""
    for one in _list(value):
        if len(_list(one)) != 4:
            raise Flaw("has an entry that is not [useful, at, terms, vector]")
        useful, at, terms, vector = one
        flag(useful)
        number(at)
        for term in () if terms is None else _list(terms):
            if isinstance(term, bool) or not isinstance(term, int) or not -_LARGEST - 1 <= term <= _LARGEST:
                raise Flaw("has a term that is no whole number of 64 bit")
        if vector is not None and (not isinstance(vector, str) or terms is None or not _HALVES.match(vector)):
            raise Flaw("has a vector that is not one in hex")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row."""

    name: str
    check: Check = text
    nullable: bool = False
    since: int = 1
    """Version of the first archives that have it."""


def _columns(*columns: Column) -> tuple[Column, ...]:
    return (Column("user_id"), *columns)


ENTRIES: Mapping[str, tuple[Column, ...]] = {
    "messages.jsonl": _columns(
        Column("session_id"),
        Column("position", number),
        Column("source_key", name),
        Column("digest"),
        Column("message_id", nullable=True),
        Column("parent_id", nullable=True),
        Column("role", name),
        Column("name", nullable=True),
        Column("content"),
        Column("chat_time", time, nullable=True),
        Column("time_inferred", flag),
        Column("flags", names_json),
        Column("raw", nullable=True),
        Column("deleted", flag),
    ),
    "documents.jsonl": _columns(
        Column("doc_key", name),
        Column("source_key", name),
        Column("doc_path"),
        Column("sha256"),
        Column("media_type"),
        Column("title", nullable=True),
        Column("page_starts", offsets_json),
        Column("context"),
        Column("doc_time", time, nullable=True),
        Column("text"),
    ),
    "items.jsonl": _columns(
        Column("item_id", item_name),
        Column("memory"),
        Column("metadata"),
        Column("source_keys", names),
        Column("relations", relations),
        Column("settled", settled, since=2),
        Column("standing", standing_json, nullable=True, since=2),
        Column("feedback", feedback, since=3),
    ),
    "ledger.jsonl": _columns(Column("source_key", name), Column("reading_key")),
    "history.jsonl": _columns(
        Column("item_id", item_name),
        Column("version", number),
        Column("event", event),
        Column("at", time),
        Column("cause"),
        Column("memory", nullable=True),
        Column("metadata", nullable=True),
    ),
    "aliases.jsonl": _columns(Column("key", name), Column("entity", name), Column("origin", decision)),
    "rejected.jsonl": _columns(Column("store", name), Column("hash", rejected_hash)),
}
"""Entry -> columns of its rows, in the order in which an archive has them. Row i of the items has vector i."""
_SINCE = {"aliases.jsonl": 3, "rejected.jsonl": 3}
"""Version of the first archives that have an entry, where that is not 1."""


def entry_names(version: int = VERSION) -> Iterable[str]:
    """Return the entries of an archive of a version but the manifest, in the order in which they are written."""
    return (*(entry for entry in ENTRIES if _SINCE.get(entry, 1) <= version), VECTORS)


UNIQUE: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "messages.jsonl": (("user_id", "session_id", "position"), ("user_id", "source_key")),
    "documents.jsonl": (("user_id", "doc_key"),),
    "items.jsonl": (("user_id", "item_id"),),
    "ledger.jsonl": (("user_id", "source_key", "reading_key"),),
    "history.jsonl": (),
    "aliases.jsonl": (("user_id", "key", "entity"),),
    "rejected.jsonl": (("user_id", "store", "hash"),),
}
"""Entry -> which columns together stand in one row only."""


def check_row(entry: str, row: Any, version: int = VERSION) -> TextualMemoryItem | None:
    """Return the item of a row, or of an earlier version in a row of the history; None where the row has none.

    Args:
        entry: Which it is of.
        row: A row.
        version: Of the archive: an older one has fewer columns.

    Raises:
        Flaw: The row is not one of this entry.
    """
    columns = [column for column in ENTRIES[entry] if column.since <= version]
    if not isinstance(row, Mapping):
        raise Flaw(f"is {type(row).__name__}, not a row")
    for column in columns:
        if column.name not in row:
            raise Flaw("is missing", where=f".{column.name}")
        value = row[column.name]
        if value is None and column.nullable:
            continue
        try:
            column.check(value)
        except Flaw as flaw:
            raise flaw.inside(f".{column.name}") from None
    if len(row) != len(columns):
        known = {column.name for column in columns}
        raise Flaw(f"has the column {next(key for key in row if key not in known)!r:.80}, which is none of ours")
    if any(one[0] == row["item_id"] for one in row.get("settled", ())):
        raise Flaw("names the item itself", where=".settled")
    if "metadata" not in row or row["memory"] is None or row["metadata"] is None:
        return None
    return _item(row)


def _item(row: Mapping[str, Any]) -> TextualMemoryItem:
    try:
        metadata = decode(row["metadata"])
    except Flaw as flaw:
        raise flaw.inside(".metadata") from None
    try:
        item = TextualMemoryItem.model_validate({"id": row["item_id"], "memory": row["memory"], "metadata": metadata})
    except ValidationError as error:
        invalid = flaw_of(error)
    else:
        if item.metadata.user_id not in (None, row["user_id"]):
            raise Flaw("is another user than the row's", where=".metadata.user_id")
        return item
    raise invalid


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise Flaw(f"is {'null' if value is None else type(value).__name__}, not a list")
    return list(value)


def _json_list(value: Any) -> list[Any]:
    text(value)
    return _list(decode(value))
