"""The indexes of the users that were searched last, kept in memory up to a bound."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from memreader.stores.user_index import UserIndex


class Resident:
    """Gives each user's index under that user's own lock, and lets go those that were not used for longest.

    Args:
        make: Returns a user's index, as far as it can be had at once; called under the user's lock.
        max_mb: Bound on the memory of all indexes, in 2**20 bytes. The last used one stays even if it alone is larger,
            and so do those in use.
        on_drop: Gets an index that the bound or `clear` lets go, under its user's lock, in the thread whose use or
            `clear` it is. What it raises is raised there; the index goes all the same.
    """

    _unsafe: ClassVar[list[_Slot]] = []
    """What was in use at a fork, kept for good: a block of memory that was about to move must not even be freed."""

    def __init__(
        self, make: Callable[[str], UserIndex], *, max_mb: float, on_drop: Callable[[UserIndex], None] | None = None
    ) -> None:
        self.max_mb = max_mb
        self._make = make
        self._on_drop = on_drop
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._total = 0

    @property
    def nbytes(self) -> int:
        """Memory that the indexes took when each was last used."""
        return self._total

    @property
    def users(self) -> list[str]:
        """Users whose indexes are in memory or in the making, the least recently used first."""
        with self._lock:
            return list(self._slots)

    @contextmanager
    def index(self, user_id: str) -> Iterator[UserIndex]:
        """Give the user's index, to nobody else meanwhile; other users' can be used at the same time.

        If an error or Ctrl-C leaves the block, the index is thrown away: it may be half filled. Not reentrant.
        """
        with self._held(user_id) as slot:
            if slot.index is None or not slot.whole:
                slot.index = self._make(user_id)
            slot.whole = False
            yield slot.index
            slot.nbytes = slot.index.nbytes
            slot.whole = True
        # With no lock held: letting go takes other users' locks, and may write a file.
        for victim in self._victims(but=user_id):
            self._let_go(victim)

    def drop(self, user_id: str) -> None:
        """Throw away the user's index, after its use if it is in use; `on_drop` is not called."""
        with self._held(user_id) as slot:
            slot.forget()

    def clear(self, *, quietly: bool = False) -> None:
        """Let go every index that is in memory, each after its use.

        Args:
            quietly: Without `on_drop`.
        """
        for user_id in self.users:
            if quietly:
                self.drop(user_id)
            else:
                self._let_go(user_id, though_wanted=True)

    def after_fork(self) -> None:
        """Start empty, with new locks, in a forked child, where nobody is left to release the old ones."""
        self._lock = threading.Lock()
        self._unsafe.extend(slot for slot in self._slots.values() if slot.holders)
        self._slots = OrderedDict()
        self._total = 0

    @contextmanager
    def _held(self, user_id: str) -> Iterator[_Slot]:
        """Give the user's place under its lock; it stays in memory as long as somebody holds it or waits for it."""
        with self._lock:
            slot = self._slots.setdefault(user_id, _Slot())
            self._slots.move_to_end(user_id)
            slot.holders += 1
        try:
            with slot.lock:
                yield slot
        finally:
            with self._lock:
                slot.holders -= 1
                # Another may have the name by now: after a fork in the block.
                if self._slots.get(user_id) is slot:
                    if not slot.holders and not slot.whole:
                        slot.nbytes = 0
                        del self._slots[user_id]
                    self._total += slot.nbytes - slot.counted
                    slot.counted = slot.nbytes

    def _victims(self, *, but: str) -> list[str]:
        """Return who must go for the rest to fit, the least recently used first; not `but`, and nobody in use."""
        victims: list[str] = []
        with self._lock:
            excess = self._total - self.max_mb * 2**20
            for user_id, slot in self._slots.items():
                if excess <= 0:
                    break
                if not slot.holders and user_id != but:
                    victims.append(user_id)
                    excess -= slot.counted
        return victims

    def _let_go(self, user_id: str, *, though_wanted: bool = False) -> None:
        with self._held(user_id) as slot:
            try:
                if slot.index is not None and slot.whole and self._on_drop is not None:
                    self._on_drop(slot.index)
            finally:
                # Who came for it meanwhile would only have to make it again.
                if though_wanted or slot.holders == 1:
                    slot.forget()


@dataclass(slots=True, eq=False)
class _Slot:
    """A user's place."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    index: UserIndex | None = None
    whole: bool = False
    """Whether the index is what its last use left behind, and that ended well."""
    holders: int = 0
    """How many hold the lock, wait for it, or are about to."""
    nbytes: int = 0
    counted: int = 0
    """Part of the total that is this slot's."""

    def forget(self) -> None:
        """Leave nothing."""
        self.index, self.whole, self.nbytes = None, False, 0
