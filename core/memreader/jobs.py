"""What `Memory.extract`, `add` and `refine` do: jobs that may ask a model, for its blocking and its async verbs.

They are methods of `Memory` that live in a file of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from memreader.checks import check_page, check_reconcile, check_size, id_list
from memreader.ingest import AddReport, Ingest
from memreader.items import TextualMemoryItem
from memreader.options import Gate, Reconcile, Unit
from memreader.plan import Job
from memreader.reader import DataType, MemReader, Mode
from memreader.reading import Labels, info_of, tag_list
from memreader.records import Selection
from memreader.refining import RefineReport, Refining, with_refined
from memreader.stores import Store
from memreader.types import Progress, Scope


class Keeper(Protocol):
    """What the jobs need of a memory."""

    _ingest: Ingest
    _max_input_mb: float
    _reader: MemReader
    _refining: Refining
    _store: Store

    def _check_open(self) -> None: ...


def extract_job(
    self: Keeper, messages: Any, *, user_id: str, session_id: str | None = None, agent_id: str | None = None
) -> Job[list[TextualMemoryItem]]:
    """Return the items that reading `messages` gives in the default mode, embedded, without storing them."""
    scope = Scope(user_id, session_id, agent_id)
    self._check_open()
    report = yield from self._reader._read_job(
        messages, user_id=scope.user_id, session_id=scope.session_id, agent_id=scope.agent_id
    )
    return report.items


def add_job(
    self: Keeper,
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


def refine_job(
    self: Keeper,
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
