"""The default store: SQLite holds the truth, one index per user answers searches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from memreader.errors import EmbedderMismatchError
from memreader.filters import Filter
from memreader.items import TextualMemoryItem
from memreader.ports import PostingIndex, VectorIndex, Vectors
from memreader.records import Batch, Deleted, Keys, PurgeReport, RawItem, Selection, Stats, Version, Written
from memreader.stores import filter_sql, keying
from memreader.stores.changes import ChangeNumbers
from memreader.stores.checkpoints import MORE_THAN
from memreader.stores.connecting import identity
from memreader.stores.database import Database
from memreader.stores.describing import describe, is_flagged, renew_terms
from memreader.stores.exporting import Rows
from memreader.stores.facts import Facts, stored_facts
from memreader.stores.faiss_index import FlatVectors
from memreader.stores.feedback_rows import SqliteFeedback
from memreader.stores.importing import Importer
from memreader.stores.indexes import Indexes
from memreader.stores.postings import Postings
from memreader.stores.reindexing import Reindexing
from memreader.stores.sqlite_graph import SqliteGraph
from memreader.stores.sqlite_items import SqliteItems
from memreader.stores.sqlite_review import SqliteReview
from memreader.stores.sqlite_tokens import SqliteTokens
from memreader.stores.user_index import Evidence
from memreader.types import Durability, Message


class Store:
    """Messages, documents and items of many users in one folder; thread-safe. Use `Store.open`, which shares it.

    Args:
        folder: Created when absent.
        facts: What it is for; None for what it was made for, of a folder that holds a store.
        durability: "process" survives the death of the process, "power" that of the machine too.
        max_resident_mb: Bound on the indexes kept in memory; the last used one stays even if it alone is larger.
        checkpoint_above: Users with more living items than this get a checkpoint.
        vectors: Makes a user's empty vector index, given the dimension: any `VectorIndex`.
        postings: Makes a user's empty posting index: any `PostingIndex`.

    Raises:
        ValueError: A bound makes no sense.
        EmbedderMismatchError: The folder was made for other facts.
        StoreError: One of its children, as their names say.
    """

    _open: ClassVar[dict[Path, Store]] = {}
    _open_lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(
        self,
        folder: Path,
        facts: Facts | None,
        *,
        durability: Durability = "process",
        max_resident_mb: float = 1024,
        checkpoint_above: int = MORE_THAN,
        vectors: Callable[[int], VectorIndex] = FlatVectors,
        postings: Callable[[], PostingIndex] = Postings,
    ) -> None:
        if not max_resident_mb > 0:
            raise ValueError(f"max_resident_mb must be above 0, got {max_resident_mb}")
        self.folder = folder
        self.durability = durability
        self._holders = 1
        self._limits: dict[str, Any] = {
            "max_resident_mb": max_resident_mb,
            "checkpoint_above": checkpoint_above,
            "vectors": vectors,
            "postings": postings,
        }
        self._database = Database(folder, durability=durability, register=filter_sql.register)
        with ExitStack() as undo:
            undo.callback(self._database.close)
            self._indexes = Indexes(self._database, facts or stored_facts(self._database), **self._limits)
            undo.pop_all()
        self.graph = SqliteGraph(self._database)
        self.tokens = SqliteTokens(self._database)
        self.feedback = SqliteFeedback(self._database)
        self.review = SqliteReview(self._database)
        self._identity = identity(self._database.path)
        self._database.on_fork(self._after_fork)

    @classmethod
    def open(
        cls,
        folder: Path,
        facts: Facts | None = None,
        *,
        durability: Durability = "process",
        max_resident_mb: float = 1024,
        checkpoint_above: int = MORE_THAN,
        vectors: Callable[[int], VectorIndex] = FlatVectors,
        postings: Callable[[], PostingIndex] = Postings,
    ) -> Store:
        """Return the store of a folder, the same one for everybody in this process; each closes it once.

        Where they ask for different things, "power" wins over "process", the larger bound of memory, and otherwise who
        came first. `Memory(store, reader, RecallOptions())` makes a memory of it.
        """
        with cls._open_lock:
            store = cls._open.get(folder.resolve())
            if store is not None and store._is_there():
                store._join(facts, durability, max_resident_mb)
                return store
            store = cls(
                folder,
                facts,
                durability=durability,
                max_resident_mb=max_resident_mb,
                checkpoint_above=checkpoint_above,
                vectors=vectors,
                postings=postings,
            )
            cls._open[folder.resolve()] = store
            return store

    @staticmethod
    def exists(folder: Path) -> bool:
        """Return whether there is a store in the folder."""
        return (folder / "memory.db").is_file()

    def _join(self, facts: Facts | None, durability: Durability, max_resident_mb: float) -> None:
        stored = stored_facts(self._database)
        if stored != self.facts:
            # Another process has reindexed it.
            self.adopt(stored)
        if facts not in (None, stored):
            given = facts.embedder if facts is not None else ""
            raise EmbedderMismatchError(stored=stored.embedder, given=given)
        if durability == "power":
            self._database.durability = self.durability = durability
        self._limits["max_resident_mb"] = max(self._limits["max_resident_mb"], max_resident_mb)
        self._indexes.resident.max_mb = self._limits["max_resident_mb"]
        self._holders += 1

    def close(self) -> None:
        """Close the files when the last holder does, after a purge if one is due; further calls do nothing."""
        with self._open_lock:
            self._holders -= 1
            if self._holders != 0:
                return
            for path, store in list(self._open.items()):
                if store is self:
                    del self._open[path]
        with ExitStack() as last:
            last.callback(self._database.close)
            if self._is_there():
                self._indexes.upkeep.purge_if_due(timeout_s=1.0)
            self._indexes.resident.clear(quietly=not self._is_there())

    def _is_there(self) -> bool:
        """Return whether the folder still holds the file that was opened."""
        try:
            return self._identity == identity(self._database.path)
        except FileNotFoundError:
            return False

    @property
    def facts(self) -> Facts:
        """What it is made for."""
        return self._indexes.facts

    @property
    def dimension(self) -> int:
        """Of every vector."""
        return self.facts.dimension

    def write(self, batch: Batch) -> Written:
        """Write a batch in one transaction and return what became of each item; see `ItemStore.write`."""
        return self._items.write(batch)

    def write_all(self, batches: Iterable[Batch]) -> list[Written]:
        """Write several batches, of several users perhaps, in one transaction."""
        with self._database.transaction():
            return [self._items.write(batch) for batch in batches]

    def delete(
        self,
        user_id: str,
        doomed: Sequence[str] | Selection,
        *,
        cause: str = "delete",
        traceless: bool = False,
    ) -> Deleted:
        """Delete items by id or selection and return what went; see `ItemStore.write`."""
        wanted = doomed if isinstance(doomed, Selection) else tuple(doomed)
        return self.write(Batch(user_id, doomed=wanted, cause=cause, traceless=traceless)).deleted

    def unread(self, user_id: str, sources: Mapping[str, str | None], reading_key: str) -> set[str]:
        """Return the source keys whose reading is still to be done; see `ItemStore.unread`."""
        return self._items.unread(user_id, sources, reading_key)

    def items_of(self, user_id: str, source_keys: Iterable[str], *, agent_id: str | None = None) -> list[str]:
        """Return the ids of the user's items of an agent (None: of none) made from these sources, in their order."""
        return self._items.ids_made_from(user_id, source_keys, agent_id=agent_id)

    def fetch(
        self, user_id: str, ids: Sequence[str] | Keys, *, until: int | None = None
    ) -> list[TextualMemoryItem | None]:
        """Return the user's items by id or number, in the order asked; None for what is absent; see the port."""
        return self._items.fetch(user_id, ids, until=until)

    def read(
        self, user_id: str, selection: Selection | None = None, *, limit: int = -1, offset: int = 0
    ) -> list[TextualMemoryItem]:
        """Return the user's items that a selection means, in the order of their first add; -1 is no limit."""
        keys = self._items.find(user_id, selection or Selection(), limit=limit, offset=offset)
        return [item for item in self._items.fetch(user_id, keys) if item is not None]

    def raw(
        self, user_id: str, selection: Selection | None = None, *, ids: Sequence[str] | None = None, limit: int = -1
    ) -> list[RawItem]:
        """Return the user's items that a model has yet to read; see `ItemStore.raw`."""
        return self._items.raw(user_id, selection or Selection(), ids=ids, limit=limit)

    def said_before(
        self, user_id: str, session_id: str | None, position: int, *, limit: int
    ) -> list[tuple[str, Message]]:
        """Return what was said in a session before a position; see `ItemStore.said_before`."""
        return self._items.said_before(user_id, session_id, position, limit=limit)

    def history(self, user_id: str, item_id: str) -> list[Version]:
        """Return the versions of an item, oldest first; see `ItemStore.history`."""
        return self._items.history(user_id, item_id)

    def search(
        self,
        user_id: str,
        vector: Vectors,
        terms: Mapping[int, float],
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        isolate: bool = False,
        where: Filter | None = None,
        archived: bool = False,
        repeated: bool = False,
        embedder: str = "",
    ) -> Evidence:
        """Return the evidence of every item of the user that labels and filter let through; see `UserIndex.search`.

        Args:
            where: Only items for which it holds.
            archived: Archived items, too.
            repeated: Statements that those of other sessions stand for, too.
            embedder: Which the vector is of; another than the store's is refused. "" is not compared.
        """
        return self._indexes.search(
            user_id,
            vector,
            terms,
            session_id=session_id,
            agent_id=agent_id,
            isolate=isolate,
            where=where,
            archived=archived,
            repeated=repeated,
            embedder=embedder,
        )

    def has_items(self, user_id: str) -> bool:
        """Return whether the user has any item."""
        return self._items.has_any(user_id)

    def public_users(self, *, but: str) -> list[str]:
        """Return the ids of the users that have an item of visibility "public", but one, in alphabetical order."""
        return self._items.public_users(but=but)

    def users(self) -> list[str]:
        """Return the ids of all users that have items, messages or documents, in alphabetical order."""
        return self._indexes.upkeep.users()

    def stats(self, user_id: str | None = None) -> Stats:
        """Return how much there is, in the whole store or of one user."""
        return self._indexes.upkeep.stats(
            user_id, durability=self.durability, resident_bytes=self._indexes.resident.nbytes
        )

    def expired(self, at: float) -> dict[str, int]:
        """Return how many items of each user have expired by a time, in Unix seconds."""
        return self._indexes.upkeep.expired(at)

    def purge(self, *, timeout_s: float = 5.0) -> PurgeReport:
        """Take what was deleted out of every file, and return whether that is done; see `Upkeep.purge`."""
        return self._indexes.upkeep.purge(timeout_s=timeout_s)

    @contextmanager
    def exporting(self, user_id: str | None = None) -> Iterator[Rows]:
        """Give everything, or what is one user's, row by row and as of one moment."""
        indexes = self._indexes
        with self._database.snapshot() as db:
            indexes.items.check(db, "")
            yield Rows(db, user_id, indexes.facts)

    @contextmanager
    def importing(self, *, on_conflict: str, embedder: str) -> Iterator[Importer]:
        """Take rows in, all of them or, if the block raises, none.

        Args:
            on_conflict: See `Importer`.
            embedder: Which the vectors are of; another than the store's is refused.
        """
        items = self._items
        with self._database.transaction() as db:
            items.check(db, embedder)
            numbers = ChangeNumbers(db)
            yield Importer(db, numbers, on_conflict=on_conflict, dimension=items.dimension)
            numbers.save()

    def reindexing(self, facts: Facts) -> Reindexing:
        """Return the reindexing of this store for other facts, begun or continued."""
        return Reindexing(self._database, facts.as_text())

    def describe(
        self, traits_of: Callable[[TextualMemoryItem], bytes], *, progress: Callable[[int, int], None]
    ) -> None:
        """Give the items of a store of an older version what recall looks at; nothing to do in any other."""
        if is_flagged(self._database):
            describe(self._database, traits_of, progress=progress)
            self.adopt(self.facts)

    def give_keys(
        self, keys_of: Callable[[TextualMemoryItem], Iterable[str]], *, progress: Callable[[int, int], None]
    ) -> None:
        """Give the statements and entities of a store of an older version their keys; nothing to do in any other."""
        if is_flagged(self._database, keying.FLAG):
            keying.give_keys(self._database, keys_of, progress=progress)
            self.adopt(self.facts)

    def renew_terms(self, lexicon: str, older: Collection[str], terms_of: Callable[[str], Mapping[int, int]]) -> None:
        """Give the items of a store of an older lexicon the terms of this one; nothing to do in any other."""
        if self.facts.lexicon in older:
            renew_terms(self._database, lexicon, older, terms_of)
            self.adopt(stored_facts(self._database))

    def adopt(self, facts: Facts) -> None:
        """Go on with the facts that a reindexing ended with."""
        self._indexes = Indexes(self._database, facts, **self._limits)

    @property
    def _items(self) -> SqliteItems:
        return self._indexes.items

    def _after_fork(self) -> None:
        """Start anew in a forked child: no lock, connection or half-filled index of the parent is used."""
        Store._open_lock = threading.RLock()
        self._indexes.resident.after_fork()
