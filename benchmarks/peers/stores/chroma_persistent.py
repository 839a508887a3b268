"""Chroma's PersistentClient; every call is durable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]
from chromadb.config import Settings  # type: ignore[import-not-found]

from benchmarks.peers.stores.harness import main
from benchmarks.peers.stores.rows import Found, Row, Vector


class ChromaPersistent:
    """One collection with cosine distances; filters by `where={"user": ...}`. Sources are JSON: metadata is flat."""

    def __init__(self, folder: Path) -> None:
        self._client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._rows: Any = self._client.get_or_create_collection(
            "rows", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def add(self, rows: Sequence[Row]) -> None:
        self._rows.add(
            ids=[row.id for row in rows],
            embeddings=[row.vector for row in rows],
            documents=[row.text for row in rows],
            metadatas=[_metadata(row) for row in rows],
        )

    def flush(self) -> None:
        pass

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        found = self._rows.query(query_embeddings=[vector], n_results=k, where={"user": user})
        rows = zip(found["ids"][0], found["documents"][0], found["metadatas"][0], strict=True)
        return [Found(row_id, text, metadata["user"]) for row_id, text, metadata in rows]

    def update(self, row: Row) -> None:
        self._rows.update(ids=[row.id], embeddings=[row.vector], documents=[row.text], metadatas=[_metadata(row)])

    def delete(self, row: Row) -> None:
        self._rows.delete(ids=[row.id])

    def close(self) -> None:
        self._client.close()


def _metadata(row: Row) -> dict[str, str]:
    return {"user": row.user, "source": json.dumps(row.source)}


if __name__ == "__main__":
    main(ChromaPersistent)
