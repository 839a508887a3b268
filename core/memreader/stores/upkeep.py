"""Looking after a store as a whole: what is in it, and that what was deleted is gone from its files."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memreader.errors import StoreBusyError, StoreError, StoreFullError, StoreIOError, StoreReadOnlyError
from memreader.records import PurgeReport, Stats
from memreader.stores.changes import user_hash
from memreader.stores.checkpoints import Checkpoints, Header
from memreader.stores.database import READ_OR_WRITTEN, SCHEMA_VERSION, Database

_log = logging.getLogger(__name__)

_IN_THE_WAY = (StoreBusyError, StoreFullError, StoreIOError, StoreReadOnlyError)

LOCKED = "another process is writing a checkpoint of an index"


class Upkeep:
    """Counts, and purges."""

    def __init__(self, database: Database, checkpoints: Checkpoints) -> None:
        self._database = database
        self._checkpoints = checkpoints

    def now(self) -> tuple[int, int]:
        """Return the last change sequence number, and that of the last reindexing."""
        with self._database.reading() as db:
            seq, epoch = db.execute("SELECT seq, epoch FROM counters WHERE id = 1").fetchone()
        return int(seq), int(epoch)

    def last_deletion(self, user_id: str) -> int:
        """Return the change number of the last deletion of an item of the user; 0 if there never was one."""
        query = (
            "SELECT max(coalesce((SELECT max(seq) FROM gone WHERE user_id = ?), 0), "
            "coalesce((SELECT seq FROM erased WHERE user_hash = ?), 0))"
        )
        with self._database.reading() as db:
            values = (user_id, user_hash(self._database.store_id, user_id))
            return int(db.execute(query, values).fetchone()[0])

    def checkpoint_token(self, user_id: str) -> str:
        """Return what the database was told of the user's last checkpoint; "" if there was none."""
        with self._database.reading() as db:
            row = db.execute("SELECT value FROM meta WHERE key = ?", (self._token_key(user_id),)).fetchone()
        return row[0] if row else ""

    def remember_checkpoint(self, user_id: str, token: str) -> None:
        """Keep the token of the user's new checkpoint."""
        with self._database.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (self._token_key(user_id), token))

    def _token_key(self, user_id: str) -> str:
        return "checkpoint " + user_hash(self._database.store_id, user_id).hex()

    def users(self) -> list[str]:
        """Return the ids of all users that have items, messages or documents, in alphabetical order."""
        tables = ("items", "messages", "documents")
        query = " UNION ".join(f"SELECT user_id FROM {table}" for table in tables) + " ORDER BY 1"
        with self._database.reading() as db:
            return [user for (user,) in db.execute(query)]

    def purge_is_due(self) -> bool:
        """Return whether something was deleted since the last complete purge."""
        with self._database.reading() as db:
            return db.execute("SELECT 1 FROM meta WHERE key = 'purge_due'").fetchone() is not None

    def purge(self, *, timeout_s: float) -> PurgeReport:
        """Take what was deleted out of every file: checkpoints that hold it go, the write-ahead log is emptied.

        (The database itself overwrites what is deleted at once.) Not complete while another process, or a search of
        this one, still reads an older state, nor where the disk is full or fails; nothing is lost then, call it again
        later.
        """
        try:
            return self._purge(timeout_s)
        except _IN_THE_WAY as error:
            # What was deleted is deleted, so this is no error of the call that did it.
            return PurgeReport(False, _reason(error))

    def purge_if_due(self, *, timeout_s: float) -> None:
        """Purge before the end, if anything was deleted; what keeps it from being done is logged, and it stays due."""
        try:
            if not self.purge_is_due():
                return
            reason = self.purge(timeout_s=timeout_s).reason
        except StoreError as error:
            reason = _reason(error)
        if reason:
            _log.warning("what was deleted is not yet out of all files, purge again later: %s", reason)

    def _purge(self, timeout_s: float) -> PurgeReport:
        with self._database.reading() as db:
            due = db.execute("SELECT value FROM meta WHERE key = 'purge_due'").fetchone()
        if not self._checkpoints.remove_stale(self._freshness(), timeout_s=timeout_s):
            return PurgeReport(False, LOCKED)
        reason = self._database.purge(timeout_s)
        if reason:
            return PurgeReport(False, reason)
        if due is not None:
            with self._database.transaction() as db:
                # Not if something was deleted meanwhile: then the value is another one.
                db.execute("DELETE FROM meta WHERE key = 'purge_due' AND value = ?", due)
        return PurgeReport(True)

    def expired(self, at: float) -> dict[str, int]:
        """Return how many items of each user have expired by a time (Unix seconds), in alphabetical order."""
        query = "SELECT user_id, count(*) FROM items WHERE expires <= ? GROUP BY user_id ORDER BY user_id"
        with self._database.reading() as db:
            return dict(db.execute(query, (at,)).fetchall())

    def stats(self, user_id: str | None, *, durability: str, resident_bytes: int) -> Stats:
        """Return how much there is, in the whole store or of one user."""
        where, values = ("", ()) if user_id is None else (" WHERE user_id = ?", (user_id,))
        with self._database.snapshot() as db:

            def count(table: str, more: str = "") -> int:
                condition = (where + " AND " + more if where else " WHERE " + more) if more else where
                return int(db.execute(f"SELECT count(*) FROM {table}{condition}", values).fetchone()[0])

            def split(column: str) -> dict[str, int]:
                query = f"SELECT {column}, count(*) FROM items{where} GROUP BY 1 ORDER BY 2 DESC, 1"
                return dict(db.execute(query, values).fetchall())

            once = (
                "SELECT coalesce(avg(items = 1), 0.0) FROM (SELECT count(*) AS items FROM entities "
                f"JOIN mentions ON entity = entities.id{where} GROUP BY entities.id)"
            )
            meta: dict[str, str] = dict(db.execute("SELECT key, value FROM meta").fetchall())
            users = db.execute(f"SELECT count(DISTINCT user_id) FROM items{where}", values).fetchone()[0]
            return Stats(
                users=users,
                items=count("items"),
                messages=count("messages", "NOT deleted"),
                documents=count("documents"),
                entities=count("entities"),
                useful=count("feedback", "useful"),
                useless=count("feedback", "NOT useful"),
                seen_once=db.execute(once, values).fetchone()[0],
                encoded=count("tokens"),
                partial=count("items", "status = 'activated' AND json_extract(metadata, '$.partial')"),
                by_type=split("coalesce(json_extract(metadata, '$.memory_type'), 'LongTermMemory')"),
                by_status=split("status"),
                embedder=meta.get("embedder", ""),
                dimension=int(meta.get("dimension", 0)),
                lexicon=meta.get("lexicon", ""),
                schema_version=SCHEMA_VERSION,
                durability=durability,
                database_bytes=_size(self._database.path.parent.glob(self._database.path.name + "*")),
                checkpoint_bytes=_size(self._checkpoints.folder.glob("*.ckpt")),
                resident_bytes=resident_bytes,
                purge_due="purge_due" in meta,
            )

    def _freshness(self) -> Callable[[Header], bool]:
        """Return a rule that tells whether a checkpoint was written after the last deletion of its user."""
        store_id = self._database.store_id
        with self._database.snapshot() as db:
            epoch = db.execute("SELECT epoch FROM counters WHERE id = 1").fetchone()[0]
            last: dict[bytes, int] = dict(db.execute("SELECT user_hash, seq FROM erased").fetchall())
            for user, seq in db.execute("SELECT user_id, max(seq) FROM gone GROUP BY user_id"):
                key = user_hash(store_id, user)
                last[key] = max(seq, last.get(key, 0))
        return lambda header: header.epoch == epoch and header.seq >= last.get(header.user, 0)


def _reason(error: StoreError) -> str:
    """Return what was in the way of a purge; an error's own words are about a write that was not kept."""
    detail = str(getattr(error, "detail", error))
    if isinstance(error, StoreFullError):
        return f"the disk has no room: {detail}; free some space and purge again"
    if isinstance(error, StoreReadOnlyError):
        return f"{detail}; get the right to write, and purge again"
    if isinstance(error, StoreBusyError):
        return READ_OR_WRITTEN
    return detail


def _size(files: Any) -> int:
    sizes = [file.stat().st_size for file in files if isinstance(file, Path) and file.is_file()]
    return sum(sizes)
