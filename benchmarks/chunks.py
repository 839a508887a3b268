"""Chunks of 512 tokens, 128 repeated: time as a multiple of encoding the text once, and faults in the chunks."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import tiktoken

from benchmarks.peers.splitters import OVERLAP, PEERS, SIZE, Piece, Splitter
from benchmarks.table import NOT_INSTALLED, show
from benchmarks.texts import chinese, english, markdown
from benchmarks.timing import ROOT, race, seconds, tiktoken_cache
from memreader.chunking import ChunkKind, chunk
from memreader.tokenizing import load_tokenizer

FLOOR = "floor: encode once"
OURS: dict[str, ChunkKind] = {
    "memreader sentence": "sentence",
    "memreader markdown": "markdown",
    "memreader character": "character",
    "memreader simple": "simple",
}
NOTES = (
    "en, zh, md: time / encode once; goal <= 1.5 en and md, <= 1.2 zh. CPU seconds, best of several rounds in turn.",
    "offsets: chunks whose text stands where it is said to; too large: chunks above 512 tokens; broken: with U+FFFD.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument(
        "--characters", type=int, default=300_000, help="length of each text (a third of it in Chinese)"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-space", type=int, default=1_000_000, metavar="N", help="characters without a space")
    parser.add_argument(
        "--patience", type=float, default=60.0, metavar="S", help="seconds after which a peer is stopped"
    )


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    return show("chunks", run(arguments), arguments, notes=NOTES)


def run(arguments: argparse.Namespace) -> dict[str, dict[str, Any] | str]:
    """Return for each system: the ratios by language, and the faults found in its chunks of all texts together."""
    texts = {
        "en": english(arguments.characters),
        "zh": chinese(arguments.characters // 3),
        "md": markdown(arguments.characters),
    }
    results: dict[str, dict[str, Any] | str] = {}
    with tiktoken_cache():
        encoding = tiktoken.get_encoding("o200k_base")
        splitters = _ours() | ({} if arguments.no_peers else _installed(encoding, results))
        rows: dict[str, dict[str, Any]] = {name: {} for name in (FLOOR, *splitters)}
        for language, text in texts.items():
            calls: dict[str, Callable[[], Any]] = {FLOOR: partial(encoding.encode_ordinary, text)}
            calls |= {name: partial(split, text) for name, split in splitters.items()}
            for name, (_, ratio) in race(calls, rounds=arguments.rounds, floor=FLOOR).items():
                rows[name][language] = ratio
        for name, split in splitters.items():
            rows[name] |= _faults(split, texts, encoding)
        long = "abcdefghij" * (arguments.no_space // 10)
        rows[FLOOR]["no space, s"] = seconds(partial(encoding.encode_ordinary, long))
        for name, split in splitters.items():
            timed = seconds(partial(split, long)) if name in OURS else _time_apart(name, long, arguments)
            rows[name]["no space, s"] = timed
    return rows | results


def _ours() -> dict[str, Splitter]:
    tokenizer = load_tokenizer()

    def splitter(kind: ChunkKind) -> Splitter:
        def split(text: str) -> list[Piece]:
            chunks = chunk(text, kind=kind, max_tokens=SIZE, overlap_tokens=OVERLAP, tokenizer=tokenizer)
            return [(piece.text, piece.start) for piece in chunks]

        return split

    return {name: splitter(kind) for name, kind in OURS.items()}


def _installed(encoding: tiktoken.Encoding, results: dict[str, dict[str, Any] | str]) -> dict[str, Splitter]:
    """Return the peers that are here; the others' results say so."""
    found = {}
    for name, make in PEERS.items():
        try:
            found[name] = make(encoding)
            found[name]("warm up")
        except ImportError:
            found.pop(name, None)
            results[name] = NOT_INSTALLED
    return found


def _faults(split: Splitter, texts: Mapping[str, str], encoding: tiktoken.Encoding) -> dict[str, Any]:
    """Return the share of right offsets in %, and how many chunks are too large or hold broken characters."""
    count = right = large = broken = 0
    for text in texts.values():
        for piece, start in split(text):
            count += 1
            right += start is not None and text.startswith(piece, start) and start >= 0
            large += len(encoding.encode_ordinary(piece)) > SIZE
            broken += "\ufffd" in piece
    return {"chunks": count, "offsets": f"{100 * right / count:.0f} %", "too large": large, "broken": broken}


def _time_apart(name: str, text: str, arguments: argparse.Namespace) -> float | str:
    """Return a peer's seconds for `text`, measured in a process that is ended when patience is."""
    command = [sys.executable, "-m", "benchmarks.peers.splitters", name]
    try:
        done = subprocess.run(
            command, input=text, cwd=ROOT, capture_output=True, text=True, check=True, timeout=arguments.patience
        )
    except subprocess.TimeoutExpired:
        return f"> {arguments.patience:g}"
    except subprocess.CalledProcessError as error:
        return error.stderr.strip().splitlines()[-1][:40] if error.stderr.strip() else "crashed"
    return float(done.stdout)
