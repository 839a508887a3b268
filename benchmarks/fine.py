"""Fine reading with a model that takes its time: what the library adds to the wait for its answers."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.table import show
from benchmarks.texts import chat
from memreader import Memory, MemReader, ReadOptions
from memreader.options import ModelOptions
from memreader.testing import FunctionChatModel, HashEmbedder

FLOOR = "floor: the calls alone"
MESSAGES = 8
"""Per window."""
_NEW = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
NOTES = (
    "x ideal: wall time / (rounds of calls x seconds of one), best of several; goal <= 1.2 with calls at once.",
    "one after another: each window gets the summaries and names of those before (ReadOptions.carry).",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--windows", type=int, default=16)
    parser.add_argument("--delay", type=float, default=0.1, metavar="S", help="seconds of one call")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    return show("fine reading", run(arguments), arguments, notes=NOTES)


def run(arguments: argparse.Namespace) -> dict[str, dict[str, Any] | str]:
    """Return for each way of reading: calls, memories made, and the time as a multiple of the ideal."""
    messages = [
        {"role": one.role, "content": one.content, "id": f"m{place}"}
        for place, one in enumerate(chat(arguments.windows * MESSAGES))
    ]
    at_once, in_turn = (
        ReadOptions(strategy="session", chunk_session=MESSAGES, session_overlap=0, carry=carry)
        for carry in (False, True)
    )
    ways: dict[str, Callable[[], tuple[float, int, int]]] = {
        FLOOR: lambda: _calls_alone(arguments),
        "memreader read": lambda: _read(messages, at_once, arguments),
        "memreader aread": lambda: _read(messages, at_once, arguments, is_async=True),
        "memreader add": lambda: _add(messages, at_once, arguments),
        "memreader aadd": lambda: _add(messages, at_once, arguments, is_async=True),
        "memreader read, one after another": lambda: _read(messages, in_turn, arguments),
    }
    ideal = math.ceil(arguments.windows / arguments.concurrency) * arguments.delay
    results: dict[str, dict[str, Any] | str] = {}
    for name, way in ways.items():
        best, calls, made = min(way() for _ in range(arguments.rounds))
        results[name] = {"calls": calls, "memories": made, "ms": 1000 * best, "x ideal": best / ideal}
    return results


def _model(arguments: argparse.Namespace) -> FunctionChatModel:
    return FunctionChatModel(_reply, delay_s=arguments.delay)


def _reply(messages: list[dict[str, Any]]) -> str:
    """A memory of every other line."""
    passage = messages[-1]["content"].rpartition("<<<")[2]
    found = [
        {"key": words[:20], "value": words, "memory_type": "UserMemory", "lines": [int(number)], "tags": ["talk"]}
        for number, words in _NEW.findall(passage)[::2]
    ]
    return json.dumps({"memory list": found, "summary": "They talked."}, ensure_ascii=False)


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"embedder": HashEmbedder(), "model_options": ModelOptions(concurrency=arguments.concurrency)}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _calls_alone(arguments: argparse.Namespace) -> tuple[float, int, int]:
    with ThreadPoolExecutor(arguments.concurrency) as pool:
        taken, _ = _timed(lambda: list(pool.map(lambda _: time.sleep(arguments.delay), range(arguments.windows))))
    return taken, arguments.windows, 0


def _read(
    messages: list[Any], options: ReadOptions, arguments: argparse.Namespace, *, is_async: bool = False
) -> tuple[float, int, int]:
    reader = MemReader(llm=_model(arguments), options=options, **_settings(arguments))
    reader.tokenizer.count("warm up")
    given: dict[str, Any] = {"user_id": "ana", "mode": "fine"}
    taken, report = _timed(
        (lambda: asyncio.run(reader.aread(messages, **given))) if is_async else (lambda: reader.read(messages, **given))
    )
    return taken, report.usage.calls, len(report.items)


def _add(
    messages: list[Any], options: ReadOptions, arguments: argparse.Namespace, *, is_async: bool = False
) -> tuple[float, int, int]:
    with Memory.in_memory(llm=_model(arguments), read_options=options, **_settings(arguments)) as memory:
        memory.warm_up()
        given: dict[str, Any] = {"user_id": "ana", "mode": "fine"}
        taken, report = _timed(
            (lambda: asyncio.run(memory.aadd(messages, **given)))
            if is_async
            else (lambda: memory.add(messages, **given))
        )
    return taken, report.usage.calls, len(report.added) - len(messages)
