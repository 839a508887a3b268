"""The same words in several sessions: one memory for all, and each session still has what was stated in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memreader import Memory, TextualMemoryItem
from memreader.testing import HashEmbedder

SESSIONS = ("one", "two", None)
FORMS = {
    "bees": ("Ana isn't keeping bees", "ana isn't keeping bees!", "Ana is not keeping bees."),
    "boats": ("Ana paints boats", "Ana paints BOATS.", "  Ana paints boats"),
}
WORDS = "Ana isn't keeping bees paints boats"
Said = tuple[str, int, str | None]

SAID = st.tuples(st.sampled_from(sorted(FORMS)), st.integers(0, 2), st.sampled_from(SESSIONS))
STEPS = st.lists(
    st.tuples(st.sampled_from(("forget", "move")), st.integers(0, 7), st.sampled_from(SESSIONS)), max_size=4
)


def add(memory: Memory, number: int, said: Said) -> None:
    fact, form, session = said
    source = {"type": "chat", "message_id": f"k{number}", "content": FORMS[fact][form]}
    item = TextualMemoryItem(
        id=f"m{number}",
        memory=FORMS[fact][form],
        metadata={"memory_time": f"2024-01-{number + 1:02}", "sources": [source], "info": {"fact": fact}},  # type: ignore[arg-type]
    )
    memory.add([item], user_id="ana", session_id=session)


def facts(items: list[TextualMemoryItem]) -> list[str]:
    return sorted(item.metadata.info["fact"] for item in items)


def listed(memory: Memory, session: str | None = None) -> list[str]:
    return facts(memory.get_all(user_id="ana", session_id=session))


def found(memory: Memory, **options: Any) -> list[str]:
    return facts([hit.item for hit in memory.search(WORDS, user_id="ana", top_k=20, threshold=0, **options)])


def check(memory: Memory, said: dict[int, Said]) -> None:
    assert listed(memory) == found(memory) == sorted({fact for fact, _, _ in said.values()})
    for session in ("one", "two"):
        stated = sorted({fact for fact, _, where in said.values() if where == session})
        assert listed(memory, session) == found(memory, session_id=session, recall="session") == stated
        assert found(memory, filter={"session_id": session}) == stated


@settings(max_examples=25, deadline=None)
@example([("bees", 0, "one"), ("bees", 1, "two"), ("bees", 2, "two")], [])
@given(st.lists(SAID, min_size=1, max_size=8), STEPS)
def test_a_fact_is_there_once_for_all_and_once_in_each_session_that_stated_it(
    tmp_path_factory: pytest.TempPathFactory, said: list[Said], steps: list[tuple[str, int, str | None]]
) -> None:
    folder = tmp_path_factory.mktemp("mem")
    there: dict[int, Said] = {}
    with Memory.open(folder, embedder=HashEmbedder()) as memory:
        for number, one in enumerate(said):
            add(memory, number, one)
            there[number] = one
            # The index is in memory from here on, and has to be kept in step.
            check(memory, there)
        for what, number, session in steps:
            if what == "forget":
                memory.delete_by_source(user_id="ana", message_id=f"k{number}")
                there.pop(number, None)
            elif number in there:
                memory.update(f"m{number}", {"session_id": session}, user_id="ana")
                there[number] = (*there[number][:2], session)
            check(memory, there)
    with Memory.open(folder, embedder=HashEmbedder()) as memory:
        check(memory, there)


@settings(max_examples=15, deadline=None)
@given(st.lists(SAID, min_size=1, max_size=8), st.sampled_from(("one", "two")))
def test_deleting_a_session_leaves_what_the_others_stated(
    tmp_path_factory: pytest.TempPathFactory, said: list[Said], session: str
) -> None:
    with Memory.open(tmp_path_factory.mktemp("mem"), embedder=HashEmbedder()) as memory:
        for number, one in enumerate(said):
            add(memory, number, one)
        memory.delete_all(user_id="ana", session_id=session)
        check(memory, {number: one for number, one in enumerate(said) if one[2] != session})
