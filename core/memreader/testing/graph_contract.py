"""What an implementation of the graph's port must keep, as a test class: subclass it and give the fixtures it names."""

# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memreader.errors import EntityNotFoundError
from memreader.ports import GraphStore, ItemStore
from memreader.records import Batch
from memreader.testing.store_records import EVERYTHING, OTHER, USER, item_record, raises


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

    def test_names_that_an_item_states_to_be_one_are_one_as_long_as_it_is_there(
        self, items: ItemStore, graph: GraphStore
    ) -> None:
        self._write(items, "a", ["Bob", "Ana"])
        self._write(items, "b", ["Robert", "Ben"])
        items.write(Batch(USER, items=(item_record("c", "Robert, a.k.a. Bob", aliases=(("Robert", "Bob"),)),)))
        assert [(one.name, one.items) for one in graph.entities(USER)] == [("Robert", 2), ("Ana", 1), ("Ben", 1)]
        assert graph.mentions(USER, ["bob"]) == ["a", "b"]
        assert [one.name for one in graph.neighbours(USER, "Bob")] == ["Ana", "Ben"]
        pairs = {frozenset((one, other)): count for one, other, count in graph.together(USER)}
        assert pairs == {frozenset(("Robert", "Ana")): 1, frozenset(("Robert", "Ben")): 1}
        assert sorted(graph.mentioned(USER, each=1)) == [("ana", "a"), ("ben", "b"), ("robert", "b")]
        assert graph.decided(USER) == [("bob", "robert")]
        items.write(Batch(USER, doomed=("c",)))
        assert len(graph.entities(USER)) == 4
        assert graph.decided(USER) == []

    def test_the_same_words_state_the_same_aliases(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Bob", "Robert"])
        items.write(Batch(USER, items=(item_record("c", aliases=(("Robert", "Bob"),)),)))
        items.write(Batch(USER, items=(item_record("c", metadata={"tags": ["friend"]}, base_version=1),)))
        assert graph.decided(USER) == [("bob", "robert")]
        items.write(Batch(USER, items=(item_record("c", "likes juice", base_version=2),)))
        assert graph.decided(USER) == []

    def test_a_merge_is_one_until_it_is_split(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Bob", "Ana"], relations=(("Bob", "knows", "Ana"),))
        self._write(items, "b", ["Robert"])
        before = graph.entities(USER)
        graph.merge(USER, "Robert", "bob")
        assert graph.mentions(USER, ["Bob"]) == graph.mentions(USER, ["Robert"]) == ["a", "b"]
        assert [(one.head, one.tail) for one in graph.relations(USER, "robert")] == [("Robert", "Ana")]
        graph.split(USER, "Bob")
        assert graph.entities(USER) == before
        assert graph.decided(USER) == []

    def test_only_names_that_the_user_has_are_merged_and_split(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "a", ["Bob", "Robert"])
        for user, one, other in ((USER, "Bob", "nobody"), (USER, "nobody", "Bob"), (OTHER, "Robert", "Bob")):
            with raises(EntityNotFoundError):
                graph.merge(user, one, other)
        with raises(EntityNotFoundError):
            graph.split(OTHER, "Bob")

    def test_items_lead_to_others_by_what_they_mention(self, items: ItemStore, graph: GraphStore) -> None:
        number = self._numbered(items, a=["Ana", "Lisbon"], b=["Ana"], c=["Ben"], d=["Lisbon"], e=["Lisbon"])
        found = graph.links(USER, [number["a"]], entities=9, each=2)
        assert [(link.keys, link.seeds, link.by) for link in found] == [
            (("ana",), frozenset({number["a"]}), frozenset()),
            (("lisbon",), frozenset({number["a"]}), frozenset()),
        ]
        assert set(found[0].items) == {number["a"], number["b"]}
        assert set(found[1].items) == {number["a"], number["d"], number["e"]}
        assert len(graph.links(USER, [number["a"]], entities=9, each=1)[1].items) == 2
        assert len(graph.links(USER, [number["a"]], entities=1, each=2)) == 1
        assert graph.links(OTHER, [number["a"]], entities=9, each=2) == []
        assert graph.links(USER, [], entities=9, each=2) == graph.links(USER, [10**9], entities=9, each=2) == []

    def test_names_that_are_one_lead_on_together(self, items: ItemStore, graph: GraphStore) -> None:
        number = self._numbered(items, a=["Bob"], b=["Robert"], c=["Ana"])
        graph.merge(USER, "Robert", "Bob")
        (link,) = graph.links(USER, [number["a"]], entities=9, each=9)
        assert (link.keys, set(link.items)) == (("bob", "robert"), {number["a"], number["b"]})

    def test_a_relation_leads_to_its_other_end(self, items: ItemStore, graph: GraphStore) -> None:
        self._write(items, "r", [], relations=(("Ana", "knows", "Ben"), ("Cleo", "likes", "Ana")))
        number = self._numbered(items, a=["Ana"], b=["Ben"], c=["Dora"])
        found = graph.links(USER, [number["a"]], entities=9, each=9)
        assert [(link.keys, link.by) for link in found] == [
            (("ana",), frozenset()),
            (("ben",), frozenset({number["r"]})),
            (("cleo",), frozenset({number["r"]})),
        ]
        assert set(found[1].items) == {number["r"], number["b"]}
        assert found[1].seeds == {number["a"]}

    def _numbered(self, items: ItemStore, **mentioned: Sequence[str]) -> dict[str, int]:
        """Write items by id and whom they mention; return the number of each item that is there."""
        for item_id, entities in mentioned.items():
            self._write(items, item_id, entities)
        keys = items.changes(USER, 0, limit=1000).keys.tolist()
        found = items.fetch(USER, np.array(keys, np.int64))
        return {item.id: key for key, item in zip(keys, found, strict=True) if item is not None}

    def _write(
        self,
        items: ItemStore,
        item_id: str,
        entities: Sequence[str],
        relations: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        record = item_record(item_id, metadata={"entities": list(entities)}, relations=relations)
        items.write(Batch(USER, items=(record,)))
