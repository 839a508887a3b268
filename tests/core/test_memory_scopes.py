"""Whose memories: the user is the key, session and agent are labels, and visibility "session" stays in its session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memreader.memory import Memory
from memreader.scoped import ScopedMemory
from memreader.types import Hit, Scope


def note(words: str, **metadata: Any) -> dict[str, Any]:
    return {"id": words, "memory": f"note about tea: {words}", "metadata": metadata}


def found(hits: list[Hit]) -> set[str]:
    return {hit.item.id for hit in hits}


@pytest.fixture
def filled(memory: Memory) -> Memory:
    for user in ("ana", "ben"):
        memory.add(note("plain"), user_id=user)
        memory.add(note("in s"), user_id=user, session_id="s")
        memory.add(note("in t"), user_id=user, session_id="t", agent_id="g")
        memory.add(note("only s", visibility="session"), user_id=user, session_id="s")
        memory.add(note("only nowhere", visibility="session"), user_id=user)
    return memory


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, {"plain", "in s", "in t"}),
        ({"session_id": "s"}, {"plain", "in s", "in t", "only s"}),
        ({"session_id": "t"}, {"plain", "in s", "in t"}),
        ({"session_id": "unknown"}, {"plain", "in s", "in t"}),
        ({"session_id": "s", "recall": "session"}, {"in s", "only s"}),
        ({"session_id": "t", "recall": "session"}, {"in t"}),
        ({"session_id": "unknown", "recall": "session"}, set()),
        ({"agent_id": "g"}, {"in t"}),
        ({"agent_id": "unknown"}, set()),
        ({"agent_id": "g", "session_id": "s"}, {"in t"}),
    ],
)
def test_search_sees_what_the_labels_let_through(filled: Memory, labels: dict[str, Any], expected: set[str]) -> None:
    hits = filled.search("note about tea", user_id="ana", top_k=99, threshold=0, **labels)
    assert found(hits) == expected
    assert {hit.item.metadata.user_id for hit in hits} <= {"ana"}


def test_the_labels_never_take_hits_away_that_are_there(filled: Memory) -> None:
    # Pre-filtered, not cut off: others' many items don't crowd out the few.
    filled.add([note(f"crowd {n}") for n in range(300)], user_id="ben")
    filled.add([note(f"other session {n}") for n in range(300)], user_id="ana", session_id="other")
    hits = filled.search("note about tea", user_id="ana", session_id="s", recall="session", top_k=2)
    assert found(hits) == {"in s", "only s"}


def test_get_all_lists_by_label(filled: Memory) -> None:
    def listed(**labels: Any) -> list[str]:
        return [item.id for item in filled.get_all(user_id="ana", **labels)]

    assert listed() == ["plain", "in s", "in t", "only s", "only nowhere"]
    assert listed(session_id="s") == ["in s", "only s"]
    assert listed(agent_id="g") == ["in t"]
    assert listed(limit=2) == ["plain", "in s"]
    assert listed(limit=2, offset=3) == ["only s", "only nowhere"]
    assert listed(limit=0) == listed(offset=9) == listed(offset=10**30) == []
    assert listed(limit=10**30) == listed()


@pytest.mark.parametrize("other", ["ANA", "ana ", "an", "a%", "_na", "anna", "ben' OR '1'='1"])
def test_another_name_sees_nothing(filled: Memory, other: str) -> None:
    assert filled.search("note about tea", user_id=other, threshold=0) == []
    assert filled.get_all(user_id=other) == []
    assert filled.get("plain", user_id=other) is None
    assert filled.get_by_ids(["plain", "in s"], user_id=other) == [None, None]
    assert filled.delete(["plain", "in s"], user_id=other) == []
    assert filled.context("note about tea", user_id=other, threshold=0) == ""
    assert len(filled.get_all(user_id="ana")) == 5


VERBS: list[Callable[[Memory, Any], object]] = [
    lambda memory, user: memory.add("x", user_id=user),
    lambda memory, user: memory.search("x", user_id=user),
    lambda memory, user: memory.context("x", user_id=user),
    lambda memory, user: memory.get("x", user_id=user),
    lambda memory, user: memory.get_by_ids(["x"], user_id=user),
    lambda memory, user: memory.get_all(user_id=user),
    lambda memory, user: memory.delete("x", user_id=user),
    lambda memory, user: memory.scoped(user_id=user),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("user", ["", "  ", None, 7, b"ana", "a\0b", "a\ud800"])
def test_every_verb_needs_a_user(memory: Memory, verb: Callable[[Memory, Any], object], user: Any) -> None:
    with pytest.raises(ValueError, match="user_id"):
        verb(memory, user)


@pytest.mark.parametrize("name", ["session_id", "agent_id"])
@pytest.mark.parametrize("value", ["", " ", 7, "a\0b"])
def test_a_label_is_text_or_left_out(memory: Memory, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        memory.add("x", user_id="ana", **{name: value})
    with pytest.raises(ValueError, match=name):
        Scope("ana", **{name: value})


def test_isolation_needs_a_session(memory: Memory) -> None:
    with pytest.raises(ValueError, match="session_id"):
        memory.search("x", user_id="ana", recall="session")


class TestScoped:
    """The same verbs without the user in each call."""

    @pytest.fixture
    def ana(self, filled: Memory) -> ScopedMemory:
        return filled.scoped(user_id="ana", session_id="s", agent_id="g")

    def test_it_adds_with_its_labels(self, filled: Memory, ana: ScopedMemory) -> None:
        (item_id,) = ana.add("I like tea", tags=["x"], metadata={"n": 1}, at="2024-05-01").added
        item = filled.get(item_id, user_id="ana")
        assert item is not None
        metadata = item.metadata
        assert (metadata.user_id, metadata.session_id, metadata.agent_id) == ("ana", "s", "g")
        assert (metadata.tags, metadata.info, metadata.memory_time) == (["mode:fast", "x"], {"n": 1}, "2024-05-01")

    def test_it_searches_with_its_labels(self, filled: Memory, ana: ScopedMemory) -> None:
        assert found(ana.search("note about tea", 99, threshold=0)) == {"in t"}
        session = filled.scoped(user_id="ana", session_id="s")
        assert found(session.search("note about tea", top_k=99, threshold=0)) == {"plain", "in s", "in t", "only s"}
        assert found(session.search("note about tea", 99, threshold=0, recall="session")) == {"in s", "only s"}
        assert "only s" in session.context("note about tea: only s", recall="session")

    def test_ids_are_the_users_whatever_the_labels(self, filled: Memory, ana: ScopedMemory) -> None:
        assert ana.get("plain") == filled.get("plain", user_id="ana")
        assert [item and item.id for item in ana.get_by_ids(["in s", "nothing"])] == ["in s", None]
        assert ana.delete(["plain", "nothing"]) == ["plain"]
        assert filled.get("plain", user_id="ben") is not None

    def test_it_lists_its_own_users_items(self, filled: Memory, ana: ScopedMemory) -> None:
        assert [item.id for item in ana.get_all()] == ["in t"]
        everyone = filled.scoped(user_id="ana")
        assert len(everyone.get_all()) == 5
        assert [item.id for item in everyone.get_all(limit=1, offset=1)] == ["in s"]
