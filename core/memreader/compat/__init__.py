"""MemOS's way to configure, as a translation table: `{"backend": ..., "config": {...}}` into our readers and memories.

What a configuration asks for that is not there (a remote embedder, a language model) is named once in the log, never
replaced in silence.
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
