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


def test_what_an_assistant_said_is_no_fact_of_the_users() -> None:
    chat = [
        {"role": "user", "content": "I feel tired lately, what should I do?"},
        {"role": "assistant", "content": "You seem to lack vitamin D and should swim every day."},
        {"role": "user", "content": "I will swim on Mondays."},
    ]
    found = reply(
        memory("The user lacks vitamin D.", [2], memory_type="UserMemory"),
        memory("The user will swim on Mondays.", [3], memory_type="UserMemory"),
        memory("The assistant advised to swim every day.", [2]),
        memory("The user will swim, as the assistant advised.", [2, 3]),
    )
    store, _ = opened(lambda _: found)
    with store:
        store.add(chat, user_id="ana")
        assert [(item.memory, item.metadata.memory_type) for item in fine(store)] == [
            ("The assistant said: The user lacks vitamin D.", "LongTermMemory"),
            ("The user will swim on Mondays.", "UserMemory"),
            ("The assistant advised to swim every day.", "LongTermMemory"),
            ("The user will swim, as the assistant advised.", "UserMemory"),
        ]
        assert [[source.role for source in item.metadata.sources] for item in fine(store)] == [
            ["assistant"], ["user"], ["assistant"], ["assistant", "user"],
        ]  # fmt: skip


def test_what_an_assistant_said_in_chinese_says_so() -> None:
    chat = [
        {"role": "user", "content": "最近总是很累，怎么办？"},
        {"role": "assistant", "content": "你可能缺维生素D。"},
    ]
    store, _ = opened(lambda _: reply(memory("用户缺维生素D。", [2])))
    with store:
        store.add(chat, user_id="ana")
        (item,) = fine(store)
        assert (item.memory, item.metadata.memory_type) == ("助手说：用户缺维生素D。", "LongTermMemory")


def test_the_user_and_the_son_are_two_people() -> None:
    found = reply(
        memory("The user's name is Ana.", [1], entities=["Ana"]),
        memory("Ben is Ana's son.", [1], entities=["Ben", "Ana"], relations=[["Ben", "is son of", "Ana"]]),
    )
    store, _ = opened(lambda _: found)
    with store:
        store.add([{"role": "user", "content": "My name is Ana, my son is Ben."}], user_id="ana")
        assert texts(fine(store)) == ["The user's name is Ana.", "Ben is Ana's son."]
        assert {entity.name: entity.items for entity in store.graph.entities("ana")} == {"Ana": 2, "Ben": 1}
        (relation,) = store.graph.relations("ana", "Ben")
        assert (relation.head, relation.relation, relation.tail) == ("Ben", "is son of", "Ana")


def test_what_is_of_short_use_is_found_in_its_session_only_and_makes_no_entities() -> None:
    found = reply(memory("Ana wants the answer as a table.", [1], lifetime="short", entities=["table"]))
    store, _ = opened(lambda _: found)
    with store:
        store.add(chat_of("Answer me as a table."), user_id="ana", session_id="s")
        (item,) = fine(store)
        assert (item.metadata.visibility, item.metadata.entities) == ("session", [])
        assert store.graph.entities("ana") == []
        question = {"query": "Does Ana want a table?", "user_id": "ana"}
        assert item.id in {hit.item.id for hit in store.search(**question, session_id="s")}
        assert item.id not in {hit.item.id for hit in store.search(**question)}
        assert item.id not in {hit.item.id for hit in store.search(**question, session_id="t")}


@pytest.mark.parametrize(
    ("words", "found", "text", "day"),
    [
        ("I moved yesterday.", "Ana moved yesterday.", "Ana moved yesterday (2023-05-07).", "2023-05-07"),
        ("我昨天搬家了。", "安娜昨天搬家了。", "安娜昨天（2023-05-07）搬家了。", "2023-05-07"),
        ("上周三我去了医院。", "安娜上周三去了医院。", "安娜上周三（2023-05-03）去了医院。", "2023-05-03"),
        ("The race is next Friday.", "Ana races next Friday.", "Ana races next Friday (2023-05-19).", "2023-05-19"),
        ("I moved yesterday.", "Ana moved.", "Ana moved.", "2023-05-07"),
        ("I like tea.", "Ana likes tea.", "Ana likes tea.", "2023-05-08T10:00:00"),
        ("I moved yesterday.", "Ana moved yesterday (2023-05-07).", "Ana moved yesterday (2023-05-07).", "2023-05-07"),
    ],
)  # fmt: skip
def test_a_relative_day_is_counted_from_the_day_it_was_said_on(words: str, found: str, text: str, day: str) -> None:
    store, _ = opened(lambda _: reply(memory(found, [1])))
    with store:
        store.add(chat_of(words, time="2023-05-08T10:00:00"), user_id="ana")
        (item,) = fine(store)
        assert (item.memory, item.metadata.memory_time) == (text, day)


def test_the_models_own_time_is_taken_as_a_day_after_the_messages() -> None:
    found = reply(memory("Ana races.", [1], time="2023-05-12"), memory("Ana rests.", [1], time="next Friday"))
    store, _ = opened(lambda _: found)
    with store:
        store.add(chat_of("I race on the 12th and rest a week later."), user_id="ana")
        assert [item.metadata.memory_time for item in fine(store)] == ["2023-05-12", "2023-05-19"]


def test_each_line_counts_from_its_own_day() -> None:
    chat = [*chat_of("I sold it yesterday."), *chat_of("I sang yesterday.", time="2023-06-20T09:00:00")]
    found = reply(memory("Ana sold it yesterday.", [1]), memory("Ana sang yesterday.", [2]))
    store, _ = opened(lambda _: found)
    with store:
        store.add(chat, user_id="ana")
        assert [(item.memory, item.metadata.memory_time) for item in fine(store)] == [
            ("Ana sold it yesterday (2023-05-07).", "2023-05-07"),
            ("Ana sang yesterday (2023-06-19).", "2023-06-19"),
        ]


def test_no_day_is_made_up_when_nobody_said_when() -> None:
    store, model = opened(lambda _: reply(memory("Ana moved yesterday.", [1], time="yesterday")))
    with store:
        store.add(chat_of("I moved yesterday.", time=None), user_id="ana")
        (item,) = fine(store)
        (parent,) = raw(store)
        assert item.memory == "Ana moved yesterday."
        assert item.metadata.memory_time == parent.metadata.memory_time
        assert item.metadata.sources[0].time_inferred
        assert shown(model.prompts[0]).lines[0].about == "user"


@pytest.mark.parametrize(
    ("words", "expected"), [("我昨天搬到了上海，还养了一只猫。", "只输出 JSON"), ("I moved to Rome.", "JSON only")]
)
def test_a_text_is_read_with_the_prompt_of_its_language(words: str, expected: str) -> None:
    store, model = opened(lambda _: reply())
    with store:
        store.add(chat_of(words, name=None), user_id="ana")
        assert ("你" in model.prompts[0][0]["content"]) == (expected != "JSON only")
        assert shown(model.prompts[0]).lines[0].words == words


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
