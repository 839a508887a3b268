"""What `Memory.extract`, `add` and `refine` do: jobs that may ask a model, for its blocking and its async verbs.

They are methods of `Memory` that live in a file of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Protocol

from memreader.checks import check_lifetime, check_lives, check_page, check_reconcile, check_size, id_list
from memreader.errors import MemoryFullError
from memreader.ingest import AddReport, Ingest
from memreader.items import TextualMemoryItem
from memreader.lifetimes import Lifetime, Ttl, chosen_end
from memreader.options import Gate, Reconcile, Unit
from memreader.plan import Job
from memreader.reader import DataType, MemReader, Mode
from memreader.reading import Labels, info_of, tag_list
from memreader.records import Selection
from memreader.refining import RefineReport, Refining, with_refined
from memreader.reviewing import Review, checked_review
from memreader.stores import Store
from memreader.types import Progress, Scope


class Keeper(Protocol):
    """What the jobs need of a memory."""

    _ingest: Ingest
    _max_input_mb: float
    _reader: MemReader
    _review: Review
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
    lifetime: Lifetime = "long",
    ttl: Ttl | None = None,
    expires_at: date | str | None = None,
    reconcile: Reconcile = True,
    review: Review | None = None,
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
        lifetime: "session": only a search with this `session_id` finds it, and without `ttl` or `expires_at` it
            expires after `ReadOptions.session_ttl_hours`. "long": until it is deleted, but for what a model takes for
            short-lived, which it keeps for the session.
        ttl: How long it lives from now on: a timedelta, or seconds. What is made of it lives no longer. What was added
            before stays as it is: give it another end by `update(id, {"expires_at": ...})`. What has expired is left
            out of `search`, `context` and `get_all`, and is there, and known, until `purge_expired`.
        expires_at: Until when, in place of `ttl`: a date (its end), a datetime (local time without a zone) or an ISO
            8601 text. An item's own `expires_at` counts more.
        reconcile: True: by rules, which leave both where there is any doubt. "model": a model is asked about those
            that are much alike, some at a time, and the rules decide where it fails. False keeps each for itself.
        review: True: nothing of this call is found until `Memory.review` approves it. A function of an item: what it
            says so of, each for itself, turns and what a model makes of them alike; what a model makes of a turn
            that waits, waits, too. False: nothing waits; None: as `Memory.open` was told. What is rejected is not
            added again: see `dropped`.
        progress: Called with (stage, done, total).

    Raises:
        InputError: Something is of no readable shape, and it names the position; or there are more words than
            `max_input_mb`. Nothing is stored then.
        FileNotFoundError: A path doesn't exist.
        MemoryFullError: The user has as many items as `max_items_per_user` allows (see `Memory.open`), with
            when_full="reject". What of `data` comes before stays.
        ModelRequiredError: mode="fine" without a model.
        ValueError: lifetime="session" without a session_id; `ttl` and `expires_at` together; one of them makes no
            sense, or is over already. Nothing is stored then.
    """
    scope = Scope(user_id, session_id, agent_id)
    mode = self._reader.checked_mode(mode)
    chosen = checked_review(review, self._review)
    if check_reconcile(reconcile) == "model":
        self._reader.checked_mode("fine")
    self._check_open()
    inputs = list(self._reader.normalized(data, type=type, at=at, files_root=files_root, as_text=as_text))
    check_size(inputs, max_mb=self._max_input_mb)
    end = chosen_end(ttl=ttl, expires_at=expires_at)
    labels = Labels(
        scope.user_id,
        scope.session_id,
        scope.agent_id,
        info_of(metadata),
        tag_list(tags),
        check_lifetime(lifetime),
        end,
    )
    check_lives(inputs, labels, session_ttl_hours=self._reader.options.session_ttl_hours)
    unit: Unit = "turn" if mode == "fast" or self._reader.options.keep_turns else "window"
    time = self._reader.time_of(at)
    report = self._ingest.add(
        inputs, labels, unit=unit, at=time, reconcile=bool(reconcile), review=chosen, progress=progress
    )
    if mode == "fine" or reconcile == "model":
        try:
            refined = yield from self._refining.refine(
                scope.user_id,
                ids=report.ids if mode == "fine" else (),
                caller=self._reader.distiller.caller(),
                reconcile=reconcile,
                beside=report.added,
                review=chosen,
                progress=progress,
            )
        except MemoryFullError as error:
            raise error.after(len(report.added)) from None
        report = with_refined(report, refined)
    return replace(report, pending=self._store.review.waiting(scope.user_id, report.ids))


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
    partial: bool = False,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    review: Review | None = None,
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
        limit: At most so many raw items, the oldest first; and so many partial ones.
        gates: Have the memories that are there checked, too: "rewrite", "hallucination"; each once.
        reconcile: What becomes of what is made beside what is known; see `add`.
        partial: Ask also about memories that a model made without their key, entities or time (`metadata.partial`),
            once each, for just these fields; what it doesn't give stays missing.
        max_calls: In place of `ModelOptions.max_calls`.
        max_tokens: In place of `ModelOptions.max_tokens`.
        review: Which of the memories that are made wait for approval; see `add`.
        progress: Called with ("refine", windows done, windows).

    Raises:
        ModelRequiredError: There is something to read, and no model.
    """
    self._check_open()
    check_page(limit, 0)
    chosen = checked_review(review, self._review)
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
            partial=partial,
            review=chosen,
            caller=caller,
            progress=progress,
        )
        report = report.joined(more)
    return report
