"""What a store is made for."""

from __future__ import annotations

from dataclasses import dataclass

from memreader.errors import StoreCorruptError
from memreader.stores.database import Database
from memreader.stores.sqlite_items import known_facts


@dataclass(frozen=True, slots=True)
class Facts:
    """What a store is made for; one that was made for something else is not opened."""

    dimension: int
    embedder: str
    """Name and fingerprint."""
    lexicon: str
    """Name of the way terms are made."""

    def as_text(self) -> dict[str, str]:
        """Return them as the database keeps them."""
        return {"embedder": self.embedder, "dimension": str(self.dimension), "lexicon": self.lexicon}


def stored_facts(database: Database) -> Facts:
    """Return what the store in a database was made for.

    Raises:
        StoreCorruptError: It doesn't say.
    """
    with database.reading() as db:
        known = known_facts(db, ("embedder", "dimension", "lexicon"))
    if len(known) < 3 or not known["dimension"].isdecimal():
        raise StoreCorruptError(path=str(database.path), detail="it does not say which embedder it was made with")
    return Facts(int(known["dimension"]), known["embedder"], known["lexicon"])
