"""memreader in LlamaIndex: memory block, retriever, node parser, models, embeddings and messages.

Everything is imported when it is first used; llama-index-core is enough for all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memreader.errors import require

if TYPE_CHECKING:
    from llamaindex_memreader.conversation import conversation_document
    from llamaindex_memreader.embeddings import MemReaderEmbedding, as_embedder
    from llamaindex_memreader.memory_block import MemReaderMemoryBlock
    from llamaindex_memreader.messages import from_llama_index, to_llama_index
    from llamaindex_memreader.models import as_chat_model
    from llamaindex_memreader.node_parser import MemReaderNodeParser
    from llamaindex_memreader.nodes import hit_to_node
    from llamaindex_memreader.retriever import MemReaderRetriever

__all__ = [
    "MemReaderEmbedding",
    "MemReaderMemoryBlock",
    "MemReaderNodeParser",
    "MemReaderRetriever",
    "as_chat_model",
    "as_embedder",
    "conversation_document",
    "from_llama_index",
    "hit_to_node",
    "to_llama_index",
]

_HOMES = {
    "as_chat_model": "models",
    "as_embedder": "embeddings",
    "MemReaderEmbedding": "embeddings",
    "MemReaderMemoryBlock": "memory_block",
    "MemReaderNodeParser": "node_parser",
    "MemReaderRetriever": "retriever",
    "conversation_document": "conversation",
    "from_llama_index": "messages",
    "hit_to_node": "nodes",
    "to_llama_index": "messages",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = require(f"{__name__}.{_HOMES[name]}", package="llama-index-core", extra="llamaindex")
    value: object = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
