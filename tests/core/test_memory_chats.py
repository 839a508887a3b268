"""Chats in a memory: re-added, grown, edited, deleted and brought back; what is known is not read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.testing import HashEmbedder

CHAT = [
    {"role": "user", "content": "I moved to Lisbon in May."},
    {"role": "assistant", "content": "How do you like it?"},
    {"role": "user", "content": "yes"},
    {"role": "assistant", "content": "Do you have a pet?"},
    {"role": "user", "content": "yes"},
]
MORE = [
    {"role": "assistant", "content": "What is it called?"},
    {"role": "user", "content": "Biscuit"},
    {"role": "user", "content": "yes"},
]


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def said(memory: Memory, user_id: str = "ana") -> list[str]:
    return [item.memory for item in memory.get_all(user_id=user_id)]


def places(memory: Memory) -> list[tuple[int | None, str | None]]:
    return [(i.metadata.sources[0].index, i.metadata.sources[0].content) for i in memory.get_all(user_id="ana")]


class TestAddedAgain:
    def test_a_chat_added_again_adds_nothing_and_names_what_is_there(self, memory: Memory) -> None:
        first = memory.add(CHAT, user_id="ana", session_id="s")
        again = memory.add(CHAT, user_id="ana", session_id="s")
        assert len(first.added) == len(said(memory)) == 5
        assert (again.added, again.replaced, again.existing) == ([], [], first.added)
        assert again.ids == first.ids

    def test_a_chat_grown_by_three_turns_adds_three(self, memory: Memory) -> None:
        first = memory.add(CHAT, user_id="ana", session_id="s")
        grown = memory.add(CHAT + MORE, user_id="ana", session_id="s")
        assert (len(grown.added), grown.existing) == (3, first.added)
        assert [index for index, _ in places(memory)] == list(range(8))

    def test_yes_said_twice_is_two_turns(self, memory: Memory) -> None:
        memory.add(CHAT, user_id="ana", session_id="s")
        assert [content for _, content in places(memory)].count("yes") == 2

    def test_what_is_known_is_not_embedded_again(self) -> None:
        embedder = Counting()
        with Memory.in_memory(embedder=embedder) as memory:
            memory.add(CHAT, user_id="ana")
            before = embedder.texts
            memory.add(CHAT + MORE, user_id="ana")
            assert (before, embedder.texts) == (5, 8)

    def test_only_the_new_turns_alone_continue_the_session(self, memory: Memory) -> None:
        memory.add(CHAT, user_id="ana", session_id="s")
        memory.add([user("My rent is 900 euros."), user("And my cat is old.")], user_id="ana", session_id="s")
        assert places(memory)[-2:] == [(5, "My rent is 900 euros."), (6, "And my cat is old.")]

    def test_every_session_counts_for_itself(self, memory: Memory) -> None:
        for session in ("s", "t", None):
            memory.add(CHAT, user_id="ana", session_id=session)
        assert [index for index, _ in places(memory)] == [0, 1, 2, 3, 4] * 3

    def test_the_same_chat_at_another_reading_of_the_clock_is_the_same(self, memory: Memory) -> None:
        # Untimed messages get the time of reading, which must not make them new ones.
        first = memory.add(CHAT, user_id="ana")
        for untimed in (CHAT, [dict(message) for message in CHAT], tuple(CHAT), [CHAT]):
            assert memory.add(untimed, user_id="ana").existing == first.added

    def test_a_time_that_was_given_tells_two_turns_apart(self, memory: Memory) -> None:
        monday, tuesday = (user("Feeling fine", chat_time=f"2024-05-0{day}") for day in (6, 7))
        memory.add([monday], user_id="ana")
        memory.add([tuesday], user_id="ana")
        memory.add([monday, tuesday], user_id="ana")
        assert [item.metadata.memory_time for item in memory.get_all(user_id="ana")] == [
            "2024-05-06",
            "2024-05-07",
        ]

    def test_the_same_words_in_two_conversations_of_one_call_are_two_turns(self, memory: Memory) -> None:
        chats = [[user("alpha"), user("yes")], [user("beta"), user("yes")]]
        first = memory.add(chats, user_id="ana")
        assert said(memory) == ["user: alpha", "user: yes", "user: beta", "user: yes"]
        assert memory.add(chats, user_id="ana").existing == first.added

    def test_the_same_message_ids_in_two_conversations_of_one_call_replace_nothing(self, memory: Memory) -> None:
        memory.add([[user("alpha", id=1)], [user("beta", id=1)]], user_id="ana")
        assert said(memory) == ["user: alpha", "user: beta"]

    def test_another_way_of_reading_reads_again(self, tmp_path: Any) -> None:
        for unit in ("turn", "window"):
            options = ReadOptions(unit=unit)  # type: ignore[arg-type]
            with Memory.open(tmp_path, embedder=HashEmbedder(), read_options=options) as memory:
                report = memory.add(CHAT, user_id="ana", session_id="s")
                assert len(report.added) == (5 if unit == "turn" else 1)
                assert places(memory)[0] == (0, CHAT[0]["content"])

    def test_a_system_message_is_kept_counted_and_not_read(self, memory: Memory) -> None:
        report = memory.add([{"role": "system", "content": "Be brief."}, user("hello")], user_id="ana")
        assert (said(memory), report.flags) == (["user: hello"], {"context": 1})
        assert places(memory) == [(1, "hello")]


class Counting(HashEmbedder):
    """Counts the texts it embeds."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "texts", 0)

    def embed(self, texts: Any) -> Any:
        object.__setattr__(self, "texts", self.texts + len(texts))  # type: ignore[has-type]
        return super().embed(texts)


class TestEdited:
    def test_an_edited_message_with_its_id_takes_the_place_of_the_old_one(self, memory: Memory) -> None:
        first = memory.add([user("I live in Paris", id="m1"), user("I like tea", id="m2")], user_id="ana")
        edit = memory.add([user("I live in Rome", id="m1"), user("I like tea", id="m2")], user_id="ana")
        assert (len(edit.added), edit.replaced, edit.existing) == (1, first.added[:1], first.added[1:])
        assert sorted(said(memory)) == ["user: I like tea", "user: I live in Rome"]
        assert sorted(places(memory)) == [(0, "I live in Rome"), (1, "I like tea")]
        assert all("Paris" not in hit.item.memory for hit in memory.search("Paris", user_id="ana", threshold=0))

    def test_an_edit_sent_alone_replaces_as_well(self, memory: Memory) -> None:
        memory.add([user("I live in Paris", id="m1"), user("I like tea", id="m2")], user_id="ana")
        memory.add([user("I live in Rome", id="m1")], user_id="ana")
        assert sorted(places(memory)) == [(0, "I live in Rome"), (1, "I like tea")]

    def test_an_id_of_another_session_or_user_is_another_message(self, memory: Memory) -> None:
        memory.add([user("I live in Paris", id="m1")], user_id="ana", session_id="s")
        memory.add([user("I live in Rome", id="m1")], user_id="ana", session_id="t")
        memory.add([user("I live in Oslo", id="m1")], user_id="ben", session_id="s")
        assert (said(memory), said(memory, "ben")) == (
            ["user: I live in Paris", "user: I live in Rome"],
            ["user: I live in Oslo"],
        )

    def test_a_message_that_is_edited_to_nothing_goes(self, memory: Memory) -> None:
        memory.add([user("I live in Paris", id="m1")], user_id="ana")
        report = memory.add([user("", id="m1")], user_id="ana")
        assert (said(memory), len(report.replaced)) == ([], 1)

    def test_an_edit_of_one_line_reads_its_whole_window_anew(self) -> None:
        with Memory.in_memory(embedder=HashEmbedder(), read_options=ReadOptions(unit="window")) as memory:
            chat = [user(f"Fact number {n}", id=n) for n in range(4)]
            memory.add(chat, user_id="ana", session_id="s")
            chat[2] = user("An edited fact", id=2)
            report = memory.add(chat, user_id="ana", session_id="s")
            (window,) = memory.get_all(user_id="ana")
            assert len(report.replaced) == len(report.added) == 1
            assert [(s.index, s.content) for s in window.metadata.sources] == [
                (0, "Fact number 0"),
                (1, "Fact number 1"),
                (2, "An edited fact"),
                (3, "Fact number 3"),
            ]


class TestDeleted:
    def test_what_was_deleted_comes_back_with_its_source_at_its_place(self, memory: Memory) -> None:
        first = memory.add(CHAT, user_id="ana", session_id="s")
        assert memory.delete(first.added[0], user_id="ana") == [first.added[0]]
        assert memory.get(first.added[0], user_id="ana") is None
        again = memory.add(CHAT, user_id="ana", session_id="s")
        assert (again.added, again.existing) == (first.added[:1], first.added[1:])
        item = memory.get(first.added[0], user_id="ana")
        assert item is not None
        assert item.metadata.sources[0].index == 0

    def test_it_comes_back_after_it_was_given_again_as_an_item(self, memory: Memory) -> None:
        (item_id,) = memory.add([user("I like tea")], user_id="ana").added
        item = memory.get(item_id, user_id="ana")
        assert item is not None
        edited = item.model_copy(update={"memory": "Ana likes green tea"})
        report = memory.add(edited, user_id="ana")
        assert (report.ids, report.replaced, said(memory)) == ([item_id], [item_id], ["Ana likes green tea"])
        memory.delete(item_id, user_id="ana")
        memory.add([user("I like tea")], user_id="ana")
        assert said(memory) == ["user: I like tea"]

    def test_it_comes_back_after_its_item_was_stored_before_the_chat(self, memory: Memory) -> None:
        extracted = memory.scoped(user_id="ana").extract([user("I like tea")])
        memory.add(extracted, user_id="ana")
        (item_id,) = memory.add([user("I like tea")], user_id="ana").existing
        memory.delete(item_id, user_id="ana")
        assert memory.add([user("I like tea")], user_id="ana").added == [item_id]

    def test_nothing_of_it_is_found_any_more(self, memory: Memory) -> None:
        memory.add([user("The vault code is 4711"), user("I like tea")], user_id="ana")
        memory.search("vault code", user_id="ana")
        memory.delete([item.id for item in memory.get_all(user_id="ana") if "4711" in item.memory], user_id="ana")
        assert all(
            "4711" not in hit.item.memory for hit in memory.search("vault code 4711", user_id="ana", threshold=0)
        )


contents = st.sampled_from(["yes", "no", "I like tea", "我住在上海", " "])
messages = st.builds(
    lambda role, content, mid: {"role": role, "content": content, **({"id": mid} if mid else {})},
    st.sampled_from(["user", "assistant"]),
    contents,
    st.none() | st.sampled_from(["1", "2", "3"]),
)


@settings(max_examples=30)
@given(st.lists(messages, max_size=7), st.data())
def test_adding_a_chat_piece_by_piece_is_adding_it_once(chat: list[dict[str, Any]], data: st.DataObject) -> None:
    """An agent that resends all of a growing chat ends where one add ends."""
    unique = [m for place, m in enumerate(chat) if "id" not in m or m["id"] not in {o.get("id") for o in chat[:place]}]
    stops = sorted(data.draw(st.lists(st.integers(0, len(unique)), max_size=3)))
    with (
        Memory.in_memory(embedder=HashEmbedder(dimension=16)) as once,
        Memory.in_memory(embedder=HashEmbedder(dimension=16)) as growing,
    ):
        expected = once.add(unique, user_id="ana", session_id="s")
        for stop in (*stops, len(unique)):
            report = growing.add(unique[:stop], user_id="ana", session_id="s")
        assert sorted(report.ids) == sorted(expected.ids)
        assert facts(growing) == facts(once)


def facts(memory: Memory) -> list[tuple[str, str, int | None]]:
    return [(i.id, i.memory, i.metadata.sources[0].index) for i in memory.get_all(user_id="ana")]


def test_a_citation_can_be_cut_out_of_the_kept_message_again(memory: Memory) -> None:
    long = "I told you about the trip. " * 400
    chat = [user("short one"), user(long), user("我住在上海。" * 300)]
    memory.add(chat, user_id="ana", session_id="s")
    items = memory.get_all(user_id="ana")
    assert len(items) > 3
    for item in items:
        source = item.metadata.sources[0]
        assert source.content == chat[source.index or 0]["content"][source.start : source.end]
        assert item.memory == f"user: {source.content}"


def test_a_long_message_is_several_items_with_one_index(memory: Memory) -> None:
    memory.add([user("word " * 5000)], user_id="ana")
    assert {index for index, _ in places(memory)} == {0}
    assert len(places(memory)) > 1


@pytest.mark.parametrize(
    "data", [[], [[]], "", "  ", [user("")], {"role": "assistant", "content": None, "tool_calls": []}]
)
def test_nothing_to_read_adds_nothing(memory: Memory, data: Any) -> None:
    report = memory.add(data, user_id="ana")
    assert (report.ids, report.failures, said(memory)) == ([], [], [])


def test_one_string_is_one_user_message(memory: Memory) -> None:
    memory.add("I like tea", user_id="ana")
    (item,) = memory.get_all(user_id="ana")
    assert (item.memory, item.metadata.memory_type) == ("user: I like tea", "UserMemory")


def test_the_callers_own_is_kept_with_every_item(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana", session_id="s", agent_id="g", metadata={"plan": "gold", "n": [1]}, tags=["x", "x"])
    for item in memory.get_all(user_id="ana"):
        assert (item.metadata.session_id, item.metadata.agent_id) == ("s", "g")
        assert (item.metadata.info, item.metadata.tags) == ({"plan": "gold", "n": [1]}, ["mode:fast", "x"])


@pytest.mark.parametrize("metadata", [{"x": object()}, {"x": "\ud800"}, {"x": b"\xff"}, {1: "x"}])
def test_metadata_that_cannot_be_kept_is_refused_and_nothing_is_stored(memory: Memory, metadata: Any) -> None:
    with pytest.raises(ValueError, match="info"):
        memory.add(CHAT, user_id="ana", metadata=metadata)
    assert said(memory) == []
    assert len(memory.add(CHAT, user_id="ana").added) == 5


def test_progress_tells_both_stages(memory: Memory) -> None:
    steps: list[tuple[str, int, int]] = []
    memory.add([CHAT, MORE], user_id="ana", progress=lambda *step: steps.append(step))
    assert steps[0] == ("read", 0, 2)
    assert steps[-1] == ("read", 2, 2)
    assert ("embed", 5, 5) in steps


class Refusing(HashEmbedder):
    """Refuses texts with "bad" until it is told otherwise."""

    __slots__ = ()
    broken = True

    def embed(self, texts: Any) -> Any:
        if Refusing.broken and any("bad" in text for text in texts):
            raise ValueError("no embedding for this")
        return super().embed(texts)


def test_a_turn_that_cannot_be_embedded_is_reported_and_tried_again() -> None:
    with Memory.in_memory(embedder=Refusing()) as memory:
        chat = [user("good"), user("bad"), user("fine")]
        Refusing.broken = True
        report = memory.add(chat, user_id="ana")
        assert (len(report.added), [failure.kind for failure in report.failures]) == (2, ["ValueError"])
        Refusing.broken = False
        again = memory.add(chat, user_id="ana")
        assert (len(again.added), len(again.existing), again.failures) == (1, 2, [])
        assert sorted(places(memory)) == [(0, "good"), (1, "bad"), (2, "fine")]


def test_an_item_is_found_by_its_vector_and_by_its_words(memory: Memory) -> None:
    memory.add(CHAT, user_id="ana")
    (hit, *_) = memory.search("Which month did I move to Lisbon?", user_id="ana")
    assert hit.item.metadata.sources[0].content == CHAT[0]["content"]
    expected = HashEmbedder().embed([hit.item.memory])[0] @ HashEmbedder().embed_query(
        "Which month did I move to Lisbon?"
    )
    np.testing.assert_allclose(hit.similarity, expected, atol=1e-5)


def test_an_item_of_the_store_is_a_copy(memory: Memory) -> None:
    (item_id,) = memory.add("I like tea", user_id="ana").added
    item = memory.get(item_id, user_id="ana")
    assert isinstance(item, TextualMemoryItem)
    item.metadata.tags.append("changed")
    assert memory.get(item_id, user_id="ana") != item
