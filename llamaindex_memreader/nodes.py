"""Found memories as LlamaIndex nodes."""

from __future__ import annotations

from llama_index.core.schema import NodeWithScore, TextNode

from memreader import Hit

_FIELDS = {"session_id", "agent_id", "memory_type", "memory_time", "key", "tags", "info"}
_SHOWN = frozenset({"memory_time"})
"""What a model is shown beside the words: "last week" means nothing without it."""


def hit_to_node(hit: Hit) -> NodeWithScore:
    """Return the memory's words as a node with the hit's score; its id is the memory's, its metadata JSON-ready.

    Metadata: sources (the cited spans: `message_id` or `doc_path` with `page`, `start` and `end`), memory_type and,
    where there are any, session_id, agent_id, memory_time, key, tags and info (the caller's own). The same memory found
    for another question is the same node, so that `QueryFusionRetriever` knows it again: only the score differs.
    """
    metadata = hit.item.metadata
    told = metadata.model_dump(mode="json", include=_FIELDS)
    about = {
        "sources": [source.model_dump(mode="json", exclude_none=True) for source in metadata.sources],
        **{key: value for key, value in told.items() if value not in (None, [], {})},
    }
    node = TextNode(
        id_=hit.item.id,
        text=hit.item.memory,
        metadata=about,
        excluded_embed_metadata_keys=list(about),
        excluded_llm_metadata_keys=[key for key in about if key not in _SHOWN],
    )
    return NodeWithScore(node=node, score=hit.score)
