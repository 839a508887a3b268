"""Items that the caller made: kept under their id, replaced without a ghost."""

from __future__ import annotations

from typing import Any

import pytest

from memreader.errors import InputError
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.memory import Memory


def test_an_item_is_kept_as_it_was_given(memory: Memory) -> None:
    item = TextualMemoryItem(
        id="mine",
        memory="Ana likes tea.",
        metadata=TextualMemoryMetadata(
            type="opinion", confidence=0.4, tags=["drinks"], entities=["Ana"], memory_time="2024-05-01", info={"n": 1}
        ),
    )
    assert memory.add(item, user_id="ana", session_id="s", agent_id="g").added == ["mine"]
    kept = memory.get("mine", user_id="ana")
    assert kept is not None
    expected = item.model_copy(
        update={"metadata": item.metadata.model_copy(update={"user_id": "ana", "session_id": "s", "agent_id": "g"})}
    )
    assert kept == expected
    assert item.metadata.user_id is None


def test_a_dict_is_an_item_too(memory: Memory) -> None:
    report = memory.add({"id": "mine", "memory": "Ana likes tea.", "metadata": {"tags": ["drinks"]}}, user_id="ana")
    assert report.added == ["mine"]
    assert memory.get_all(user_id="ana")[0].metadata.tags == ["drinks"]


def test_the_same_id_replaces_and_leaves_no_ghost(memory: Memory) -> None:
    for words in ("Ana likes tea.", "Ana likes coffee."):
        report = memory.add({"id": "mine", "memory": words}, user_id="ana")
        memory.search("tea", user_id="ana")
    assert (report.ids, report.added, report.replaced) == (["mine"], ["mine"], ["mine"])
    assert [item.memory for item in memory.get_all(user_id="ana")] == ["Ana likes coffee."]
    hits = memory.search("Does Ana like tea or coffee?", user_id="ana", top_k=9, threshold=0)
    assert [hit.item.memory for hit in hits] == ["Ana likes coffee."]


def test_an_id_is_a_users_own(memory: Memory) -> None:
    memory.add({"id": "mine", "memory": "Ana likes tea."}, user_id="ana")
    memory.add({"id": "mine", "memory": "Ben likes beer."}, user_id="ben")
    assert [memory.get("mine", user_id=user).memory for user in ("ana", "ben")] == [  # type: ignore[union-attr]
        "Ana likes tea.",
        "Ben likes beer.",
    ]
    assert memory.delete("mine", user_id="ana") == ["mine"]
    assert memory.get("mine", user_id="ben") is not None


def test_an_item_cannot_be_put_into_another_users_memory(memory: Memory) -> None:
    stolen = TextualMemoryItem(memory="Ben owes me money.", metadata=TextualMemoryMetadata(user_id="ben"))
    memory.add(stolen, user_id="ana")
    assert memory.get_all(user_id="ben") == []
    assert memory.get_all(user_id="ana")[0].metadata.user_id == "ana"


def test_a_dict_without_an_id_added_twice_is_one_item(memory: Memory) -> None:
    first = memory.add({"memory": "Ana likes tea."}, user_id="ana")
    again = memory.add({"memory": "Ana likes tea."}, user_id="ana")
    assert (again.added, again.existing) == ([], first.added)


def test_a_vector_of_another_embedder_is_not_trusted(memory: Memory) -> None:
    item = TextualMemoryItem(memory="Ana likes tea.", metadata=TextualMemoryMetadata(embedding=[0.0] * 7))
    memory.add([item], user_id="ana")
    (hit,) = memory.search("tea", user_id="ana")
    assert hit.similarity is not None
    assert hit.similarity > 0.2


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"memory": ""}, "memory"),
        ({"memory": 7}, "memory"),
        ({"memory": "x", "id": ""}, "id"),
        ({"memory": "x", "metadata": {"status": "asleep"}}, "metadata.status"),
        ({"memory": "x", "metadata": {"confidence": 85}}, "metadata.confidence"),
        ({"memory": "x", "colour": "red"}, "colour"),
    ],
)
def test_an_invalid_item_is_refused_its_field_named_and_nothing_stored(
    memory: Memory, item: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        memory.add([{"memory": "a good one"}, item], user_id="ana")
    assert memory.get_all(user_id="ana") == []


def test_what_was_extracted_is_stored_as_it_is(memory: Memory) -> None:
    ana = memory.scoped(user_id="ana", session_id="s")
    extracted = ana.extract(
        [{"role": "user", "content": "I moved to Lisbon."}, {"role": "user", "content": "I like tea."}]
    )
    assert memory.get_all(user_id="ana") == []
    assert all(item.metadata.embedding for item in extracted)
    report = ana.add(extracted)
    assert report.added == [item.id for item in extracted]
    assert [item.memory for item in ana.get_all()] == ["user: I moved to Lisbon.", "user: I like tea."]


def test_items_messages_and_documents_may_come_together(memory: Memory) -> None:
    memory.add(
        [{"memory": "Ana likes tea."}, {"role": "user", "content": "hello"}, {"memory": "Ana has a cat."}],
        user_id="ana",
    )
    assert [item.memory for item in memory.get_all(user_id="ana")] == [
        "Ana likes tea.",
        "user: hello",
        "Ana has a cat.",
    ]
