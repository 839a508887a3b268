"""Fair timing on a busy machine: CPU seconds, everything measured in turn, several rounds."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import memreader.tokenizing
from memreader.tokenizing.ranks import ENCODINGS

ROOT = Path(__file__).parents[1]


def seconds(call: Callable[[], Any], *, repeats: int = 1) -> float:
    """Return the CPU seconds of one call, its threads included: the mean of so many in a row."""
    gc.collect()
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def race(
    calls: Mapping[str, Callable[[], Any]], *, rounds: int, floor: str, repeats: int = 1
) -> dict[str, tuple[float, float]]:
    """Return for each call the least seconds it took in any round, and these as a multiple of those of `floor`."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], seconds(call, repeats=repeats))
    return {name: (taken, taken / best[floor]) for name, taken in best.items()}


@contextmanager
def tiktoken_cache() -> Iterator[Path]:
    """Give a folder with the ranks of o200k_base as tiktoken caches them, and have TIKTOKEN_CACHE_DIR name it.

    Peers that ask tiktoken for the encoding then get it without a network.
    """
    shipped = Path(memreader.tokenizing.__file__).parent / "data" / "o200k_base.tiktoken"
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(shipped, Path(folder) / ENCODINGS["o200k_base"].cache_name)
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            yield Path(folder)
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before
