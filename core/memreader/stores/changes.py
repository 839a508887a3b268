"""Change sequence numbers: what happened after what, for everybody who keeps something in step with the database."""

from __future__ import annotations

import hashlib
import sqlite3


class ChangeNumbers:
    """Numbers for the changes of one transaction: each is given once, in the order of commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._last: int = db.execute("SELECT seq FROM counters WHERE id = 1").fetchone()[0]
        self._first = self._last

    def next(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last

    def save(self) -> None:
        """Keep what was given; to be called at the end of the transaction."""
        if self._last != self._first:
            self._db.execute("UPDATE counters SET seq = ? WHERE id = 1", (self._last,))


def user_hash(store_id: str, user_id: str) -> bytes:
    """Return what stands for a user where the id itself must not be: in `erased`, and in names of files."""
    return hashlib.sha256(f"{store_id}\0{user_id}".encode("utf-8", "surrogatepass")).digest()
