"""The verbs for what waits for approval: look at it, approve it, reject it for good, and take that back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from memreader.checks import check_page, id_list
from memreader.filters import Filter, parse_filter
from memreader.items import TextualMemoryItem
from memreader.lifetimes import now
from memreader.options import ReadOptions
from memreader.reconcile import surface_key
from memreader.reconciling import settle, statement_keys
from memreader.records import Cap, Decided, Selection
from memreader.stores import Store
from memreader.stores.sqlite_review import Approving
from memreader.twins import off_loop
from memreader.types import Scope

PENDING: Final[Filter | None] = parse_filter({"status": "pending"})


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """What approving did."""

    ids: list[str] = field(default_factory=list)
    """Of the items that waited and are approved now, in the order asked."""
    decisions: list[Decided] = field(default_factory=list)
    """What became of them beside those that stood, where not both simply stay; as `add` would have reported it."""
    archived: list[str] = field(default_factory=list)
    """Ids of other items that were archived to make room: see `max_items_per_user` of `Memory.open`."""


class ReviewQueue:
    """Items under review; `Memory.review` gives one.

    What `add(..., review=)` puts here is kept, with the messages that it was read from, and counts for nothing: no
    search, context, `get_all` or graph shows it, it is reconciled with nothing, and no score moves. `get`, `history`,
    `update` (of its words), `delete`, `dump` and `admin.export` know it.
    """

    def __init__(self, store: Store, options: ReadOptions, *, cap: Cap | None = None) -> None:
        self._store = store
        self._cap = cap
        self._archives = not (options.keep_raw and options.keep_turns)

    def pending(self, *, user_id: str, limit: int | None = None, offset: int = 0) -> list[TextualMemoryItem]:
        """Return the user's items that wait for approval and haven't expired, in the order of their first add.

        Args:
            user_id: Whose.
            limit: At most so many; None for all.
            offset: Leave out so many at the beginning.
        """
        check_page(limit, offset)
        selection = Selection(where=PENDING, live_at=now())
        return self._store.read(_user(user_id), selection, limit=-1 if limit is None else limit, offset=offset)

    def approve(self, ids: str | Sequence[str], *, user_id: str) -> ReviewReport:
        """Have items stand from now on, and return which did, and what was decided about them.

        All in one transaction, each reconciled by the rules with what stands, as if it was added now; when things
        happened decides, as ever. Ids of nothing that waits (unknown, another user's, expired, approved by somebody
        else meanwhile) are passed over. Token vectors of the turns around an approved one stay as they are.

        Args:
            ids: One id, or several.
            user_id: Whose.

        Raises:
            MemoryFullError: There is no room for all of them (`max_items_per_user`); then all wait on.
        """
        how = Approving(settle, statement_keys, self._archives, self._cap)
        return ReviewReport(*self._store.review.approve(_user(user_id), id_list(ids), how))

    def reject(self, ids: str | Sequence[str], *, user_id: str) -> list[str]:
        """Delete items that wait, for good, and return the ids that there were.

        Their words go as by `Memory.delete`: from the messages, too, where nothing else was made of them; the turn that
        a model made a memory of stays. What stays is a hash, by which the same words are known whatever their case,
        width, spaces and punctuation, in whatever session: adding or refining leaves them out and says so in `dropped`.
        `load` and `admin.import_` bring what is in the file. `delete_all` of the user forgets the hashes.

        Args:
            ids: One id, or several; what doesn't wait is passed over.
            user_id: Whose.
        """
        return self._store.review.reject(_user(user_id), id_list(ids), surface_key)

    def unreject(self, text: str, *, user_id: str) -> bool:
        """Forget that words were rejected, so that they may be added again; return whether they were.

        Args:
            text: As the item had it; a turn's begins with the speaker: "user: I am ill".
            user_id: Whose.
        """
        return self._store.review.unreject(_user(user_id), text, surface_key)

    apending = off_loop(pending)
    aapprove = off_loop(approve)
    areject = off_loop(reject)
    aunreject = off_loop(unreject)


class ScopedReview:
    """The same verbs for one user; `ScopedMemory.review` gives one."""

    def __init__(self, queue: ReviewQueue, user_id: str) -> None:
        self._queue = queue
        self._user_id = user_id

    def pending(self, *, limit: int | None = None, offset: int = 0) -> list[TextualMemoryItem]:
        """Return the user's items that wait for approval; see `ReviewQueue.pending`."""
        return self._queue.pending(user_id=self._user_id, limit=limit, offset=offset)

    def approve(self, ids: str | Sequence[str]) -> ReviewReport:
        """Have items stand from now on; see `ReviewQueue.approve`."""
        return self._queue.approve(ids, user_id=self._user_id)

    def reject(self, ids: str | Sequence[str]) -> list[str]:
        """Delete items that wait, for good; see `ReviewQueue.reject`."""
        return self._queue.reject(ids, user_id=self._user_id)

    def unreject(self, text: str) -> bool:
        """Forget that words were rejected; see `ReviewQueue.unreject`."""
        return self._queue.unreject(text, user_id=self._user_id)

    apending = off_loop(pending)
    aapprove = off_loop(approve)
    areject = off_loop(reject)
    aunreject = off_loop(unreject)


def _user(user_id: str) -> str:
    return Scope(user_id).user_id
