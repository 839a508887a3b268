"""Found memories as LangChain Documents."""

from __future__ import annotations

from langchain_core.documents import Document

from memreader import Hit

_FIELDS = {"session_id", "agent_id", "memory_type", "memory_time", "key", "tags", "info"}


def hit_to_document(hit: Hit) -> Document:
    """Return the memory's words as a Document whose metadata, JSON-ready, says how well it fits and where it is from.

    Metadata: id, score, similarity, parts (component scores), sources (the cited spans: `message_id` or `doc_path` with
    `page`, `start` and `end`), session_id, agent_id, memory_type, memory_time, key, tags and info (the caller's own).
    """
    metadata = hit.item.metadata
    return Document(
        id=hit.item.id,
        page_content=hit.item.memory,
        metadata={
            "id": hit.item.id,
            "score": hit.score,
            "similarity": hit.similarity,
            "parts": dict(hit.parts),
            "sources": [source.model_dump(mode="json", exclude_none=True) for source in metadata.sources],
            **metadata.model_dump(mode="json", include=_FIELDS),
        },
    )
