"""memreader in LangChain: agent middleware and tools, chain memory, retriever, models, embeddings and messages.

Everything is imported when it is first used, so that a bare langchain-core is enough for all but `MemReaderMemory`,
which needs langchain-classic, and `MemReaderMiddleware`, which needs langchain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memreader.errors import require

if TYPE_CHECKING:
    from langchain_memreader.documents import hit_to_document
    from langchain_memreader.embeddings import MemReaderEmbeddings, as_embedder
    from langchain_memreader.memory import MemReaderMemory
    from langchain_memreader.messages import from_langchain, to_langchain
    from langchain_memreader.middleware import MemReaderMiddleware
    from langchain_memreader.models import as_chat_model
    from langchain_memreader.retriever import MemReaderRetriever
    from langchain_memreader.tools import SaveMemoryTool, SearchMemoryTool

__all__ = [
    "MemReaderEmbeddings",
    "MemReaderMemory",
    "MemReaderMiddleware",
    "MemReaderRetriever",
    "SaveMemoryTool",
    "SearchMemoryTool",
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
    "MemReaderMiddleware": "middleware",
    "MemReaderRetriever": "retriever",
    "SaveMemoryTool": "tools",
    "SearchMemoryTool": "tools",
    "from_langchain": "messages",
    "hit_to_document": "documents",
    "to_langchain": "messages",
}


_NEEDS = {"memory": ("langchain-classic", "langchain"), "middleware": ("langchain", "langchain-agents")}
"""Package and extra of those that langchain-core is not enough for."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package, extra = _NEEDS.get(_HOMES[name], ("langchain-core", "langchain"))
    value: object = getattr(require(f"{__name__}.{_HOMES[name]}", package=package, extra=extra), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
