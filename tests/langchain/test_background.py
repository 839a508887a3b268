"""`write_mode`: an answer never waits for the model that reads what was said, unless it is told to."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from fine_replies import echoing
from langchain_memreader import MemReaderMemory, MemReaderMiddleware, refining
from memreader import AddReport, Memory
from memreader.errors import ModelRequiredError
from memreader.refining import RefineReport
from memreader.testing import FunctionChatModel, HashEmbedder


class Gate:
    """A model that answers when it is let, and remembers that it was asked."""

    def __init__(self, answer: Callable[[list[dict[str, Any]]], Any] = echoing) -> None:
        self.answer = answer
        self.asked = threading.Event()
        self.open = threading.Event()
        self.calls = 0

    def __call__(self, messages: list[dict[str, Any]]) -> Any:
        self.calls += 1
        self.asked.set()
        assert self.open.wait(20)
        return self.answer(messages)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def reading(gate: Gate) -> Iterator[Memory]:
    """A memory whose language model stands behind the gate."""
    with Memory.in_memory(llm=FunctionChatModel(gate), embedder=HashEmbedder()) as memory:
        yield memory
        gate.open.set()


def stored(memory: Memory, user_id: str = "ana") -> list[str]:
    return [item.memory for item in memory.get_all(user_id=user_id)]


MADE = ["It is said: I keep bees.", "It is said: Good."]


async def test_with_a_model_the_chain_goes_on_at_once_and_the_model_reads_afterwards(
    reading: Memory, gate: Gate, way: Any
) -> None:
    reports: list[Any] = []
    kept = MemReaderMemory(memory=reading, user_id="ana", session_id="s", on_report=reports.append)
    await way(kept, "save_context", {"input": "I keep bees."}, {"output": "Good."})
    assert stored(reading) == ["user: I keep bees.", "assistant: Good."]
    assert await way(kept, "flush", 0.05) is False
    gate.open.set()
    assert await way(kept, "flush", 20) is True
    assert stored(reading)[2:] == MADE
    added, refined = reports
    assert isinstance(added, AddReport)
    assert isinstance(refined, RefineReport)
    assert kept.last_report is added
    assert (len(added.added), len(refined.added), refined.refined) == (2, 2, added.added)


async def test_an_agent_does_not_wait_either(reading: Memory, gate: Gate, scripted: Any, way: Any) -> None:
    middleware = MemReaderMiddleware(reading, user_id="ana", tools=())
    agent = create_agent(scripted("Good."), [], middleware=[middleware])
    await way(agent, "invoke", {"messages": [HumanMessage("I keep bees.")]})
    assert stored(reading) == ["user: I keep bees.", "assistant: Good."]
    gate.open.set()
    assert await way(middleware, "flush") is True
    assert stored(reading)[2:] == MADE


async def test_fine_waits_for_the_model_and_fast_does_not_ask_it(reading: Memory, gate: Gate, way: Any) -> None:
    gate.open.set()
    for user, mode, made in (("ana", "fast", []), ("bob", "fine", MADE)):
        kept = MemReaderMemory(memory=reading, user_id=user, write_mode=mode)
        await way(kept, "save_context", {"input": "I keep bees."}, {"output": "Good."})
        assert stored(reading, user)[2:] == made
        assert gate.calls == bool(made)


def test_without_a_model_it_is_fast_and_another_mode_is_refused(memory: Memory) -> None:
    MemReaderMemory(memory=memory, user_id="ana").save_context({"input": "a"}, {"output": "b"})
    assert stored(memory) == ["user: a", "assistant: b"]
    for mode in ("fine", "fast_then_refine"):
        with pytest.raises(ModelRequiredError):
            MemReaderMemory(memory=memory, user_id="ana", write_mode=mode)


def test_what_was_said_meanwhile_is_read_together_by_one_thread_for_all_adapters(reading: Memory, gate: Gate) -> None:
    reports: list[Any] = []
    before = threading.active_count()
    kept = [MemReaderMemory(memory=reading, user_id="ana", session_id="s", on_report=reports.append) for _ in range(3)]
    kept[0].save_context({"input": "first"}, {"output": "ok"})
    assert gate.asked.wait(20)
    for number in range(4):
        kept[0].save_context({"input": f"word {number}"}, {"output": "ok"})
        kept[1 + number % 2].save_context({"input": f"other word {number}"}, {"output": "ok"})
    assert threading.active_count() - before <= 2 + 1  # the refiner, and the model's call
    gate.open.set()
    assert kept[2].flush(20)
    refined = [report for report in reports if isinstance(report, RefineReport)]
    assert [len(report.refined) for report in refined] == [2, 8, 4, 4]
    assert not any(thread.name == "memreader-langchain-refine" for thread in threading.enumerate())


def test_a_model_that_fails_is_a_report_and_what_was_said_stays(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    def fails(messages: list[dict[str, Any]]) -> str:
        raise TimeoutError("slow")

    gate.answer = fails
    gate.open.set()
    reports: list[Any] = []
    with Memory.in_memory(llm=FunctionChatModel(gate), embedder=HashEmbedder()) as memory:
        kept = MemReaderMemory(memory=memory, user_id="ana", on_report=reports.append)
        kept.save_context({"input": "my secret"}, {"output": "Good."})
        assert kept.flush(20)
        assert stored(memory) == ["user: my secret", "assistant: Good."]
        assert {failure.kind for failure in reports[1].failures} == {"TimeoutError"}
        assert reports[1].left == reports[0].added
        gate.answer = echoing
        assert memory.refine(user_id="ana").refined == reports[0].added
    assert "my secret" not in caplog.text


def test_a_memory_that_was_closed_meanwhile_is_a_report_too(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    reports: list[Any] = []
    memory = Memory.in_memory(llm=FunctionChatModel(gate), embedder=HashEmbedder())
    kept = MemReaderMemory(memory=memory, user_id_key="user", on_report=reports.append)
    for user in ("ana", "bob"):
        kept.save_context({"input": "I keep bees.", "user": user}, {"output": "Good."})
    assert gate.asked.wait(20)
    memory.close()
    gate.open.set()
    assert kept.flush(20)
    assert reports[-1].failures[0].kind == "StoreClosedError"
    assert reports[-1].left == reports[1].added
    assert "not refined (StoreClosedError)" in caplog.text


def test_when_too_much_waits_the_rest_stays_raw_and_the_log_says_so(
    reading: Memory, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(refining, "WAITING", 4)
    kept = MemReaderMemory(memory=reading, user_id="ana")
    kept.save_context({"input": "first"}, {"output": "ok"})
    assert gate.asked.wait(20)
    for number in range(3):
        kept.save_context({"input": f"word {number}"}, {"output": "ok"})
    assert "a turn stays raw" in caplog.text
    gate.open.set()
    assert kept.flush(20)
    assert [item.memory for item in reading.get_all(user_id="ana") if item.metadata.is_fast][-2:] == [
        "user: word 2", "assistant: ok",
    ]  # fmt: skip
    assert len(reading.refine(user_id="ana").refined) == 2


async def test_after_closing_what_is_saved_stays_as_it_was_said(reading: Memory, gate: Gate, way: Any) -> None:
    gate.open.set()
    kept = MemReaderMemory(memory=reading, user_id="ana")
    kept.save_context({"input": "I keep bees."}, {"output": "Good."})
    assert await way(kept, "close", 20) is True
    kept.save_context({"input": "I keep cats."}, {"output": "Good."})
    assert kept.flush(20) is True
    assert stored(reading)[2:] == [*MADE, "user: I keep cats.", "assistant: Good."]


def test_a_callback_that_fails_neither_fails_the_chain_nor_the_refining(
    reading: Memory, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(report: Any) -> None:
        raise KeyError("my secret")

    gate.open.set()
    kept = MemReaderMemory(memory=reading, user_id="ana", on_report=fails)
    kept.save_context({"input": "I keep bees."}, {"output": "Good."})
    assert kept.flush(20)
    assert stored(reading)[2:] == MADE
    with caplog.at_level(logging.INFO):
        assert caplog.text.count("on_report failed (KeyError)") == 2
    assert "my secret" not in caplog.text


def test_nothing_holds_a_memory_that_nobody_has_any_more() -> None:
    memory = Memory.in_memory(llm=FunctionChatModel(echoing), embedder=HashEmbedder())
    kept = MemReaderMemory(memory=memory, user_id="ana")
    kept.save_context({"input": "I keep bees."}, {"output": "Good."})
    assert kept.flush(20)
    memory.close()
    gone = ref(memory)
    del memory, kept
    until = time.monotonic() + 5
    while gone() is not None and time.monotonic() < until:
        gc.collect()
    assert gone() is None
