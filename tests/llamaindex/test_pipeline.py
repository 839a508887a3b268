"""MemReaderNodeParser in LlamaIndex's IngestionPipeline, with the real parts of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from llama_index.core.schema import BaseNode, Document, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import VectorStoreQuery

from llamaindex_memreader import MemReaderEmbedding, MemReaderNodeParser, conversation_document
from offline_run import complaint, run_offline

CHAT = [{"role": "user" if i % 2 else "assistant", "content": f"Turn {i} is about herons."} for i in range(6)]
PARSER = MemReaderNodeParser(chunk_tokens=48, chunk_overlap=12)


def inputs(documents: list[Document]) -> list[Document]:
    return [*(document.model_copy(deep=True) for document in documents), conversation_document(CHAT, session_id="s")]


def described(nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
    return [{**node.to_dict(), "embedding": None} for node in nodes]


def assert_exact(documents: list[Document], nodes: Sequence[BaseNode]) -> None:
    by_id = {document.node_id: document for document in documents}
    for node in nodes:
        assert isinstance(node, TextNode)
        assert by_id[node.ref_doc_id or ""].text[node.start_char_idx : node.end_char_idx] == node.text


# The workers are spawned and import the main module again, so it must be a script of its own.
SCRIPT = """
import json, sys
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import Document
from llamaindex_memreader import MemReaderEmbedding, MemReaderNodeParser

if __name__ == "__main__":
    documents = [Document.from_dict(given) for given in json.load(open(sys.argv[1], encoding="utf-8"))]
    transformations = [MemReaderNodeParser(chunk_tokens=48, chunk_overlap=12), MemReaderEmbedding()]
    nodes = IngestionPipeline(transformations=transformations).run(documents=documents, num_workers=2)
    print(json.dumps([node.to_dict() for node in nodes]))
"""


def test_two_workers_give_the_nodes_of_one(
    documents: list[Document], embedding: MemReaderEmbedding, tmp_path: Path
) -> None:
    given = inputs(documents)
    (tmp_path / "documents.json").write_text(json.dumps([d.to_dict() for d in given]), encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = run_offline(tmp_path / "script.py", tmp_path / "documents.json", cwd=tmp_path, timeout_s=300)
    assert done.returncode == 0, complaint(done)
    two = json.loads(done.stdout.splitlines()[-1])
    one = [node.to_dict() for node in IngestionPipeline(transformations=[PARSER, embedding]).run(documents=given)]
    assert len(one) > 30
    assert [{**node, "embedding": None} for node in two] == [{**node, "embedding": None} for node in one]
    for a, b in zip(two, one, strict=True):
        assert a["embedding"] == pytest.approx(b["embedding"], abs=2e-3)
    assert_exact(given, [TextNode.from_dict(node) for node in two])


async def test_run_and_arun_give_the_same(documents: list[Document], embedding: MemReaderEmbedding) -> None:
    given = inputs(documents)
    pipeline = IngestionPipeline(transformations=[PARSER, embedding], disable_cache=True)
    nodes = await asyncio.to_thread(pipeline.run, documents=given)
    assert described(await pipeline.arun(documents=given)) == described(nodes)
    assert_exact(given, nodes)
    assert all(len(node.get_embedding()) == 384 for node in nodes)


def test_nodes_from_the_cache_are_the_nodes_that_went_in(
    documents: list[Document], embedding: MemReaderEmbedding, tmp_path: Path
) -> None:
    given = inputs(documents)
    pipeline = IngestionPipeline(transformations=[PARSER, embedding])
    first = described(pipeline.run(documents=given))
    assert described(pipeline.run(documents=given)) == first
    pipeline.persist(str(tmp_path))
    other = IngestionPipeline(transformations=[PARSER, embedding])
    other.load(str(tmp_path))
    nodes = other.run(documents=given)
    assert described(nodes) == first
    assert_exact(given, nodes)


def test_another_setting_or_embedder_is_not_answered_from_the_cache() -> None:
    cache = IngestionCache()
    document = Document(text="one two three. " * 60, id_="d")

    def count(parser: MemReaderNodeParser) -> int:
        return len(IngestionPipeline(transformations=[parser], cache=cache).run(documents=[document]))

    assert count(MemReaderNodeParser(chunk_tokens=40)) != count(MemReaderNodeParser(chunk_tokens=80))


class Shop:
    """A pipeline with a docstore and a vector store."""

    def __init__(self, embedding: MemReaderEmbedding, strategy: DocstoreStrategy = DocstoreStrategy.UPSERTS) -> None:
        self.embedding = embedding
        self.vectors = SimpleVectorStore()
        self.pipeline = IngestionPipeline(
            transformations=[PARSER, embedding],
            docstore=SimpleDocumentStore(),
            vector_store=self.vectors,
            docstore_strategy=strategy,
        )

    def add(self, *documents: Document) -> int:
        return len(self.pipeline.run(documents=list(documents)))

    @property
    def ids(self) -> set[str]:
        return set(self.vectors.data.embedding_dict)

    def sources(self) -> set[str]:
        return set(self.vectors.data.text_id_to_ref_doc_id.values())

    def best(self, question: str) -> str:
        query = VectorStoreQuery(query_embedding=self.embedding.get_query_embedding(question), similarity_top_k=1)
        found = self.vectors.query(query)
        assert found.ids
        return found.ids[0]


def expected_ids(*documents: Document) -> set[str]:
    return {node.node_id for node in PARSER.get_nodes_from_documents(list(documents))}


def test_documents_are_upserted(embedding: MemReaderEmbedding) -> None:
    shop = Shop(embedding)
    a, b = (Document(text=f"{bird}s sleep in trees. " * 20, id_=bird) for bird in ("heron", "stork"))
    assert shop.add(a, b) > 2
    assert shop.add(a, b) == 0
    assert shop.ids == expected_ids(a, b)
    changed = Document(text="Herons sleep in the reeds. " * 20, id_="heron")
    assert shop.add(changed, b) > 0
    assert shop.ids == expected_ids(changed, b)


def test_documents_that_are_gone_are_deleted(embedding: MemReaderEmbedding) -> None:
    shop = Shop(embedding, DocstoreStrategy.UPSERTS_AND_DELETE)
    a, b = (Document(text=f"{bird}s sleep in trees. " * 20, id_=bird) for bird in ("heron", "stork"))
    shop.add(a, b)
    shop.add(a)
    assert shop.ids == expected_ids(a)


def test_equal_texts_in_two_documents_stay_two(embedding: MemReaderEmbedding) -> None:
    shop = Shop(embedding)
    twins = [Document(text="The tide is high. " * 20, id_=name) for name in ("a", "b")]
    shop.add(*twins)
    assert shop.sources() == {"a", "b"}
    assert shop.ids == expected_ids(*twins)


def test_a_grown_chat_replaces_itself_and_is_found(embedding: MemReaderEmbedding) -> None:
    shop = Shop(embedding)
    said = [{"role": "user", "content": "My locker code is 4711."}, {"role": "assistant", "content": "Noted."}]
    shop.add(conversation_document(said, session_id="s"))
    before = shop.ids
    grown = conversation_document([*said, {"role": "user", "content": "My bike is red."}], session_id="s")
    shop.add(grown)
    assert before < shop.ids == expected_ids(grown)
    nodes = {node.node_id: node for node in PARSER.get_nodes_from_documents([grown])}
    assert nodes[shop.best("Which code opens my locker?")].metadata["message_index"] == 0
