"""mem0's Memory over local Qdrant, `infer=False` (no language model), with an embedder that looks vectors up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mem0 import Memory  # type: ignore[import-not-found]

from benchmarks.peers.stores.harness import main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector


class LookUp:
    """Gives the vector that a text was announced with."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        return self.vectors.get(text) or [1.0] + [0.0] * (DIMENSION - 1)

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


class Mem0Memory:
    """Users are mem0's own `user_id`; it makes its own ids, ours is kept as metadata."""

    def __init__(self, folder: Path) -> None:
        place = {"path": str(folder / "qdrant"), "embedding_model_dims": DIMENSION, "on_disk": True}
        key = {"api_key": "none"}  # Of a service that is never called.
        folder.mkdir(parents=True, exist_ok=True)
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "embedder": {"provider": "openai", "config": key},
                "llm": {"provider": "openai", "config": key},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._embedder = LookUp()
        self._memory.embedding_model = self._embedder
        self._own = folder / "ids.json"  # Which row is which of mem0's ids, as its caller would remember it.
        self._ids: dict[str, str] = json.loads(self._own.read_text()) if self._own.exists() else {}

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._embedder.vectors[row.text] = row.vector.tolist()
            metadata = {"row": row.id, "sources": [row.source]}
            done = self._memory.add(row.text, user_id=row.user, infer=False, metadata=metadata)
            self._ids[row.id] = done["results"][0]["id"]
        self._embedder.vectors.clear()

    def flush(self) -> None:
        pass

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        self._embedder.vectors["question"] = vector.tolist()
        found = self._memory.search("question", filters={"user_id": user}, top_k=k, threshold=0.0)["results"]
        return [Found(hit["metadata"]["row"], hit["memory"], hit["user_id"]) for hit in found]

    def update(self, row: Row) -> None:
        self._embedder.vectors[row.text] = row.vector.tolist()
        self._memory.update(self._ids[row.id], row.text)

    def delete(self, row: Row) -> None:
        self._memory.delete(self._ids[row.id])

    def close(self) -> None:
        self._own.write_text(json.dumps(self._ids))
        self._memory.close()


if __name__ == "__main__":
    main(Mem0Memory)
