"""What a model's memories say of people and days: whose words they are, how long they count, and when it was."""

from __future__ import annotations

import pytest

from fine_replies import Script, chat_of, memory, reply, shown, texts
from memreader import Memory
from memreader.items import TextualMemoryItem
from memreader.testing import FunctionChatModel, HashEmbedder


def opened(script: Script) -> tuple[Memory, FunctionChatModel]:
    model = FunctionChatModel(script)
    return Memory.in_memory(llm=model, embedder=HashEmbedder()), model


def fine(memory: Memory) -> list[TextualMemoryItem]:
    return [item for item in memory.get_all(user_id="ana") if item.metadata.evolve_from]


def raw(memory: Memory) -> list[TextualMemoryItem]:
    return [item for item in memory.get_all(user_id="ana") if not item.metadata.evolve_from]


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
        assert {entity.name: entity.items for entity in store.graph.entities(user_id="ana")} == {"Ana": 3, "Ben": 2}
        (relation,) = store.graph.relations("Ben", user_id="ana")
        assert (relation.head, relation.relation, relation.tail) == ("Ben", "is son of", "Ana")


def test_what_is_of_short_use_is_found_in_its_session_only_and_makes_no_entities() -> None:
    found = reply(memory("Ana wants the answer as a table.", [1], lifetime="short", entities=["table"]))
    store, _ = opened(lambda _: found)
    with store:
        store.add(chat_of("Answer me as a table."), user_id="ana", session_id="s")
        (item,) = fine(store)
        assert (item.metadata.visibility, item.metadata.entities) == ("session", [])
        assert store.graph.entities(user_id="ana") == []
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
    ("words", "is_chinese"), [("我昨天搬到了上海，还养了一只猫。", True), ("I moved to Rome.", False)]
)
def test_a_text_is_read_with_the_prompt_of_its_language(words: str, is_chinese: bool) -> None:
    store, model = opened(lambda _: reply())
    with store:
        store.add(chat_of(words, name=None), user_id="ana")
        (prompt,) = model.prompts
        assert ("对话" in prompt[0]["content"]) == is_chinese
        assert shown(prompt).lines[0].words == words
