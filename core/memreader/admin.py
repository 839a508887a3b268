"""The verbs for a whole store: copies of it, another embedder for it, what is in it, and that the deleted is gone."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from memreader.archive import FILENAME, read_dump, write_dump
from memreader.checks import OnConflict, check_conflict
from memreader.encoding import EncodeReport, encode_store
from memreader.errors import InputError, LateInteractionOffError
from memreader.ingest import AddReport, Ingest
from memreader.items import TextualMemoryItem
from memreader.ports import Embedder, TokenEmbedder
from memreader.reader import MemReader
from memreader.records import PurgeReport, Selection, Stats
from memreader.reindexing import ReindexReport, reindex_store
from memreader.stores import Store
from memreader.transfer import ExportReport, ImportReport, export_archive, import_archive
from memreader.twins import off_loop
from memreader.types import Progress, Scope


class Admin:
    """Whole-store verbs; `Memory.admin` gives one."""

    def __init__(
        self,
        store: Store,
        reader: MemReader,
        ingest: Ingest,
        *,
        use: Callable[[MemReader], None],
        tokens: Callable[[], TokenEmbedder | None] = lambda: None,
    ) -> None:
        self._store = store
        self._reader = reader
        self._ingest = ingest
        self._use = use
        self._tokens = tokens

    def users(self) -> list[str]:
        """Return the ids of all users that have items, messages or documents, in alphabetical order."""
        return self._store.users()

    def stats(self, user_id: str | None = None) -> Stats:
        """Return how much there is, in the whole store or of one user."""
        return self._store.stats(None if user_id is None else Scope(user_id).user_id)

    def purge(self) -> PurgeReport:
        """Take what was deleted out of every file of the store, and return whether that is done.

        It is not while another process, or a search of this one, still reads an older state: call it again later.
        """
        return self._store.purge()

    def reindex(self, embedder: Embedder | None = None, *, progress: Progress | None = None) -> ReindexReport:
        """Give every item a vector of another embedder, and go on with that one.

        The old index serves until the new one is complete. After an interruption, call it again: it goes on.
        Other processes that have the store open are told to open it anew. A call that is under way here meanwhile may
        raise `EmbedderMismatchError` too: repeat it.

        Args:
            embedder: None for the one in use: terms and vectors are made anew.
            progress: Called with ("reindex", done, total).

        Raises:
            InvalidVectorsError: An item can't be embedded; the store stays as it was.
            ReindexInterruptedError: Another reindexing of this store began or ended meanwhile.
        """
        reader = self._reader if embedder is None else self._reader._with_embedder(embedder)
        report = reindex_store(self._store, reader.embedder, progress=progress)
        self._use(reader)
        self._reader, self._ingest = reader, Ingest(self._store, reader, tokens=self._tokens(), cap=self._ingest.cap)
        return report

    def encode(self, *, progress: Progress | None = None) -> EncodeReport:
        """Give token vectors to all items that have none, for late interaction.

        Items of an older version and of an import have none, nor have the turns beside what was deleted; search works
        all the same, and better with them. Those of another model go. After an interruption, call it again: it goes on.

        Args:
            progress: Called with ("encode", done, total).

        Raises:
            LateInteractionOffError: The memory was opened without late interaction.
        """
        tokens = self._tokens()
        if tokens is None:
            raise LateInteractionOffError
        return encode_store(self._store, tokens, progress=progress)

    def dump(self, folder: str | os.PathLike[str], *, filename: str = FILENAME) -> Path:
        """Write all users' items as a JSON list to `<folder>/<filename>` and return that path; see `Memory.dump`."""
        items = (item for user in self.users() for item in self._store.read(user, Selection(repeats=False)))
        return write_dump(Path(folder), items, filename=filename)

    def load(
        self,
        folder: str | os.PathLike[str],
        *,
        user_id: str | None = None,
        filename: str = FILENAME,
        on_conflict: OnConflict = "error",
        rescope: bool = False,
        confidence_scale: float = 1,
        max_mb: float = 1000,
        progress: Progress | None = None,
    ) -> AddReport:
        """Return what adding the items of a dumped file did: all of them or none.

        Args:
            folder: Holds the file.
            user_id: Whose items they become; None for those whom the file names.
            filename: Its name.
            on_conflict: See `Memory.load`.
            rescope: Whether `user_id` takes other users' items too, as its own.
            confidence_scale: See `Memory.load`.
            max_mb: See `Memory.load`.
            progress: Called with (stage, done, total).

        Raises:
            ArchiveError: The file can't be read as a dump; it names the place.
            InputError: An item is nobody's, or another user's than `user_id`.
            ItemExistsError: An id is there, with on_conflict="error".
        """
        check_conflict(on_conflict)
        items = read_dump(
            folder,
            filename=filename,
            max_mb=max_mb,
            confidence_scale=confidence_scale,
            progress=progress,
        )
        owned = _by_user(items, user_id, rescope=rescope)
        return self._ingest.load(owned, on_conflict=on_conflict, progress=progress)

    def export(
        self,
        file: str | os.PathLike[str],
        *,
        user_id: str | None = None,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write everything (items, vectors, messages, documents, what was read, history, merged names) to one zip file.

        Args:
            file: Replaced at the end when it exists.
            user_id: Only what is this user's.
            progress: Called with ("export", done, total).
        """
        owner = None if user_id is None else Scope(user_id).user_id
        return export_archive(self._store, Path(file), user_id=owner, progress=progress)

    def import_(
        self,
        file: str | os.PathLike[str],
        *,
        user_id: str | None = None,
        on_conflict: OnConflict = "error",
        max_unpacked_mb: float = 10_000,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Take in everything from a file that `export` wrote, or nothing.

        An archive of another embedder is embedded anew, which takes its time.

        Args:
            file: The zip file.
            user_id: Refuse it if it holds anything of another user.
            on_conflict: What an item that is there does: "error" refuses the file, "skip" keeps the item there,
                "replace" takes the file's. Messages and documents follow.
            max_unpacked_mb: Refuse what unpacks to more.
            progress: Called with (stage, done, total).

        Raises:
            ArchiveError: The file is none of ours, or is damaged; it names the place.
            ItemExistsError: An item is there, with on_conflict="error".
            SourceExistsError: A message or document is there in other words, with on_conflict="error".
        """
        check_conflict(on_conflict)
        owner = None if user_id is None else Scope(user_id).user_id
        return import_archive(
            self._store,
            Path(file),
            embedder=self._reader.embedder,
            user_id=owner,
            on_conflict=on_conflict,
            max_unpacked_mb=max_unpacked_mb,
            progress=progress,
        )

    ausers = off_loop(users)
    astats = off_loop(stats)
    apurge = off_loop(purge)
    areindex = off_loop(reindex)
    aencode = off_loop(encode)
    adump = off_loop(dump)
    aload = off_loop(load)
    aexport = off_loop(export)
    aimport_ = off_loop(import_)


def _by_user(
    items: Sequence[TextualMemoryItem], user_id: str | None, *, rescope: bool
) -> dict[str, list[TextualMemoryItem]]:
    """Return the items by whose they become, their `user_id` set."""
    owned: dict[str, list[TextualMemoryItem]] = defaultdict(list)
    given = None if user_id is None else Scope(user_id).user_id
    for place, item in enumerate(items):
        named = item.metadata.user_id
        if given is None and named is None:
            problem = "the item says not whose it is; load it for a user: memory.load(folder, user_id=...)"
            raise InputError(problem, locator=f"[{place}]")
        if given is not None and named not in (None, given) and not rescope:
            problem = "the item is another user's; to take it as this user's all the same, set rescope=True"
            raise InputError(problem, locator=f"[{place}]")
        try:
            owner = given or Scope(named or "").user_id
        except ValueError as error:
            raise InputError(str(error), locator=f"[{place}]") from None
        metadata = item.metadata.model_copy(update={"user_id": owner, "embedding": None})
        owned[owner].append(item.model_copy(update={"metadata": metadata}))
    return dict(owned)
