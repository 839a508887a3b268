"""LangChain's FAISS store; what makes it durable is `save_local` after a change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss  # type: ignore[import-untyped]
from langchain_community.docstore.in_memory import InMemoryDocstore  # type: ignore[import-not-found,unused-ignore]
from langchain_community.vectorstores import FAISS  # type: ignore[import-not-found,unused-ignore]
from langchain_core.embeddings import DeterministicFakeEmbedding

from benchmarks.peers.stores.harness import UnsupportedError, main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector


class LangChainFaiss:
    """Filters by `filter={"user": ...}`, with the `fetch_k` that it has by default."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        model = DeterministicFakeEmbedding(size=DIMENSION)  # Vectors are given; the constructor wants one all the same.
        if (folder / "index.faiss").exists():
            self._store = FAISS.load_local(self._folder, model, allow_dangerous_deserialization=True)
        else:
            self._store = FAISS(model, faiss.IndexFlatL2(DIMENSION), InMemoryDocstore(), {})

    def add(self, rows: Sequence[Row]) -> None:
        metadatas: list[dict[str, Any]] = [{"user": row.user, "sources": [row.source]} for row in rows]
        pairs = [(row.text, row.vector.tolist()) for row in rows]
        self._store.add_embeddings(pairs, metadatas, ids=[row.id for row in rows])

    def flush(self) -> None:
        self._store.save_local(self._folder)

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        found = self._store.similarity_search_by_vector(vector.tolist(), k=k, filter={"user": user})
        return [Found(document.id or "", document.page_content, document.metadata["user"]) for document in found]

    def update(self, _row: Row) -> None:
        raise UnsupportedError("it has no update")

    def delete(self, row: Row) -> None:
        self._store.delete([row.id])

    def close(self) -> None:
        pass


if __name__ == "__main__":
    main(LangChainFaiss)
