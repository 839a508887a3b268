"""This library's store, asked the same as its peers: `python -m benchmarks.ours TASK`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.stores.harness import main
from benchmarks.peers.stores.rows import DIMENSION, Found, Row, Vector
from memreader.identity import content_digest
from memreader.items import SourceMessage, TextualMemoryItem, TextualMemoryMetadata
from memreader.recall import LEXICON, item_record
from memreader.records import Batch, ItemRecord, MessageRecord
from memreader.stores import Facts, Store
from memreader.stores.database import Durability
from memreader.types import Message


class Ours:
    """`Store` with given vectors: message, item, sources, postings and change log in one transaction for each call.

    Args:
        folder: Created when absent.
        durability: As `Memory.open` takes it.
        max_resident_mb: As `Memory.open` takes it.
        plain: Whether only the record and the vector are written: no message, no words to find it by.
    """

    def __init__(
        self, folder: Path, *, durability: Durability = "process", max_resident_mb: float = 1024, plain: bool = False
    ) -> None:
        facts = Facts(DIMENSION, "given vectors", LEXICON)
        self._store = Store.open(folder, facts, durability=durability, max_resident_mb=max_resident_mb)
        self._plain = plain

    def add(self, rows: Sequence[Row]) -> None:
        self._store.write(self._batch(rows))

    def flush(self) -> None:
        pass

    def search(self, user: str, vector: Vector, k: int) -> list[Found]:
        evidence = self._store.search(user, vector, {})
        best = np.argsort(-evidence.similarity, kind="stable")[:k]
        items = self._store.fetch(user, evidence.keys[best])
        return [Found(item.id, item.memory, item.metadata.user_id or "") for item in items if item is not None]

    def update(self, row: Row) -> None:
        self._store.write(Batch(user_id=row.user, items=(self._record(row, replaces=True),), cause="update"))

    def delete(self, row: Row) -> None:
        self._store.delete(row.user, [row.id])

    def close(self) -> None:
        self._store.close()

    def _batch(self, rows: Sequence[Row]) -> Batch:
        records = tuple(self._record(row) for row in rows)
        if self._plain:
            return Batch(user_id=rows[0].user, items=records)
        messages = tuple(map(_message, rows))
        keys = tuple(record.source_key for record in messages)
        session_id = rows[0].source["session_id"]
        return Batch(
            user_id=rows[0].user,
            session_id=session_id,
            messages=messages,
            items=records,
            read=keys,
            reading_key="given",
        )

    def _record(self, row: Row, *, replaces: bool = False) -> ItemRecord:
        metadata = TextualMemoryMetadata(user_id=row.user, sources=[SourceMessage(**row.source)])
        item = TextualMemoryItem(id=row.id, memory=row.text, metadata=metadata)
        if self._plain:
            return ItemRecord(item, row.vector, {}, (), replaces)
        return item_record(item, row.vector, (f"m:{row.id}",), replaces=replaces)


def _message(row: Row) -> MessageRecord:
    source = row.source
    message = Message(
        source["role"], row.text, name=source["name"], chat_time=source["chat_time"], message_id=source["message_id"]
    )
    return MessageRecord(message, f"m:{row.id}", content_digest(message))


if __name__ == "__main__":
    main(Ours)
