"""A LanceDB table; every call is durable. No index on the vectors: 100,000 are searched exactly, as its docs advise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb  # type: ignore[import-not-found]
import pyarrow as pa  # type: ignore[import-not-found]

from benchmarks.peers.stores.harness import main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector


class LanceTable:
    """One table; filters are SQL, before the search; an update is a `merge_insert`."""

    def __init__(self, folder: Path) -> None:
        database = lancedb.connect(str(folder))
        words = [pa.field(name, pa.string()) for name in ("id", "user", "text", "source")]
        schema = pa.schema([*words, pa.field("vector", pa.list_(pa.float32(), DIMENSION))])
        self._table: Any = database.create_table("rows", schema=schema, exist_ok=True)

    def add(self, rows: Sequence[Row]) -> None:
        self._table.add([_record(row) for row in rows])

    def flush(self) -> None:
        pass

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        asked = self._table.search(vector).distance_type("cosine").where(f"user = '{user}'", prefilter=True)
        found = asked.select(["id", "text", "user", "_distance"]).limit(k).to_list()
        return [Found(row["id"], row["text"], row["user"]) for row in found]

    def update(self, row: Row) -> None:
        self._table.merge_insert("id").when_matched_update_all().execute([_record(row)])

    def delete(self, row: Row) -> None:
        self._table.delete(f"id = '{row.id}'")

    def close(self) -> None:
        # Its docs advise this now and then: each add is a file of its own.
        self._table.optimize(cleanup_older_than=timedelta(0))


def _record(row: Row) -> dict[str, Any]:
    return {"id": row.id, "user": row.user, "text": row.text, "source": json.dumps(row.source), "vector": row.vector}


if __name__ == "__main__":
    main(LanceTable)
