"""A backup of the database that was put back beside newer checkpoints: right answers all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from memreader.items import TextualMemoryItem
from memreader.records import Batch, ItemRecord
from memreader.stores import Facts, Store

FACTS = Facts(dimension=8, embedder="e", lexicon="l")
ROWS = np.eye(8, dtype=np.float32)


def opened(folder: Path) -> Store:
    return Store(folder, FACTS, checkpoint_above=2)


def write(store: Store, *places: int, words: str) -> None:
    items = [TextualMemoryItem(id=f"i{place}", memory=f"{words} {place}") for place in places]
    rows = zip(items, places, strict=True)
    store.write(Batch("ana", items=tuple(ItemRecord(item, ROWS[place], {}, replaces=True) for item, place in rows)))


def best(store: Store, place: int) -> tuple[str, float]:
    found = store.search("ana", ROWS[place], {})
    at = int(found.similarity.argmax())
    (item,) = store.fetch("ana", found.keys[at : at + 1])
    assert item is not None
    return item.memory, float(found.similarity[at])


def test_a_checkpoint_is_not_used_by_a_database_with_another_history(tmp_path: Path) -> None:
    folder, backup = tmp_path / "mem", tmp_path / "backup.db"
    store = opened(folder)
    write(store, 0, 1, 2, words="first")
    best(store, 0)
    store.close()
    shutil.copy(folder / "memory.db", backup)
    store = opened(folder)
    write(store, 3, 4, 5, 6, words="lost")
    best(store, 3)
    store.close()
    assert list((folder / "indexes").glob("*.ckpt"))
    shutil.copy(backup, folder / "memory.db")
    store = opened(folder)
    # As many changes as the checkpoint has seen, and more, of other items under the same numbers.
    write(store, 6, 5, 4, 3, 7, words="new")
    assert [best(store, place) for place in (0, 3, 4, 5, 6, 7)] == [
        ("first 0", 1.0),
        ("new 3", 1.0),
        ("new 4", 1.0),
        ("new 5", 1.0),
        ("new 6", 1.0),
        ("new 7", 1.0),
    ]
    store.close()


def test_a_checkpoint_from_before_the_backup_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "mem"
    store = opened(folder)
    write(store, 0, 1, 2, words="first")
    best(store, 0)
    store.close()
    store = opened(folder)
    token = store._indexes.upkeep.checkpoint_token("ana")
    index = store._indexes.checkpoints.load("ana", epoch=0, seq_now=10**6, token=token)
    assert index is not None
    assert len(index) == 3
    store.close()
