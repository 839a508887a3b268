"""The users' indexes for one embedder: in memory, on the disk, and in step with the database."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from memreader.errors import DimensionMismatchError, EmbedderMismatchError, StoreError
from memreader.filters import Filter
from memreader.lifetimes import now
from memreader.ports import PostingIndex, VectorIndex, Vectors
from memreader.records import Changes, Selection
from memreader.stores.checkpoints import Checkpoints
from memreader.stores.database import Database
from memreader.stores.facts import Facts
from memreader.stores.faiss_index import FlatVectors
from memreader.stores.postings import Postings
from memreader.stores.resident import Resident
from memreader.stores.sqlite_items import SqliteItems
from memreader.stores.upkeep import Upkeep
from memreader.stores.user_index import Evidence, UserIndex

_log = logging.getLogger(__name__)

PART = 20_000
"""Items that an index takes in at once."""


class Indexes:
    """Searches by one embedder, as long as the store is made for it.

    After a reindexing another one takes its place as a whole, so that no search puts the vectors of two embedders
    together: one that began before either answers as it would have, or raises.

    Args:
        database: Stays the caller's to close.
        facts: What the store is made for.
        max_resident_mb: See `Resident`.
        checkpoint_above: See `Checkpoints`.
        vectors: Makes an empty vector index, given the dimension.
        postings: Makes an empty posting index.

    Raises:
        EmbedderMismatchError: The store is made for something else.
    """

    def __init__(
        self,
        database: Database,
        facts: Facts,
        *,
        max_resident_mb: float,
        checkpoint_above: int,
        vectors: Callable[[int], VectorIndex] = FlatVectors,
        postings: Callable[[], PostingIndex] = Postings,
    ) -> None:
        self._vectors, self._postings = vectors, postings
        self.facts = facts
        self.items = SqliteItems(database, facts.as_text())
        self.checkpoints = Checkpoints(
            database.path.parent,
            database.store_id,
            dimension=facts.dimension,
            embedder=facts.embedder,
            more_than=checkpoint_above,
            vectors=vectors,
            postings=postings,
        )
        self.upkeep = Upkeep(database, self.checkpoints)
        self.resident = Resident(self._load, max_mb=max_resident_mb, on_drop=self._keep)

    def search(
        self,
        user_id: str,
        vector: Vectors,
        terms: Mapping[int, float],
        *,
        session_id: str | None,
        agent_id: str | None,
        isolate: bool,
        where: Filter | None,
        archived: bool,
        repeated: bool,
        embedder: str,
    ) -> Evidence:
        """Return the evidence of every item of the user that labels and filter let through; see `Store.search`."""
        if embedder not in ("", self.facts.embedder):
            raise EmbedderMismatchError(stored=self.facts.embedder, given=embedder)
        if vector.shape != (self.facts.dimension,):
            raise DimensionMismatchError(expected=self.facts.dimension, got=vector.shape[-1])
        allowed = None if where is None else self.items.find(user_id, Selection(where=where))
        with self.resident.index(user_id) as index:
            index.catch_up(self._changes(user_id))
            return index.search(
                vector,
                terms,
                session_id=session_id,
                agent_id=agent_id,
                isolate=isolate,
                allowed=allowed,
                archived=archived,
                repeated=repeated,
                now=now(),
            )

    def _load(self, user_id: str) -> UserIndex:
        """Return the user's index as of the last checkpoint, or an empty one."""
        seq, epoch = self.upkeep.now()
        token = self.upkeep.checkpoint_token(user_id)
        index = self.checkpoints.load(user_id, epoch=epoch, seq_now=seq, token=token)
        if index is not None:
            return index
        return UserIndex(user_id, self.facts.dimension, vectors=self._vectors, postings=self._postings)

    def _keep(self, index: UserIndex) -> None:
        """Write a checkpoint of a large index that leaves memory."""
        try:
            self.checkpoints.save(
                index,
                epoch=self.upkeep.now()[1],
                changes=self._changes(index.user_id),
                current=lambda: self.upkeep.last_deletion(index.user_id),
                remember=lambda token: self.upkeep.remember_checkpoint(index.user_id, token),
            )
        except (EmbedderMismatchError, StoreError) as error:
            # Reindexed by somebody else, busy, or closed: no reason to fail the search that made room.
            _log.info("no checkpoint is written: %s", error)

    def _changes(self, user_id: str) -> Callable[[int], Changes]:
        return lambda after: self.items.changes(user_id, after, limit=PART)
