"""MemOS's way to configure, as a translation table: `{"backend": ..., "config": {...}}` into our readers and memories.

Language models and embedders are built as configured, and connect when they are first used. What a configuration asks
for that is not there (a vector database elsewhere, a model in the process) is named once in the log, never replaced in
silence.
"""

from memreader.compat.factories import MemoryConfigFactory, MemoryFactory, MemReaderConfigFactory, MemReaderFactory
from memreader.compat.general import GeneralTextMemory

__all__ = [
    "GeneralTextMemory",
    "MemReaderConfigFactory",
    "MemReaderFactory",
    "MemoryConfigFactory",
    "MemoryFactory",
]
