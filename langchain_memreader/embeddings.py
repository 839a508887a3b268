"""LangChain's embeddings as an embedder of ours, and ours as LangChain's."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from memreader import MiniLMEmbedder
from memreader.embedding import FunctionEmbedder
from memreader.ports import Embedder

_NAMES = ("model", "model_name", "model_id", "deployment", "repo_id")


def as_embedder(
    embeddings: Embeddings, *, name: str | None = None, dimension: int | None = None, max_tokens: int = 8192
) -> FunctionEmbedder:
    """Return any LangChain `Embeddings` as an embedder for `Memory.open(..., embedder=...)`.

    Args:
        embeddings: The model.
        name: Its name; by default its class and the model it names. Together with the dimension it stands for the
            model, so give one if two models would share it.
        dimension: Length of its vectors; measured with one query when not given.
        max_tokens: Longest text it takes in one piece; a longer one is embedded in pieces.
    """
    shown = name or _name_of(embeddings)
    return FunctionEmbedder(shown, embeddings.embed_documents, embeddings.embed_query, dimension, max_tokens)


class MemReaderEmbeddings(Embeddings):
    """LangChain embeddings by an embedder of ours: by default the embedded English model, offline, 384 dimensions.

    Args:
        embedder: Another one, for example `memory.reader.embedder`, so that the model is loaded once.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder: Embedder = embedder or MiniLMEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one unit vector per text, in order."""
        rows: list[list[float]] = self.embedder.embed(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question."""
        row: list[float] = self.embedder.embed_query(text).tolist()
        return row


def _name_of(embeddings: Embeddings) -> str:
    kind = type(embeddings).__name__
    named = (getattr(embeddings, attribute, None) for attribute in _NAMES)
    model = next((value for value in named if isinstance(value, str) and value), None)
    return kind if model is None else f"{kind}({model})"
