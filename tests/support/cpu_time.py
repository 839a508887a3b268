"""Timing that a busy machine and a large heap don't spoil: CPU seconds, the best of three, no garbage collection."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_seconds(call: Callable[[], object], *, rounds: int = 3) -> float:
    """Return the least CPU seconds that a call of `call` takes."""
    best = float("inf")
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            start = time.process_time()
            call()
            best = min(best, time.process_time() - start)
    finally:
        if was_enabled:
            gc.enable()
    return best
