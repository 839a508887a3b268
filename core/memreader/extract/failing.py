"""A failed call of a model as a failure to report: what happened, and what to do."""

from __future__ import annotations

from memreader.calling import ModelFailure
from memreader.errors import MemReaderError
from memreader.models.retrying import status_of
from memreader.types import Failure


def failure_of(answer: ModelFailure) -> Failure:
    """Return a failed call as a failure to report; the error's own text may quote the prompt, and stays out."""
    error = answer.error
    if isinstance(error, MemReaderError):
        # Ours never quote one, and say what to do.
        return Failure(answer.kind, str(error))
    status = status_of(error)
    detail = f" with status {status}" if status is not None else ""
    return Failure(answer.kind, f"the call of the model failed{detail} ({answer.kind}){_remedy(error, status)}")


def _remedy(error: Exception, status: int | None) -> str:
    if status in (401, 403):
        return ". Check the key, and what it may do"
    if status == 404:
        return ". Check the model's name and the address"
    if isinstance(error, ConnectionError):
        return ". Check the address, and that something answers there"
    if isinstance(error, TimeoutError):
        return ". Raise ModelOptions.timeout_s, or take a faster model"
    return ""
