"""memreader in LangChain: chain memory, retriever, models, embeddings and messages.

Everything is imported when it is first used, so that a bare langchain-core is enough for all but `MemReaderMemory`,
which needs langchain-classic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memreader.errors import require

if TYPE_CHECKING:
    from langchain_memreader.documents import hit_to_document
    from langchain_memreader.embeddings import MemReaderEmbeddings, as_embedder
    from langchain_memreader.memory import MemReaderMemory
    from langchain_memreader.messages import from_langchain, to_langchain
    from langchain_memreader.models import as_chat_model
    from langchain_memreader.retriever import MemReaderRetriever

__all__ = [
    "MemReaderEmbeddings",
    "MemReaderMemory",
    "MemReaderRetriever",
    "as_chat_model",
    "as_embedder",
    "from_langchain",
    "hit_to_document",
    "to_langchain",
]

_HOMES = {
    "as_chat_model": "models",
    "as_embedder": "embeddings",
    "MemReaderEmbeddings": "embeddings",
    "MemReaderMemory": "memory",
    "MemReaderRetriever": "retriever",
    "from_langchain": "messages",
    "hit_to_document": "documents",
    "to_langchain": "messages",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package = "langchain-classic" if _HOMES[name] == "memory" else "langchain-core"
    value: object = getattr(require(f"{__name__}.{_HOMES[name]}", package=package, extra="langchain"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
