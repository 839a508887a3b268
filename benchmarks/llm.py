"""A language model reads the example chats: valid answers, right language and lines, tokens; exit code 1 if poor."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from benchmarks.progress import Show, bar
from benchmarks.table import show
from memreader.calling import Answer, Caller, ModelFailure, Models
from memreader.cli.failing import reason
from memreader.cli.models import Asked
from memreader.errors import MemReaderError
from memreader.extract.fine import FineOptions, failure_of, passage_prompt
from memreader.extract.passage import Passage, chat_passages
from memreader.extract.reply import Status, parse_reply
from memreader.extract.schema import REPLY_SCHEMA, FoundMemory, read_fields
from memreader.extract.words import support
from memreader.normalize import normalize
from memreader.normalize.language import detect_language
from memreader.options import ReadOptions
from memreader.plan import Job, Plan, Wave, ask, drive
from memreader.ports import Usage
from memreader.prompts import Prompts
from memreader.tokenizing import load_tokenizer
from memreader.types import Conversation

CHATS = Path(__file__).parents[1] / "examples" / "data" / "conversation.json"
SHARES = ("schema", "language", "lines")
"""Shares of the memories that are as they should be."""
LEGEND = (
    "schema: memories exactly as asked for; language: in that of the chat; lines: rest on lines that were to be read "
    "and hold their words. strict, truncated, repaired, failed: answers by how their JSON was. lost: calls that failed."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--model", required=True, metavar="NAME", help="its name at the endpoint")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible endpoint; OpenAI's own without it")
    parser.add_argument("--api-key-env", metavar="VAR", help="variable that holds the key; MEMREADER_API_KEY if unset")
    parser.add_argument("--concurrency", type=int, default=4, metavar="N", help="calls at once")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for one try of one call")
    parser.add_argument("--window-tokens", type=int, default=1024, metavar="N", help="size of the windows")
    parser.add_argument("--data", default=CHATS, metavar="FILE", help="JSON with sessions that have messages")
    parser.add_argument("--least", type=float, default=0.9, metavar="SHARE", help="a lower share is poor")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result; end the process with 1 if it is poor, with 2 if there is no way to begin."""
    asked = Asked(
        arguments.model,
        base_url=arguments.base_url or None,
        api_key_env=arguments.api_key_env or None,
        concurrency=arguments.concurrency,
        timeout_s=arguments.timeout,
    )
    try:
        settings = asked.settings()
    except MemReaderError as error:
        print(f"benchmarks llm: {reason(error)}", file=sys.stderr)
        raise SystemExit(2) from None
    caller = Caller(Models(settings["llm"]), settings["model_options"])
    with bar() as step:
        seen = drive(_job(passages_of(Path(arguments.data), arguments.window_tokens), caller, step))
    tallies = tallied(seen)
    rows = {name: tally.row() for name, tally in tallies.items()}
    rows["all"]["calls"] = caller.usage.calls
    poor = poor_points(tallies, least=arguments.least)
    verdict = f"poor: {'; '.join(poor)}" if poor else f"good: every share is at least {arguments.least:g}"
    report = show(f"{arguments.model} on the example chats", rows, arguments, notes=[LEGEND, verdict])
    if poor:
        raise SystemExit(1)
    return report


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model said about a passage."""

    passage: Passage
    language: str
    answer: Answer
    seconds: float


@dataclass(slots=True)
class Tally:
    """What became of the passages of one language."""

    windows: int = 0
    memories: int = 0
    right: Counter[str] = field(default_factory=Counter)
    """Memories that are as they should be, by what was looked at."""
    statuses: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    """Calls that failed, by reason."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def add(self, seen: Seen) -> None:
        """Take in one passage."""
        self.windows += 1
        self.seconds += seen.seconds
        if isinstance(seen.answer, ModelFailure):
            self.lost[failure_of(seen.answer).reason] += 1
            return
        self.usage += seen.answer.usage
        parsed = parse_reply(seen.answer.text, truncated=seen.answer.truncated)
        reply = None if parsed.status == "failed" else read_fields(parsed.value)
        self.statuses["failed" if reply is None else parsed.status] += 1
        if reply is None:
            return
        self.memories += len(reply.memories) + len(reply.dropped)
        self.right["schema"] += sum(valid_entries(parsed.value))
        self.right["language"] += sum(is_in(memory.value, seen.language) for memory in reply.memories)
        self.right["lines"] += sum(rests_on_its_lines(memory, seen.passage) for memory in reply.memories)

    def share(self, what: str) -> float | None:
        """Return the share of the memories that are right; None where there are none."""
        return round(self.right[what] / self.memories, 3) if self.memories else None

    def row(self) -> dict[str, Any]:
        """Return the measures."""
        return {
            "windows": self.windows,
            "memories": self.memories,
            **{what: self.share(what) for what in SHARES},
            **{status: self.statuses[status] for status in get_args(Status)},
            "lost": self.lost.total(),
            "tokens in": self.usage.prompt_tokens,
            "tokens out": self.usage.completion_tokens,
            "s per window": round(self.seconds / self.windows, 2) if self.windows else None,
        }


def passages_of(file: Path, window_tokens: int) -> list[Passage]:
    """Return the windows of the sessions in a file, as a model sees them."""
    tokenizer, options = load_tokenizer(), ReadOptions(window_tokens=window_tokens, window_overlap=window_tokens // 5)
    found: list[Passage] = []
    for session in json.loads(file.read_text(encoding="utf-8"))["sessions"]:
        for entry in normalize(session["messages"]):
            if isinstance(entry, Conversation):
                keys = [""] * len(entry.messages)
                found += chat_passages(entry.messages, keys, options=options, tokenizer=tokenizer)
    return found


def _job(passages: Sequence[Passage], caller: Caller, step: Show) -> Job[list[Seen]]:
    seen: list[Seen] = []
    wave = Wave((_plan(passage) for passage in passages), caller)
    step("windows", 0, len(passages))
    while (done := (yield wave)) is not None:
        seen.append(done[1])
        step("windows", len(seen), len(passages))
    return seen


def _plan(passage: Passage) -> Plan[Seen]:
    language = detect_language(passage.text)
    started = time.perf_counter()
    (answer,) = yield from ask([passage_prompt(passage, language=language, options=FineOptions(Prompts()))])
    return Seen(passage, language, answer, time.perf_counter() - started)


def tallied(seen: Sequence[Seen]) -> dict[str, Tally]:
    """Return a tally per language, and one of all."""
    tallies = {language: Tally() for language in sorted({one.language for one in seen})} | {"all": Tally()}
    for one in seen:
        tallies[one.language].add(one)
        tallies["all"].add(one)
    return tallies


def poor_points(tallies: Mapping[str, Tally], *, least: float) -> list[str]:
    """Return in words what is not as it should be; [] for a model that can be used."""
    whole = tallies["all"]
    points = [f"{count} x {why}" for why, count in whole.lost.items()]
    if failed := whole.statuses["failed"]:
        points.append(f"{failed} answers without memories in them")
    for language, tally in tallies.items():
        if language == "all":
            continue
        if not tally.memories:
            points.append(f"no memories of the chats in {language}")
        for what in SHARES:
            if (share := tally.share(what)) is not None and share < least:
                points.append(f"{what} {share:.0%} in {language}")
    return points


def valid_entries(value: Any) -> Iterator[bool]:
    """Yield for each memory of a reply whether it is exactly as the schema says; nothing for another form."""
    schema = REPLY_SCHEMA["properties"]["memory list"]["items"]
    entries = value.get("memory list") if isinstance(value, Mapping) else None
    for entry in entries if isinstance(entries, list) else []:
        yield fits(entry, schema)


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Tell whether a JSON value is as a schema of the few words that ours is made of says."""
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if not any(_is(value, kind) for kind in kinds) or ("enum" in schema and value not in schema["enum"]):
        return False
    if isinstance(value, list):
        return all(fits(entry, schema["items"]) for entry in value)
    if isinstance(value, dict):
        known = schema["properties"]
        return set(value) == set(schema["required"]) and all(fits(value[name], known[name]) for name in known)
    return True


def _is(value: Any, kind: str) -> bool:
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    return isinstance(value, kinds[kind]) and not isinstance(value, bool)


def is_in(text: str, language: str) -> bool:
    """Tell whether a memory is in the language of its chat; one of names and numbers alone is."""
    return detect_language(text) in (language, "und")


def rests_on_its_lines(memory: FoundMemory, passage: Passage) -> bool:
    """Tell whether the lines that a memory names are there, were to be read, and hold words of it."""
    numbers = set(memory.lines)
    if not numbers or not numbers <= set(range(1, len(passage.lines) + 1)):
        return False
    lines = [passage.lines[number - 1] for number in sorted(numbers)]
    is_fresh = any(line.state == "fresh" for line in lines)
    return is_fresh and max(support(memory.value, [line.text for line in lines])) > 0
