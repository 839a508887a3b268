"""Refining beside the application, in a thread that ends cleanly."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from memreader.errors import MemReaderError
from memreader.plan import drive
from memreader.refining.refine import Refining
from memreader.refining.report import RefineReport
from memreader.stores import Store

logger = logging.getLogger(__name__)

LONGEST_WAIT_S = 3600.0
"""Between two looks while the model fails, unless `every_s` is longer."""


class BackgroundRefining:
    """A thread that refines what is raw, again and again; made by `Memory.refine_in_background`.

    Args:
        refining: Gives what does it; asked before each look, since a reindexed store has another.
        store: Where.
        every_s: Seconds between two looks.
        user_id: Whose; None for every user.

    Raises:
        ValueError: `every_s` is not above 0.
    """

    def __init__(
        self, refining: Callable[[], Refining], store: Store, *, every_s: float, user_id: str | None = None
    ) -> None:
        if not every_s > 0:
            raise ValueError(f"every_s must be above 0, got {every_s}")
        self._refining = refining
        self._store = store
        self._every_s = min(every_s, threading.TIMEOUT_MAX)
        self._user_id = user_id
        self._stop = threading.Event()
        self.last_report: RefineReport | None = None
        """Of the last look that found something raw."""
        self.last_error: Exception | None = None
        """What ended the last look early; None when it went through."""
        self._thread = threading.Thread(target=self._run, name="memreader-refine", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the thread is still there."""
        return self._thread.is_alive()

    def stop(self, timeout_s: float | None = None) -> bool:
        """End it after the windows under way, whose memories are written; return whether it has ended.

        Args:
            timeout_s: How long to wait; None until it has. What it leaves behind then is raw and refined later.
        """
        self._stop.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        misses = 0
        while not self._stop.is_set():
            try:
                misses = 0 if self._look() else misses + 1
                self.last_error = None
            except (MemReaderError, OSError) as error:
                # A full or busy disk now may be none later; nothing is lost meanwhile.
                self.last_error = error
                logger.warning("refining in the background was interrupted by %s; it goes on", type(error).__name__)
            # A model that fails every time is asked less and less often.
            self._stop.wait(max(self._every_s, min(self._every_s * 2 ** min(misses, 30), LONGEST_WAIT_S)))

    def _look(self) -> bool:
        """Refine what is raw; return False if the model failed wherever it was asked."""
        failed = refined = 0
        for user in self._store.users() if self._user_id is None else [self._user_id]:
            refining = self._refining()
            report = drive(refining.refine(user, caller=refining.caller(), stopped=self._stop.is_set))
            failed, refined = failed + len(report.failures), refined + len(report.refined)
            if report.refined or report.failures:
                self.last_report = report
            if self._stop.is_set():
                break
        return not failed or refined > 0
