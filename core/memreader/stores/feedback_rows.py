"""What the user said of items' use: rows of the database, and for which items each counts."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memreader.errors import EmbedderMismatchError, ItemNotFoundError
from memreader.ports import Vectors
from memreader.records import Keys
from memreader.stores.alias_rows import groups_of
from memreader.stores.changes import ChangeNumbers
from memreader.stores.database import Database
from memreader.stores.rows import bound

MOST = 256
"""Times that are kept of one item, the last ones: what was said before them counts for next to nothing."""
USERS = 1024
"""Users of whom it is kept in memory what they said, or that they said nothing."""
_TERMS, _VECTOR = "<i8", "<f2"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question without its words."""

    terms: frozenset[int]
    """Ids of the terms that count most in it."""
    vector: Vectors | None = None
    """Shape (d,); None where the embedder does not know its language."""


@dataclass(frozen=True, slots=True)
class Given:
    """What one user said, n times, oldest first, and for which items it counts."""

    useful: npt.NDArray[np.bool_]
    at: Keys
    """When, in seconds since 1970."""
    terms: tuple[frozenset[int] | None, ...]
    """Of the question that it was about; None where none was named."""
    vectors: npt.NDArray[np.float16]
    """Of that question, shape (n, d); zeros where there is none."""
    keys: Keys
    """Numbers of items, shape (m,),"""
    times: Keys
    """and which of the n counts for each of them: the item that it was said of, the one that stands for it, those
    that it stands for, and what was made of it or it of them."""


# From the item that it was said of to all that it counts for.
_COUNTS_FOR = """
WITH told AS MATERIALIZED (SELECT DISTINCT item FROM feedback WHERE user_id = :user)
SELECT item, item FROM told
UNION SELECT told.item, by_item FROM told CROSS JOIN settled ON settled.item = told.item AND kind = 'merge'
UNION SELECT told.item, settled.item FROM told CROSS JOIN settled ON by_item = told.item AND kind = 'merge'
UNION SELECT told.item, other.id FROM told CROSS JOIN items AS mine ON mine.id = told.item
    CROSS JOIN json_each(mine.metadata, '$.evolve_to') AS link
    CROSS JOIN items AS other ON other.user_id = :user AND other.item_id = link.value
UNION SELECT told.item, other.id FROM told CROSS JOIN items AS mine ON mine.id = told.item
    CROSS JOIN json_each(mine.metadata, '$.evolve_from') AS link
    CROSS JOIN items AS other ON other.user_id = :user AND other.item_id = link.value
"""


class SqliteFeedback:
    """Feedback in the store's database; gone with its item.

    Args:
        database: Stays the caller's to close.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[tuple[str, int], tuple[int, Given | None]] = OrderedDict()
        """User and dimension -> the change number that it was read at, and what was there."""

    def write(
        self, user_id: str, item_id: str, *, useful: bool, at: int, asked: Asked | None, embedder: str
    ) -> tuple[int, int]:
        """Keep one, and return how many say of this item that it is of use, and how many that it is not.

        Args:
            user_id: Whose item.
            item_id: Of the item.
            useful: Whether it is.
            at: Seconds since 1970.
            asked: The question that this is about.
            embedder: Which its vector is of.

        Raises:
            ItemNotFoundError: The user has no such item.
            EmbedderMismatchError: The store is one of another embedder now.
        """
        with self._database.transaction() as db:
            query = "SELECT id FROM items WHERE user_id = ? AND item_id = ?"
            row = db.execute(query, (user_id, bound(item_id))).fetchone()
            if row is None:
                raise ItemNotFoundError(item_id=item_id)
            stored = db.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
            if stored is not None and stored[0] != embedder:
                raise EmbedderMismatchError(stored=stored[0], given=embedder)
            numbers = ChangeNumbers(db)
            insert_feedback(db, user_id, row[0], numbers, useful=useful, at=at, asked=asked)
            numbers.save()
            query = "SELECT coalesce(sum(useful), 0), coalesce(sum(NOT useful), 0) FROM feedback WHERE item = ?"
            yes, no = db.execute(query, row).fetchone()
        return int(yes), int(no)

    def of(self, user_id: str, *, dimension: int, seq: int | None = None) -> Given | None:
        """Return what the user said; None for nothing, which costs a look into a table in memory.

        Args:
            user_id: Whose.
            dimension: Of the vectors; those of another length are left out.
            seq: Changes up to this number are to be taken into account; None: all up to now.
        """
        known = self._known.get((user_id, dimension))
        if known is not None and seq is not None and known[0] >= seq:
            return known[1]
        with self._database.snapshot() as db:
            now = int(db.execute("SELECT seq FROM counters WHERE id = 1").fetchone()[0])
            if known is not None and known[0] == now:
                return known[1]
            given = _given(db, user_id, dimension)
        self._known[user_id, dimension] = (now, given)
        if len(self._known) > USERS:
            self._known.popitem(last=False)
        return given

    def mentions(self, user_id: str, keys: Collection[int]) -> list[tuple[str, frozenset[int]]]:
        """Return the entities that any of these items mention, and the numbers of all items that do.

        An entity has the name it is shown by. Items that only repeat another one are left out: that one has what they
        mention.
        """
        with self._database.snapshot() as db:
            shown = groups_of(db, user_id)[1]
            near = {shown.get(number, number) for number in _entities_of(db, keys)}
            all_of = defaultdict(set)
            for number, front in shown.items():
                all_of[front].add(number)
            found = [(number, _mentioning(db, {number, *all_of[number]})) for number in sorted(near)]
            query = "SELECT name FROM entities WHERE id = ?"
            return [(str(db.execute(query, (number,)).fetchone()[0]), items) for number, items in found if items]


def insert_feedback(
    db: sqlite3.Connection,
    user_id: str,
    key: int,
    numbers: ChangeNumbers,
    *,
    useful: bool,
    at: int,
    asked: Asked | None,
) -> None:
    """Write one row, and take away what is too much of the item, the oldest first."""
    terms = None if asked is None else np.array(sorted(asked.terms), _TERMS).tobytes()
    vector = None if asked is None or asked.vector is None else asked.vector.astype(_VECTOR).tobytes()
    query = "INSERT INTO feedback (seq, item, user_id, useful, at, terms, vector) VALUES (?, ?, ?, ?, ?, ?, ?)"
    db.execute(query, (numbers.next(), key, user_id, int(useful), at, terms, vector))
    query = (
        "DELETE FROM feedback WHERE item = :key AND seq <= "
        "(SELECT seq FROM feedback WHERE item = :key ORDER BY seq DESC LIMIT 1 OFFSET :most)"
    )
    db.execute(query, {"key": key, "most": MOST})


def feedback_rows(db: sqlite3.Connection, key: int) -> Iterator[list[Any]]:
    """Yield what was said of an item, oldest first: useful, at, ids of terms or None, and the vector as hex or None."""
    query = "SELECT useful, at, terms, hex(vector), vector IS NULL FROM feedback WHERE item = ? ORDER BY seq"
    for useful, at, terms, vector, without in db.execute(query, (key,)):
        ids = None if terms is None else np.frombuffer(terms, _TERMS).tolist()
        yield [useful, at, ids, None if without else vector.lower()]


def take_feedback(
    db: sqlite3.Connection, user_id: str, key: int, numbers: ChangeNumbers, rows: Collection[Any], *, dimension: int
) -> None:
    """Write what `feedback_rows` gave; vectors of another dimension than the store's are left out."""
    for useful, at, terms, vector in rows:
        blob = b"" if vector is None else bytes.fromhex(vector)
        known = np.frombuffer(blob, _VECTOR).astype(np.float32) if len(blob) == 2 * dimension else None
        asked = None if terms is None else Asked(frozenset(terms), known)
        insert_feedback(db, user_id, key, numbers, useful=bool(useful), at=at, asked=asked)


def forget_vectors(db: sqlite3.Connection) -> None:
    """Take away the vectors of all questions: they are of an embedder that the store is no longer made for."""
    db.execute("UPDATE feedback SET vector = NULL WHERE vector IS NOT NULL")


def _given(db: sqlite3.Connection, user_id: str, dimension: int) -> Given | None:
    query = "SELECT item, useful, at, terms, vector FROM feedback WHERE user_id = ? ORDER BY seq"
    rows = db.execute(query, (user_id,)).fetchall()
    if not rows:
        return None
    targets = defaultdict(list)
    for item, other in db.execute(_COUNTS_FOR, {"user": user_id}):
        targets[item].append(other)
    pairs = [(other, time) for time, (item, *_) in enumerate(rows) for other in targets[item]]
    vectors = np.zeros((len(rows), dimension), np.float16)
    for time, (*_, vector) in enumerate(rows):
        if vector is not None and len(vector) == 2 * dimension:
            vectors[time] = np.frombuffer(vector, _VECTOR)
    keys, times = np.array(pairs, np.int64).T
    return Given(
        useful=np.array([row[1] for row in rows], np.bool_),
        at=np.array([row[2] for row in rows], np.int64),
        terms=tuple(None if row[3] is None else frozenset(np.frombuffer(row[3], _TERMS).tolist()) for row in rows),
        vectors=vectors,
        keys=keys,
        times=times,
    )


def _entities_of(db: sqlite3.Connection, keys: Collection[int]) -> list[int]:
    query = "SELECT DISTINCT entity FROM json_each(?) CROSS JOIN mentions ON item = value"
    return [number for (number,) in db.execute(query, (json.dumps(sorted(keys)),))]


def _mentioning(db: sqlite3.Connection, entities: Collection[int]) -> frozenset[int]:
    query = (
        "SELECT DISTINCT item FROM json_each(?) CROSS JOIN mentions ON entity = value WHERE NOT EXISTS "
        "(SELECT 1 FROM settled WHERE settled.item = mentions.item AND kind = 'merge')"
    )
    return frozenset(item for (item,) in db.execute(query, (json.dumps(sorted(entities)),)))
