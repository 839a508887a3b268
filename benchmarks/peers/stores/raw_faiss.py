"""The floor: vectors in one FAISS index, their ids beside it; no words, durable when flushed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import faiss  # type: ignore[import-untyped]
import numpy as np

from benchmarks.peers.stores.harness import UnsupportedError, main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector


class RawFaiss:
    """`IndexFlatIP` over everybody's vectors, searched by a list of the user's rows."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        faiss.omp_set_num_threads(1)
        self._file, self._names = folder / "index.faiss", folder / "ids.json"
        self._durable = durable
        known = self._file.exists()
        self._index = faiss.read_index(str(self._file)) if known else faiss.IndexFlatIP(DIMENSION)
        self._ids: list[str] = json.loads(self._names.read_text()) if known else []
        self._of: dict[str, list[int]] = {}
        for place, row_id in enumerate(self._ids):
            self._of.setdefault(row_id.split("-")[0], []).append(place)

    def add(self, rows: Sequence[Row]) -> None:
        first = len(self._ids)
        self._index.add(np.stack([row.vector for row in rows]))
        self._ids.extend(row.id for row in rows)
        self._of.setdefault(rows[0].user, []).extend(range(first, first + len(rows)))

    def flush(self) -> None:
        if not self._durable:
            return
        faiss.write_index(self._index, str(self._file))
        self._names.write_text(json.dumps(self._ids))
        with self._file.open("rb") as file:
            os.fsync(file.fileno())

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        chosen = faiss.IDSelectorBatch(np.array(self._of.get(user, []), np.int64))
        _, found = self._index.search(vector[None], k, params=faiss.SearchParameters(sel=chosen))
        return [Found(self._ids[place], "", user) for place in found[0].tolist() if place >= 0]

    def update(self, _row: Row) -> None:
        raise UnsupportedError("an index of vectors only")

    def delete(self, _row: Row) -> None:
        raise UnsupportedError("an index of vectors only")

    def close(self) -> None:
        pass


if __name__ == "__main__":
    main(RawFaiss)
