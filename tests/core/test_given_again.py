"""A statement given again under its id, where reconciling has put it behind another or had it stand for others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memreader import Memory, TextualMemoryItem
from memreader.testing import HashEmbedder


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.in_memory(embedder=HashEmbedder()) as memory:
        yield memory


def stated(name: str, words: str, day: int, **more: object) -> TextualMemoryItem:
    sources = [{"type": "chat", "message_id": f"of {name}", "content": words}]
    known = {"memory_time": f"2024-05-{day:02}", "sources": sources, **more}
    return TextualMemoryItem(id=name, memory=words, metadata=known)  # type: ignore[arg-type]


def state(memory: Memory, *items: TextualMemoryItem) -> list[str]:
    return [one for item in items for one in memory.add(item, user_id="ana").added]


def seen(memory: Memory) -> list[str]:
    """What is listed and found alike."""
    listed = [item.id for item in memory.get_all(user_id="ana")]
    hits = memory.search("Ana lives, likes chess", user_id="ana", top_k=9, threshold=0)
    assert sorted(hit.item.id for hit in hits) == sorted(listed)
    return listed


def sources(memory: Memory, name: str) -> list[str | None]:
    item = memory.get(name, user_id="ana")
    assert item is not None
    return [source.message_id for source in item.metadata.sources]


LISBON, PORTO = stated("first", "Ana lives in Lisbon.", 1), stated("second", "Ana lives in Porto.", 2)
AGAIN = stated("second", "ana lives in LISBON!", 2)


@pytest.mark.parametrize("later", [PORTO, AGAIN], ids=["superseded", "repeated"])
def test_what_is_behind_or_in_front_stays_as_it_is(memory: Memory, later: TextualMemoryItem) -> None:
    state(memory, LISBON, later)
    before = memory.get_by_ids(["first", "second"], user_id="ana")
    shown = seen(memory)
    assert state(memory, LISBON, later, LISBON) == []
    assert memory.get_by_ids(["first", "second"], user_id="ana") == before
    assert seen(memory) == shown


def test_in_other_words_it_stands_for_itself(memory: Memory) -> None:
    state(memory, LISBON, PORTO)
    assert state(memory, stated("first", "Ana likes chess.", 1)) == ["first"]
    assert seen(memory) == ["first", "second"]
    item = memory.get("first", user_id="ana")
    assert item is not None
    assert (item.metadata.status, item.metadata.valid_until) == ("activated", None)


def test_with_a_later_time_it_stands_for_itself(memory: Memory) -> None:
    state(memory, LISBON, PORTO)
    state(memory, stated("first", "Ana lives in Lisbon.", 3))
    assert seen(memory) == ["first", "second"]


def test_one_that_is_said_to_be_activated_stands_for_itself(memory: Memory) -> None:
    state(memory, LISBON, PORTO)
    item = memory.update("first", {"status": "activated"}, user_id="ana")
    assert item.metadata.status == "activated"
    assert seen(memory) == ["first", "second"]


def test_one_that_is_tagged_stays_behind(memory: Memory) -> None:
    state(memory, LISBON, PORTO)
    memory.update("first", {"tags": ["old"]}, user_id="ana")
    assert seen(memory) == ["second"]


def test_what_stands_for_others_has_their_sources_in_its_next_version_too(memory: Memory) -> None:
    named = AGAIN.model_copy(deep=True)
    named.metadata.entities = ["Ana", "Portugal"]
    state(memory, LISBON, named, stated("first", "Ana lives in Lisbon.", 1, tags=["home"]))
    assert sources(memory, "first") == ["of first", "of second"]
    assert memory.graph.mentions("Portugal", user_id="ana") == ["first", "second"]
    memory.delete_by_source(user_id="ana", message_id="of second")
    assert sources(memory, "first") == ["of first"]


@pytest.mark.parametrize("change", [{"status": "archived"}, {"expires_at": "2001-01-01"}], ids=["archived", "expired"])
def test_nothing_is_left_out_for_what_is_out_of_sight(memory: Memory, change: dict[str, str]) -> None:
    state(memory, LISBON, AGAIN)
    memory.update("first", change, user_id="ana")
    assert state(memory, AGAIN.model_copy(update={"id": "third"})) == ["third"]
    hits = memory.search("Ana lives in Lisbon", user_id="ana", threshold=0)
    assert [hit.item.id for hit in hits] == ["third"]
