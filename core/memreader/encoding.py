"""Token vectors for items that have none: of an older version, of an import, of another model."""

from __future__ import annotations

from dataclasses import dataclass

from memreader.contexts import PART, encode, gets_tokens
from memreader.items import TextualMemoryItem
from memreader.ports import TokenEmbedder
from memreader.records import Batch
from memreader.stores import Store
from memreader.types import Progress


@dataclass(frozen=True, slots=True)
class EncodeReport:
    """What giving token vectors did."""

    items: int
    """How many items got theirs now."""


def encode_store(store: Store, embedder: TokenEmbedder, *, progress: Progress | None = None) -> EncodeReport:
    """Give token vectors to all items of a store that have none and should; see `Admin.encode`."""
    store.tokens.claim(embedder.token_fingerprint)
    done, total = 0, store.stats().items
    seen = 0
    for user_id in store.users():
        after = 0
        while part := store.tokens.missing(user_id, after=after, limit=PART):
            after = part[-1][0]
            seen += len(part)
            done += _encode_part(store, embedder, user_id, [item for _, item in part if gets_tokens(item)])
            if progress is not None:
                progress("encode", min(seen, total), total)
    if progress is not None:
        progress("encode", total, total)
    return EncodeReport(done)


def _encode_part(store: Store, embedder: TokenEmbedder, user_id: str, items: list[TextualMemoryItem]) -> int:
    """Write the token vectors of some items and return of how many; none if what they stand beside changes meanwhile.

    Those get theirs by the next call.
    """
    if not items:
        return 0
    encoded = encode(items, embedder, store, user_id)
    tokens = tuple((item.id, item.memory, own) for item, own in zip(items, encoded.own, strict=True) if own is not None)
    store.write(Batch(user_id, tokens=tokens, heard=encoded.heard, token_model=embedder.token_fingerprint))
    return len(tokens)
