"""One user's index: caught up by change, it equals one that was loaded afresh, and both equal a slow reference."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu_time import cpu_seconds
from fake_items import PLAIN, FakeItems, Held, unit
from memreader.errors import DimensionMismatchError
from memreader.stores import columns, postings, user_index
from memreader.stores.columns import Column
from memreader.stores.user_index import Evidence, UserIndex

DIMENSION = 8
TERMS = range(1, 7)
LABELS = [None, "a", "b"]
EVERYTHING = {"session_id": None, "agent_id": None, "isolate": False}
Numbers = dict[int, tuple[float, float, float]]


def drawn(chance: random.Random) -> Held:
    label = (
        chance.choice(LABELS),
        chance.choice(LABELS),
        chance.choice(["private", "private", "public", "session"]),
        chance.choice(["activated", "activated", "activated", "archived", "deleted", "resolving"]),
        chance.choice(["conversation", "conversation", "file", "web", None]),
    )
    terms = {term: chance.randint(1, 5) for term in chance.sample(TERMS, chance.randint(0, 4))}
    return Held(unit(chance.randint(0, 2**31), DIMENSION), terms, label)


def step(items: FakeItems, chance: random.Random) -> bool:
    """Change something by chance, rather than by hypothesis, whose lists are mostly short; True is "look"."""
    kind = chance.random()
    known = list(items.held)
    if kind < 0.3:
        return True
    if kind < 0.32:
        items.erase()
    elif kind < 0.46 and known:
        items.delete(*chance.sample(known, chance.randint(1, min(3, len(known)))))
    elif kind < 0.68 and known:
        items.put(drawn(chance), chance.choice(known))
    else:
        items.put(drawn(chance))
    return False


@contextmanager
def small_limits() -> Iterator[None]:
    """Let everything that happens to large indexes happen to small ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(user_index, "FEWEST_DEAD", 3)
        patch.setattr(columns, "LAG", 2)
        patch.setattr(postings, "TAIL", 5)
        yield


def slow_search(
    items: FakeItems,
    query: np.ndarray,
    terms: dict[int, float],
    session: str | None,
    agent: str | None,
    *,
    isolate: bool,
    allowed: list[int] | None = None,
) -> Numbers:
    """BM25 (k1 = 0.9, b = 0.4), covered share of the query's idf, and cosine of every item that is let through.

    Chunks of files and everything else have a mean length each, in the whole of the user's items.
    """
    held = {key: one for key, (_, one) in items.held.items()}
    frequency = Counter(term for one in held.values() for term in one.terms)
    idf = {t: w * math.log(1 + (len(held) - frequency[t] + 0.5) / (frequency[t] + 0.5)) for t, w in terms.items()}
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for one in held.values():
        lengths[one.label[4] == "file"].append(sum(one.terms.values()))
    means = {kind: max(sum(known) / max(len(known), 1), 1.0) for kind, known in lengths.items()}
    found: Numbers = {}
    for key, one in held.items():
        in_session = session is not None and one.label[0] == session
        hidden = one.label[3] in ("archived", "deleted") or (one.label[2] == "session" and not in_session)
        if hidden or (isolate and not in_session) or (agent is not None and one.label[1] != agent):
            continue
        if allowed is not None and key not in allowed:
            continue
        relative = sum(one.terms.values()) / means[one.label[4] == "file"]
        score = sum(
            idf[t] * one.terms[t] * 1.9 / (one.terms[t] + 0.9 * (0.6 + 0.4 * relative))
            for t in terms.keys() & one.terms.keys()
        )
        covered = sum(idf[t] for t in terms.keys() & one.terms.keys()) / sum(idf.values()) if terms else 0.0
        found[key] = (score, covered, float(one.vector @ query))
    return found


def numbers(evidence: Evidence) -> Numbers:
    rows = zip(evidence.keys, evidence.lexical, evidence.coverage, evidence.similarity, strict=True)
    return {int(key): (float(a), float(b), float(c)) for key, a, b, c in rows}


def assert_equal(found: Numbers, expected: Numbers) -> None:
    assert found.keys() == expected.keys()
    for key, values in found.items():
        np.testing.assert_allclose(values, expected[key], atol=1e-5)


@settings(max_examples=150)
@given(
    st.integers(0, 2**32),
    st.integers(0, 120),
    st.integers(1, 7),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from([None, None, None, "a"]),
    st.sampled_from([False, False, False, True]),
    st.dictionaries(st.sampled_from([*TERMS, 99]), st.sampled_from([1.0, 0.3]), max_size=4),
    st.none() | st.lists(st.integers(-1, 40), max_size=50),
)
def test_caught_up_it_equals_a_fresh_one_a_restored_one_and_the_reference(
    seed: int,
    length: int,
    limit: int,
    session: str | None,
    agent: str | None,
    isolate: bool,
    terms: dict[int, float],
    allowed: list[int] | None,
) -> None:
    chance, items = random.Random(seed), FakeItems(DIMENSION)
    query = unit(seed, DIMENSION)
    index = UserIndex("ana", DIMENSION)
    asked = None if allowed is None else np.array(allowed, np.int64)
    labels = {"session_id": session, "agent_id": agent, "isolate": isolate, "allowed": asked}
    with small_limits():
        for _ in range(length):
            if step(items, chance):
                index.catch_up(lambda after: items.changes(after, limit))
                index.search(query, terms, **labels)
                if chance.random() < 0.3:
                    index = UserIndex.from_arrays("ana", DIMENSION, index.arrays(), seq=index.seq)
        index.catch_up(lambda after: items.changes(after, limit))
        fresh = UserIndex("ana", DIMENSION)
        fresh.catch_up(items.changes)
        restored = UserIndex.from_arrays("ana", DIMENSION, index.arrays(), seq=index.seq)
        restored.catch_up(items.changes)
        expected = slow_search(items, query, terms, session, agent, isolate=isolate, allowed=allowed)
        for one in (index, fresh, restored):
            evidence = one.search(query, terms, **labels)
            assert_equal(numbers(evidence), expected)
            assert [items.held[key][0] for key in evidence.keys.tolist()] == sorted(
                items.held[key][0] for key in expected
            )
            assert (len(one), one.seq) == (len(items.held), items.seq)


def filled(count: int) -> tuple[FakeItems, UserIndex]:
    items, index = FakeItems(DIMENSION), UserIndex("ana", DIMENSION)
    items.fill(count)
    index.catch_up(items.changes)
    return items, index


def test_many_deletes_compact_it_and_change_nothing_else() -> None:
    items, index = filled(300)
    query = unit(1, DIMENSION)
    index.search(query, {1: 1.0}, **EVERYTHING)
    items.delete(*list(items.held)[:250])
    index.catch_up(items.changes)
    assert len(index) == len(index._columns) == len(index._vectors) == 50
    terms = {1: 1.0, 2: 1.0}
    expected = slow_search(items, query, terms, None, None, isolate=False)
    assert_equal(numbers(index.search(query, terms, **EVERYTHING)), expected)
    items.fill(20)
    items.put(Held(unit(3, DIMENSION), {1: 9}), 290)
    index.catch_up(items.changes)
    expected = slow_search(items, query, terms, None, None, isolate=False)
    assert_equal(numbers(index.search(query, terms, **EVERYTHING)), expected)


def test_an_empty_one_finds_nothing_and_can_be_written_down() -> None:
    index = UserIndex("ana", DIMENSION)
    restored = UserIndex.from_arrays("ana", DIMENSION, index.arrays(), seq=3)
    for one in (index, restored):
        evidence = one.search(unit(0, DIMENSION), {1: 1.0}, **EVERYTHING, allowed=np.array([1], np.int64))
        assert all(len(part) == 0 for part in (evidence.keys, evidence.lexical, evidence.coverage, evidence.similarity))
    assert (restored.seq, len(restored)) == (3, 0)


def test_what_was_erased_is_void() -> None:
    items, index = filled(5)
    items.erase()
    items.put(Held(unit(77, DIMENSION), {50: 1}))
    index.catch_up(items.changes)
    assert index.search(unit(0, DIMENSION), {50: 1.0}, **EVERYTHING).keys.tolist() == [6]


def test_what_is_dead_is_in_no_array_neither_are_its_labels() -> None:
    items = FakeItems(DIMENSION)
    items.fill(10)
    doomed = Held(unit(4711, DIMENSION), {424242: 33333}, ("the doomed session", "the doomed agent", *PLAIN[2:]))
    kept = Held(unit(4712, DIMENSION), {434343: 2}, ("the kept session", None, *PLAIN[2:]))
    key, other = items.put(doomed), items.put(kept)
    index = UserIndex("ana", DIMENSION)
    index.catch_up(items.changes)
    items.delete(key)
    index.catch_up(items.changes)
    written = b"".join(array.tobytes() for array in index.arrays().values())
    assert kept.vector.tobytes() in written
    assert b"the kept session" in written
    for part in (doomed.vector.tobytes(), b"doomed", np.int64(424242).tobytes(), np.uint16(33333).tobytes()):
        assert part not in written
    restored = UserIndex.from_arrays("ana", DIMENSION, index.arrays(), seq=index.seq)
    found = restored.search(kept.vector, {}, session_id="the kept session", agent_id=None, isolate=True)
    assert found.keys.tolist() == [other]


def test_an_unknown_session_or_agent_is_nobodys_and_none_is_no_session() -> None:
    items = FakeItems(DIMENSION)
    for session in ("", "a", None):
        items.put(Held(unit(1, DIMENSION), {}, (session, session, "session", "activated", None)))
    index = UserIndex("ana", DIMENSION)
    index.catch_up(items.changes)
    query = unit(0, DIMENSION)
    for session, agent, isolate, expected in (
        ("", None, False, [1]),
        ("a", None, True, [2]),
        (None, None, False, []),
        (None, None, True, []),
        ("x", None, True, []),
        ("a", "", False, []),
        ("a", "a", False, [2]),
        ("a", "x", False, []),
    ):
        found = index.search(query, {}, session_id=session, agent_id=agent, isolate=isolate)
        assert found.keys.tolist() == expected, (session, agent, isolate)


def test_an_item_that_changes_again_and_again_is_there_once_and_last() -> None:
    items, index = filled(6)
    with small_limits():
        for number in (2, 5, 2, 2, 5, 1):
            items.put(Held(unit(50 + number, DIMENSION), {number: 1}), number)
            index.catch_up(items.changes)
            assert len(index) == 6
        for allowed in (None, np.array([6, 5, 4, 3, 2, 1, 9, 5], np.int64)):
            found = index.search(unit(1, DIMENSION), {5: 1.0}, **EVERYTHING, allowed=allowed)
            assert found.keys.tolist() == [3, 4, 6, 2, 5, 1]
            assert found.keys[found.lexical > 0].tolist() == [5]


def test_what_was_found_survives_later_changes() -> None:
    items, index = filled(50)
    before = index.search(unit(1, DIMENSION), {1: 1.0}, **EVERYTHING)
    copies = [part.copy() for part in (before.keys, before.lexical, before.coverage, before.similarity)]
    items.fill(500)
    items.delete(*range(1, 400))
    index.catch_up(items.changes)
    index.search(unit(2, DIMENSION), {1: 1.0}, **EVERYTHING)
    for part, copy in zip((before.keys, before.lexical, before.coverage, before.similarity), copies, strict=True):
        assert (part == copy).all()


def test_what_becomes_of_the_evidence_is_nothing_to_the_index() -> None:
    items, index = filled(5)
    found = index.search(unit(1, DIMENSION), {1: 1.0}, **EVERYTHING)
    for part in (found.keys, found.lexical, found.coverage, found.similarity):
        part[:] = 0
    expected = slow_search(items, unit(1, DIMENSION), {1: 1.0}, None, None, isolate=False)
    assert_equal(numbers(index.search(unit(1, DIMENSION), {1: 1.0}, **EVERYTHING)), expected)


def test_whoever_holds_every_term_is_covered_to_exactly_one() -> None:
    items, index, chance = FakeItems(DIMENSION), UserIndex("ana", DIMENSION), random.Random(0)
    for number in range(40):
        items.put(Held(unit(number, DIMENSION), {term: 1 for term in range(1, 30) if number % term == 0}))
    items.put(Held(unit(99, DIMENSION), dict.fromkeys(range(1, 30), 1)))
    index.catch_up(items.changes)
    for _ in range(50):
        terms = {term: chance.uniform(0.1, 1) for term in range(1, 30)}
        coverage = index.search(unit(1, DIMENSION), terms, **EVERYTHING).coverage
        assert coverage[-1] == 1.0
        assert coverage.max() <= 1.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keys", np.array([1, 1], "<i8")),
        ("keys", np.array([1, 2, 3], "<i8")),
        ("keys", np.array([1, 2], "<i4")),
        ("vectors", np.zeros((2, 7), "<f4")),
        ("vectors", np.zeros((2, 8), "<f8")),
        ("vectors", np.zeros((3, 8), "<f4")),
        ("sessions", np.array([0, 9], "<i4")),
        ("agents", np.array([-3, 0], "<i4")),
        ("flags", np.array([1, 0], "|u1")),
        ("sizes", np.array([1, 1], "<i4")),
        ("sizes", np.array([7, -1], "<i4")),
        ("terms", np.zeros(5, "<i8")),
        ("counts", np.zeros(5, "<u2")),
        ("names", np.frombuffer(b"[1]", np.uint8)),
        ("names", np.frombuffer(b"{}", np.uint8)),
        ("names", np.frombuffer(b"[", np.uint8)),
        ("names", np.frombuffer(b"", np.uint8)),
    ],
)
def test_arrays_that_don_t_belong_together_are_refused(name: str, value: np.ndarray) -> None:
    _, index = filled(2)
    arrays = index.arrays()
    assert len(arrays["terms"]) == 6
    with pytest.raises(ValueError):
        UserIndex.from_arrays("ana", DIMENSION, arrays | {name: value}, seq=1)


def test_another_length_of_the_query_is_refused() -> None:
    _, index = filled(2)
    with pytest.raises(DimensionMismatchError):
        index.search(np.zeros(9, np.float32), {}, **EVERYTHING)


def test_it_counts_what_it_gained_and_lost_since_it_was_written_down() -> None:
    items, index = filled(10)
    assert (index.gained, index.lost) == (10, 0)
    index.saved()
    items.delete(1, 2)
    items.put(Held(unit(1, DIMENSION), {}), 3)
    items.fill(4)
    index.catch_up(items.changes)
    assert (index.gained, index.lost) == (5, 3)
    restored = UserIndex.from_arrays("ana", DIMENSION, index.arrays(), seq=index.seq)
    assert (restored.gained, restored.lost) == (0, 0)
    items.erase()
    restored.catch_up(items.changes)
    assert (restored.gained, restored.lost) == (0, 12)


def test_its_memory_is_what_the_arrays_take() -> None:
    items, index = FakeItems(384), UserIndex("ana", 384)
    empty = index.nbytes
    items.fill(4000, terms=12)
    index.catch_up(items.changes)
    index.search(unit(1, 384), {1: 1.0}, **EVERYTHING)
    each = (index.nbytes - empty) / 4000 - 384 * 4
    assert 6 * 12 < each < 200


def test_many_parts_cost_hardly_more_than_one() -> None:
    items = FakeItems(DIMENSION)
    items.fill(6000)
    chance = random.Random(1)
    for key in chance.sample(list(items.held), 3000):
        items.put(items.held[key][1], key)
    parts: dict[tuple[int, int], object] = {}

    def changes(after: int, limit: int) -> object:
        return parts.setdefault((after, limit), items.changes(after, limit))

    def load(limit: int) -> None:
        index = UserIndex("ana", DIMENSION)
        index.catch_up(lambda after: parts.get((after, limit)) or changes(after, limit))
        index.search(unit(1, DIMENSION), {1: 1.0}, **EVERYTHING)

    load(10_000)
    load(100)
    assert cpu_seconds(lambda: load(100)) < 8 * cpu_seconds(lambda: load(10_000))


def test_a_column_grows_and_keeps_what_it_holds() -> None:
    column = Column(np.int64)
    expected: list[int] = []
    for size in (0, 1, 63, 1, 200, 5):
        column.extend(range(size))
        expected += range(size)
        assert column.values.tolist() == expected
    column.values[0] = 9
    assert column.values[0] == 9
