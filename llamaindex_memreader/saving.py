"""Keeping what was said, so that an answer is never lost for failing to keep it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from memreader import AddReport
from memreader.types import Failure

logger = logging.getLogger(__name__)


@contextmanager
def save_boundary(report: AddReport, what: str) -> Iterator[None]:
    """Make whatever goes wrong inside a failure in `report`, and a line in the log that quotes nothing."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the chat goes on, though it could not be kept
        kind = type(error).__name__
        logger.warning("%s (%s); the chat goes on", what, kind)
        logger.debug("why: %r", error)
        report.failures.append(Failure(kind, str(error)))
