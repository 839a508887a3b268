"""Reading with a language model, without a store: labels, citations, what is shown, order, and time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fine_replies import answering, chat_of, echoing, memory, reply, shown, texts, twelve_rooms
from memreader import Memory, MemReader, ReadOptions
from memreader.errors import ModelRequiredError
from memreader.items import TextualMemoryItem
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT, ModelOptions
from memreader.testing import FunctionChatModel, HashEmbedder, ScriptedChatModel

ROOMS = twelve_rooms()
SMALL = ReadOptions(window_tokens=90, window_overlap=30, chunk_tokens=50, chunk_overlap=15)
PRESETS = {
    "default": SMALL,
    "simple_struct": replace(SIMPLE_STRUCT, window_tokens=90, window_overlap=30, chunk_tokens=50, chunk_overlap=15),
    "strategy": replace(STRATEGY_STRUCT, content_length=200, chunk_tokens=50, chunk_overlap=15),
    "carry": replace(SMALL, carry=True),
    "gates": replace(SMALL, gates=("rewrite", "hallucination")),
}
INFO: dict[str, Any] = {"user_id": "ana", "session_id": "s", "custom_tags": ["c"], "project": {"name": "p"}}
presets = pytest.mark.parametrize("preset", PRESETS)


def reader_of(model: FunctionChatModel | ScriptedChatModel, options: ReadOptions = SMALL, **more: Any) -> MemReader:
    gate = FunctionChatModel(lambda _: "{}")
    return MemReader(llm=model, general_llm=gate, embedder=HashEmbedder(), options=options, **more)


@presets
@pytest.mark.parametrize("mode", ["fast", "fine"])
@pytest.mark.parametrize("kind", ["chat", "doc"])
def test_labels_tags_and_info_reach_every_item_in_every_mode(kind: Any, mode: Any, preset: str) -> None:
    model = FunctionChatModel(answering((ROOMS[5], "no")))
    data: Any = [" ".join(ROOMS) if kind == "doc" else chat_of(*ROOMS)]
    info, before = dict(INFO), repr(data)
    (group,) = reader_of(model, PRESETS[preset]).get_memory(
        data, type=kind, info=info, mode=mode, user_name="Ana", custom_tags=["more"]
    )
    assert group
    for item in group:
        known = item.metadata
        assert (known.user_id, known.session_id) == ("ana", "s")
        assert {"c", "more"} <= set(known.tags)
        assert ("mode:fast" in known.tags) == known.is_fast
        assert known.info["project"] == {"name": "p"}
        assert known.info["user_name"] == "Ana"
        assert known.embedding is not None
        assert known.sources
        assert known.confidence == 0.99
    assert info == INFO
    assert repr(data) == before


@presets
def test_labels_of_the_caller_reach_what_is_stored(preset: str) -> None:
    model = FunctionChatModel(answering((ROOMS[5], "no")))
    more = {"embedder": HashEmbedder(), "read_options": PRESETS[preset]}
    with Memory.in_memory(llm=model, general_llm=FunctionChatModel(lambda _: "{}"), **more) as store:
        store.add(chat_of(*ROOMS), user_id="ana", session_id="s", agent_id="a", tags=["t"], metadata={"project": "p"})
        store.refine(user_id="ana")
        for item in store.get_all(user_id="ana"):
            known = item.metadata
            assert (known.user_id, known.session_id, known.agent_id) == ("ana", "s", "a")
            assert "t" in known.tags
            assert known.info["project"] == "p"
        assert store.get_all(user_id="ana", agent_id="b") == []


def test_the_chat_history_is_shown_and_not_read() -> None:
    model = FunctionChatModel(echoing)
    history = [{"role": "user", "content": "The otter is called Olga."}]
    (group,) = reader_of(model).get_memory([chat_of(*ROOMS[:2])], info=INFO, chat_history=history)
    assert texts(group) == [f"It is said: {line}" for line in ROOMS[:2]]
    (seen,) = [shown(prompt) for prompt in model.prompts]
    assert [line.words for line in seen.lines if not line.is_new] == ["The otter is called Olga."]


def test_a_memory_of_the_chat_history_alone_is_dropped() -> None:
    model = FunctionChatModel(lambda _: reply(memory("The otter is called Olga.", [1])))
    history = [{"role": "user", "content": "The otter is called Olga."}]
    assert reader_of(model).get_memory([chat_of("It swims.")], info=INFO, chat_history=history) == [[]]


def test_a_memory_cites_the_conversation_and_not_its_chat_history() -> None:
    model = FunctionChatModel(lambda _: reply(memory("The otter Olga swims.", [1, 2])))
    history = [{"role": "user", "content": "The otter is called Olga."}]
    ((item,),) = reader_of(model).get_memory([chat_of("Olga swims.")], info=INFO, chat_history=history)
    assert [source.content for source in item.metadata.sources] == ["Olga swims."]


def test_instructions_and_prompts_of_the_caller_reach_every_window() -> None:
    for given in ({"instructions": "Only pets."}, {"prompts": {"chat": "Only pets. ${conversation}"}}):
        model = FunctionChatModel(echoing)
        reader_of(model, **given).read(chat_of(*ROOMS), user_id="ana")
        assert len(model.prompts) > 3
        assert all("Only pets." in prompt[0]["content"] for prompt in model.prompts)


def test_a_window_is_told_what_the_ones_before_said_if_it_is_to_be() -> None:
    def answer(messages: list[dict[str, Any]]) -> str:
        number = shown(messages).new[0].words.split("room ")[1].split()[0]
        return reply(memory("A pet.", [1], entities=[f"Name{number}"]), summary=f"Summary {number}")

    for carry in (False, True):
        model = FunctionChatModel(answer)
        reader_of(model, replace(SMALL, carry=carry)).read([chat_of(*ROOMS[:6]), chat_of(*ROOMS[6:])])
        told = ["Summary 1" in prompt[0]["content"] for prompt in model.prompts]
        if not carry:
            assert not any(told)
            continue
        assert (told[0], told[1]) == (False, True)
        assert "Name1" in model.prompts[1][0]["content"]
        other = next(prompt for prompt in model.prompts if ROOMS[6] in shown(prompt).new_words)
        assert "Summary" not in other[0]["content"]


@pytest.mark.parametrize("preset", ["default", "strategy"])
def test_refining_items_gives_new_ones_that_name_them_and_changes_none(preset: str) -> None:
    model = FunctionChatModel(answering((ROOMS[5], "no")))
    reader = reader_of(model, PRESETS[preset])
    fast = reader.read(chat_of(*ROOMS), user_id="ana", session_id="s", mode="fast", metadata={"p": 1}, tags=["t"]).items
    fast += reader.read(" ".join(ROOMS), type="doc", as_text=True, user_id="ana", mode="fast", tags=["d"]).items
    before = [item.model_copy(deep=True) for item in fast]
    refined = reader.fine_transfer_simple_mem(fast)
    assert fast == before
    ids = {item.id: item for item in fast}
    failed = [item for item in refined if item.metadata.is_fast]
    assert failed
    assert all(item.with_embedding([]) == ids[item.id].with_embedding([]) for item in failed)
    made = [item for item in refined if not item.metadata.is_fast]
    assert made
    for item in made:
        parents = [ids[name] for name in item.metadata.evolve_from]
        assert parents
        assert {"t", "d"} & set(item.metadata.tags) == {"t", "d"} & set(parents[0].metadata.tags)
        assert item.metadata.info == parents[0].metadata.info
        assert any(source.content in parents[0].memory for source in item.metadata.sources if source.content)
    kept = "\n".join(texts(refined))
    assert all(line in kept for line in ROOMS)


def test_items_without_sources_are_refined_by_their_own_words() -> None:
    item = TextualMemoryItem(memory="Ana keeps an otter in room 1 of the house.", metadata={"is_fast": True})  # type: ignore[arg-type]
    (refined,) = reader_of(FunctionChatModel(echoing)).fine_transfer_simple_mem([item])
    assert refined.memory == f"It is said: {item.memory}"
    assert refined.metadata.evolve_from == [item.id]


def test_without_a_model_fine_reading_is_refused_and_nothing_to_refine_is_nothing() -> None:
    reader = MemReader(embedder=HashEmbedder())
    with pytest.raises(ModelRequiredError):
        reader.read("Hello.", mode="fine")
    with pytest.raises(ModelRequiredError):
        reader.get_memory([chat_of("Hello.")], info=INFO)
    fast = reader.read("Hello.", user_id="ana").items
    with pytest.raises(ModelRequiredError):
        reader.fine_transfer_simple_mem(fast)
    assert reader.fine_transfer_simple_mem([]) == []


def test_the_groups_come_in_input_order_whatever_fails() -> None:
    model = FunctionChatModel(answering((ROOMS[1], ValueError()), (ROOMS[2], reply())))
    groups = reader_of(model).get_memory([chat_of(line) for line in ROOMS[:4]], info=INFO)
    assert [texts(group) for group in groups] == [
        [f"It is said: {ROOMS[0]}"],
        [f"Ana: [10:00 AM on 08 May, 2023]: {ROOMS[1]}\n"],
        [],
        [f"It is said: {ROOMS[3]}"],
    ]


class Slow(FunctionChatModel):
    """Answers after a while that differs from call to call."""

    def complete(self, messages: Any, *, schema: Any = None) -> Any:
        time.sleep(random.random() / 50)
        return super().complete(messages, schema=schema)

    async def acomplete(self, messages: Any, *, schema: Any = None) -> Any:
        await asyncio.sleep(random.random() / 50)
        return await super().acomplete(messages, schema=schema)


def test_memories_come_in_the_order_of_the_lines_whatever_order_the_answers_come_in() -> None:
    reader = reader_of(Slow(echoing))
    expected = [f"It is said: {line}" for line in ROOMS]
    for _ in range(3):
        assert texts(reader.read(chat_of(*ROOMS), user_id="ana").items) == expected
        assert texts(asyncio.run(reader.aread(chat_of(*ROOMS), user_id="ana")).items) == expected
        with Memory.in_memory(llm=Slow(echoing), embedder=HashEmbedder(), read_options=SMALL) as store:
            store.add(chat_of(*ROOMS), user_id="ana")
            assert texts(item for item in store.get_all(user_id="ana") if item.metadata.evolve_from) == expected


SIXTEEN = chat_of(*(f"My {colour} pet {n} sleeps in room {n}." for n in range(8) for colour in ("red", "blue")))
DELAY_S = 0.2
LEAST_S = 0.4
"""16 calls, 8 at once."""


def by_reader() -> None:
    report = reader_of(FunctionChatModel(echoing, delay_s=DELAY_S), ONE_LINE).read(SIXTEEN, user_id="ana")
    assert report.usage.calls == len(report.items) == 16


def by_async_reader() -> None:
    reader = reader_of(FunctionChatModel(echoing, delay_s=DELAY_S), ONE_LINE)
    assert len(asyncio.run(reader.aread(SIXTEEN, user_id="ana")).items) == 16


def by_memory(verb: str = "add") -> float:
    model = FunctionChatModel(echoing, delay_s=DELAY_S)
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=ONE_LINE) as store:
        start = time.perf_counter()
        if verb == "add":
            store.add(SIXTEEN, user_id="ana", session_id="s")
        else:
            asyncio.run(store.aadd(SIXTEEN, user_id="ana", session_id="s"))
        took = time.perf_counter() - start
        assert len([item for item in store.get_all(user_id="ana") if item.metadata.evolve_from]) == 16
    return took


ONE_LINE = replace(STRATEGY_STRUCT, strategy="session", chunk_session=1, session_overlap=0, prompt="chat")


@pytest.mark.parametrize(
    "read", [by_reader, by_async_reader, by_memory, lambda: by_memory("aadd")], ids=["read", "aread", "add", "aadd"]
)
def test_sixteen_windows_take_hardly_longer_than_two_calls(read: Callable[[], float | None]) -> None:
    took: list[float] = []
    while len(took) < 5 and min(took, default=9.0) > 1.2 * LEAST_S:  # Other work on the machine is no fault.
        start = time.perf_counter()
        took.append(read() or time.perf_counter() - start)
    assert LEAST_S <= min(took) <= 1.2 * LEAST_S, took


def test_no_more_calls_are_under_way_than_allowed() -> None:
    under_way, most = 0, 0

    def counting(messages: list[dict[str, Any]]) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        time.sleep(0.01)
        under_way -= 1
        return echoing(messages)

    reader_of(FunctionChatModel(counting), model_options=ModelOptions(concurrency=3)).read(chat_of(*ROOMS))
    assert most == 3
