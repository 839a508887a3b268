"""Documents and a conversation to LlamaIndex nodes: exact offsets, stable ids, re-ingested without duplicates.

Needs llm-memreader[llamaindex]; no key and no network.
"""

from __future__ import annotations

import json
from pathlib import Path

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import Document
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import VectorStoreQuery

from llamaindex_memreader import MemReaderEmbedding, MemReaderNodeParser, conversation_document

DATA = Path(__file__).parent / "data"


def load() -> list[Document]:
    """Return the handbook and every session of the chat, one document each."""
    handbook = DATA / "docs" / "handbook.md"
    sessions = json.loads((DATA / "conversation.json").read_text(encoding="utf-8"))["sessions"]
    text = handbook.read_text(encoding="utf-8")
    return [
        Document(text=text, id_=handbook.name, metadata={"file_name": handbook.name}),
        *(conversation_document(s["messages"], session_id=s["session_id"]) for s in sessions),
    ]


def main() -> None:
    """Ingest twice, check every offset, and ask."""
    documents = load()
    embedding = MemReaderEmbedding()
    vectors = SimpleVectorStore()
    pipeline = IngestionPipeline(
        transformations=[MemReaderNodeParser(chunk_tokens=128), embedding],
        docstore=SimpleDocumentStore(),
        vector_store=vectors,
    )
    nodes = {node.node_id: node for node in pipeline.run(documents=documents)}
    again = pipeline.run(documents=documents)
    print(f"{len(documents)} documents gave {len(nodes)} nodes; a second run adds {len(again)}.")

    texts = {document.node_id: document.text for document in documents}
    exact = [texts[n.ref_doc_id][n.start_char_idx : n.end_char_idx] == n.text for n in nodes.values()]
    print(f"{sum(exact)} of {len(exact)} nodes are exactly what stands at their offsets.\n")

    for question in ("When do the sensors of a lock drift?", "Which nuts am I allergic to?"):
        query = VectorStoreQuery(query_embedding=embedding.get_query_embedding(question), similarity_top_k=1)
        node = nodes[vectors.query(query).ids[0]]
        place = node.metadata.get("header_path") or f"message {node.metadata['message_index']}"
        print(f"Q: {question}\n   {node.ref_doc_id} ({place}), characters {node.start_char_idx}-{node.end_char_idx}:")
        print(f"   {' '.join(node.text.split())[:200]}\n")


if __name__ == "__main__":
    main()
