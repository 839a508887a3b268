"""LlamaIndex's VectorStoreIndex over its SimpleVectorStore; what makes it durable is `persist` after a change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index.core import MockEmbedding, QueryBundle, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

from benchmarks.peers.stores.harness import main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector


class LlamaIndexSimple:
    """Filters by `MetadataFilters`; an update takes the node out and puts the new one in."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        model = MockEmbedding(DIMENSION)  # Vectors are given.
        if (folder / "index_store.json").exists():
            context = StorageContext.from_defaults(persist_dir=self._folder)
            self._index = load_index_from_storage(context, embed_model=model)
        else:
            self._index = VectorStoreIndex([], embed_model=model)

    def add(self, rows: Sequence[Row]) -> None:
        self._index.insert_nodes([_node(row) for row in rows])

    def flush(self) -> None:
        self._index.storage_context.persist(self._folder)

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        filters = MetadataFilters(filters=[ExactMatchFilter(key="user", value=user)])
        retriever = self._index.as_retriever(similarity_top_k=k, filters=filters)
        found = retriever.retrieve(QueryBundle("", embedding=vector.tolist()))
        return [Found(hit.node.node_id, hit.node.get_content(), hit.node.metadata["user"]) for hit in found]

    def update(self, row: Row) -> None:
        self.delete(row)
        self._index.insert_nodes([_node(row)])

    def delete(self, row: Row) -> None:
        self._index.delete_nodes([row.id], delete_from_docstore=True)

    def close(self) -> None:
        pass


def _node(row: Row) -> TextNode:
    metadata = {"user": row.user, "sources": [row.source]}
    return TextNode(id_=row.id, text=row.text, embedding=row.vector.tolist(), metadata=metadata)


if __name__ == "__main__":
    main(LlamaIndexSimple)
