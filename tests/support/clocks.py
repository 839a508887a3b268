"""A clock that a test sets: what has expired is asked of it alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

DAY = 86_400.0


@dataclass
class Clock:
    """Goes as the real one does, some seconds ahead; or stands still at a second."""

    ahead: float = 0.0
    at: float | None = None

    def __call__(self) -> float:
        return time.time() + self.ahead if self.at is None else self.at
