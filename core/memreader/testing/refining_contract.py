"""What a store must keep of raw items and of what a model makes of them, as a test class: see `ItemStoreContract`."""

# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from memreader.errors import DimensionMismatchError
from memreader.filters import parse_filter
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.ports import ItemStore
from memreader.records import Batch, ItemRecord, Selection, Written
from memreader.testing.store_records import (
    DIMENSION,
    EVERYTHING,
    OTHER,
    USER,
    document_record,
    item_record,
    message_record,
    raises,
)

STRANGERS = (OTHER, "", "ANA", "ana ", "an", "a%", "ana\0")


class RefiningContract:
    """Subclass it, and give an `items` fixture: an empty store for vectors of `DIMENSION`."""

    def test_raw_is_what_is_activated_and_was_read_without_a_model(self, items: ItemStore) -> None:
        records = [
            self._raw("b"),
            item_record("statement"),
            self._raw("archived", status="archived"),
            self._raw("deleted", status="deleted"),
            self._raw("a"),
        ]
        items.write(Batch(USER, items=tuple(records)))
        found = items.raw(USER, EVERYTHING)
        assert [raw.item for raw in found] == [records[0].item, records[4].item]

    def test_nothing_is_raw_in_an_empty_store(self, items: ItemStore) -> None:
        assert items.raw(USER, EVERYTHING) == []
        assert items.raw(USER, EVERYTHING, ids=["a"]) == []
        assert items.said_before(USER, "s", 5, limit=5) == []

    def test_raw_items_are_had_by_id_in_the_order_asked_each_once(self, items: ItemStore) -> None:
        self._add(items, "a", "b", "c")
        assert self._names(items, ids=["c", "nobody", "a", "c"]) == ["c", "a"]
        assert self._names(items, ids=[]) == []
        assert self._names(items, ids=["\ud800", "b"]) == ["b"]

    def test_a_limit_counts_what_is_raw(self, items: ItemStore) -> None:
        self._add(items, "a", "b", "c")
        self._refine(items, {"a": 1}, self._child("child", "a"))
        assert self._names(items, limit=1) == ["b"]
        assert self._names(items, ids=["a", "c", "b"], limit=1) == ["c"]
        assert self._names(items, ids=["a", "c", "b"], limit=2) == ["c", "b"]
        assert self._names(items, limit=0) == self._names(items, ids=["b"], limit=0) == []
        assert self._names(items, limit=-1) == self._names(items, limit=9) == ["b", "c"]

    def test_raw_items_are_had_by_label_source_and_filter(self, items: ItemStore) -> None:
        items.write(self._said("m:1", "a", session="s1"))
        items.write(self._said("m:2", "b", session="s2", tags=["drink"]))
        items.write(Batch(USER, items=(self._raw("c", agent_id="bot"),)))
        cases = {
            Selection(session_id="s1"): ["a"],
            Selection(agent_id="bot"): ["c"],
            Selection(source_keys=("m:2",)): ["b"],
            Selection(message_id="m:1"): ["a"],
            Selection(where=parse_filter({"tags": "drink"})): ["b"],
            Selection(where=parse_filter({"$not": {"tags": "drink"}})): ["a", "c"],
            Selection(session_id="nowhere"): [],
        }
        for selection, expected in cases.items():
            assert self._names(items, selection) == expected, selection
            assert self._names(items, selection, ids=["c", "b", "a"]) == expected[::-1], selection

    def test_a_raw_item_comes_with_its_sources_and_where_they_stand_in_the_session(self, items: ItemStore) -> None:
        items.write(self._said("m:1", "a"))
        items.write(self._said("m:2", "b", also=("m:1",)))
        items.write(Batch(USER, documents=(document_record("d:1"),), items=(self._raw("c", source_keys=("d:1",)),)))
        items.write(Batch(USER, items=(self._raw("d"),)))
        found = {raw.item.id: dict(raw.source_keys) for raw in items.raw(USER, EVERYTHING)}
        assert found == {"a": {"m:1": 0}, "b": {"m:2": 1, "m:1": 0}, "c": {"d:1": None}, "d": {}}

    def test_another_users_raw_items_are_absent(self, items: ItemStore) -> None:
        items.write(self._said("m:1", "a"))
        for stranger in STRANGERS:
            assert items.raw(stranger, EVERYTHING) == items.raw(stranger, EVERYTHING, ids=["a"]) == []
            assert items.said_before(stranger, "s", 9, limit=9) == []
            batch = Batch(stranger, items=(self._child("child", "a"),), base={"a": 1}, refined=("a",))
            assert items.write(batch) == Written(conflicts=["a"])
            assert len(items.find(stranger, EVERYTHING)) == 0
        items.write(Batch(OTHER, items=(self._raw("a"),)))
        self._refine(items, {"a": 1}, self._child("child", "a"))
        assert [raw.item.id for raw in items.raw(OTHER, EVERYTHING)] == ["a"]
        assert self._links(items, "a", OTHER) == ([], [])
        self._refine(items, {"a": 1}, user=OTHER)
        self._add(items, "b")
        items.write(Batch(OTHER, items=(self._raw("b"),)))
        assert self._names(items) == ["b"]

    def test_what_was_said_before_comes_oldest_first_with_its_keys(self, items: ItemStore) -> None:
        self._session(items, "s", 5)
        found = items.said_before(USER, "s", 3, limit=9)
        assert [(key, message.index, message.content) for key, message in found] == [
            (f"s:{n}", n, f"words {n}") for n in range(3)
        ]
        assert [key for key, _ in items.said_before(USER, "s", 3, limit=2)] == ["s:1", "s:2"]
        assert items.said_before(USER, "s", 3, limit=0) == items.said_before(USER, "s", 0, limit=9) == []
        assert len(items.said_before(USER, "s", 99, limit=9)) == 5

    def test_a_message_said_before_is_what_it_was(self, items: ItemStore) -> None:
        given: dict[str, Any] = {
            "name": "Ana", "chat_time": "2023-05-08T10:00:00", "time_inferred": True, "message_id": "x",
        }  # fmt: skip
        items.write(Batch(USER, "s", messages=(message_record("m:1", **given),)))
        ((_, message),) = items.said_before(USER, "s", 1, limit=1)
        assert {name: getattr(message, name) for name in given} == given
        assert (message.role, message.content, message.index) == ("user", "I like tea", 0)

    def test_what_can_not_be_read_was_not_said_before(self, items: ItemStore) -> None:
        records = (
            message_record("m:1", "first"),
            message_record("m:2", "boot", flags=frozenset({"system"})),
            message_record("m:3", "edited", flags=frozenset({"edited"})),
            message_record("m:4", "  "),
            message_record("m:5", "deleted"),
            message_record("m:6", "last"),
        )
        made = item_record("a", source_keys=("m:5",))
        items.write(Batch(USER, "s", messages=records, items=(made,)))
        items.write(Batch(USER, doomed=("a",)))
        assert [key for key, _ in items.said_before(USER, "s", 6, limit=9)] == ["m:1", "m:3", "m:6"]
        assert [key for key, _ in items.said_before(USER, "s", 6, limit=2)] == ["m:3", "m:6"]

    def test_another_session_was_not_said_before(self, items: ItemStore) -> None:
        self._session(items, "s", 2)
        self._session(items, "t", 2)
        self._session(items, None, 2)
        assert [key for key, _ in items.said_before(USER, "t", 9, limit=9)] == ["t:0", "t:1"]
        assert [key for key, _ in items.said_before(USER, None, 9, limit=9)] == ["None:0", "None:1"]

    def test_links_go_both_ways(self, items: ItemStore) -> None:
        self._add(items, "a", "b", "c")
        written = self._refine(items, {"a": 1, "b": 1}, self._child("x", "a"), self._child("y", "b", "a"))
        assert written == Written(added=["x", "y"])
        assert self._links(items, "a") == ([], ["x", "y"])
        assert self._links(items, "b") == ([], ["y"])
        assert self._links(items, "c") == ([], [])
        assert self._links(items, "y") == (["b", "a"], [])

    def test_what_was_read_completely_is_raw_no_longer(self, items: ItemStore) -> None:
        self._add(items, "a", "b", "c")
        self._refine(items, {"a": 1, "b": 1}, self._child("x", "a"))
        assert self._names(items) == ["c"]
        assert [item.metadata.is_fast for item in self._items(items, "a", "b", "c")] == [False, True, True]
        assert {item.metadata.status for item in self._items(items, "a", "b")} == {"activated"}

    def test_what_was_read_in_part_is_linked_and_stays_raw(self, items: ItemStore) -> None:
        self._add(items, "a")
        self._refine(items, {"a": 1}, self._child("x", "a"), refined=())
        assert self._links(items, "a") == ([], ["x"])
        assert self._names(items) == ["a"]
        self._refine(items, {"a": 1}, self._child("y", "a"))
        assert self._links(items, "a") == ([], ["x", "y"])
        assert self._names(items) == []
        assert self._items(items, "a")[0].metadata.is_fast is False

    def test_the_end_of_an_item_read_in_part_may_give_nothing(self, items: ItemStore) -> None:
        self._add(items, "a")
        self._refine(items, {"a": 1}, self._child("x", "a"), refined=())
        self._refine(items, {"a": 1})
        assert self._names(items) == []
        assert self._items(items, "a")[0].metadata.is_fast is False

    def test_linking_makes_no_version(self, items: ItemStore) -> None:
        self._add(items, "a", "b")
        before, seen = items.history(USER, "a"), self._items(items, "a")[0]
        self._refine(items, {"a": 1, "b": 1}, self._child("x", "a"))
        (after,) = self._items(items, "a")
        known = after.metadata.model_copy(update={"is_fast": True, "evolve_to": []})
        assert known == seen.metadata
        assert after.memory == seen.memory
        (one,), (other,) = before, items.history(USER, "a")
        assert (one.version, one.event, one.at, one.cause) == (other.version, other.event, other.at, other.cause)

    def test_only_what_something_was_made_from_is_archived(self, items: ItemStore) -> None:
        self._add(items, "a", "b", "c")
        seq = items.changes(USER, 0, limit=9).seq
        self._refine(items, {"a": 1, "b": 1, "c": 1}, self._child("x", "a", "c"), refined=("a", "b"), archives=True)
        assert [item.metadata.status for item in self._items(items, "a", "b", "c")] == [
            "archived", "activated", "activated",
        ]  # fmt: skip
        changed = items.changes(USER, seq, limit=9)
        labels = dict(zip((self._name(items, key) for key in changed.keys), changed.labels, strict=True))
        assert {name: label[3] for name, label in labels.items()} == {"a": "archived", "x": "activated"}
        assert self._names(items) == ["c"]

    def test_nothing_is_written_if_the_base_is_not_what_was_read(self, items: ItemStore) -> None:
        self._add(items, "a", "b")
        for record in (self._raw("b", "said otherwise", replaces=True), None):
            batch = Batch(USER, doomed=("b",)) if record is None else Batch(USER, items=(record,))
            items.write(batch)
            self._assert_refused(items, {"a": 1, "b": 1})
        self._add(items, "b")
        items.write(Batch(USER, items=(self._raw("b", status="archived", base_version=1),)))
        self._assert_refused(items, {"a": 1, "b": 2})

    def test_nothing_is_written_if_somebody_else_refined_the_base(self, items: ItemStore) -> None:
        self._add(items, "a", "b", "c")
        self._refine(items, {"b": 1}, self._child("other", "b"))
        self._assert_refused(items, {"a": 1, "b": 1})
        self._refine(items, {"c": 1})
        self._assert_refused(items, {"a": 1, "c": 1})
        self._assert_refused(items, {"a": 2})
        self._assert_refused(items, {"a": 1, "nobody": 1})
        self._assert_refused(items, {"a": 1, "\ud800": 1})

    def test_a_base_and_what_is_made_of_it_are_written_whole_or_not_at_all(self, items: ItemStore) -> None:
        self._add(items, "a", "b")
        wrong = replace(self._child("y", "b"), vector=np.zeros(DIMENSION + 1, np.float32))
        with raises(DimensionMismatchError):
            self._refine(items, {"a": 1, "b": 1}, self._child("x", "a"), wrong)
        assert self._names(items) == ["a", "b"]
        assert self._links(items, "a") == ([], [])
        assert len(items.find(USER, EVERYTHING)) == 2

    def test_only_one_of_many_threads_refines_an_item(self, items: ItemStore) -> None:
        self._add(items, "a")

        def refine(worker: int) -> list[str]:
            return self._refine(items, {"a": 1}, self._child(f"by {worker}", "a")).added

        with ThreadPoolExecutor(4) as pool:
            added = [name for names in pool.map(refine, range(8)) for name in names]
        assert len(added) == 1
        assert self._links(items, "a") == ([], added)
        assert len(items.find(USER, EVERYTHING)) == 2

    def test_an_item_found_again_rests_on_more(self, items: ItemStore) -> None:
        self._add(items, "a", "b")
        self._refine(items, {"a": 1}, self._child("x", "a"))
        again = self._child("x", "b", words="in other words", seed=7)
        written = self._refine(items, {"b": 1}, again)
        assert (written.added, written.replaced, written.conflicts) == (["x"], ["x"], [])
        (item,) = self._items(items, "x")
        assert (item.memory, item.metadata.version) == ("likes tea", 2)
        assert [source.content for source in item.metadata.sources] == ["a", "b"]
        assert self._links(items, "x") == (["a", "b"], [])
        assert self._links(items, "b") == ([], ["x"])
        assert [step.event for step in items.history(USER, "x")] == ["add", "update"]

    def test_an_item_found_again_in_the_same_is_what_it_was(self, items: ItemStore) -> None:
        self._add(items, "a")
        self._refine(items, {"a": 1}, self._child("x", "a"), refined=())
        assert self._refine(items, {"a": 1}, self._child("x", "a")) == Written(existing=["x"])
        assert self._items(items, "x")[0].metadata.version == 1
        assert self._links(items, "a") == ([], ["x"])

    def test_a_change_made_of_what_was_before_the_links_keeps_them(self, items: ItemStore) -> None:
        self._add(items, "a", "b")
        self._refine(items, {"a": 1}, self._child("x", "a"))
        items.write(Batch(USER, items=(self._raw("a", "said otherwise", base_version=1),)))
        (item,) = self._items(items, "a")
        assert (item.memory, item.metadata.version, item.metadata.is_fast) == ("said otherwise", 2, False)
        assert self._links(items, "a") == ([], ["x"])
        self._refine(items, {"b": 1}, self._child("y", "b"), archives=True)
        items.write(Batch(USER, items=(self._raw("b", "said otherwise", base_version=1),)))
        assert self._items(items, "b")[0].metadata.status == "archived"
        assert self._names(items) == []

    def test_deleting_a_raw_item_forgets_that_it_was_read(self, items: ItemStore) -> None:
        for doomed in (("a",), EVERYTHING, Selection(session_id="s")):
            items.write(self._said("m:1", "a"))
            self._refine(items, {"a": 1})
            assert self._names(items) == []
            items.write(Batch(USER, doomed=doomed))
            items.write(self._said("m:1", "a"))
            assert self._names(items) == ["a"]

    def test_an_edited_message_takes_what_was_made_of_it_along(self, items: ItemStore) -> None:
        items.write(self._said("m:1", "a"))
        child = replace(self._child("x", "a"), source_keys=("m:1",))
        self._refine(items, {"a": 1}, child)
        written = items.write(self._said("m:1", "b", digest="two"))
        assert (written.added, sorted(written.replaced)) == (["b"], ["a", "x"])
        assert self._names(items) == ["b"]

    def test_a_parent_that_is_gone_stops_nothing(self, items: ItemStore) -> None:
        self._add(items, "a")
        written = self._refine(items, {"a": 1}, self._child("x", "a", "gone"))
        assert written.added == ["x"]
        assert self._links(items, "a") == ([], ["x"])

    def _raw(self, name: str, words: str = "said tea", **fields: Any) -> ItemRecord:
        """Return a record of an item that was read without a model."""
        rest = {key: fields.pop(key) for key in ("source_keys", "replaces", "base_version") if key in fields}
        sources = fields.pop("sources", [SourceMessage(role="user", content=name)])
        return item_record(name, words, metadata={"is_fast": True, "sources": sources, **fields}, **rest)

    def _child(self, name: str, *parents: str, words: str = "likes tea", seed: int = 0) -> ItemRecord:
        """Return a record of what a model made of raw items."""
        sources = [SourceMessage(role="user", content=parent) for parent in parents]
        return item_record(name, words, seed=seed, metadata={"evolve_from": list(parents), "sources": sources})

    def _said(
        self, key: str, name: str, *, session: str = "s", digest: str = "one", also: Sequence[str] = (), **fields: Any
    ) -> Batch:
        """Return a message and the raw item of it."""
        source = SourceMessage(role="user", content="I like tea", message_id=key, session_id=session, index=0)
        record = self._raw(name, session_id=session, sources=[source], source_keys=(key, *also), **fields)
        message = message_record(key, digest=digest, message_id=key)
        return Batch(USER, session, messages=(message,), items=(record,), read=(key,), reading_key="r")

    def _session(self, items: ItemStore, session: str | None, count: int) -> None:
        records = tuple(message_record(f"{session}:{n}", f"words {n}") for n in range(count))
        items.write(Batch(USER, session, messages=records))

    def _add(self, items: ItemStore, *names: str) -> None:
        items.write(Batch(USER, items=tuple(map(self._raw, names))))

    def _refine(
        self,
        items: ItemStore,
        base: dict[str, int],
        *made: ItemRecord,
        refined: Sequence[str] | None = None,
        archives: bool = False,
        user: str = USER,
    ) -> Written:
        """Write what was made of a base; all of it is read completely unless it is said what is."""
        done = tuple(base if refined is None else refined)
        return items.write(Batch(user, items=made, base=base, refined=done, archives=archives))

    def _assert_refused(self, items: ItemStore, base: dict[str, int]) -> None:
        """A batch on this base leaves nothing: no item, no link, no deletion, no message, nothing read."""
        before = (self._names(items), items.changes(USER, 0, limit=99).seq, len(items.find(USER, EVERYTHING)))
        batch = Batch(
            USER, "s", doomed=("a",), messages=(message_record("m:9"),), items=(self._child("x", "a"),),
            read=("m:9",), reading_key="r", base=base, refined=tuple(base), archives=True,
        )  # fmt: skip
        assert items.write(batch) == Written(conflicts=list(base))
        after = (self._names(items), items.changes(USER, 0, limit=99).seq, len(items.find(USER, EVERYTHING)))
        assert after == before
        assert self._links(items, "a") == ([], [])
        assert items.unread(USER, {"m:9": None}, "r") == {"m:9"}
        assert items.said_before(USER, "s", 9, limit=9) == []

    def _names(self, items: ItemStore, selection: Selection = EVERYTHING, **rest: Any) -> list[str]:
        return [raw.item.id for raw in items.raw(USER, selection, **rest)]

    def _items(self, items: ItemStore, *names: str, user: str = USER) -> list[TextualMemoryItem]:
        return [item for item in items.fetch(user, names) if item is not None]

    def _links(self, items: ItemStore, name: str, user: str = USER) -> tuple[list[str], list[str]]:
        (item,) = self._items(items, name, user=user)
        return item.metadata.evolve_from, item.metadata.evolve_to

    def _name(self, items: ItemStore, key: Any) -> str:
        (item,) = items.fetch(USER, np.array([key], np.int64))
        return "" if item is None else item.id
