"""Reads a conversation and a few documents into ./demo-memory/, asks six questions, and shows the evidence found.

Run it by `make demo`, or `python -m examples.demo` with llm-memreader[documents,cli] installed. A second run adds
nothing.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from memreader import Hit, Memory, SourceMessage
from memreader.recall.lexical import terms

DATA = Path(__file__).parent / "data"
FOLDER = Path("demo-memory")
USER = "elske"
WIDTH = 160
"""Characters of a memory in the table."""


def main() -> None:
    """Read, ask, show."""
    console = Console() if sys.stdout.isatty() else Console(width=120)
    handler = RichHandler(console=console, show_time=False, show_path=False)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler])
    started = time.perf_counter()
    with Memory.open(FOLDER) as memory:
        added, existing = read_everything(memory, console)
        console.print(ask_everything(memory))
    console.print(
        f"{added} memories added, {existing} known before, in {time.perf_counter() - started:.1f} s; "
        f"they are kept in ./{FOLDER}/. No network, no key, no language model."
    )


def read_everything(memory: Memory, console: Console) -> tuple[int, int]:
    """Add the sessions and documents with progress bars; return how many items are new and how many were known."""
    sessions = json.loads((DATA / "conversation.json").read_text(encoding="utf-8"))["sessions"]
    documents = sorted((DATA / "docs").iterdir())
    added = existing = 0
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        loading = progress.add_task("loading the embedding model", total=1)
        memory.warm_up()
        progress.advance(loading)
        chats = progress.add_task("reading chat sessions", total=len(sessions))
        for session in sessions:
            report = memory.add(session["messages"], user_id=USER, session_id=session["session_id"])
            added, existing = added + len(report.added), existing + len(report.existing)
            progress.advance(chats)
        files = progress.add_task("reading documents", total=len(documents))
        for path in documents:
            report = memory.add(path, user_id=USER)
            added, existing = added + len(report.added), existing + len(report.existing)
            progress.advance(files)
    return added, existing


def ask_everything(memory: Memory) -> Table:
    """Return a table: question, best memory, its source with the cited span, score."""
    table = Table(title="Six questions", show_lines=True, title_style="bold", expand=True)
    table.add_column("question", style="cyan", ratio=3, overflow="fold")
    table.add_column("best memory", ratio=5, overflow="fold")
    table.add_column("source", style="magenta", ratio=3)
    table.add_column("score", justify="right", style="green")
    for entry in json.loads((DATA / "questions.json").read_text(encoding="utf-8")):
        hits = memory.search(entry["question"], user_id=USER, top_k=1)
        if hits:
            table.add_row(entry["question"], *shown(hits[0], entry["question"]))
        else:
            table.add_row(entry["question"], Text("nothing found", style="dim"), "", "")
    return table


def shown(hit: Hit, question: str) -> tuple[Text, str, str]:
    """Return the three cells of a hit; of a long memory the part that shares most terms with the question."""
    memory = " ".join(hit.item.memory.split())
    if len(memory) > WIDTH:
        asked = set(terms(question))
        starts = range(0, len(memory) - WIDTH // 2, WIDTH // 10)
        shared = {start: len(asked.intersection(terms(memory[start : start + WIDTH]))) for start in starts}
        tied = [start for start, count in shared.items() if count == max(shared.values())]
        best = tied[len(tied) // 2]
        memory = "…" * (best > 0) + memory[best : best + WIDTH] + "…" * (best + WIDTH < len(memory))
    return Text(memory), where(hit.item.metadata.sources[0]), f"{hit.score:.2f}"


def where(source: SourceMessage) -> str:
    """Return which message or document a memory cites, and which part of it."""
    span = f"characters {source.start}-{source.end}"
    if source.type == "doc":
        page = f", page {source.page}" if source.page else ""
        return f"{Path(source.doc_path or '').name}{page}, {span}"
    when = f", {source.chat_time[:10]}" if source.chat_time else ""
    return f"message {source.message_id or source.index} by {source.name or source.role}{when}, {span}"


if __name__ == "__main__":
    main()
