"""What is still in the files of a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import numpy as np

from memreader.testing import HashEmbedder
from memreader.types import Vectors

_READ = """
import pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
    sys.stdout.buffer.write(str(path).encode() + b"\\n" + (path.read_bytes() if path.is_file() else b"") + b"\\n")
"""


def everything_in(folder: Path) -> bytes:
    """The names and the bytes of all files below `folder`.

    Read by another process: to close a file takes away all locks that this one has on it, SQLite's too.
    """
    command = [sys.executable, "-S", "-E", "-c", _READ, str(folder)]
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout


def left_of(folder: Path, words: Iterable[str], vectors: Iterable[Vectors] = ()) -> set[str]:
    """Those of the words that are in any file, in any case, escaped as in JSON too; "a vector" for any part of one."""
    data = everything_in(folder)
    lowered = data.lower()
    found = set()
    for word in words:
        forms = {word.encode(), json.dumps(word)[1:-1].encode()}
        if any(form in data or form.lower() in lowered for form in forms):
            found.add(word)
    for vector in vectors:
        blob = vector.astype("<f4").tobytes()
        if any(blob[at : at + 16] in data for at in range(0, len(blob), 16)):
            found.add("a vector")
    return found


class DenseEmbedder(HashEmbedder):
    """Vectors without a zero, so that any four numbers of one are its own."""

    __slots__ = ()

    def embed(self, texts: Iterable[str]) -> Vectors:
        seeds = [int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") for text in texts]
        rows = np.array([np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds])
        rows = rows.reshape(len(seeds), self.dimension)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
