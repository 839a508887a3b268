"""Fine reading beside other writers, ended early, and in an event loop: nothing is lost, nothing is twice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fine_replies import Changing, Script, answering, chat_of, echoing, shown, texts, twelve_rooms
from memreader import Memory, MemReader, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.options import ModelOptions
from memreader.ports import Reply
from memreader.testing import FunctionChatModel, HashEmbedder

ROOMS = twelve_rooms()
SMALL = ReadOptions(window_tokens=90, window_overlap=30)
TEN = ReadOptions(window_tokens=60, window_overlap=0)
"""Two lines a window, none carried."""
NAMES = "Abel Bess Cleo Dot Elmo Fay Gus Hal Ida Jim Kit Lou Max Ned Oki Pia Rex Sid Tom Una".split()
TWENTY = [f"My pet number {n} is called {name}." for n, name in enumerate(NAMES)]


def opened(script: Script, options: ReadOptions = SMALL, **model_options: Any) -> tuple[Memory, FunctionChatModel]:
    model = FunctionChatModel(script)
    settings = ModelOptions(**model_options)
    return Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=options, model_options=settings), model


def fine(memory: Memory) -> list[str]:
    return sorted(item.memory for item in memory.get_all(user_id="ana") if item.metadata.evolve_from)


def said(lines: list[str]) -> list[str]:
    return sorted(f"It is said: {line}" for line in lines)


def raw_of(memory: Memory, words: str) -> TextualMemoryItem:
    return next(item for item in memory.get_all(user_id="ana") if words in item.memory)


def change(memory: Memory, item: TextualMemoryItem) -> None:
    memory.update(item.id, {"tags": ["changed"]}, user_id="ana")


def reword(memory: Memory, item: TextualMemoryItem) -> None:
    memory.update(item.id, "Ana: My badger lives in the garden of the new tower.", user_id="ana")


def delete(memory: Memory, item: TextualMemoryItem) -> None:
    memory.delete(item.id, user_id="ana")


@pytest.mark.parametrize("options", [SMALL, replace(SMALL, keep_raw=False), replace(SMALL, carry=True)], ids=str)
@pytest.mark.parametrize("meddle", [change, reword, delete])
def test_of_a_window_that_changed_while_it_was_read_nothing_is_written(
    meddle: Callable[[Memory, TextualMemoryItem], None], options: ReadOptions
) -> None:
    lost: list[str] = []

    def meddling(messages: list[dict[str, Any]]) -> str:
        seen = shown(messages)
        if ROOMS[3] in seen.new_words and not lost:
            lost.extend(line.words for line in seen.new)
            meddle(memory, raw_of(memory, ROOMS[3]))
        return echoing(messages)

    memory, model = opened(meddling, options)
    with memory:
        report = memory.add(chat_of(*ROOMS), user_id="ana", session_id="s")
        (failure,) = report.failures
        assert failure.kind == "ChangedMeanwhile"
        assert fine(memory) == said([line for line in ROOMS if line not in lost])
        assert len(report.left) == len(lost) - (meddle is delete)
        again = memory.refine(user_id="ana")
        assert (again.failures, again.left) == ([], [])
        now = {delete: [], reword: ["My badger lives in the garden of the new tower."]}.get(meddle, [ROOMS[3]])
        assert fine(memory) == said([*(line for line in ROOMS if line != ROOMS[3]), *now])
        assert memory.refine(user_id="ana").usage.calls == 0
        assert model.prompts


def test_two_that_refine_the_same_make_each_memory_once() -> None:
    barrier = threading.Barrier(2, timeout=30)
    met = threading.Event()

    def together(messages: list[dict[str, Any]]) -> str:
        if not met.is_set():
            barrier.wait()
            met.set()
        return echoing(messages)

    memory, _ = opened(together, concurrency=1)
    with memory:
        memory.add(chat_of(*ROOMS), user_id="ana", session_id="s", mode="fast")
        reports = []
        workers = [threading.Thread(target=lambda: reports.append(memory.refine(user_id="ana"))) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert len(reports) == 2
        assert fine(memory) == said(ROOMS)
        assert {failure.kind for report in reports for failure in report.failures} <= {"ChangedMeanwhile"}
        again = memory.refine(user_id="ana")
        assert (again.left, again.usage.calls) == ([], 0)
        assert fine(memory) == said(ROOMS)


@pytest.mark.parametrize("verb", ["add", "refine"])
def test_ctrl_c_keeps_the_windows_that_are_done_and_the_next_call_goes_on(verb: str) -> None:
    script = Changing(answering((TWENTY[8], KeyboardInterrupt())))
    memory, model = opened(script, TEN, concurrency=1)
    with memory:
        data = chat_of(*TWENTY)
        if verb == "refine":
            memory.add(data, user_id="ana", session_id="s", mode="fast")
        call = (lambda: memory.refine(user_id="ana")) if verb == "refine" else None
        with pytest.raises(KeyboardInterrupt):
            call() if call else memory.add(data, user_id="ana", session_id="s")
        assert [len(shown(prompt).new) for prompt in model.prompts] == [2] * 5
        # The answer before the one that was broken off may have been on its way still.
        done = len(fine(memory))
        assert done in (6, 8)
        assert fine(memory) == said(TWENTY[:done])
        script.script = echoing
        call() if call else memory.add(data, user_id="ana", session_id="s")
        assert [len(shown(prompt).new) for prompt in model.prompts[5:]] == [2] * ((20 - done) // 2)
        assert fine(memory) == said(TWENTY)


@pytest.mark.parametrize("verb", ["aadd", "arefine"])
async def test_a_cancelled_call_keeps_the_windows_that_are_done_and_the_next_one_goes_on(verb: str) -> None:
    class Stuck(FunctionChatModel):
        async def acomplete(self, messages: Any, *, schema: Any = None) -> Reply:
            if self.is_stuck and TWENTY[8] in shown(messages).new_words:
                arrived.set()
                await asyncio.sleep(600)
            return await super().acomplete(messages, schema=schema)

        is_stuck = True

    arrived = asyncio.Event()
    model = Stuck(echoing)
    options = ModelOptions(concurrency=1)
    async with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=TEN, model_options=options) as memory:
        data = chat_of(*TWENTY)
        await memory.aadd(data, user_id="ana", session_id="s", mode="fast")

        async def go_on() -> None:
            if verb == "arefine":
                await memory.arefine(user_id="ana")
            else:
                await memory.aadd(data, user_id="ana", session_id="s")

        task = asyncio.create_task(go_on())
        await asyncio.wait_for(arrived.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert fine(memory) == said(TWENTY[:8])
        model.is_stuck = False
        await go_on()
        assert fine(memory) == said(TWENTY)
        assert len(model.prompts) == 10


@pytest.mark.parametrize("options", [SMALL, replace(SMALL, carry=True), replace(SMALL, keep_turns=False)], ids=str)
async def test_the_async_verbs_give_what_the_others_give(options: ReadOptions) -> None:
    script = answering((ROOMS[4], "no"), (ROOMS[9], ValueError()))
    one, _ = opened(script, options)
    two, _ = opened(script, options)
    data = chat_of(*ROOMS)
    with one, two:
        # Sync inside a running loop, too.
        first, second = (
            one.add(data, user_id="ana", session_id="s"),
            await two.aadd(data, user_id="ana", session_id="s"),
        )
        assert first == second
        assert comparable(one.get_all(user_id="ana")) == comparable(two.get_all(user_id="ana"))
        assert one.refine(user_id="ana") == await two.arefine(user_id="ana")
        assert comparable(one.get_all(user_id="ana")) == comparable(two.get_all(user_id="ana"))
        assert texts(one.extract(data, user_id="ana")) == texts(await two.aextract(data, user_id="ana"))


async def test_async_reading_gives_what_reading_gives() -> None:
    reader = MemReader(llm=FunctionChatModel(answering((ROOMS[4], "no"))), embedder=HashEmbedder(), options=SMALL)
    data, info = chat_of(*ROOMS), {"user_id": "ana", "session_id": "s"}
    one, two = reader.read(data, user_id="ana"), await reader.aread(data, user_id="ana")
    assert comparable(one.items) == comparable(two.items)
    assert (one.failures, one.usage) == (two.failures, two.usage)
    (first,), (second,) = reader.get_memory([data], info=info), await reader.aget_memory([data], info=info)
    assert comparable(first) == comparable(second)
    fast = reader.read(data, user_id="ana", mode="fast").items
    assert texts(reader.fine_transfer_simple_mem(fast)) == texts(await reader.afine_transfer_simple_mem(fast))


def comparable(items: list[TextualMemoryItem]) -> list[dict[str, Any]]:
    made = [item.to_dict() for item in items]
    for one in made:
        del one["metadata"]["created_at"], one["metadata"]["updated_at"]
    return made


def test_refining_in_the_background_goes_on_after_a_failure_and_ends_with_the_memory() -> None:
    script = Changing(answering((ROOMS[4], "no")))
    memory, _ = opened(script)
    with memory:
        memory.add(chat_of(*ROOMS), user_id="ana", session_id="s", mode="fast")
        background = memory.refine_in_background(every_s=0.02)
        seen = threading.Event()
        for _ in range(500):
            if background.last_report is not None:
                break
            seen.wait(0.02)
        script.script = echoing
        for _ in range(500):
            if fine(memory) == said(ROOMS):
                break
            seen.wait(0.02)
        assert fine(memory) == said(ROOMS)
        assert background.last_error is None
        assert background.running
    assert not background.running
