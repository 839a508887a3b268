"""Which failed calls are tried again, and how long to wait before that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memreader.options import ModelOptions

LONGEST_WAIT_S = 60.0
_AGAIN = frozenset({408, 409, 425, 429})
_NETWORK = frozenset(
    {"APIConnectionError", "ClientConnectionError", "ConnectionError", "HTTPClientError", "ServiceUnavailable"}
    | {"Timeout", "TransportError"}
)
"""Errors of the clients in use (openai and its kin, requests, httpx, aiohttp, botocore), by name: none is imported."""
_HOPELESS = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


def passes_by_itself(error: BaseException) -> bool:
    """Return whether a call that failed like this may succeed later: rate limit, server's error, network, timeout.

    >>> passes_by_itself(TimeoutError()), passes_by_itself(ValueError("no"))
    (True, False)
    """
    said = getattr(error, "may_pass", None)
    if isinstance(said, bool):
        return said
    code = getattr(error, "code", None)
    if isinstance(code, str) and code in _HOPELESS:
        return False
    status = status_of(error)
    if status is not None:
        return status in _AGAIN or status >= 500
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    return any(kind.__name__ in _NETWORK for kind in type(error).__mro__)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that an error carries; None for none."""
    response = getattr(error, "response", None)
    for holder in (error, response):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
                return int(value)
    return None


def asked_wait(error: BaseException) -> float | None:
    """Return the seconds that the server asked to wait, by its Retry-After header; None where it didn't."""
    known = getattr(error, "retry_after_s", None)
    if isinstance(known, int | float):
        return float(known)
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, ""))
        except (TypeError, ValueError):  # An HTTP date, or none: then our own wait is as good.
            continue
        if seconds >= 0:
            return seconds / scale
    return None


def policy(options: ModelOptions) -> dict[str, Any]:
    """Return the arguments of a tenacity retrying whose attempts give a value: an exception as one where they failed.

    After the last attempt its value is the result.
    """
    from tenacity import RetryCallState, retry_if_result, stop_after_attempt, wait_random_exponential

    jittered = wait_random_exponential(multiplier=options.wait_s, max=LONGEST_WAIT_S)

    def wait(state: RetryCallState) -> float:
        failed = state.outcome.result() if state.outcome is not None else None
        asked = asked_wait(failed) if isinstance(failed, BaseException) else None
        return min(jittered(state) if asked is None else asked, LONGEST_WAIT_S)

    return {
        "stop": stop_after_attempt(options.attempts),
        "wait": wait,
        "retry": retry_if_result(lambda value: isinstance(value, Exception) and passes_by_itself(value)),
        "retry_error_callback": lambda state: state.outcome.result() if state.outcome is not None else None,
    }
