"""Other libraries' retrievers over the turns of one conversation, same texts and same embedder as ours."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.systems import PEERS, quiet

Search = Callable[[str, int], Sequence[str]]
Peer = Callable[[Any, Any], Iterator[Search]]


def bm25s_default(sample: Any, _: Any) -> Iterator[Search]:
    """bm25s with its own English stop words and defaults."""
    import bm25s

    turns = sample.turns
    index = bm25s.BM25()
    index.index(bm25s.tokenize([t.spoken for t in turns], stopwords="en", show_progress=False), show_progress=False)

    def search(question: str, k: int) -> list[str]:
        tokens = bm25s.tokenize([question], stopwords="en", show_progress=False)
        found, _scores = index.retrieve(tokens, k=min(k, len(turns)), show_progress=False)
        return [turns[int(place)].turn_id for place in found[0]]

    yield search


def langchain_faiss(sample: Any, embedder: Any) -> Iterator[Search]:
    """LangChain's FAISS store (langchain-community)."""
    from langchain_community.vectorstores import FAISS

    from langchain_memreader import MemReaderEmbeddings

    turns = sample.turns
    store = FAISS.from_texts(
        [t.spoken for t in turns], MemReaderEmbeddings(embedder=embedder), metadatas=[{"id": t.turn_id} for t in turns]
    )
    yield lambda question, k: [found.metadata["id"] for found in store.similarity_search(question, k=k)]


def _llamaindex(sample: Any, embedder: Any, depth: int) -> tuple[Any, Any, Any]:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    from llamaindex_memreader import MemReaderEmbedding

    nodes = [TextNode(text=turn.spoken, id_=turn.turn_id) for turn in sample.turns]
    model = MemReaderEmbedding(embedder=embedder)
    index = VectorStoreIndex(nodes, embed_model=model)
    dense = index.as_retriever(similarity_top_k=min(depth, len(nodes)))
    lexical = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(depth, len(nodes)))
    return dense, lexical, model


def _ids(retriever: Any) -> Search:
    return lambda question, k: [found.node.node_id for found in retriever.retrieve(question)[:k]]


def _llamaindex_alone(place: int, depth: int) -> Peer:
    def peer(sample: Any, embedder: Any) -> Iterator[Search]:
        yield _ids(_llamaindex(sample, embedder, depth)[place])

    return peer


def _fusion(mode: str, depth: int) -> Peer:
    def peer(sample: Any, embedder: Any) -> Iterator[Search]:
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever

        dense, lexical, _ = _llamaindex(sample, embedder, depth)
        # One query: no model rewrites it, the mock is never asked.
        yield _ids(
            QueryFusionRetriever(
                [dense, lexical],
                llm=MockLLM(),
                mode=mode,
                num_queries=1,
                similarity_top_k=depth,
                use_async=False,
            )
        )

    return peer


def mem0(sample: Any, embedder: Any) -> Iterator[Search]:
    """mem0's Memory over local Qdrant without a language model, in a process and an environment of its own.

    It searches by vectors alone: its keyword search wants a model that it would have to download.
    """
    python = PEERS["mem0"].python()
    if python is None:
        raise ImportError("mem0 is not installed: make bench-env PEER=mem0")
    with (
        tempfile.TemporaryDirectory() as home,
        subprocess.Popen(
            [python, "-m", "benchmarks.peers.mem0_turns"],
            env=quiet(Path(home)),
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        told, answers = process.stdin, process.stdout

        def tell(task: dict[str, Any]) -> None:
            told.write(json.dumps(task) + "\n")
            told.flush()

        def search(question: str, k: int) -> list[str]:
            tell({"query": question, "vector": embedder.embed_query(question).tolist(), "k": k})
            return list(json.loads(answers.readline()))

        vectors = embedder.embed([turn.spoken for turn in sample.turns])
        for turn, vector in zip(sample.turns, vectors, strict=True):
            tell({"id": turn.turn_id, "text": turn.spoken, "vector": vector.tolist()})
        search("warm up", 1)
        yield search


def peers(depth: int) -> dict[str, Peer]:
    """Return the peers by name; LlamaIndex's retrievers fetch `depth` turns each, before they are fused."""
    return {
        "LangChain FAISS": langchain_faiss,
        "mem0, infer=False": mem0,
        "LlamaIndex vector": _llamaindex_alone(0, depth),
        "bm25s": bm25s_default,
        "LlamaIndex BM25": _llamaindex_alone(1, depth),
        "LlamaIndex fusion RRF": _fusion("reciprocal_rerank", depth),
        "LlamaIndex fusion relative": _fusion("relative_score", depth),
    }
