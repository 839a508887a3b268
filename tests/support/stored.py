"""What a memory holds, table by table, and what is put in."""

from __future__ import annotations

from typing import Any

from memreader.memory import Memory


def said(words: str, message_id: str | None = None, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": words, **({"id": message_id} if message_id else {})}


def table(memory: Memory, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query to the memory's database."""
    with memory._store._database.reading() as db:
        return db.execute(query, values).fetchall()


def assert_citations(memory: Memory, user_id: str = "ana") -> None:
    """Every source of an item that was read is cut out of its message or document."""
    query = "SELECT session_id, position, content FROM messages WHERE user_id = ?"
    messages = {(session, position): content for session, position, content in table(memory, query, user_id)}
    documents = dict(table(memory, "SELECT doc_path, text FROM documents WHERE user_id = ?", user_id))
    for item in memory.get_all(user_id=user_id):
        for source in item.metadata.sources:
            where = source.doc_path if source.type == "doc" else (source.session_id or "", source.index)
            text = documents[where] if source.type == "doc" else messages[where]
            assert text[source.start : source.end] == source.content
