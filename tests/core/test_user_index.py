"""One user's index: caught up by change, it equals one that was loaded afresh, and both equal a slow reference."""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.stores import Batch, Evidence, ItemRecord, Store
from memreader.stores.user_index import Column, UserIndex

DIMENSION = 8
TERMS = range(1, 7)
IDS = [f"i{number}" for number in range(8)]
LABELS = [None, "a", "b"]


@dataclass(frozen=True)
class Put:
    item: TextualMemoryItem
    terms: dict[int, int]
    seed: int
    user: str = "ana"

    @property
    def vector(self) -> np.ndarray:
        row = np.random.default_rng(self.seed).normal(size=DIMENSION).astype(np.float32)
        return row / np.linalg.norm(row)


def put(
    item_id: str, session: str | None, agent: str | None, visibility: str, status: str, source: str, **rest: object
) -> Put:
    metadata = TextualMemoryMetadata.model_validate(
        {"session_id": session, "agent_id": agent, "visibility": visibility, "status": status, "source": source}
    )
    return Put(TextualMemoryItem(id=item_id, memory="words", metadata=metadata), **rest)  # type: ignore[arg-type]


def script(seed: int, length: int) -> list[Put | str]:
    """Puts, ids to delete, and looks: drawn by chance rather than by hypothesis, whose lists are mostly short."""
    chance = random.Random(seed)

    def one() -> Put | str:
        kind = chance.random()
        if kind < 0.3:
            return "look" if kind < 0.1 else chance.choice(IDS)
        return put(
            chance.choice(IDS),
            chance.choice(LABELS),
            chance.choice(LABELS),
            chance.choice(["private", "private", "public", "session"]),
            chance.choice(["activated", "activated", "activated", "archived", "deleted", "resolving"]),
            chance.choice(["conversation", "conversation", "file", "web"]),
            terms={term: chance.randint(1, 5) for term in chance.sample(TERMS, chance.randint(0, 4))},
            seed=chance.randint(0, 2**31),
            user=chance.choice(["ana", "ana", "ana", "ben"]),
        )

    return [one() for _ in range(length)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path, dimension=DIMENSION, embedder="e", lexicon="l")
    yield store
    store.close()


def write(store: Store, *changes: Put) -> None:
    for change in changes:
        record = ItemRecord(change.item, change.vector, change.terms, replaces=True)
        store.write(Batch(change.user, items=(record,)))


def fresh(store: Store) -> UserIndex:
    index = UserIndex("ana", DIMENSION)
    with store._database.snapshot() as db:
        index.catch_up(db)
    return index


def slow_search(
    held: list[Put],
    query: np.ndarray,
    terms: dict[int, float],
    session: str | None,
    agent: str | None,
    *,
    isolate: bool,
) -> dict[str, tuple[float, float, float]]:
    """BM25 (k1 = 0.9, b = 0.4), covered share of the query's idf, and cosine of every item the labels let through.

    Chunks of files and everything else have a mean length each, in the whole of the user's items.
    """
    frequency = Counter(term for one in held for term in one.terms)
    idf = {t: w * math.log(1 + (len(held) - frequency[t] + 0.5) / (frequency[t] + 0.5)) for t, w in terms.items()}
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for one in held:
        lengths[one.item.metadata.source == "file"].append(sum(one.terms.values()))
    means = {kind: max(sum(known) / max(len(known), 1), 1.0) for kind, known in lengths.items()}
    found: dict[str, tuple[float, float, float]] = {}
    for one in held:
        metadata = one.item.metadata
        relative = sum(one.terms.values()) / means[metadata.source == "file"]
        in_session = session is not None and metadata.session_id == session
        hidden = metadata.status in ("archived", "deleted") or (metadata.visibility == "session" and not in_session)
        if hidden or (isolate and not in_session) or (agent is not None and metadata.agent_id != agent):
            continue
        score = sum(
            idf[t] * one.terms[t] * 1.9 / (one.terms[t] + 0.9 * (0.6 + 0.4 * relative))
            for t in terms.keys() & one.terms.keys()
        )
        covered = sum(idf[t] for t in terms.keys() & one.terms.keys()) / sum(idf.values()) if terms else 0.0
        found[one.item.id] = (score, covered, float(one.vector @ query))
    return found


def by_id(store: Store, evidence: Evidence) -> dict[str, tuple[float, float, float]]:
    items = store.by_key("ana", evidence.keys.tolist())
    numbers = zip(evidence.lexical, evidence.coverage, evidence.similarity, strict=True)
    return {item.id: (float(a), float(b), float(c)) for item, (a, b, c) in zip(items, numbers, strict=True) if item}


def assert_equal(one: dict[str, tuple[float, float, float]], other: dict[str, tuple[float, float, float]]) -> None:
    assert one.keys() == other.keys()
    for key, numbers in one.items():
        np.testing.assert_allclose(numbers, other[key], atol=1e-5)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.integers(0, 30),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from([None, None, None, "a"]),
    st.sampled_from([False, False, False, True]),
    st.dictionaries(st.sampled_from([*TERMS, 99]), st.sampled_from([1.0, 0.3]), max_size=4),
)
def test_caught_up_it_equals_a_fresh_one_and_the_reference(
    seed: int, length: int, session: str | None, agent: str | None, isolate: bool, terms: dict[int, float]
) -> None:
    steps = script(seed, length)
    query = Put(TextualMemoryItem(memory="query"), {}, seed).vector
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), dimension=DIMENSION, embedder="e", lexicon="l")
        held: dict[tuple[str, str], Put] = {}
        for step in steps:
            if isinstance(step, Put):
                write(store, step)
                held.pop((step.user, step.item.id), None)
                held[step.user, step.item.id] = step
            elif step == "look":
                store.search("ana", query, terms)
            else:
                assert store.delete("ana", [step]) == ([step] if held.pop(("ana", step), None) else [])
        mine = [one for one in held.values() if one.user == "ana"]
        evidence = store.search("ana", query, terms, session_id=session, agent_id=agent, isolate=isolate)
        again = fresh(store).search(query, terms, session_id=session, agent_id=agent, isolate=isolate)
        expected = slow_search(mine, query, terms, session, agent, isolate=isolate)
        found = by_id(store, evidence)
        store_of_fresh = by_id(store, again)
        store.close()
    assert (np.diff(evidence.keys) > 0).all()
    assert_equal(found, expected)
    assert_equal(store_of_fresh, expected)


def numbered(count: int, *, start: int = 0) -> list[Put]:
    return [
        Put(TextualMemoryItem(id=f"n{n}", memory="words"), {n % 5 + 1: 1 + n % 3}, n)
        for n in range(start, start + count)
    ]


def test_many_deletes_compact_it_and_change_nothing_else(store: Store) -> None:
    held = numbered(300)
    store.write(Batch("ana", items=tuple(ItemRecord(one.item, one.vector, one.terms) for one in held)))
    query = held[0].vector
    store.search("ana", query, {1: 1.0})
    index = store._indexes["ana"]
    store.delete("ana", [one.item.id for one in held[:250]])
    evidence = store.search("ana", query, {1: 1.0, 2: 1.0})
    assert len(index) == len(index._vectors) == 50
    assert_equal(by_id(store, evidence), slow_search(held[250:], query, {1: 1.0, 2: 1.0}, None, None, isolate=False))


def test_more_changes_than_sqlite_binds_at_once_are_taken_in(store: Store) -> None:
    write(store, *numbered(1))
    query = numbered(1)[0].vector
    store.search("ana", query, {1: 1.0})
    held = numbered(1300)
    store.write(Batch("ana", items=tuple(ItemRecord(one.item, one.vector, one.terms) for one in held)))
    assert len(store.search("ana", query, {1: 1.0}).keys) == 1300


def test_a_column_grows_and_keeps_what_it_holds() -> None:
    column = Column(np.int64)
    expected: list[int] = []
    for size in (0, 1, 63, 1, 200, 5):
        column.extend(range(size))
        expected += range(size)
        assert column.values.tolist() == expected
    column.values[0] = 9
    assert column.values[0] == 9
