"""What is deleted stays gone, and what it took along by accident is made again."""

from __future__ import annotations

from typing import Any

import pytest

from fine_replies import Changing, Shown, answering, chat_of, echo, echoing, memory, reply, shown, texts, twelve_rooms
from memreader import Memory, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.options import ModelOptions
from memreader.testing import FunctionChatModel, HashEmbedder

ROOMS = twelve_rooms()
CHAT = [message | {"message_id": f"m{n}"} for n, message in enumerate(chat_of(*ROOMS))]
OPTIONS = ReadOptions(window_tokens=90, window_overlap=30)


def opened(script: Any, options: ReadOptions = OPTIONS) -> Memory:
    settings: dict[str, Any] = {"read_options": options, "model_options": ModelOptions(concurrency=1)}
    return Memory.in_memory(llm=FunctionChatModel(script), embedder=HashEmbedder(), **settings)


def fine(memory: Memory) -> list[TextualMemoryItem]:
    return [item for item in memory.get_all(user_id="ana") if item.metadata.evolve_from]


@pytest.mark.parametrize("change", ["delete", "edit"])
@pytest.mark.parametrize("state", ["carried", "context"])
def test_words_that_are_deleted_or_edited_while_a_model_is_shown_them_do_not_come_back(state: str, change: str) -> None:
    gone: list[str] = []

    def meddling(messages: list[dict[str, Any]]) -> str:
        seen = shown(messages)
        old = [line for line in seen.lines if not line.is_new]
        if gone or not old or (state == "context") != ("A cat." in seen.new_words):
            return echo(seen)
        gone.append(old[-1].words)
        number = ROOMS.index(gone[0])
        if change == "delete":
            store.delete_by_source(user_id="ana", message_id=f"m{number}", session_id="s")
        else:
            store.add([CHAT[number] | {"content": "My goat left."}], user_id="ana", session_id="s", mode="fast")
        value = f"Both: {gone[0]} {seen.new[0].words}"
        return reply(memory(value, [old[-1].number, seen.new[0].number]), summary=value)

    store = opened(meddling)
    more = [message | {"message_id": "new"} for message in chat_of("A cat.")]
    with store:
        store.add(CHAT, user_id="ana", session_id="s")
        report = store.add([*CHAT, *more], user_id="ana", session_id="s") if state == "context" else None
        assert gone
        assert not any(gone[0] in item.model_dump_json() for item in store.get_all(user_id="ana"))
        assert report is None or [failure.kind for failure in report.failures] == ["ChangedMeanwhile"]
        store.refine(user_id="ana")
        left = [line for line in ROOMS if line != gone[0]] + (["A cat."] if state == "context" else [])
        assert {f"It is said: {line}" for line in left} <= set(texts(fine(store)))
        assert not any(gone[0] in item.model_dump_json() for item in store.get_all(user_id="ana"))


@pytest.mark.parametrize("keep_raw", [True, False])
@pytest.mark.parametrize("change", ["delete", "edit"])
def test_what_went_with_another_message_is_made_again(change: str, keep_raw: bool) -> None:
    def both(seen: Shown) -> str:
        return reply(memory("An otter and a heron live in the house.", [line.number for line in seen.lines]))

    script = Changing(answering(otherwise=both))
    with opened(script, ReadOptions(keep_raw=keep_raw)) as store:
        store.add(CHAT[:2], user_id="ana", session_id="s")
        assert len(fine(store)) == 1
        script.script = echoing
        if change == "delete":
            store.delete_by_source(user_id="ana", message_id="m0", session_id="s")
        else:
            store.add([CHAT[0] | {"content": "My goat left."}], user_id="ana", session_id="s", mode="fast")
        assert fine(store) == []
        assert store.search("Where does the heron live?", user_id="ana")[0].item.memory == f"Ana: {ROOMS[1]}"
        store.refine(user_id="ana")
        expected = [*(["It is said: My goat left."] if change == "edit" else []), f"It is said: {ROOMS[1]}"]
        assert sorted(texts(fine(store))) == sorted(expected)


def test_a_memory_that_was_deleted_alone_is_not_made_again() -> None:
    with opened(echoing) as store:
        store.add(CHAT[:2], user_id="ana", session_id="s")
        store.delete(fine(store)[0].id, user_id="ana")
        assert store.refine(user_id="ana").usage.calls == 0
        assert len(fine(store)) == 1


def test_a_summary_that_may_retell_a_deleted_message_goes_with_it() -> None:
    def told(seen: Shown) -> str:
        return reply(*[memory(f"It is said: {line.words}", [line.number]) for line in seen.new], summary=seen.new_words)

    with opened(answering(otherwise=told)) as store:
        store.add(CHAT[:2], user_id="ana", session_id="s")
        assert all(ROOMS[0] in item.metadata.background for item in fine(store))
        store.delete_by_source(user_id="ana", message_id="m0", session_id="s")
        assert not any(ROOMS[0] in item.model_dump_json() for item in store.get_all(user_id="ana"))
        assert len(fine(store)) == 1
