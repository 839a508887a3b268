"""What is repeated or superseded after its index was written to a file is so too when the file is read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.reader import MemReader
from memreader.recall import RecallOptions, item_record
from memreader.records import Batch
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.stores.checkpoints import MORE_THAN, Checkpoints
from memreader.testing import HashEmbedder

EMBEDDER = HashEmbedder()
USERS = ("ana", "ben")
WHERE = "Where does Ana work, at Acme or Globex?"


def open_it(folder: Path, above: int) -> Memory:
    """A memory that keeps one index at a time: a large one is written as another user's takes its place."""
    store = Store.open(folder, facts_of(EMBEDDER), max_resident_mb=1e-6, checkpoint_above=above)
    return Memory(store, MemReader(embedder=EMBEDDER), RecallOptions())


def item(item_id: str, text: str, time: str) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=text, metadata={"memory_time": time, "entities": ["Ana"]})


def fill(memory: Memory, count: int) -> None:
    """Much that says nothing about it, for both users."""
    for user in USERS:
        texts = [f"Town {number} has {number % 17} halls and {number % 31} bridges." for number in range(count)]
        vectors = EMBEDDER.embed(texts)
        items = [item(f"t{number}", text, "2021-01-01") for number, text in enumerate(texts)]
        records = tuple(item_record(one, vector) for one, vector in zip(items, vectors, strict=True))
        memory._store.write(Batch(user, items=records))


def put_away(memory: Memory) -> None:
    """Have each user's index written, if it is large."""
    for user in (*USERS, *USERS):
        memory.search(WHERE, user_id=user)


def found(memory: Memory, **how: Any) -> list[tuple[str, float]]:
    hits = memory.search(WHERE, user_id="ana", top_k=30, threshold=0, **how)
    return [(hit.item.id, round(hit.score, 5)) for hit in hits if not hit.item.id.startswith("t")]


def everything(memory: Memory) -> list[Any]:
    times = ("2022-06-01", "2023-06-01", "2024-06-01")
    archived = {"status": "archived"}
    return [found(memory), *(found(memory, as_of=time) for time in times), found(memory, filter=archived)]


@pytest.mark.parametrize(
    ("above", "count"), [(40, 60), pytest.param(MORE_THAN, MORE_THAN + 60, marks=pytest.mark.long)]
)
def test_decisions_after_a_checkpoint_count_when_it_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: int, count: int
) -> None:
    read: list[str] = []
    load = Checkpoints.load

    def watched(kept: Checkpoints, user_id: str, **how: Any) -> Any:
        index = load(kept, user_id, **how)
        read.extend([user_id] * (index is not None))
        return index

    monkeypatch.setattr(Checkpoints, "load", watched)
    steps = [
        lambda memory: memory.add(item("acme", "Ana works at Acme.", "2022-01-01"), user_id="ana"),
        lambda memory: memory.add(item("globex", "Ana works at Globex.", "2024-01-01"), user_id="ana"),
        lambda memory: memory.add(item("again", "ana works at ACME", "2023-01-01"), user_id="ana"),
        lambda memory: memory.update("acme", {"status": "archived"}, user_id="ana"),
        lambda memory: memory.restore("acme", 1, user_id="ana"),
        lambda memory: memory.delete(["globex"], user_id="ana"),
    ]
    expected: list[Any] = []
    with open_it(tmp_path / "plain", 10**9) as memory:
        fill(memory, count)
        for step in steps:
            step(memory)
            expected.append(everything(memory))
    with open_it(tmp_path / "kept", above) as memory:
        fill(memory, count)
        put_away(memory)
    assert not list((tmp_path / "plain").glob("indexes/*.ckpt"))
    assert len(list((tmp_path / "kept").glob("indexes/*.ckpt"))) == len(USERS)
    read.clear()
    for number, step in enumerate(steps, start=1):
        with open_it(tmp_path / "kept", above) as memory:
            step(memory)
            assert everything(memory) == expected[number - 1]
        with open_it(tmp_path / "kept", above) as memory:
            assert everything(memory) == expected[number - 1]
        assert read.count("ana") >= 2 * number
    assert [name for name, _ in expected[1][0]] == ["globex"]
    assert [name for name, _ in expected[1][2]] == ["acme"]
