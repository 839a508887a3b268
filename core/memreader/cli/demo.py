"""`memreader demo`: a small chat and a document in two languages, a few questions, and what is cited for each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import memreader
from memreader.cli.demo_data import CHATS, DOCUMENT, DOCUMENT_NAME, QUESTIONS
from memreader.cli.opening import embedder_called, opened
from memreader.cli.options import AsJson, Embedder
from memreader.cli.progress import Bars
from memreader.cli.screen import Column, Screen, memories
from memreader.cli.words import excerpt, hit_fields, where
from memreader.types import FileInput, Hit

if TYPE_CHECKING:
    from memreader.memory import Memory

USER = "demo"


def demo(
    store: Annotated[
        Path | None,
        typer.Option("--store", "-s", metavar="DIR", help="Keep the memories here; else they go at the end."),
    ] = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Read a small chat and a document, in English and Chinese, ask a few questions, and show what is cited."""
    screen, started = Screen(as_json=as_json), time.perf_counter()
    with _kept(store, embedder) as memory:
        with Bars(screen) as bars:
            added = _read(memory, bars)
        answers = [(question, memory.search(question, user_id=USER, top_k=1)) for question in QUESTIONS]
    if as_json:
        screen.show_json([{"question": question, "hits": [*map(hit_fields, hits)]} for question, hits in answers])
        return
    screen.table(
        [
            Column("question", "cyan", ratio=3),
            Column("memory", ratio=5),
            Column("source", "magenta", ratio=3),
            Column("score", "green", right=True),
        ],
        [_row(question, hits) for question, hits in answers],
    )
    screen.write(
        f"{memories(added)} added in {time.perf_counter() - started:.1f} s. No network, no key, no language model."
    )
    if store is None:
        screen.write("They are gone now. Next: memreader add PATH --store DIR --user ID")
    else:
        screen.write(f"They are kept for the user '{USER}'. Next: memreader list --store '{store}' --user {USER}")


@contextmanager
def _kept(store: Path | None, embedder: Any) -> Iterator[Memory]:
    """Give the memory in a folder, or in one that goes at the end."""
    if store is not None:
        with opened(store, embedder, create=True) as memory:
            yield memory
        return
    with memreader.Memory.in_memory(embedder=embedder_called(embedder or "minilm")) as memory:
        yield memory


def _read(memory: Memory, bars: Bars) -> int:
    """Add everything and return how many memories are new."""
    inputs: list[tuple[str | None, Any]] = [
        *CHATS.items(),
        (None, FileInput(DOCUMENT_NAME, data=DOCUMENT.encode())),
    ]
    added = 0
    for done, (session, data) in enumerate(inputs):
        bars.files(session or DOCUMENT_NAME, done, len(inputs))
        added += len(memory.add(data, user_id=USER, session_id=session, progress=bars).added)
    return added


def _row(question: str, hits: list[Hit]) -> tuple[str | Text, ...]:
    if not hits:
        return question, Text("nothing found", "dim"), "", ""
    item = hits[0].item
    return question, excerpt(item.memory, question), where(item), f"{hits[0].score:.2f}"
