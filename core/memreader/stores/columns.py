"""What is known of each row of one user's index besides its vector and its terms: key, labels, length, and its life."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.lifetimes import NEVER
from memreader.records import REPEATED, Keys, Label
from memreader.stores.around import Around, around_of
from memreader.traits import Traits, unpack_many

Mask: TypeAlias = npt.NDArray[np.bool_]
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

CODED = ("sessions", "agents", "groups", "speakers")
"""Columns that hold codes of names."""
NO_TRAITS = Traits().pack()
NOBODY = -1
"""Code of a label that no item has."""
NO_LABEL = -2
ALIVE, ARCHIVED, SESSION_ONLY, IN_FILE, IS_REPEATED = 1, 2, 4, 8, 16
"""Bits of a row's flags."""
LAG = 1024
"""Fewest rows by which the look-up of keys may lag behind before it is made anew."""
K1, B = 0.9, 0.4
"""Of BM25: how soon occurrences stop to count, and how much a length does."""


class Column:
    """An array that grows: appending is amortised O(1), `values` is a view of what is filled."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._data = np.zeros(64, kind)
        self._size = 0

    @property
    def values(self) -> npt.NDArray[Any]:
        """The filled part; writing to it changes the column."""
        return self._data[: self._size]

    @property
    def nbytes(self) -> int:
        """Memory taken, the part to be filled included."""
        return self._data.nbytes

    def extend(self, values: Sequence[Any] | npt.NDArray[Any]) -> None:
        """Append values."""
        size = self._size + len(values)
        if size > len(self._data):
            grown = np.zeros(max(size, 2 * len(self._data)), self._data.dtype)
            grown[: self._size] = self.values
            self._data = grown
        self._data[self._size : size] = values
        self._size = size


@dataclass(frozen=True, slots=True)
class Facts:
    """What every search needs of all rows, and a change makes void."""

    alive: Mask
    shown: Mask
    """Neither dead nor archived."""
    shared: Mask
    """Shown to every session."""
    all_shared: bool
    session_only: bool
    """Whether any item is shown to one session only."""
    soonest: int
    """When the first of those that are alive expires, in Unix seconds; `NEVER` where none does."""
    norm: npt.NDArray[np.float32]
    """What BM25 adds to the occurrences of a term in this row."""


class Columns:
    """Rows of one user's items: appended, marked dead, and found by key or by label."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.keys, self._flags, self._lengths = Column(np.int64), Column(np.uint8), Column(np.int32)
        self._sessions, self._agents = Column(np.int32), Column(np.int32)
        self._groups, self._speakers = Column(np.int32), Column(np.int32)
        self._orders, self._days, self._marks = Column(np.int64), Column(np.int32), Column(np.uint16)
        self._expires = Column(np.int64)
        self.living = 0
        """How many rows are not dead."""
        self._codes = {name: code for code, name in enumerate(names)}
        self._last_key = -1
        self._sorted_keys, self._sorted_rows, self._sorted_to = np.zeros(0, np.int64), np.zeros(0, np.int32), 0
        self._facts: Facts | None = None
        self._usual: Keys | None = None
        """Rows that a search without conditions looks at, if those aren't all."""
        self._everything: Around | None = None
        """What stands around these, or around all."""

    def __len__(self) -> int:
        return len(self.keys.values)

    @property
    def nbytes(self) -> int:
        """Memory that all arrays take, with what the first search makes: three masks and a norm."""
        columns = (self.keys, self._lengths, *self._columns().values())
        lookup = self._sorted_keys.nbytes + self._sorted_rows.nbytes
        return sum(column.nbytes for column in columns) + lookup + (7 + 24) * len(self)

    @property
    def alive(self) -> Mask:
        """Which rows are not dead."""
        alive: Mask = self._flags.values & ALIVE != 0
        return alive

    @property
    def facts(self) -> Facts:
        """What holds until the next change."""
        if self._facts is None:
            self._facts = _facts(self._flags.values, self._lengths.values, self._expires.values)
        return self._facts

    def coded(self, labels: Sequence[Label], traits: Sequence[bytes], expires: Sequence[int | None]) -> Arrays:
        """Return the labels and the traits of n items as arrays of shape (n,): what `extend` takes but for the keys."""
        rows, groups, speakers = unpack_many([packed or NO_TRAITS for packed in traits])
        return {
            "sessions": np.array([self._code(label[0]) for label in labels], np.int32),
            "agents": np.array([self._code(label[1]) for label in labels], np.int32),
            "flags": np.array([_flags_of(label) for label in labels], np.uint8),
            "groups": np.array([self._code(group or None) for group in groups], np.int32),
            "speakers": np.array([self._code(speaker or None) for speaker in speakers], np.int32),
            "orders": rows["order"].astype(np.int64),
            "days": rows["day"].astype(np.int32),
            "marks": rows["marks"].astype(np.uint16),
            "expires": np.array([NEVER if second is None else second for second in expires], np.int64),
        }

    def extend(self, arrays: Mapping[str, npt.NDArray[Any]], lengths: npt.NDArray[Any]) -> None:
        """Append rows: keys, labels and traits, and how many terms each has, repeats included."""
        keys = arrays["keys"]
        if not len(keys):
            return
        self.keys.extend(keys)
        self._lengths.extend(lengths)
        for name, column in self._columns().items():
            column.extend(arrays[name])
        self.living += len(keys)
        self._last_key = max(self._last_key, int(keys.max()))
        self._facts = self._usual = self._everything = None

    def drop(self, keys: Keys) -> int:
        """Mark dead the rows of those items that are among `keys`, and return how many there were."""
        rows = self.find(keys)
        if len(rows):
            self._flags.values[rows] &= ~np.uint8(ALIVE)
            self.living -= len(rows)
            self._facts = self._usual = self._everything = None
        return len(rows)

    def find(self, keys: Keys) -> Keys:
        """Return the rows of those living items that are among `keys`, each once, in no order."""
        known = self.keys.values
        wanted = distinct(keys)
        # Most often it is asked about new items, which nobody can know.
        wanted = wanted[: wanted.searchsorted(self._last_key, "right")]
        if not len(wanted):
            return np.zeros(0, np.int64)
        if len(known) - self._sorted_to > max(LAG, len(known) // 8):
            self._sort_keys()
        at, there = _places(self._sorted_keys, wanted)
        # What came after the keys were sorted is looked through.
        new = _places(wanted, known[self._sorted_to :])[1]
        rows: Keys = np.concatenate(
            [self._sorted_rows[at[there]], np.flatnonzero(new) + self._sorted_to], dtype=np.int64
        )
        return rows[self.alive[rows]]

    def candidates(
        self,
        session_id: str | None,
        agent_id: str | None,
        *,
        isolate: bool,
        allowed: Keys | None,
        archived: bool = False,
        repeated: bool = False,
        now: float = -math.inf,
    ) -> Keys | None:
        """Return the rows that may be found, ascending; None for every row. See `UserIndex.search`."""
        facts = self.facts
        mask = facts.shared
        if archived:
            mask = facts.alive & (self._flags.values & SESSION_ONLY == 0)
        if isolate or facts.session_only or archived:
            shown = facts.alive if archived else facts.shown
            if isolate:
                shown = shown | self._repeated
            same_session = shown & (self._sessions.values == self._known(session_id))
            mask = same_session if isolate else mask | same_session
        if repeated:
            mask = mask | self._repeated
        if facts.soonest <= now:
            mask = mask & (self._expires.values > now)
        if agent_id is not None:
            mask = mask & (self._agents.values == self._known(agent_id))
        if allowed is not None:
            rows = np.sort(self.find(allowed))
            return rows[mask[rows]]
        if mask is not facts.shared:
            return np.flatnonzero(mask)
        if facts.all_shared:
            return None
        if self._usual is None:
            self._usual = np.flatnonzero(mask)
        return self._usual

    def arrays(self) -> Arrays:
        """Return the living rows: what `extend` takes, and "names", a JSON list of what the codes stand for."""
        alive = self.alive
        kept = {name: column.values[alive] for name, column in self._columns().items()}
        # Codes anew: the name of a session that is gone must not stay behind either.
        used = distinct(np.concatenate([kept[name] for name in CODED]))
        used = used[used >= 0]
        names = list(self._codes)
        for name in CODED:
            kept[name] = np.where(kept[name] < 0, kept[name], np.searchsorted(used, kept[name]))
        return kept | {
            "keys": self.keys.values[alive],
            "names": np.frombuffer(json.dumps([names[code] for code in used.tolist()]).encode(), np.uint8),
        }

    def around(self, rows: Keys | None) -> Around:
        """Return what stands around each candidate; for a search without conditions it is kept until the next change.

        Args:
            rows: As `candidates` gave them.
        """
        if rows is not None and rows is not self._usual:
            return self._around_of(rows)
        if self._everything is None:
            self._everything = self._around_of(np.arange(len(self)) if rows is None else rows)
        return self._everything

    def _around_of(self, rows: Keys) -> Around:
        column = self._columns()
        names = list(self._codes)
        speakers, codes = _compact(column["speakers"].values[rows])
        return around_of(
            groups=column["groups"].values[rows],
            orders=column["orders"].values[rows],
            days=column["days"].values[rows],
            marks=column["marks"].values[rows],
            lengths=self._lengths.values[rows],
            living=self.facts.shown[rows],
            speakers=speakers,
            names=tuple(names[code] for code in codes),
        )

    def _columns(self) -> dict[str, Column]:
        return {
            "flags": self._flags, "sessions": self._sessions, "agents": self._agents, "groups": self._groups,
            "speakers": self._speakers, "orders": self._orders, "days": self._days, "marks": self._marks,
            "expires": self._expires,
        }  # fmt: skip

    @property
    def _repeated(self) -> Mask:
        flags = self._flags.values
        repeated: Mask = flags & (ALIVE | IS_REPEATED) == (ALIVE | IS_REPEATED)
        return repeated

    def _code(self, label: str | None) -> int:
        return NO_LABEL if label is None else self._codes.setdefault(label, len(self._codes))

    def _known(self, label: str | None) -> int:
        return NOBODY if label is None else self._codes.get(label, NOBODY)

    def _sort_keys(self) -> None:
        living = np.flatnonzero(self.alive)
        keys = self.keys.values[living]
        order = np.argsort(keys, kind="stable")
        self._sorted_keys, self._sorted_rows = keys[order], living[order].astype(np.int32)
        self._sorted_to = len(self)


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return each of `values` once, ascending; several times as fast as numpy's `unique`."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _facts(flags: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int32], expires: npt.NDArray[np.int64]) -> Facts:
    alive = flags & ALIVE != 0
    shown = flags & (ALIVE | ARCHIVED) == ALIVE
    shared = flags & (ALIVE | ARCHIVED | SESSION_ONLY) == ALIVE
    in_file = flags & IN_FILE != 0
    # Against the mean length of its kind: beside short turns every document chunk would look too long.
    relative = lengths.astype(np.float64)
    for kind in (in_file, ~in_file):
        living = lengths[kind & alive]
        if len(living):
            relative[kind] /= max(living.mean(), 1.0)
    norm = (K1 * (1 - B + B * relative)).astype(np.float32)
    session_only = bool((shown != shared).any())
    soonest = int(expires.min(initial=NEVER, where=alive))
    return Facts(alive, shown, shared, bool(shared.all()), session_only, soonest, norm)


def _flags_of(label: Label) -> int:
    _, _, visibility, status, source = label
    return (
        ALIVE
        | ARCHIVED * (status in ("archived", "deleted", REPEATED))
        | IS_REPEATED * (status == REPEATED)
        | SESSION_ONLY * (visibility == "session")
        | IN_FILE * (source == "file")
    )


def _compact(codes: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], list[int]]:
    """Return codes counted from 0, -1 for none, and what each was."""
    used = distinct(codes)
    used = used[used >= 0]
    return np.where(codes < 0, -1, np.searchsorted(used, codes)).astype(np.int32), used.tolist()


def _places(among: Keys, wanted: Keys) -> tuple[Keys, Mask]:
    """Return for each of `wanted` its place in `among` (ascending), and whether it is there."""
    at = np.searchsorted(among, wanted)
    if not len(among):
        return at, np.zeros(len(wanted), np.bool_)
    at[at == len(among)] = 0
    return at, among[at] == wanted
