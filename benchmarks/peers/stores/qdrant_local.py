"""qdrant-client's local mode (a path, no server); every call is durable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from qdrant_client import QdrantClient, models  # type: ignore[import-not-found]

from benchmarks.peers.stores.harness import main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector


class QdrantLocal:
    """One collection with cosine distances; ids are UUIDs made of ours, filters match the payload's user."""

    def __init__(self, folder: Path) -> None:
        self._client = QdrantClient(path=str(folder))
        if not self._client.collection_exists("rows"):
            vectors = models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
            self._client.create_collection("rows", vectors)

    def add(self, rows: Sequence[Row]) -> None:
        points = [
            models.PointStruct(id=_uuid(row.id), vector=row.vector.tolist(), payload=_payload(row)) for row in rows
        ]
        self._client.upsert("rows", points)

    def flush(self) -> None:
        pass

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        chosen = models.Filter(must=[models.FieldCondition(key="user", match=models.MatchValue(value=user))])
        found = self._client.query_points("rows", query=vector.tolist(), query_filter=chosen, limit=k).points
        return [Found(point.payload["id"], point.payload["text"], point.payload["user"]) for point in found]

    def update(self, row: Row) -> None:
        self.add([row])

    def delete(self, row: Row) -> None:
        self._client.delete("rows", models.PointIdsList(points=[_uuid(row.id)]))

    def close(self) -> None:
        self._client.close()


def _uuid(row_id: str) -> str:
    return str(uuid5(NAMESPACE_OID, row_id))


def _payload(row: Row) -> dict[str, object]:
    return {"id": row.id, "user": row.user, "text": row.text, "sources": [row.source]}


if __name__ == "__main__":
    main(QdrantLocal)
