"""Memories of visibility "public": others find them if they ask for them, and nothing else of whose they are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memreader import Memory, lifetimes
from memreader.testing import HashEmbedder

QUERY = "Where is the ferry pier?"


def item(item_id: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {"id": item_id, "memory": text, "metadata": metadata}


@pytest.fixture
def shared(memory: Memory) -> Memory:
    memory.add([item("mine", "The ferry leaves at nine.")], user_id="ana")
    memory.add([item("told", "The ferry pier is at the old mill.", visibility="public")], user_id="ben")
    memory.add([item("own", "The ferry pier is where I hide my key.")], user_id="ben")
    memory.add([item("sign", "The ferry pier has a sign.", visibility="public")], user_id="cleo")
    return memory


def found(memory: Memory, **options: Any) -> list[tuple[str, str | None]]:
    hits = memory.search(QUERY, **{"user_id": "ana", "threshold": 0, "include_public": True, **options})
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    return [(hit.item.id, hit.item.metadata.user_id) for hit in hits]


def test_only_who_asks_for_them_finds_the_public_ones_of_others(shared: Memory) -> None:
    assert found(shared, include_public=False) == [("mine", "ana")]
    assert sorted(found(shared)) == [("mine", "ana"), ("sign", "cleo"), ("told", "ben")]
    assert len(found(shared, top_k=2)) == 2
    assert sorted(found(shared, user_id="ben")) == [("own", "ben"), ("sign", "cleo"), ("told", "ben")]
    assert sorted(found(shared, user_id="nobody")) == [("sign", "cleo"), ("told", "ben")]


def test_filters_and_labels_hold_for_them_too(shared: Memory) -> None:
    shared.add([item("bot", "The ferry pier is in bloom.", visibility="public")], user_id="ben", agent_id="bot")
    assert found(shared, agent_id="bot") == [("bot", "ben")]
    assert found(shared, filter={"memory": {"$contains": "sign"}}) == [("sign", "cleo")]
    # A session of the same name is another one.
    shared.add([item("there", "The ferry pier is here.")], user_id="ben", session_id="s")
    assert ("there", "ben") not in found(shared, session_id="s")
    assert found(shared, session_id="s", recall="session") == []


def test_every_other_verb_treats_them_as_absent(shared: Memory) -> None:
    assert shared.get("told", user_id="ana") is None
    assert [one.id for one in shared.get_all(user_id="ana")] == ["mine"]
    assert shared.delete("told", user_id="ana") == []


def test_what_is_public_no_longer_expired_waits_or_is_gone_is_not_found(
    shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.update("sign", {"visibility": "private"}, user_id="cleo")
    assert sorted(found(shared)) == [("mine", "ana"), ("told", "ben")]
    shared.add([item("waits", "The ferry pier burns.", visibility="public")], user_id="ben", review=True)
    shared.add([item("brief", "The ferry pier is wet.", visibility="public")], user_id="ben", ttl=60)
    assert sorted(found(shared)) == [("brief", "ben"), ("mine", "ana"), ("told", "ben")]
    soon = lifetimes.now() + 120
    monkeypatch.setattr(lifetimes, "clock", lambda: soon)
    shared.delete("told", user_id="ben")
    assert found(shared) == [("mine", "ana")]


def test_the_context_shows_nothing_of_what_stands_around_them(memory: Memory) -> None:
    chat = [
        {"role": "user", "name": "Ben", "content": "My door code is 4711.", "message_id": "m1"},
        {"role": "user", "name": "Ben", "content": "The ferry pier is at the old mill.", "message_id": "m2"},
    ]
    memory.add(chat, user_id="ben", session_id="s")
    # The same session name and place, with other words.
    memory.add([{**chat[0], "content": "Ana's own words."}], user_id="ana", session_id="s")
    (pier,) = memory.get_all(user_id="ben", filter={"memory": {"$contains": "pier"}})
    memory.update(pier.id, {"visibility": "public"}, user_id="ben")
    block = memory.context(QUERY, user_id="ana", include_public=True, threshold=0, filter={"visibility": "public"})
    assert "old mill" in block
    assert "4711" not in block
    assert "own words" not in block
    assert memory.context(QUERY, user_id="ana", threshold=0, filter={"visibility": "public"}) == ""


def test_the_twins_and_the_scope_do_the_same(shared: Memory) -> None:
    ana = shared.scoped(user_id="ana")
    ids = [hit.item.id for hit in ana.search(QUERY, threshold=0, include_public=True)]
    assert ids == [name for name, _ in found(shared)]
    awaited = asyncio.run(ana.asearch(QUERY, threshold=0, include_public=True))
    assert [hit.item.id for hit in awaited] == ids


def test_a_reranker_orders_all_of_them_together() -> None:
    class Shortest:
        name = "shortest"

        def rerank(self, query: str, texts: Any) -> list[float]:
            return [-len(text) for text in texts]

    with Memory.in_memory(embedder=HashEmbedder(), reranker=Shortest()) as memory:
        memory.add([item("long", "The ferry pier is over there, they say.")], user_id="ana")
        memory.add([item("short", "Ferry pier: mill.", visibility="public")], user_id="ben")
        memory.add([item("mid", "The ferry pier is there.", visibility="public")], user_id="cleo")
        assert [name for name, _ in _ids(memory)] == ["short", "mid", "long"]


def _ids(memory: Memory) -> list[tuple[str, str | None]]:
    hits = memory.search(QUERY, user_id="ana", threshold=0, include_public=True)
    return [(hit.item.id, hit.item.metadata.user_id) for hit in hits]
