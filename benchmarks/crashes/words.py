"""What a crash test writes: texts that say which they are and prove it, and a log of what was begun and done."""

from __future__ import annotations

import json
import os
import random
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from benchmarks.texts import ENGLISH_WORDS

Name: TypeAlias = str
State: TypeAlias = dict[Name, int | None]
"""Item by name ("user|writer-number") -> version of its words; None for one that is deleted."""
_FORM = re.compile(r"\[(?P<slot>[\w.-]+) v(?P<version>\d+)\] .* #(?P<sum>[0-9a-f]{8})\Z")


def text_of(slot: str, version: int) -> str:
    """Return the words of an item's version: no other has these.

    >>> parse(text_of("w0-7", 2))
    ('w0-7', 2)
    """
    rng = random.Random(f"{slot} {version}")
    start = f"[{slot} v{version}] {' '.join(rng.sample(ENGLISH_WORDS, 9))}"
    return f"{start} #{zlib.crc32(start.encode()):08x}"


def parse(text: str) -> tuple[str, int] | None:
    """Return the slot and version whose words `text` ends with; None if it was not written like this.

    >>> parse("user: " + text_of("w0-7", 2).replace("v2", "v3"))
    """
    match = _FORM.search(text)
    if match is None:
        return None
    slot, version = match["slot"], int(match["version"])
    return (slot, version) if match[0] == text_of(slot, version) else None


@dataclass(slots=True)
class Seen:
    """What a log says, up to where its writer was killed."""

    done: State = field(default_factory=dict)
    doing: State = field(default_factory=dict)
    """Of the operation that was begun and not acknowledged; each of its items may be as before, or as told here."""
    operations: int = 0
    """How many were acknowledged."""


class Log:
    """Says what an operation is about to change, and that it is done; a line survives the death of its process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def doing(self, changes: Mapping[Name, int | None]) -> None:
        """Say what the next operation is to change."""
        os.write(self._file, f"?{json.dumps(changes)}\n".encode())

    def done(self) -> None:
        """Acknowledge it."""
        os.write(self._file, b"!\n")


def read_log(path: Path) -> Seen:
    """Return what a log says."""
    seen = Seen()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        if line.startswith("?"):
            seen.doing = json.loads(line[1:])
        else:
            seen.done |= seen.doing
            seen.doing = {}
            seen.operations += 1
    return seen
