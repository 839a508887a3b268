"""Chat windows: messages per second, beside rendering the lines and encoding the joined text once (the floor)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tiktoken

from benchmarks.table import NOT_INSTALLED, show
from benchmarks.texts import chat
from benchmarks.timing import ROOT, race, tiktoken_cache
from memreader.chunking import conversation_windows, render_line
from memreader.tokenizing import load_tokenizer
from memreader.types import Message

FLOOR = "floor: render, encode once"
MEMOS = "MemOS 1024/200"
LIMITS = ((1024, 200), (256, 50), (8192, 1600))
SIZES = (100, 1_000, 10_000, 100_000)
MOST_FOR_PEERS = 10_000
GOAL = "x floor: goal <= 1.35 at 100 messages, <= 1.25 above. CPU seconds, best of several rounds in turn."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--messages", type=int, nargs="+", default=list(SIZES), metavar="N", help="sizes to measure")
    parser.add_argument("--rounds", type=int, help="how often each is measured (more for smaller ones by default)")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    return show("chat windows", run(arguments), arguments, notes=[GOAL])


def run(arguments: argparse.Namespace) -> dict[str, dict[str, float] | str]:
    """Return for each system and number of messages: messages/s, and the time as a multiple of the floor's."""
    tokenizer = load_tokenizer()
    results: dict[str, dict[str, float] | str] = {}
    with tiktoken_cache() as cache:
        encoding = tiktoken.get_encoding("o200k_base")
        for count in arguments.messages:
            messages = chat(count)
            calls: dict[str, Callable[[], Any]] = {FLOOR: partial(_render_and_encode, messages, encoding)}
            for size, overlap in LIMITS:
                calls[f"memreader {size}/{overlap}"] = partial(
                    conversation_windows, messages, tokenizer, max_tokens=size, overlap_tokens=overlap
                )
            rounds = arguments.rounds or max(3, min(20, 100_000 // count))
            taken = race(calls, rounds=rounds, repeats=max(1, 2_000 // count), floor=FLOOR)
            if not arguments.no_peers and count <= MOST_FOR_PEERS:
                found = memos(messages, cache)
                if found is None:
                    results[MEMOS] = NOT_INSTALLED
                else:
                    name = f"{MEMOS}, tokens estimated" if found["estimated"] else MEMOS
                    taken[name] = (found["seconds"], found["seconds"] / taken[FLOOR][0])
            for name, (seconds, ratio) in taken.items():
                row = results.setdefault(name, {})
                assert isinstance(row, dict)
                row |= {f"{count:,}: messages/s": count / seconds, f"{count:,}: x floor": ratio}
    return results


def _render_and_encode(messages: Sequence[Message], encoding: tiktoken.Encoding) -> int:
    return len(encoding.encode_ordinary("".join([render_line(message) for message in messages])))


def memos(messages: Sequence[Message], cache: Path) -> dict[str, Any] | None:
    """Return what MemOS's windows take, run by the Python of its own environment; None if that was not made."""
    python = ROOT / ".bench" / "memos" / "bin" / "python"
    if not python.exists():
        return None
    turns = [{"role": m.role, "content": m.content, "chat_time": m.chat_time} for m in messages]
    done = subprocess.run(
        [python, Path(__file__).parent / "peers" / "memos_windows.py"],
        input=json.dumps({"messages": turns, "max_tokens": 1024, "overlap": 200}),
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(cache), "PYTHONPATH": ""},
        cwd=cache,  # MemOS writes its log below the working directory.
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
