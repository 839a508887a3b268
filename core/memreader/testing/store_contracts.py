"""What an implementation of a store's port must keep, as test classes: subclass one and give the fixtures it names."""

# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest import TestCase

import numpy as np

from memreader.errors import DimensionMismatchError, ItemExistsError
from memreader.filters import parse_filter
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.ports import GraphStore, ItemStore, PostingIndex, VectorIndex
from memreader.records import Batch, Changes, DocumentRecord, ItemRecord, MessageRecord, Selection, Written
from memreader.types import Document, Message, Vectors

DIMENSION = 8
"""Of the vectors in the contracts."""
TOLERANCE = 1e-5
USER, OTHER = "ana", "ben"
EVERYTHING = Selection()

# Not pytest's: what else this package ships must be importable without it.
raises = TestCase().assertRaises


def unit_vector(seed: int) -> Vectors:
    """Return a unit vector, float32, shape (DIMENSION,), always the same for a seed."""
    vector = np.random.default_rng(seed).normal(size=DIMENSION)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def item_record(
    item_id: str, memory: str = "likes tea", *, seed: int = 0, terms: Mapping[int, int] | None = None, **rest: Any
) -> ItemRecord:
    """Return a record of an item; `metadata`, and fields of the record, by name."""
    item = TextualMemoryItem(id=item_id, memory=memory, metadata=rest.pop("metadata", {}))
    return ItemRecord(item, unit_vector(seed), {1: 1, 2: 3} if terms is None else terms, **rest)


def message_record(key: str, content: str = "I like tea", *, digest: str = "one", **fields: Any) -> MessageRecord:
    """Return a record of a user's message."""
    return MessageRecord(Message("user", content, **fields), key, digest)


def document_record(source_key: str, text: str = "Tea is good.", *, path: str = "tea.md") -> DocumentRecord:
    """Return a record of a document; another `source_key` is another version of the file."""
    return DocumentRecord(Document(text, path, source_key), f"/home/{path}", source_key)


class ItemStoreContract:
    """Subclass it, and give an `items` fixture: an empty store for vectors of `DIMENSION`."""

    def test_it_is_an_item_store(self, items: ItemStore) -> None:
        assert isinstance(items, ItemStore)

    def test_what_is_written_comes_back_in_the_order_of_add(self, items: ItemStore) -> None:
        records = [item_record(name, f"likes {name}", metadata={"tags": [name]}) for name in ("c", "a", "b")]
        written = items.write(Batch(USER, items=tuple(records)))
        assert written == Written(added=["c", "a", "b"])
        assert [item for item in self._all(items)] == [record.item for record in records]  # noqa: C416

    def test_items_come_in_the_order_asked_and_none_for_what_is_absent(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"), item_record("b"))))
        assert self._ids(items.fetch(USER, ["b", "nobody", "a", "b"])) == ["b", None, "a", "b"]
        assert items.fetch(USER, []) == []

    def test_items_can_be_had_by_number(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"), item_record("b"))))
        numbers = items.find(USER, EVERYTHING)
        assert numbers.dtype == np.int64
        assert self._ids(items.fetch(USER, numbers[::-1])) == ["b", "a"]

    def test_an_item_that_was_changed_since_can_be_left_out(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"), item_record("b"))))
        seen = items.changes(USER, 0, limit=10).seq
        items.write(Batch(USER, items=(item_record("a", "likes juice", base_version=1),)))
        numbers = items.find(USER, EVERYTHING)
        assert self._ids(items.fetch(USER, numbers, until=seen)) == [None, "b"]
        assert self._ids(items.fetch(USER, ["a", "b"], until=seen)) == [None, "b"]
        assert self._ids(items.fetch(USER, numbers, until=items.changes(USER, 0, limit=10).seq)) == ["a", "b"]

    def test_a_known_id_is_kept(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a", "likes tea"),)))
        written = items.write(Batch(USER, items=(item_record("a", "likes coffee"),)))
        assert (written.added, written.existing) == ([], ["a"])
        assert self._words(items) == ["likes tea"]

    def test_a_record_that_replaces_takes_the_place_of_the_old_item(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a", "likes tea", seed=1), item_record("b"))))
        written = items.write(Batch(USER, items=(item_record("a", "likes coffee", seed=2, replaces=True),)))
        assert (written.added, written.replaced) == (["a"], ["a"])
        assert self._words(items) == ["likes coffee", "likes tea"]
        np.testing.assert_array_equal(self._vector(items, "a"), unit_vector(2))

    def test_a_new_version_is_refused_if_the_old_one_is_not_what_was_read(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a", "likes tea"),)))
        coffee, juice = (item_record("a", f"likes {drink}", base_version=1) for drink in ("coffee", "juice"))
        assert items.write(Batch(USER, items=(coffee,))).conflicts == []
        assert items.write(Batch(USER, items=(juice,))).conflicts == ["a"]
        assert items.write(Batch(USER, items=(item_record("none", base_version=1),))).conflicts == ["none"]
        assert self._words(items) == ["likes coffee"]

    def test_every_version_is_remembered(self, items: ItemStore) -> None:
        assert items.history(USER, "a") == []
        items.write(Batch(USER, items=(item_record("a", "likes tea"),)))
        assert self._history(items) == [("add", 1, "likes tea")]
        items.write(Batch(USER, items=(item_record("a", "likes coffee", base_version=1),)))
        items.write(Batch(USER, items=(item_record("a", "likes juice", replaces=True),)))
        steps = [("add", 1, "likes tea"), ("update", 2, "likes coffee"), ("replace", 3, "likes juice")]
        assert self._history(items) == steps

    def test_a_deletion_is_remembered_without_the_words(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a", "likes tea"),)))
        items.write(Batch(USER, items=(item_record("a", "likes coffee", base_version=1),)))
        items.write(Batch(USER, doomed=("a",), cause="asked to"))
        assert self._history(items) == [("add", 1, None), ("update", 2, None), ("delete", 2, None)]
        assert items.history(USER, "a")[-1].cause == "asked to"
        items.write(Batch(USER, items=(item_record("a", "likes juice"),)))
        assert self._history(items)[-2:] == [("delete", 2, None), ("add", 1, "likes juice")]

    def test_a_traceless_deletion_leaves_no_history(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"), item_record("b"))))
        items.write(Batch(USER, doomed=("a",), traceless=True))
        assert items.history(USER, "a") == []
        items.write(Batch(USER, doomed=EVERYTHING, traceless=True))
        assert items.history(USER, "b") == []

    def test_deleting_says_what_was_there(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"), item_record("b"))))
        assert items.write(Batch(USER, doomed=("b", "nobody", "b"))).deleted.ids == ["b"]
        assert self._ids(self._all(items)) == ["a"]

    def test_a_user_can_be_wiped_and_nobody_else_is(self, items: ItemStore) -> None:
        for user in (USER, OTHER):
            items.write(self._chat(user))
        deleted = items.write(Batch(USER, doomed=EVERYTHING, traceless=True)).deleted
        assert (deleted.ids, deleted.messages) == (["a"], 1)
        assert self._all(items) == []
        assert items.unread(USER, {"m:1": "one"}, "r") == {"m:1"}
        assert self._ids(self._all(items, OTHER)) == ["a"]
        assert items.unread(OTHER, {"m:1": "one"}, "r") == set()

    def test_another_users_ids_are_absent_everywhere(self, items: ItemStore) -> None:
        items.write(self._chat(USER))
        numbers = items.find(USER, EVERYTHING)
        for stranger in (OTHER, "", "ANA", "ana ", "an", "a%", "ana\0"):
            assert items.fetch(stranger, ["a"]) == [None]
            assert items.fetch(stranger, numbers) == [None]
            assert len(items.find(stranger, EVERYTHING)) == 0
            assert len(items.find(stranger, Selection(source_keys=("m:1",)))) == 0
            assert len(items.find(stranger, Selection(message_id="first"))) == 0
            assert items.history(stranger, "a") == []
            assert items.unread(stranger, {"m:1": "one"}, "r") == {"m:1"}
            assert len(items.changes(stranger, 0, limit=10).keys) == 0
            assert items.write(Batch(stranger, doomed=("a",))).deleted.ids == []
            assert items.write(Batch(stranger, doomed=Selection(message_id="first"))).deleted.ids == []
            assert items.write(Batch(stranger, items=(item_record("a", "x", base_version=1),))).conflicts == ["a"]
            assert items.write(Batch(stranger, doomed=EVERYTHING)).deleted.ids == []
        assert self._words(items) == ["likes tea"]

    def test_two_users_may_have_items_of_one_id(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a", "likes tea"),)))
        items.write(Batch(OTHER, items=(item_record("a", "likes coffee"),)))
        assert [self._words(items, user) for user in (USER, OTHER)] == [["likes tea"], ["likes coffee"]]

    def test_a_batch_is_written_whole_or_not_at_all(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("old"),)))
        wrong = replace(item_record("b"), vector=np.zeros(DIMENSION + 1, np.float32))
        batch = Batch(
            USER, doomed=("old",), messages=(message_record("m:1"),), items=(item_record("a"), wrong), read=("m:1",)
        )
        with raises(DimensionMismatchError):
            items.write(batch)
        assert self._ids(self._all(items)) == ["old"]
        assert items.unread(USER, {"m:1": None}, "") == {"m:1"}
        assert len(items.changes(USER, 0, limit=10).keys) == 1

    def test_a_batch_that_refuses_known_ids_writes_nothing_if_one_is(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("b", "likes tea"),)))
        with raises(ItemExistsError):
            items.write(Batch(USER, items=(item_record("a"), item_record("b", "likes coffee")), refuse_known=True))
        assert self._words(items) == ["likes tea"]

    def test_messages_are_numbered_through_the_session(self, items: ItemStore) -> None:
        for key in ("m:1", "m:2"):
            items.write(self._chat(USER, key=key, item_id=key))
        positions = [item.metadata.sources[0].index for item in self._all(items)]
        assert positions == [0, 1]
        items.write(self._chat(USER, key="m:3", item_id="m:3", session="another"))
        assert self._all(items)[-1].metadata.sources[0].index == 0

    def test_what_was_read_is_not_read_again_unless_it_was_edited(self, items: ItemStore) -> None:
        assert items.unread(USER, {"m:1": "one"}, "r") == {"m:1"}
        items.write(self._chat(USER))
        assert items.unread(USER, {"m:1": "one"}, "r") == set()
        assert items.unread(USER, {"m:1": "one"}, "other reading") == {"m:1"}
        assert items.unread(USER, {"m:1": "two"}, "r") == {"m:1"}

    def test_an_edited_message_takes_its_items_with_it(self, items: ItemStore) -> None:
        items.write(self._chat(USER, item_id="a", words="likes tea"))
        written = items.write(self._chat(USER, item_id="b", words="likes coffee", digest="two"))
        assert (written.added, written.replaced) == (["b"], ["a"])
        assert self._words(items) == ["likes coffee"]

    def test_a_changed_document_takes_its_items_with_it(self, items: ItemStore) -> None:
        for key, item_id in (("d:1", "a"), ("d:2", "b")):
            record = item_record(item_id, source_keys=(key,))
            items.write(Batch(USER, documents=(document_record(key),), items=(record,), read=(key,), reading_key="r"))
        assert self._ids(self._all(items)) == ["b"]
        assert items.unread(USER, {"d:1": None, "d:2": None}, "r") == {"d:1"}

    def test_what_was_deleted_can_be_read_again(self, items: ItemStore) -> None:
        items.write(self._chat(USER))
        items.write(Batch(USER, doomed=("a",)))
        assert items.unread(USER, {"m:1": "one"}, "r") == {"m:1"}
        items.write(self._chat(USER))
        assert self._words(items) == ["likes tea"]

    def test_items_are_found_by_label_source_and_filter(self, items: ItemStore) -> None:
        items.write(self._chat(USER, key="m:1", item_id="a", session="s1", message_id="first"))
        items.write(self._chat(USER, key="m:2", item_id="b", session="s2", message_id="second"))
        record = item_record("c", source_keys=("d:1",), metadata={"agent_id": "bot", "tags": ["drink"]})
        items.write(Batch(USER, documents=(document_record("d:1"),), items=(record,)))
        cases = {
            Selection(session_id="s1"): ["a"],
            Selection(agent_id="bot"): ["c"],
            Selection(message_id="second"): ["b"],
            Selection(message_id="second", session_id="s1"): [],
            Selection(document="tea.md"): ["c"],
            Selection(document="/home/tea.md"): ["c"],
            Selection(source_keys=("m:1", "d:1")): ["a", "c"],
            Selection(source_keys=()): [],
            Selection(where=parse_filter({"tags": "drink"})): ["c"],
            Selection(where=parse_filter({"$not": {"tags": "drink"}})): ["a", "b"],
            Selection(session_id="s1", where=parse_filter({"tags": "drink"})): [],
        }
        for selection, expected in cases.items():
            assert self._ids(items.fetch(USER, items.find(USER, selection))) == expected, selection

    def test_pages_make_up_the_whole(self, items: ItemStore) -> None:
        names = [f"i{number}" for number in range(7)]
        items.write(Batch(USER, items=tuple(map(item_record, names))))
        pages = [items.find(USER, EVERYTHING, limit=3, offset=start) for start in (0, 3, 6, 9)]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert self._ids(items.fetch(USER, np.concatenate(pages))) == names

    def test_changes_hold_everything_from_the_beginning(self, items: ItemStore) -> None:
        records = tuple(item_record(f"i{n}", seed=n, terms={n: n + 1, 9: 1}) for n in range(3))
        items.write(Batch(USER, items=records))
        part = items.changes(USER, 0, limit=100)
        assert not part.more
        np.testing.assert_array_equal(part.vectors, np.stack([unit_vector(n) for n in range(3)]))
        assert part.sizes.tolist() == [2, 2, 2]
        assert part.terms.tolist() == [0, 9, 1, 9, 2, 9]
        assert part.counts.tolist() == [1, 1, 2, 1, 3, 1]
        assert part.labels == ((None, None, "private", "activated", None),) * 3

    def test_changes_go_on_from_where_one_was(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"), item_record("b"))))
        first = items.changes(USER, 0, limit=100)
        assert len(items.changes(USER, first.seq, limit=100).keys) == 0
        items.write(Batch(USER, items=(item_record("a", "likes juice", base_version=1), item_record("c"))))
        items.write(Batch(USER, doomed=("b",)))
        then = items.changes(USER, first.seq, limit=100)
        a, b = first.keys.tolist()
        assert not then.restart
        assert {a, b} <= set(then.gone.tolist())
        assert self._ids(items.fetch(USER, then.keys)) == ["a", "c"]
        assert len(items.changes(USER, then.seq, limit=100).gone) == 0

    def test_changes_in_parts_are_the_changes_as_a_whole(self, items: ItemStore) -> None:
        for number in range(7):
            items.write(Batch(USER, items=(item_record(f"i{number}", seed=number),)))
            items.write(Batch(OTHER, items=(item_record(f"i{number}"),)))
        items.write(Batch(USER, doomed=("i3",)))
        parts = self._changes_in_parts(items, limit=2)
        keys = [key for part in parts for key in part.keys.tolist()]
        assert sorted(keys) == sorted(items.find(USER, EVERYTHING).tolist())
        assert parts[-1].seq == items.changes(USER, 0, limit=100).seq

    def test_a_wiped_user_starts_again(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"),)))
        seen = items.changes(USER, 0, limit=100).seq
        items.write(Batch(USER, doomed=EVERYTHING, traceless=True))
        items.write(Batch(USER, items=(item_record("b"),)))
        then = items.changes(USER, seen, limit=100)
        assert then.restart
        assert self._ids(items.fetch(USER, then.keys)) == ["b"]

    def test_a_number_is_never_used_again(self, items: ItemStore) -> None:
        items.write(Batch(USER, items=(item_record("a"),)))
        (before,) = items.find(USER, EVERYTHING).tolist()
        items.write(Batch(USER, doomed=("a",)))
        items.write(Batch(USER, items=(item_record("a"),)))
        assert items.find(USER, EVERYTHING).tolist() != [before]

    def test_threads_lose_nothing(self, items: ItemStore) -> None:
        def work(worker: int) -> None:
            for number in range(10):
                items.write(Batch(USER, items=(item_record(f"{worker}.{number}"),)))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert len(items.find(USER, EVERYTHING)) == 40

    def _chat(
        self,
        user: str,
        *,
        key: str = "m:1",
        item_id: str = "a",
        words: str = "likes tea",
        digest: str = "one",
        session: str = "s",
        message_id: str = "first",
    ) -> Batch:
        source = SourceMessage(role="user", content="I like tea", message_id=message_id, session_id=session, index=0)
        metadata = {"session_id": session, "sources": [source]}
        message = message_record(key, digest=digest, message_id=message_id)
        record = item_record(item_id, words, source_keys=(key,), metadata=metadata)
        return Batch(user, session, messages=(message,), items=(record,), read=(key,), reading_key="r")

    def _changes_in_parts(self, items: ItemStore, *, limit: int) -> list[Changes]:
        parts = [items.changes(USER, 0, limit=limit)]
        while parts[-1].more:
            parts.append(items.changes(USER, parts[-1].seq, limit=limit))
        return parts

    def _all(self, items: ItemStore, user: str = USER) -> list[TextualMemoryItem]:
        found = items.fetch(user, items.find(user, EVERYTHING))
        return [item for item in found if item is not None]

    def _words(self, items: ItemStore, user: str = USER) -> list[str]:
        return [item.memory for item in self._all(items, user)]

    def _ids(self, found: Sequence[TextualMemoryItem | None]) -> list[str | None]:
        return [None if item is None else item.id for item in found]

    def _history(self, items: ItemStore) -> list[tuple[str, int, str | None]]:
        return [
            (step.event, step.version, None if step.item is None else step.item.memory)
            for step in items.history(USER, "a")
        ]

    def _vector(self, items: ItemStore, item_id: str) -> Vectors:
        part = items.changes(USER, 0, limit=100)
        place = self._ids(items.fetch(USER, part.keys)).index(item_id)
        vector: Vectors = part.vectors[place]
        return vector


class VectorIndexContract:
    """Subclass it, and give a `vectors` fixture: an empty index of `DIMENSION`."""

    def test_it_is_a_vector_index(self, vectors: VectorIndex) -> None:
        assert isinstance(vectors, VectorIndex)
        assert (len(vectors), vectors.dimension) == (0, DIMENSION)

    def test_an_empty_one_has_nothing_similar(self, vectors: VectorIndex) -> None:
        assert vectors.similarities(unit_vector(0)).shape == (0,)
        assert vectors.vectors().shape == (0, DIMENSION)

    def test_a_vector_is_its_own_best_match_with_cosine_one(self, vectors: VectorIndex) -> None:
        rows = np.stack([unit_vector(seed) for seed in range(50)])
        vectors.add(rows)
        for row in (0, 17, 49):
            found = vectors.similarities(rows[row])
            assert int(found.argmax()) == row
            assert abs(found[row] - 1) < TOLERANCE

    def test_similarity_is_the_cosine(self, vectors: VectorIndex) -> None:
        first = unit_vector(1)
        vectors.add(np.stack([first, -first]))
        np.testing.assert_allclose(vectors.similarities(first), [1, -1], atol=TOLERANCE)
        rows = np.stack([unit_vector(seed) for seed in range(2, 12)])
        vectors.add(rows)
        np.testing.assert_allclose(vectors.similarities(first)[2:], rows @ first, atol=TOLERANCE)

    def test_some_rows_give_what_all_give(self, vectors: VectorIndex) -> None:
        vectors.add(np.stack([unit_vector(seed) for seed in range(20)]))
        query, rows = unit_vector(99), np.array([3, 0, 19, 3], np.int64)
        np.testing.assert_allclose(vectors.similarities(query, rows), vectors.similarities(query)[rows], atol=TOLERANCE)
        assert vectors.similarities(query, rows[:0]).shape == (0,)

    def test_rows_stay_where_they_are(self, vectors: VectorIndex) -> None:
        rows = np.stack([unit_vector(seed) for seed in range(300)])
        for start in range(0, 300, 7):
            vectors.add(rows[start : start + 7])
        np.testing.assert_array_equal(vectors.vectors(), rows)

    def test_a_copy_is_not_the_index(self, vectors: VectorIndex) -> None:
        vectors.add(unit_vector(1)[None])
        vectors.vectors()[:] = 0
        assert abs(vectors.similarities(unit_vector(1))[0] - 1) < TOLERANCE

    def test_another_length_is_refused(self, vectors: VectorIndex) -> None:
        with raises(DimensionMismatchError):
            vectors.add(np.zeros((1, DIMENSION + 1), np.float32))
        with raises(DimensionMismatchError):
            vectors.similarities(np.zeros(DIMENSION - 1, np.float32))


class PostingIndexContract:
    """Subclass it, and give a `postings` fixture: an empty index."""

    def test_it_is_a_posting_index(self, postings: PostingIndex) -> None:
        assert isinstance(postings, PostingIndex)

    def test_an_unknown_term_has_no_rows(self, postings: PostingIndex) -> None:
        assert self._of(postings, 5) == {}

    def test_a_term_has_its_rows_in_order(self, postings: PostingIndex) -> None:
        self._extend(postings, [(0, 5, 1), (0, 6, 2), (1, 5, 3)])
        self._extend(postings, [(2, 5, 4)])
        rows, counts = postings.get(5)
        assert (rows.tolist(), counts.tolist()) == ([0, 1, 2], [1, 3, 4])
        assert self._of(postings, 6) == {0: 2}

    def test_any_64_bit_number_is_a_term(self, postings: PostingIndex) -> None:
        terms = [-(2**63), -1, 0, 1, 2**63 - 1]
        self._extend(postings, [(row, term, 1) for row, term in enumerate(terms)])
        assert [self._of(postings, term) for term in terms] == [{row: 1} for row in range(5)]

    def test_many_small_additions_equal_one_large(self, postings: PostingIndex) -> None:
        chance = np.random.default_rng(0)
        expected: dict[int, dict[int, int]] = {}
        for row in range(3000):
            terms = np.unique(chance.integers(0, 40, 6))
            self._extend(postings, [(row, int(term), row % 5 + 1) for term in terms])
            for term in terms.tolist():
                expected.setdefault(term, {})[row] = row % 5 + 1
        assert {term: self._of(postings, term) for term in expected} == expected

    def test_its_arrays_make_an_equal_one(self, postings: PostingIndex) -> None:
        self._extend(postings, [(0, 5, 1), (0, 6, 2), (1, 5, 3)])
        rows, terms, counts = postings.arrays()
        assert sorted(zip(rows.tolist(), terms.tolist(), counts.tolist(), strict=True)) == [
            (0, 5, 1),
            (0, 6, 2),
            (1, 5, 3),
        ]

    def _extend(self, postings: PostingIndex, entries: Sequence[tuple[int, int, int]]) -> None:
        rows, terms, counts = np.array(entries, np.int64).T
        postings.extend(rows, terms, counts)

    def _of(self, postings: PostingIndex, term: int) -> dict[int, int]:
        rows, counts = postings.get(term)
        return dict(zip(rows.tolist(), counts.tolist(), strict=True))


class GraphStoreContract:
    """Subclass it, and give two fixtures: `items`, an empty item store, and `graph`, the graph that it feeds."""

    def test_it_is_a_graph_store(self, graph: GraphStore) -> None:
        assert isinstance(graph, GraphStore)

    def test_items_bring_their_entities(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Ana", "Lisbon"])
        self._write(items, "b", ["Lisbon"])
        found = [(entity.name, entity.items) for entity in graph.entities(USER)]
        assert found == [("Lisbon", 2), ("Ana", 1)]
        assert [entity.name for entity in graph.entities(USER, limit=1, offset=1)] == ["Ana"]

    def test_case_width_and_spaces_make_no_other_entity(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Zhang San", "zhang  san", "ＺＨＡＮＧ SAN"])
        assert [entity.name for entity in graph.entities(USER)] == ["Zhang San"]
        assert graph.mentions(USER, ["ZHANG SAN"]) == ["a"]

    def test_ann_and_anna_stay_two(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Ann", "Anna"])
        assert {entity.name for entity in graph.entities(USER)} == {"Ann", "Anna"}

    def test_items_are_found_by_the_names_they_mention(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Ana"])
        self._write(items, "b", ["Ben"])
        self._write(items, "c", ["Ana", "Ben"])
        assert graph.mentions(USER, ["Ana"]) == ["a", "c"]
        assert graph.mentions(USER, ["Ben", "Ana"]) == ["a", "b", "c"]
        assert graph.mentions(USER, ["nobody"]) == []

    def test_neighbours_are_mentioned_together(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Ana", "Lisbon", "Ben"])
        self._write(items, "b", ["Ana", "Lisbon"])
        assert [(one.name, one.items) for one in graph.neighbours(USER, "ana")] == [("Lisbon", 2), ("Ben", 1)]
        assert graph.neighbours(USER, "nobody") == []

    def test_relations_name_both_ends_and_the_item(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", [], relations=(("Ana", "lives in", "Lisbon"),))
        (relation,) = graph.relations(USER)
        assert (relation.head, relation.relation, relation.tail, relation.item_id) == ("Ana", "lives in", "Lisbon", "a")
        assert graph.relations(USER, "lisbon") == [relation]
        assert graph.relations(USER, "nobody") == []
        assert graph.mentions(USER, ["Lisbon"]) == ["a"]

    def test_a_new_version_has_other_entities(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Ana"])
        record = item_record("a", "likes juice", metadata={"entities": ["Ben"]}, base_version=1)
        items.write(Batch(USER, items=(record,)))
        assert [entity.name for entity in graph.entities(USER)] == ["Ben"]

    def test_the_same_words_keep_their_relations(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", [], relations=(("Ana", "knows", "Ben"),))
        items.write(Batch(USER, items=(item_record("a", metadata={"tags": ["friend"]}, base_version=1),)))
        assert [(one.head, one.tail) for one in graph.relations(USER)] == [("Ana", "Ben")]
        assert graph.mentions(USER, ["Ben"]) == ["a"]
        items.write(Batch(USER, items=(item_record("a", "likes juice", base_version=2),)))
        assert graph.relations(USER) == []
        assert graph.entities(USER) == []

    def test_entities_go_with_the_last_item_that_mentions_them(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Ana", "Ben"], relations=(("Ana", "knows", "Ben"),))
        self._write(items, "b", ["Ben"])
        items.write(Batch(USER, doomed=("a",)))
        assert [entity.name for entity in graph.entities(USER)] == ["Ben"]
        assert graph.relations(USER) == []
        items.write(Batch(USER, doomed=EVERYTHING))
        assert graph.entities(USER) == []

    def test_nobody_sees_another_users_graph(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Ana", "Ben"], relations=(("Ana", "knows", "Ben"),))
        assert graph.entities(OTHER) == []
        assert graph.mentions(OTHER, ["Ana"]) == []
        assert graph.neighbours(OTHER, "Ana") == []
        assert graph.relations(OTHER) == []

    def test_threads_make_an_entity_once(self, items: ItemStore, graph: GraphStore) -> None:
        def work(number: int) -> None:
            self._write(items, f"i{number}", ["Ana"])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(20)))
        assert [(entity.name, entity.items) for entity in graph.entities(USER)] == [("Ana", 20)]

    def _write(
        self,
        items: ItemStore,
        item_id: str,
        entities: Sequence[str],
        relations: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        record = item_record(item_id, metadata={"entities": list(entities)}, relations=relations)
        items.write(Batch(USER, items=(record,)))
