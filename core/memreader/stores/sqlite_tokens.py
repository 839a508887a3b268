"""What late interaction keeps in the database, and what it has to know of the messages there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memreader.items import TextualMemoryItem
from memreader.records import Keys
from memreader.stores.database import Database
from memreader.stores.refined import messages_near
from memreader.stores.rows import item_of
from memreader.stores.tokens import (
    Packed,
    TokenPart,
    claim_tokens,
    keys_with_tokens,
    tokenless,
    tokens_of,
    tokens_since,
)
from memreader.types import Message


class SqliteTokens:
    """Token vectors of the store's items. Written with the items: see `Batch`.

    Args:
        database: Stays the caller's to close.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def since(self, user_id: str, model: str, seq: int, *, limit: int, at_most: int) -> TokenPart | None:
        """Return the user's token vectors written after a change number; see `tokens.tokens_since`."""
        with self._database.snapshot() as db:
            return tokens_since(db, user_id, model, seq, limit=limit, at_most=at_most)

    def of(self, user_id: str, model: str, keys: Sequence[int]) -> dict[int, Packed]:
        """Return the token vectors of a model of those of the user's items that have some, by number."""
        with self._database.snapshot() as db:
            return tokens_of(db, user_id, model, keys)

    def keys(self, user_id: str) -> Keys:
        """Return the numbers of the user's items that have token vectors, ascending."""
        with self._database.reading() as db:
            return keys_with_tokens(db, user_id)

    def missing(self, user_id: str, *, after: int, limit: int) -> list[tuple[int, TextualMemoryItem]]:
        """Return the user's items without token vectors, by number, from after a number on."""
        with self._database.reading() as db:
            rows = tokenless(db, user_id, after=after, limit=limit)
        return [(key, item_of(self._database.path, *row)) for key, row in rows]

    def claim(self, model: str) -> None:
        """Make the store one for token vectors of a model: those of another go."""
        with self._database.transaction() as db:
            claim_tokens(db, model)

    def near(
        self, user_id: str, session_id: str | None, position: int, *, limit: int, later: bool = False
    ) -> list[tuple[str, Message]]:
        """Return the readable messages next to a position, before or after it, in order, with their source keys."""
        with self._database.reading() as db:
            return messages_near(db, user_id, session_id, position, limit=limit, later=later)

    def positions(self, user_id: str, source_keys: Iterable[str]) -> dict[str, int]:
        """Return where the messages of these source keys stand in their session; deleted ones keep their place."""
        query = "SELECT position FROM messages WHERE user_id = ? AND source_key = ?"
        with self._database.reading() as db:
            found = ((key, db.execute(query, (user_id, key)).fetchone()) for key in source_keys)
            return {key: int(row[0]) for key, row in found if row is not None}
