"""sqlite-vec: a virtual table of vectors, partitioned by user, beside a table of rows; a call is a transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import apsw  # type: ignore[import-not-found]
import sqlite_vec  # type: ignore[import-not-found]

from benchmarks.peers.stores.harness import main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector


class SqliteVecTable:
    """WAL with synchronous=NORMAL, which survives kill -9; by apsw, as many a Python's sqlite3 loads no extension."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._db = apsw.Connection(str(folder / "rows.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.enable_load_extension(False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS rows"
            " (key INTEGER PRIMARY KEY, id TEXT UNIQUE, user TEXT, text TEXT, source TEXT)"
        )
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0 (key INTEGER PRIMARY KEY, user TEXT PARTITION KEY,"
            f" vector FLOAT[{DIMENSION}] DISTANCE_METRIC=cosine)"
        )

    def add(self, rows: Sequence[Row]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        for row in rows:
            values = (row.id, row.user, row.text, json.dumps(row.source))
            self._db.execute("INSERT INTO rows (id, user, text, source) VALUES (?, ?, ?, ?)", values)
            vector = (self._db.last_insert_rowid(), row.user, row.vector.tobytes())
            self._db.execute("INSERT INTO vectors VALUES (?, ?, ?)", vector)
        self._db.execute("COMMIT")

    def flush(self) -> None:
        pass

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        query = (
            "SELECT rows.id, rows.text, rows.user FROM vectors JOIN rows USING (key)"
            " WHERE vector MATCH ? AND k = ? AND vectors.user = ? ORDER BY distance"
        )
        return [Found(*row) for row in self._db.execute(query, (vector.tobytes(), k, user))]

    def update(self, row: Row) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        values = (row.text, json.dumps(row.source), row.id)
        self._db.execute("UPDATE rows SET text = ?, source = ? WHERE id = ?", values)
        query = "UPDATE vectors SET vector = ? WHERE key = (SELECT key FROM rows WHERE id = ?)"
        self._db.execute(query, (row.vector.tobytes(), row.id))
        self._db.execute("COMMIT")

    def delete(self, row: Row) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("DELETE FROM vectors WHERE key = (SELECT key FROM rows WHERE id = ?)", (row.id,))
        self._db.execute("DELETE FROM rows WHERE id = ?", (row.id,))
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


if __name__ == "__main__":
    main(SqliteVecTable)
