"""Filters for entities know which names are one: each finds what mentions any of them, and its opposite the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memreader import Memory
from whole_memory import open_it

SAID = {"r": ["Robert", "Lisbon"], "b": ["Bob"], "loud": ["BOB"], "bobby": ["Bobby"], "ana": ["Ana"], "none": []}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with open_it() as memory:
        for user in ("ana", "ben"):
            for name, entities in SAID.items():
                item = {"id": name, "memory": f"The note {name}.", "metadata": {"entities": entities}}
                memory.add(item, user_id=user)
        memory.graph.merge_entities("Robert", "Bob", user_id="ana")
        yield memory


def found(memory: Memory, asked: Any, user: str = "ana") -> set[str]:
    where = {"entities": asked}
    listed = {item.id for item in memory.get_all(user_id=user, filter=where)}
    searched = memory.search("The note", user_id=user, filter=where, threshold=0, top_k=9)
    assert {hit.item.id for hit in searched} == listed
    opposite = {item.id for item in memory.get_all(user_id=user, filter={"$not": where})}
    assert listed | opposite == set(SAID)
    assert not listed & opposite
    return listed


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ("Bob", {"r", "b", "loud"}),
        ({"$contains": "Bob"}, {"r", "b", "loud"}),
        ({"$contains": "robert"}, {"r", "b", "loud"}),
        ({"$in": ["Robert", "Ana"]}, {"r", "b", "loud", "ana"}),
        ({"$ne": "Bob"}, {"bobby", "ana", "none"}),
        ({"$nin": ["Bob", "Bobby"]}, {"ana", "none"}),
        ({"$in": ["Bob", None]}, {"r", "b", "loud", "none"}),
        (None, {"none"}),
        ("Lisbon", {"r"}),
        ("Ana", {"ana"}),
        ("ana", set()),
        ("Bo", set()),
    ],
)
def test_a_merged_name_finds_what_mentions_any_of_its_names(memory: Memory, asked: Any, ids: set[str]) -> None:
    assert found(memory, asked) == ids


def test_names_that_another_user_merged_are_two(memory: Memory) -> None:
    assert found(memory, "Bob", user="ben") == {"b"}
    assert found(memory, "Robert", user="ben") == {"r"}


def test_a_chain_of_merged_names_is_one_and_split_names_are_apart_again(memory: Memory) -> None:
    memory.graph.merge_entities("Bob", "Bobby", user_id="ana")
    assert found(memory, "Bobby") == {"r", "b", "loud", "bobby"}
    memory.graph.split_entity("Bob", user_id="ana")
    assert found(memory, "Bob") == {"b"}
    assert found(memory, "Bobby") == {"bobby"}


def test_names_that_a_memory_states_to_be_one_are_one(memory: Memory) -> None:
    stated = {"id": "none", "memory": "Ana, a.k.a. Nana, sails.", "metadata": {"entities": ["Nana"]}}
    memory.add(stated, user_id="ana")
    assert found(memory, "Ana") == {"ana", "none"}


def test_other_fields_are_compared_as_they_are_written(memory: Memory) -> None:
    memory.update("ana", {"tags": ["Robert"], "info": {"entities": ["Robert"]}}, user_id="ana")
    for name in ("tags", "info.entities"):
        assert memory.get_all(user_id="ana", filter={name: "Bob"}) == []
