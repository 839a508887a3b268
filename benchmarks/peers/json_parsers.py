"""Other libraries' readers of models' JSON. Run as a program with a reader's name: texts on stdin, outcomes on stdout.

Those with an environment of their own are run by its Python; this file knows nothing of memreader then.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120
Reader = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one text: a value, an honest failure, or a crash (an error that isn't about JSON)."""

    value: Any = None
    is_failed: bool = False
    is_marked: bool = False
    """The reader says that it guessed."""
    is_crash: bool = False


def in_turn(read: Reader, texts: Sequence[str]) -> list[Outcome]:
    """Return what a reader makes of each text."""
    return [_outcome(read, text) for text in texts]


def _outcome(read: Reader, text: str) -> Outcome:
    try:
        value = read(text)
    except ValueError:
        return Outcome(is_failed=True)
    except (RecursionError, TypeError, LookupError, AttributeError, AssertionError):
        return Outcome(is_crash=True)
    return Outcome(value, is_failed=value is None or value == "")


def memos() -> Reader:
    """MemOS's own, of its text reader. What it returns for a failure is {}."""
    from memos.mem_reader.utils import parse_json_result  # type: ignore[import-not-found]

    def read(text: str) -> Any:
        return parse_json_result(text) or (None if text.strip() != "{}" else {})

    return read


def mem0() -> Reader:
    """mem0's, as its `Memory.add` calls it."""
    from mem0.memory.utils import extract_json, remove_code_blocks  # type: ignore[import-not-found]

    def read(text: str) -> Any:
        try:
            return json.loads(remove_code_blocks(text), strict=False)
        except json.JSONDecodeError:
            return json.loads(extract_json(text), strict=False)

    return read


def json_repair() -> Reader:
    """json_repair, its defaults."""
    from json_repair import loads  # type: ignore[import-not-found, unused-ignore]

    return loads  # type: ignore[no-any-return, unused-ignore]


def jiter() -> Reader:
    """jiter, whatever is complete."""
    from jiter import from_json  # type: ignore[import-not-found, unused-ignore]

    return lambda text: from_json(text.strip().encode(), partial_mode=True)


def langchain() -> Reader:
    """LangChain's JsonOutputParser."""
    from langchain_core.output_parsers import JsonOutputParser

    return JsonOutputParser().parse


def llamaindex() -> Reader:
    """LlamaIndex's parse_json_markdown."""
    from llama_index.core.output_parsers.base import OutputParserException
    from llama_index.core.output_parsers.utils import parse_json_markdown

    def read(text: str) -> Any:
        try:
            return parse_json_markdown(text)
        except OutputParserException as error:
            raise ValueError(str(error)) from error

    return read


READERS: dict[str, Callable[[], Reader]] = {
    "memos": memos,
    "mem0": mem0,
    "json_repair": json_repair,
    "jiter": jiter,
    "langchain": langchain,
    "llamaindex": llamaindex,
}


def ask(name: str, texts: Sequence[str], *, module: str) -> list[Outcome] | None:
    """Return what a reader makes of the texts, in a process of its own; None if it isn't installed."""
    own = ROOT / ".bench" / name / "bin" / "python"
    if not own.exists() and importlib.util.find_spec(module) is None:
        return None
    done = subprocess.run(
        [own if own.exists() else sys.executable, Path(__file__), name],
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=Path(__file__).parent,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr else done.returncode}")
    return [Outcome(**outcome) for outcome in json.loads(done.stdout.splitlines()[-1])]


PEERS: dict[str, Callable[[Sequence[str]], list[Outcome] | None]] = {
    "MemOS parse_json_result": partial(ask, "memos", module="memos"),
    "mem0 extract_json": partial(ask, "mem0", module="mem0"),
    "json_repair": partial(ask, "json_repair", module="json_repair"),
    "jiter": partial(ask, "jiter", module="jiter"),
    "LangChain JsonOutputParser": partial(ask, "langchain", module="langchain_core"),
    "LlamaIndex parse_json_markdown": partial(ask, "llamaindex", module="llama_index"),
}


def _sendable(outcome: Outcome) -> dict[str, Any]:
    try:
        json.dumps(outcome.value)
    except (ValueError, RecursionError, TypeError):
        return asdict(Outcome("a value that json can't write"))
    return {name: getattr(outcome, name) for name in ("value", "is_failed", "is_marked", "is_crash")}


if __name__ == "__main__":
    outcomes = in_turn(READERS[sys.argv[1]](), json.load(sys.stdin))
    print(json.dumps([_sendable(outcome) for outcome in outcomes]))
