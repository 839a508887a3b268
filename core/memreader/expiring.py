"""Taking away what has expired."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from memreader.lifetimes import now
from memreader.records import PurgeReport, Selection
from memreader.stores import Store
from memreader.stores.erasing import EXPIRED
from memreader.types import Progress, Scope


class Holder(Protocol):
    """What purging needs of a memory."""

    _store: Store

    def _check_open(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ExpiredReport:
    """What had expired and is gone now, and whether the files are rid of it."""

    ids: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the items by user, only of those who had any."""
    messages: int = 0
    """Messages whose words were erased, wholly or in part."""
    documents: int = 0
    """Documents whose words were erased, wholly or in part."""
    purge: PurgeReport = field(default_factory=lambda: PurgeReport(complete=True))

    @property
    def count(self) -> int:
        """How many items went."""
        return sum(map(len, self.ids.values()))


def purge_expired(self: Holder, user_id: str | None = None, *, progress: Progress | None = None) -> ExpiredReport:
    """Delete the items that have expired, as `delete` does, and purge; return what went.

    Their words go from the messages and documents they were read from, too, where no other item cites them, and from
    the history, which keeps that they expired. What stood behind one of them, repeated or superseded, stands again.
    Adding their source again brings back what was read without a model.

    Nothing calls this by itself: until somebody does, `get`, `history`, `admin.export` and `dump` still show what
    `search`, `context` and `get_all` leave out. May be called at any time, and by several processes at once: some
    hundred items are one transaction; what is done stays done.

    Args:
        user_id: Whose; None for everybody's.
        progress: Called with ("expire", done, total).
    """
    owner = None if user_id is None else Scope(user_id).user_id
    self._check_open()
    at = now()
    expired = self._store.expired(at)
    chosen = expired if owner is None else {name: count for name, count in expired.items() if name == owner}
    ids: dict[str, list[str]] = {}
    messages = documents = done = 0
    total = sum(chosen.values())
    for user in chosen:
        while (deleted := self._store.delete(user, Selection(expired_by=at), cause=EXPIRED)).ids:
            ids.setdefault(user, []).extend(deleted.ids)
            messages, documents = messages + deleted.messages, documents + deleted.documents
            done += len(deleted.ids)
            if progress is not None:
                progress("expire", min(done, total), total)
    purged = self._store.purge() if ids else PurgeReport(complete=True)
    return ExpiredReport(ids, messages, documents, purged)
