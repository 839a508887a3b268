"""A memory that is filled by a language model: what is read once, stored once, linked, cited, and taken along."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fine_replies import (
    Script,
    Shown,
    answering,
    chat_of,
    echoing,
    memory,
    reply,
    shown,
    texts,
    twelve_rooms,
)
from left_behind import left_of
from memreader import Memory, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT
from memreader.testing import FunctionChatModel, HashEmbedder
from stored import assert_citations

ROOMS = twelve_rooms()
SMALL = ReadOptions(window_tokens=90, window_overlap=30, chunk_tokens=50, chunk_overlap=15)
PRESETS = {
    "default": SMALL,
    "simple_struct": replace(SIMPLE_STRUCT, window_tokens=90, window_overlap=30, chunk_tokens=50, chunk_overlap=15),
    "strategy": replace(STRATEGY_STRUCT, content_length=200, chunk_tokens=50, chunk_overlap=15),
    "without_turns": replace(SMALL, keep_turns=False),
    "without_raw": replace(SMALL, keep_raw=False),
    "carry": replace(SMALL, carry=True),
}
presets = pytest.mark.parametrize("preset", PRESETS)


def opened(script: Script, options: ReadOptions | None = None, **more: Any) -> tuple[Memory, FunctionChatModel]:
    model = FunctionChatModel(script)
    return Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=options or SMALL, **more), model


def fine(memory: Memory, **labels: Any) -> list[TextualMemoryItem]:
    return [item for item in memory.get_all(user_id="ana", **labels) if item.metadata.evolve_from]


def raw(memory: Memory, **labels: Any) -> list[TextualMemoryItem]:
    return [item for item in memory.get_all(user_id="ana", **labels) if not item.metadata.evolve_from]


def assert_links_go_both_ways(memory: Memory) -> None:
    items = {item.id: item for item in memory.get_all(user_id="ana")}
    for item in items.values():
        for child in item.metadata.evolve_to:
            assert child not in items or item.id in items[child].metadata.evolve_from
        for parent in item.metadata.evolve_from:
            assert parent not in items or item.id in items[parent].metadata.evolve_to


@presets
@pytest.mark.parametrize("kind", ["chat", "doc"])
def test_a_second_add_asks_nothing_and_changes_nothing(preset: str, kind: str) -> None:
    data: Any = chat_of(*ROOMS) if kind == "chat" else " ".join(ROOMS)
    how: dict[str, Any] = {"type": "doc", "as_text": True} if kind == "doc" else {}
    memory, model = opened(echoing, PRESETS[preset])
    with memory:
        first = memory.add(data, user_id="ana", session_id="s", **how)
        before, asked = memory.get_all(user_id="ana"), len(model.prompts)
        second = memory.add(data, user_id="ana", session_id="s", **how)
        assert len(model.prompts) == asked == first.usage.calls
        assert (second.usage.calls, second.added, second.refined, second.left) == (0, [], [], [])
        assert memory.get_all(user_id="ana") == before
        assert set(second.existing) == set(first.added)
        assert sorted(texts(fine(memory))) == sorted(f"It is said: {line}" for line in ROOMS)
        assert_links_go_both_ways(memory)
        assert_citations(memory)


@pytest.mark.parametrize("preset", ["default", "without_raw", "carry"])
def test_a_chat_grown_by_three_messages_makes_one_call_that_shows_what_was_said_before(preset: str) -> None:
    memory, model = opened(echoing, PRESETS[preset])
    with memory:
        memory.add(chat_of(*ROOMS[:6]), user_id="ana", session_id="s")
        asked = len(model.prompts)
        report = memory.add(chat_of(*ROOMS[:6], "A cat.", "A dog.", "A cow."), user_id="ana", session_id="s")
        (prompt,) = model.prompts[asked:]
        seen = shown(prompt)
        assert [line.words for line in seen.new] == ["A cat.", "A dog.", "A cow."]
        assert [line.words for line in seen.lines if not line.is_new] == [ROOMS[5]]
        assert report.usage.calls == 1
        assert len(report.refined) == 3
        assert [source.index for item in fine(memory)[-3:] for source in item.metadata.sources] == [6, 7, 8]
        assert_citations(memory)


def test_the_lines_of_another_session_are_not_shown() -> None:
    memory, model = opened(echoing)
    with memory:
        memory.add(chat_of(ROOMS[0]), user_id="ana", session_id="one")
        memory.add(chat_of(ROOMS[1]), user_id="ana", session_id="two")
        memory.add(chat_of(ROOMS[2]), user_id="bob", session_id="one")
        assert [len(shown(prompt).lines) for prompt in model.prompts] == [1, 1, 1]


def test_a_memory_of_nothing_but_lines_read_before_is_dropped() -> None:
    def again(seen: Shown) -> str:
        return reply(memory("My otter has room 1, they said.", [1]), memory("It is said: a cat.", [len(seen.lines)]))

    store, _ = opened(answering(("A cat.", again)))
    with store:
        store.add(chat_of(ROOMS[0]), user_id="ana", session_id="s")
        report = store.add(chat_of(ROOMS[0], "A cat."), user_id="ana", session_id="s")
        assert texts(fine(store)) == [f"It is said: {ROOMS[0]}", "It is said: a cat."]
        assert len(report.dropped) == 1


def overlapping(seen: Shown) -> str:
    """Memories of all lines, those of the window before too, in words that differ a little."""
    words = "It is said here that" if len(seen.lines) % 2 else "Here it is said that"
    return reply(*(memory(f"{words} {line.words}", [line.number]) for line in seen.lines))


@presets
def test_a_fact_found_in_two_windows_is_stored_once_with_both_sources(preset: str) -> None:
    store, model = opened(answering(otherwise=overlapping), PRESETS[preset])
    with store:
        store.add(chat_of(*ROOMS), user_id="ana", session_id="s")
        assert max(len(shown(prompt).lines) - len(shown(prompt).new) for prompt in model.prompts) > 0
        assert len(fine(store)) == 12
        cited = [source.index for item in fine(store) for source in item.metadata.sources]
        assert sorted(index for index in cited if index is not None) == list(range(12))
        assert_links_go_both_ways(store)


def test_a_fact_that_two_windows_rest_on_different_lines_cites_all_of_them() -> None:
    def three(seen: Shown) -> str:
        last = seen.lines[-1].number
        number = int(seen.lines[-1].words.split("room ")[1].split()[0])
        value = "The pets live in many rooms of the old house."
        return reply(memory(value, [1, last])) if number > 2 else reply()

    store, _ = opened(answering(otherwise=three))
    with store:
        report = store.add(chat_of(*ROOMS[:6]), user_id="ana", session_id="s")
        (item,) = fine(store)
        indexes = [source.index for source in item.metadata.sources]
        assert len(indexes) == len(set(indexes)) > 2
        assert set(item.metadata.evolve_from) == {one.id for one in raw(store) if item.id in one.metadata.evolve_to}
        assert report.ids.count(item.id) == 1
        assert_links_go_both_ways(store)


def test_nine_duplicates_in_one_reply_are_one_memory() -> None:
    spelled = (
        "Likes tea|likes tea.|LIKES TEA!|Likes  tea|likes tea|Likes ｔｅａ|Likes tea...|«Likes tea»|likes-tea".split(
            "|"
        )
    )
    store, _ = opened(lambda _: reply(*(memory(text, [1]) for text in spelled)))
    with store:
        store.add(chat_of("I like tea."), user_id="ana")
        assert texts(fine(store)) == ["Likes tea"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana has worked there for 5 years.", "Ana has worked there for 6 years."),
        ("Ana eats fish at home.", "Ana doesn't eat fish at home."),
        ("Ana visited her friend Ben in Rome.", "Ana visited her friend Ben in Oslo."),
        ("安娜养了三只猫。", "安娜养了四只猫。"),
        ("安娜喜欢吃鱼和米饭。", "安娜不喜欢吃鱼和米饭。"),
        ("安娜 has lived in Lisbon since 2021.", "安娜 has lived in Lisbon since 2022."),
    ],
)
def test_what_differs_in_a_number_a_negation_or_a_name_is_two_memories(one: str, other: str) -> None:
    store, _ = opened(lambda _: reply(memory(one, [1]), memory(other, [1])))
    with store:
        store.add(chat_of(one), user_id="ana")
        assert texts(fine(store)) == [one, other]


def test_raw_and_refined_are_linked_and_stand_under_each_other_in_a_search() -> None:
    store, _ = opened(echoing)
    with store:
        store.add(chat_of(*ROOMS), user_id="ana", session_id="s")
        assert_links_go_both_ways(store)
        assert all(len(item.metadata.evolve_to) == 1 and not item.metadata.is_fast for item in raw(store))
        hits = store.search("Which room does the ferret live in?", user_id="ana", top_k=5)
        assert len(hits) == 5
        assert hits[0].item.memory == f"It is said: {ROOMS[2]}"
        assert all(hit.item.metadata.evolve_from == list(hit.raw) for hit in hits if hit.raw)
        assert hits[0].raw
        found = {hit.item.id for hit in hits}
        assert not found & {name for hit in hits for name in hit.raw}


@pytest.mark.parametrize("beginning", ["It is said:", "Ana:"])
def test_a_raw_item_is_no_hit_of_its_own_whichever_ranks_first(beginning: str) -> None:
    store, _ = opened(echoing)
    with store:
        store.add(chat_of(*ROOMS), user_id="ana", session_id="s")
        for query in (f"{beginning} {line}" for line in ROOMS):
            hits = store.search(query, user_id="ana", top_k=12, threshold=0)
            assert len(hits) == 12
            assert all(hit.item.metadata.evolve_from == list(hit.raw) for hit in hits)


def test_without_keep_raw_only_what_gave_a_memory_is_archived() -> None:
    store, _ = opened(answering((ROOMS[3], reply()), (ROOMS[10], "I can't.")), PRESETS["without_raw"])
    with store:
        store.add(chat_of(*ROOMS), user_id="ana", session_id="s")
        told = {source.index for item in fine(store) for source in item.metadata.sources}
        for item in raw(store):
            (source,) = item.metadata.sources
            assert (item.metadata.status == "archived") == (source.index in told)
        assert 0 < len(told) < 12
        hits = store.search("Which room does the otter live in?", user_id="ana", top_k=20)
        assert not {hit.item.id for hit in hits} & {i.id for i in raw(store) if i.metadata.status == "archived"}


def test_a_document_is_cited_to_the_letter_and_by_page(tmp_path: Path) -> None:
    pages = ["  ".join(ROOMS[:6]), "\n".join(ROOMS[6:])]
    store, model = opened(echoing)
    path = tmp_path / "house.txt"
    path.write_text("\f".join(pages), encoding="utf-8")
    with store:
        report = store.add(path, user_id="ana", metadata={"project": "p"}, tags=["t"])
        assert report.failures == []
        assert len(fine(store)) == 12
        assert_citations(store)
        for item in fine(store):
            (source,) = item.metadata.sources
            assert item.memory == f"It is said: {source.content}"
            assert (source.type, item.metadata.source) == ("doc", "file")
            (parent,) = [one for one in raw(store) if one.id in item.metadata.evolve_from][:1]
            assert source.page is None or source.page == parent.metadata.sources[0].page
        assert len(model.prompts) < 12


def test_deleting_a_document_takes_its_memories_along_and_no_others(tmp_path: Path) -> None:
    store, _ = opened(echoing)
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    with store:
        for path, lines in ((one, ROOMS[:6]), (two, ROOMS[6:])):
            path.write_text(" ".join(lines), encoding="utf-8")
        store.add([one, two], user_id="ana")
        store.delete_by_source(user_id="ana", document=one)
        assert sorted(texts(fine(store))) == sorted(f"It is said: {line}" for line in ROOMS[6:])
        assert not any("one.txt" in item.model_dump_json() for item in store.get_all(user_id="ana"))


def test_conversations_of_one_call_keep_apart() -> None:
    store, model = opened(answering((ROOMS[7], "no")))
    with store:
        report = store.add([chat_of(*ROOMS[:6]), chat_of(*ROOMS[6:])], user_id="ana", session_id="s")
        assert len(report.failures) == 1
        assert [source.index for item in raw(store) for source in item.metadata.sources] == list(range(12))
        assert_citations(store)
        assert_links_go_both_ways(store)
        assert model.prompts


def test_a_changed_file_takes_its_memories_along(tmp_path: Path) -> None:
    store, _ = opened(echoing)
    path = tmp_path / "house.txt"
    with store:
        path.write_text(" ".join(ROOMS[:6]), encoding="utf-8")
        first = store.add(path, user_id="ana")
        path.write_text(" ".join(ROOMS[6:]), encoding="utf-8")
        second = store.add(path, user_id="ana")
        assert sorted(texts(fine(store))) == sorted(f"It is said: {line}" for line in ROOMS[6:])
        assert set(first.added) == set(second.replaced)
        assert not any(line in text for text in texts(store.get_all(user_id="ana")) for line in ROOMS[:6])


@presets
def test_an_edited_message_takes_its_memories_along_and_leaves_the_others(preset: str) -> None:
    def chat(words: str) -> list[dict[str, Any]]:
        said = chat_of(*ROOMS[:2], words, *ROOMS[3:6])
        return [message | {"message_id": f"m{place}"} for place, message in enumerate(said)]

    store, _ = opened(echoing, PRESETS[preset])
    with store:
        store.add(chat(ROOMS[2]), user_id="ana", session_id="s")
        store.add(chat("My goat is in the garden of the tower."), user_id="ana", session_id="s")
        store.refine(user_id="ana")
        expected = [*ROOMS[:2], "My goat is in the garden of the tower.", *ROOMS[3:6]]
        assert sorted(texts(fine(store))) == sorted(f"It is said: {line}" for line in expected)
        assert not any("ferret" in text for text in texts(store.get_all(user_id="ana")))
        assert_links_go_both_ways(store)
        assert_citations(store)


@presets
def test_deleting_a_message_leaves_no_word_of_it_in_any_memory(preset: str, tmp_path: Path) -> None:
    model = FunctionChatModel(echoing)
    options: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": PRESETS[preset]}
    with Memory.open(tmp_path / "m", llm=model, **options) as store:
        chat = [message | {"message_id": f"m{n}"} for n, message in enumerate(chat_of(*ROOMS))]
        store.add(chat, user_id="ana", session_id="s")
        (doomed,) = [item for item in fine(store) if "ferret" in item.memory]
        report = store.delete_by_source(user_id="ana", message_id="m2", session_id="s")
        assert doomed.id in report.ids
        assert not any("ferret" in item.model_dump_json() for item in store.get_all(user_id="ana"))
        left = store.refine(user_id="ana").left
        assert left == []
        assert_citations(store)
    assert left_of(tmp_path / "m", ["ferret"]) == set()


def test_deleting_a_refined_memory_keeps_the_raw_one() -> None:
    store, model = opened(echoing)
    with store:
        store.add(chat_of(*ROOMS[:3]), user_id="ana")
        (doomed,) = [item for item in fine(store) if "heron" in item.memory]
        store.delete(doomed.id, user_id="ana")
        assert sorted(texts(raw(store))) == sorted(f"Ana: {line}" for line in ROOMS[:3])
        asked = len(model.prompts)
        store.refine(user_id="ana")
        store.add(chat_of(*ROOMS[:3]), user_id="ana")
        assert len(model.prompts) == asked
        hits = store.search("Which room does the heron live in?", user_id="ana")
        assert hits[0].item.memory == f"Ana: {ROOMS[1]}"


def test_words_that_were_corrected_before_a_model_read_them_are_the_ones_it_reads() -> None:
    model = FunctionChatModel(echoing)
    with Memory.in_memory(llm=model, embedder=HashEmbedder()) as store:
        added = store.add(chat_of("An otter.", "A heron."), user_id="ana", session_id="s", mode="fast").added
        store.update(added[0], "Ana: Two otters.", user_id="ana")
        store.refine(user_id="ana")
        told = texts([item for item in store.get_all(user_id="ana") if item.metadata.evolve_from])
        assert sorted(told) == ["It is said: A heron.", "It is said: Two otters."]
