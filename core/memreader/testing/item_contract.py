"""What an implementation of a store's port must keep, as test classes: subclass one and give the fixtures it names."""

# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from memreader.errors import DimensionMismatchError, ItemExistsError, MemoryFullError
from memreader.filters import parse_filter
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.ports import ItemStore
from memreader.records import Batch, Cap, Changes, Selection, Written
from memreader.testing.store_records import (
    DIMENSION,
    EVERYTHING,
    OTHER,
    USER,
    document_record,
    item_record,
    message_record,
    raises,
    unit_vector,
)
from memreader.types import Vectors


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

    def test_changes_and_selections_know_what_expires(self, items: ItemStore) -> None:
        ends = {"a": "1970-01-02T00:00:00Z", "b": None, "c": "1970-01-03T00:00:00Z"}
        items.write(Batch(USER, items=tuple(item_record(name, metadata={"expires_at": ends[name]}) for name in ends)))
        assert items.changes(USER, 0, limit=100).expires == (86400, None, 172800)
        living, dead = Selection(live_at=86400.5), Selection(expired_by=86400.5)
        assert self._ids(items.fetch(USER, items.find(USER, living))) == ["b", "c"]
        assert self._ids(items.fetch(USER, items.find(USER, dead))) == ["a"]
        assert items.write(Batch(USER, doomed=dead, cause="expired")).deleted.ids == ["a"]

    def test_a_cap_refuses_what_is_too_much_or_archives_what_was_there(self, items: ItemStore) -> None:
        records = [item_record(name, seed=number) for number, name in enumerate("abc")]
        items.write(Batch(USER, items=(records[0],), cap=Cap(2, "reject")))
        with raises(MemoryFullError):
            items.write(Batch(USER, items=(records[1], records[2]), cap=Cap(2, "reject")))
        assert items.fetch(USER, ["a", "b"])[1] is None
        items.write(Batch(USER, items=(records[1],), cap=Cap(2, "reject")))
        assert items.write(Batch(USER, items=(records[2],), cap=Cap(2, "archive"))).archived == ["a"]
        assert items.history(USER, "a")[-1].cause == "cap"

    def test_what_is_under_review_is_kept_and_in_no_changes(self, items: ItemStore) -> None:
        waiting = item_record("waiting", metadata={"status": "pending"})
        items.write(Batch(USER, items=(item_record("a"), waiting)))
        part = items.changes(USER, 0, limit=100)
        assert self._ids(items.fetch(USER, part.keys)) == ["a"]
        assert self._ids(items.fetch(USER, items.find(USER, EVERYTHING))) == ["a", "waiting"]
        assert self._ids(items.fetch(USER, items.find(USER, Selection(pending=False)))) == ["a"]
        items.write(Batch(USER, items=(waiting,)))
        assert len(items.changes(USER, part.seq, limit=100).keys) == 0

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
