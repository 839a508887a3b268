"""Which failed calls are tried again, and after how long."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import Retrying

from memreader.errors import BudgetExceededError, InputError, ModelRequiredError
from memreader.models import EndpointError
from memreader.models.retrying import LONGEST_WAIT_S, asked_wait, passes_by_itself, policy, status_of
from memreader.options import ModelOptions


def failed(**attributes: Any) -> Exception:
    """An error of some client, with what it carries."""
    error = Exception("failed")
    vars(error).update(attributes)
    return error


def named(*names: str) -> Exception:
    """An error of a class that has these names, from its own to its oldest ancestor's."""
    kind: type[Exception] = Exception
    for name in reversed(names):
        kind = type(name, (kind,), {})
    return kind("failed")


def answered(status: int, **headers: str) -> SimpleNamespace:
    return SimpleNamespace(
        status_code=status, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


class TestPassing:
    @pytest.mark.parametrize(
        "error",
        [
            *(failed(status_code=status) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
            failed(status=503),
            failed(code=429),
            failed(response=answered(502)),
            TimeoutError(),
            ConnectionResetError(),
            named("APITimeoutError", "APIConnectionError"),
            named("ReadTimeout", "TimeoutException", "TransportError"),
            named("ConnectTimeout", "Timeout"),
            named("ServerDisconnectedError", "ClientConnectionError"),
            named("EndpointConnectionError", "HTTPClientError"),
            EndpointError("is odd", where="there", may_pass=True),
            EndpointError("is busy", where="there", status_code=429),
        ],
    )
    def test_what_is_busy_or_unreachable_may_pass(self, error: Exception) -> None:
        assert passes_by_itself(error)

    @pytest.mark.parametrize(
        "error",
        [
            *(failed(status_code=status) for status in (200, 301, 400, 401, 403, 404, 413, 422)),
            failed(status_code=429, code="insufficient_quota"),
            failed(status_code=True),
            failed(status_code="429"),
            failed(code=7),
            failed(code={"odd": 1}),
            ValueError("no"),
            OSError("disk"),
            RuntimeError(),
            BudgetExceededError(limit="max_calls", allowed=1),
            ModelRequiredError(mode="fine"),
            InputError("no"),
            EndpointError("is busy for good", where="there", status_code=503, may_pass=False),
            EndpointError("is odd", where="there"),
        ],
    )
    def test_what_is_wrong_stays_wrong(self, error: Exception) -> None:
        assert not passes_by_itself(error)

    def test_a_status_is_found_wherever_clients_keep_it(self) -> None:
        assert [
            status_of(error)
            for error in (
                failed(status_code=418),
                failed(status=418),
                failed(code=418),
                failed(response=answered(418)),
                failed(code="418"),
                Exception(),
            )
        ] == [418, 418, 418, 418, None, None]


class TestWaiting:
    @pytest.mark.parametrize(
        ("error", "seconds"),
        [
            (failed(response=answered(429, retry_after="7")), 7.0),
            (failed(response=answered(429, retry_after="0.5")), 0.5),
            (failed(response=answered(429, retry_after_ms="250", retry_after="7")), 0.25),
            (failed(response=answered(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT")), None),
            (failed(response=answered(429, retry_after="-3")), None),
            (failed(response=answered(429, retry_after="nan")), None),
            (failed(response=answered(429)), None),
            (failed(response=None), None),
            (failed(response=SimpleNamespace(headers=[])), None),
            (failed(retry_after_s=3), 3.0),
            (ValueError(), None),
        ],
    )
    def test_the_servers_wish_is_read(self, error: Exception, seconds: float | None) -> None:
        assert asked_wait(error) == seconds

    def waits(self, options: ModelOptions, failure: Callable[[int], Any]) -> tuple[list[float], Any, int]:
        """What a policy slept, what it gave in the end, and how many tries it made."""
        slept: list[float] = []
        tries = 0

        def attempt() -> Any:
            nonlocal tries
            tries += 1
            return failure(tries)

        result = Retrying(**policy(options), sleep=slept.append)(attempt)
        return slept, result, tries

    @given(st.integers(1, 6), st.floats(0, 5))
    def test_the_waits_are_random_below_a_bound_that_doubles(self, attempts: int, wait_s: float) -> None:
        slept, result, tries = self.waits(ModelOptions(attempts=attempts, wait_s=wait_s), lambda _: TimeoutError())
        assert tries == attempts == len(slept) + 1
        assert all(0 <= wait <= wait_s * 2**place for place, wait in enumerate(slept))
        assert isinstance(result, TimeoutError)

    def test_the_waits_differ(self) -> None:
        slept, _, _ = self.waits(ModelOptions(attempts=9), lambda _: TimeoutError())
        assert len(set(slept)) > 3

    def test_the_server_is_obeyed_up_to_a_bound(self) -> None:
        asked = ["2", "9999", "inf"]
        slept, _, _ = self.waits(
            ModelOptions(attempts=4, wait_s=0),
            lambda n: failed(response=answered(429, retry_after=asked[min(n, 3) - 1])),
        )
        assert slept == [2.0, LONGEST_WAIT_S, LONGEST_WAIT_S]

    def test_what_succeeds_or_stays_wrong_ends_it(self) -> None:
        for end in ("fine", ValueError("no")):
            slept, result, tries = self.waits(
                ModelOptions(attempts=9), lambda n, end=end: TimeoutError() if n < 3 else end
            )
            assert (result, tries, len(slept)) == (end, 3, 2)
