"""The manifest of an archive: what it is, whose, and what its entries must be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memreader.archive.columns import FORMAT, VECTORS, VERSION, entry_names, name, number, time, user
from memreader.archive.flaws import Flaw
from memreader.archive.strict_json import decode, encode

_MAX_FRAME = 10_000_000
"""Of the manifest's JSON: some 3 million users."""
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class ArchiveFacts:
    """What a store knows of itself."""

    created_at: str
    """When the archive is made, ISO 8601."""
    embedder: str
    """Name and fingerprint of the embedder that the vectors are from, as the store remembers it."""
    dimension: int
    """Length of every vector."""
    lexicon: str
    """Name of the way terms are made; terms themselves are not in the archive."""


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """What an entry of an archive is."""

    count: int
    """Rows, or vectors."""
    size: int
    """Bytes, unpacked."""
    sha256: str
    """In hex digits."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that an archive says about itself."""

    facts: ArchiveFacts
    users: tuple[str, ...]
    """Everyone of whom there is a row, sorted."""
    entries: Mapping[str, EntryFacts]
    version: int = VERSION
    """Of the format."""

    @property
    def counts(self) -> dict[str, int]:
        """Rows per kind: "messages", "documents", "items", "vectors", "ledger", "history", "aliases", "rejected"."""
        return {entry.partition(".")[0]: facts.count for entry, facts in self.entries.items()}

    def to_json(self) -> str:
        """Return it as JSON text on one line."""
        facts = self.facts
        entries = {
            entry: {"count": one.count, "size": one.size, "sha256": one.sha256} for entry, one in self.entries.items()
        }
        return encode(
            {
                "format": FORMAT,
                "version": self.version,
                "created_at": facts.created_at,
                "embedder": facts.embedder,
                "dimension": facts.dimension,
                "lexicon": facts.lexicon,
                "users": list(self.users),
                "entries": entries,
            }
        )


def read_manifest(text: str) -> Manifest:
    """Return the manifest that `to_json` wrote; fields that it doesn't know are left out.

    Raises:
        Flaw: It is none, or that of a newer version.
    """
    data = decode(text, max_frame=_MAX_FRAME)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise Flaw(f"does not say that its format is {FORMAT!r}")
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise Flaw("has no version", where=".version")
    if version > VERSION:
        raise Flaw(
            f"was written by a newer memreader: its version is {str(version)[:20]}, this one reads {VERSION}",
            remedy="Update memreader: pip install -U llm-memreader",
        )
    facts = ArchiveFacts(
        _field(data, "created_at", time),
        _field(data, "embedder", name),
        _field(data, "dimension", number),
        _field(data, "lexicon", name),
    )
    if not 0 < facts.dimension <= 2**16:
        raise Flaw("is not between 1 and 65536", where=".dimension")
    return Manifest(facts, _users(data.get("users")), _entries(data.get("entries"), facts.dimension, version), version)


def _field(data: Mapping[str, Any], key: str, check: Any) -> Any:
    try:
        check(data.get(key))
    except Flaw as flaw:
        raise flaw.inside(f".{key}") from None
    return data[key]


def _users(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise Flaw("is not a list", where=".users")
    for place, user_id in enumerate(given):
        try:
            user(user_id)
        except Flaw as flaw:
            raise flaw.inside(f".users[{place}]") from None
    if len(set(given)) != len(given):
        raise Flaw("names a user twice", where=".users")
    return tuple(given)


def _entries(given: Any, dimension: int, version: int) -> dict[str, EntryFacts]:
    if not isinstance(given, dict):
        raise Flaw("is not an object", where=".entries")
    entries: dict[str, EntryFacts] = {}
    for entry in entry_names(version):
        facts = given.get(entry)
        if not isinstance(facts, dict):
            raise Flaw("is missing", where=f".entries.{entry}")
        try:
            count, size = _field(facts, "count", number), _field(facts, "size", number)
            sha256 = _field(facts, "sha256", name)
            if not _SHA256.match(sha256):
                raise Flaw("is no checksum", where=".sha256")
        except Flaw as flaw:
            raise flaw.inside(f".entries.{entry}") from None
        entries[entry] = EntryFacts(count, size, sha256)
    if entries["items.jsonl"].count != entries[VECTORS].count:
        raise Flaw("has another number of vectors than of items", where=".entries")
    if entries[VECTORS].size != entries[VECTORS].count * dimension * 4:
        raise Flaw("is not the size of as many vectors", where=f".entries.{VECTORS}.size")
    return entries
