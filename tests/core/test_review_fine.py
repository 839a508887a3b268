"""The review queue in mode "fine": what a model makes waits, and what it makes of what waits."""

from __future__ import annotations

from typing import Any

import pytest

from fine_replies import answering, chat_of, echoing, memory, reply, shown
from memreader import Memory, ReadOptions, TextualMemoryItem
from memreader.testing import FunctionChatModel, HashEmbedder
from whole_memory import everything

PETS = ["My otter lives in room 1.", "My heron lives in room 2."]


def opened(script: Any = echoing, **more: Any) -> tuple[Memory, FunctionChatModel]:
    model = FunctionChatModel(script)
    return Memory.in_memory(llm=model, embedder=HashEmbedder(), **more), model


def words(memory: Memory) -> list[str]:
    return [one.memory for one in memory.get_all(user_id="ana")]


def waiting(memory: Memory) -> list[str]:
    return [one.memory for one in memory.review.pending(user_id="ana")]


def is_made(item: TextualMemoryItem) -> bool:
    return bool(item.metadata.evolve_from)


def test_nothing_of_a_call_under_review_is_found_and_all_of_it_waits() -> None:
    memory, model = opened()
    with memory:
        report = memory.add(chat_of(*PETS), user_id="ana", session_id="s", review=True)
        assert words(memory) == []
        assert waiting(memory) == ["Ana: " + PETS[0], "Ana: " + PETS[1], *(f"It is said: {one}" for one in PETS)]
        assert len(report.refined) == 2
        assert set(report.pending) == set(report.added)
        asked = len(model.prompts)
        again = memory.add(chat_of(*PETS), user_id="ana", session_id="s")
        assert (len(model.prompts), again.pending) == (asked, again.ids)
        memory.review.approve(report.ids, user_id="ana")
        assert len(words(memory)) == 4


def test_a_predicate_judges_turns_and_memories_each_for_itself() -> None:
    memory, _ = opened()
    with memory:
        report = memory.add(chat_of(*PETS), user_id="ana", review=is_made)
        assert words(memory) == ["Ana: " + one for one in PETS]
        assert waiting(memory) == [f"It is said: {one}" for one in PETS]
        assert len(report.pending) == 2
        hits = memory.search("otter", user_id="ana", threshold=0)
        assert {hit.item.memory for hit in hits} == set(words(memory))


def test_what_is_made_of_a_turn_that_waits_waits_too() -> None:
    memory, _ = opened()
    with memory:
        memory.add(chat_of(*PETS), user_id="ana", review=lambda one: one.memory.startswith("Ana: My otter"))
        assert words(memory) == ["Ana: " + PETS[1], "It is said: " + PETS[1]]
        assert waiting(memory) == ["Ana: " + PETS[0], "It is said: " + PETS[0]]


def test_refining_later_knows_what_waits_and_takes_a_predicate_of_its_own() -> None:
    memory, _ = opened()
    with memory:
        memory.add(chat_of(PETS[0]), user_id="ana", session_id="s", mode="fast", review=True)
        memory.add(chat_of(PETS[1]), user_id="ana", session_id="t", mode="fast")
        report = memory.refine(user_id="ana", review=lambda one: "heron" in one.memory)
        assert len(report.pending) == len(report.added) == 2
        assert words(memory) == ["Ana: " + PETS[1]]


def test_the_default_of_the_memory_holds_for_refining_in_the_background() -> None:
    memory, _ = opened(review=is_made)
    with memory:
        memory.add(chat_of(*PETS), user_id="ana", mode="fast")
        background = memory.refine_in_background(every_s=0.01)
        while len(waiting(memory)) < 2:
            assert background.last_error is None
        background.stop()
        assert len(words(memory)) == 2


def test_a_model_is_shown_no_turn_that_waits_beside_new_ones() -> None:
    memory, model = opened()
    with memory:
        memory.add(chat_of(PETS[0]), user_id="ana", session_id="s", review=True)
        asked = len(model.prompts)
        memory.add(chat_of(*PETS), user_id="ana", session_id="s", review=False)
        (prompt,) = model.prompts[asked:]
        assert "otter" not in str(prompt)
        assert [line.words for line in shown(prompt).lines] == PETS[1:]


def test_a_rejected_memory_comes_back_by_no_refining_and_its_turn_stays() -> None:
    memory, model = opened()
    with memory:
        ids = memory.add(chat_of(*PETS), user_id="ana", session_id="s", review=is_made).pending
        assert memory.review.reject(ids, user_id="ana") == ids
        assert words(memory) == ["Ana: " + one for one in PETS]
        asked = len(model.prompts)
        memory.add(chat_of(*PETS), user_id="ana", session_id="s")
        assert memory.refine(user_id="ana").added == []
        assert len(model.prompts) == asked, "a turn that was read is not read again for what was rejected"
        report = memory.add(chat_of(PETS[0]), user_id="ana", session_id="t")
        assert [one.reason for one in report.dropped] == ["rejected before"]
        assert words(memory) == [*("Ana: " + one for one in PETS), "Ana: " + PETS[0]]


def test_a_rejected_turn_is_never_shown_to_a_model() -> None:
    memory, model = opened()
    with memory:
        ids = memory.add(chat_of(*PETS), user_id="ana", session_id="s", mode="fast", review=True).ids
        memory.review.reject(ids[0], user_id="ana")
        memory.review.approve(ids[1], user_id="ana")
        memory.add(chat_of(*PETS), user_id="ana", session_id="s")
        assert model.prompts
        assert "otter" not in str(model.prompts) + str(everything(memory))


@pytest.mark.parametrize("options", [ReadOptions(keep_raw=False), ReadOptions(keep_turns=False)])
def test_raw_items_are_archived_only_when_what_was_made_of_them_stands(options: ReadOptions) -> None:
    memory, _ = opened(read_options=options)
    with memory:
        ids = memory.add(chat_of(*PETS), user_id="ana", review=is_made).pending
        raw = [hit.item.memory for hit in memory.search("otter heron", user_id="ana", threshold=0)]
        assert raw
        assert not any(text.startswith("It is said") for text in raw)
        memory.review.approve(ids, user_id="ana")
        found = {hit.item.memory for hit in memory.search("otter heron", user_id="ana", threshold=0)}
        assert found == {f"It is said: {one}" for one in PETS}


def test_what_stands_does_not_grow_by_what_waits() -> None:
    said = answering(*((word, lambda seen: reply(memory("Ana has an otter.", [1]))) for word in ("otter", "Otters")))
    talk = [
        "I have an otter, and it is a very good and friendly one.",
        "Otters, I have one, as everybody knows by now.",
    ]
    sources = {}
    for waits in (True, False):
        memory_, model = opened(said, read_options=ReadOptions(window_tokens=40, window_overlap=0))
        with memory_:
            memory_.add(chat_of(*talk), user_id="ana", session_id="s", mode="fast")
            if waits:
                memory_.delete_all(user_id="ana")
                memory_.add(
                    chat_of(*talk),
                    user_id="ana",
                    session_id="s",
                    mode="fast",
                    review=lambda one: "Otters" in one.memory,
                )
            memory_.refine(user_id="ana")
            assert len(model.prompts) == 2
            (made,) = [one for one in memory_.get_all(user_id="ana") if is_made(one)]
            sources[waits] = [source.content for source in made.metadata.sources]
    assert sources == {True: talk[:1], False: talk}
