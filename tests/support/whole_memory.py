"""Memories to be exported and to take archives in, and all that can be seen of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from archive_files import item_row, small_rows, unit_vectors
from memreader.archive import ArchiveFacts, write_archive
from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.reindexing import facts_of
from memreader.testing import HashEmbedder
from stored import table

EMBEDDER = HashEmbedder(dimension=64, max_tokens=60)
OPTIONS = ReadOptions(window_tokens=60, window_overlap=0, chunk_tokens=60, chunk_overlap=20)
LONG = " ".join(f"Sentence number {n} says that house {n} is blue." for n in range(30))


def chat(*words: str, first: int = 0) -> list[dict[str, Any]]:
    return [{"role": "user", "content": one, "id": f"m{first + n}"} for n, one in enumerate(words)]


def open_it(**options: Any) -> Memory:
    return Memory.in_memory(**{"embedder": EMBEDDER, "read_options": OPTIONS, **options})


def everything(memory: Memory, users: tuple[str, ...] = ("ana", "ben")) -> dict[str, Any]:
    """All that a user can see, and the words behind it."""
    out: dict[str, Any] = {}
    for user in users:
        items = memory.get_all(user_id=user)
        ids = {item_id for (item_id,) in table(memory, "SELECT item_id FROM history WHERE user_id = ?", user)}
        hits = memory.search("house tea coffee", user_id=user, top_k=99, threshold=0)
        out[user] = {
            "items": items,
            "history": {item_id: memory.history(item_id, user_id=user) for item_id in sorted(ids)},
            "hits": [(hit.item.id, round(hit.score, 5)) for hit in hits],
            "entities": memory.graph.entities(user_id=user),
            "relations": memory.graph.relations(user_id=user),
        }
    columns = "user_id, session_id, position, source_key, digest, message_id, role, content, flags, raw, deleted"
    out["messages"] = table(memory, f"SELECT {columns} FROM messages ORDER BY user_id, session_id, position")
    out["documents"] = table(memory, "SELECT user_id, doc_key, source_key, doc_path, text FROM documents ORDER BY 1, 2")
    out["ledger"] = table(memory, "SELECT * FROM ledger ORDER BY 1, 2, 3")
    return out


def archive(path: Path, messages: list[dict[str, Any]], sources: list[str], **facts: Any) -> Path:
    """An archive with an item for each of the sources."""
    known = facts_of(EMBEDDER)
    values = {"created_at": "2024-05-01T12:00:00+00:00", "embedder": known.embedder, "dimension": 64, "lexicon": "x"}
    bare: dict[str, Any] = {"relations": [], "settled": [], "standing": None}
    items = [item_row(f"i{n}", source_keys=[source], **bare) for n, source in enumerate(sources)]
    given = ArchiveFacts(**{**values, **facts})
    vectors = [unit_vectors(len(items), given.dimension)]
    content = small_rows(messages=messages, documents=[], items=items, ledger=[], history=[], vectors=vectors)
    write_archive(path, given, content)
    return path
