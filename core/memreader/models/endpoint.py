"""OpenAI-compatible endpoints through the official SDK: clients, and what goes wrong with them as errors of ours."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import SecretStr

from memreader.errors import MemReaderError
from memreader.models.clients import Clients
from memreader.models.retrying import asked_wait

DETAIL = 2000
"""Characters kept of what an endpoint says."""
_HINTS = {
    401: "Check api_key=.",
    403: "Check api_key= and what it may be used for.",
    404: "Check the model's name and base_url= (most end in /v1).",
    429: "Too many requests, or a quota is used up.",
}
_BROKEN_REQUEST = frozenset({"InvalidURL", "LocalProtocolError", "UnsupportedProtocol"})


class EndpointError(MemReaderError, RuntimeError):
    """An endpoint refused a request, or its answer is none. What it said is in `detail`, since it may quote a prompt.

    `status_code`, `code` and `param` are the endpoint's, None where it gave none; `retry_after_s` is how long it asked
    to wait. `may_pass` says whether the same request may succeed later; None: that follows from the status.
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str,
        status_code: int | None = None,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: float | None = None,
        may_pass: bool | None = None,
        detail: str = "",
    ) -> None:
        self.where = where
        self.status_code = status_code
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s
        self.may_pass = may_pass
        self.detail = detail
        super().__init__(f"{where} {problem}")


class Endpoint:
    """One endpoint's chat completions and embeddings, as plain JSON objects. Thread-safe; connects at the first call.

    An address of this machine needs no key and is never asked through a proxy. Elsewhere a key goes only where it was
    meant for: with `base_url` or `azure_endpoint` none is looked up; with neither, the SDK's own settings
    (OPENAI_API_KEY, OPENAI_BASE_URL) count.

    Raises:
        ValueError: An address that is none, a key with characters that no key has, or one that is missing.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | SecretStr | None = None,
        azure_endpoint: str | None = None,
        api_version: str | None = None,
        timeout_s: float = 600.0,
        headers: Mapping[str, str] | None = None,
        client: Any = None,
        async_client: Any = None,
    ) -> None:
        if async_client is not None and client is None:
            raise ValueError("async_client= came without client=; pass both, or client= alone")
        self._given, self._given_async = client, async_client
        self._timeout_s = timeout_s
        self._clients = Clients(
            base_url=base_url if client is None else str(client.base_url),
            api_key=api_key if client is None else "of the client",
            azure_endpoint=azure_endpoint,
            api_version=api_version,
            timeout_s=timeout_s,
            headers=headers,
        )
        self.where = self._clients.where

    def __repr__(self) -> str:
        return f"Endpoint({self.where})"

    def chat(self, body: Mapping[str, Any]) -> dict[str, Any] | EndpointError:
        """Return the answer to a chat completion, or the error that the endpoint gave in its place.

        Raises:
            TimeoutError, ConnectionError: There was no answer, or only a part of one.
            MissingExtraError: The SDK is not installed.
        """
        return self._send(lambda client: client.chat.completions.with_raw_response.create(**body))

    def embeddings(self, body: Mapping[str, Any]) -> dict[str, Any] | EndpointError:
        """Return the answer to a request for embeddings; otherwise as `chat`."""
        return self._send(lambda client: client.embeddings.with_raw_response.create(**body))

    async def achat(self, body: Mapping[str, Any]) -> dict[str, Any] | EndpointError:
        """Return the same as `chat`, without blocking the event loop."""
        if self._given is not None and self._given_async is None:
            return await asyncio.to_thread(self.chat, body)
        if "openai" not in sys.modules:
            await asyncio.to_thread(self._clients.sdk)
        sdk = self._clients.sdk()
        given = self._given_async
        client = await self._clients.awaiting() if given is None else given.with_options(max_retries=0)
        sent: Awaitable[Any] = client.chat.completions.with_raw_response.create(**body)
        try:
            raw = await sent
        except sdk.OpenAIError as error:
            failure = self._failure(sdk, error)
        else:
            return self._read(raw)
        return _given_back(failure)

    def close(self) -> None:
        """Let go of the connections of calls that blocked; a later call makes new ones."""
        self._clients.close()

    async def aclose(self) -> None:
        """Let go of the connections of this event loop, and of those that `close` does."""
        await self._clients.aclose()

    def _send(self, send: Callable[[Any], Any]) -> dict[str, Any] | EndpointError:
        sdk = self._clients.sdk()
        client = self._clients.blocking() if self._given is None else self._given.with_options(max_retries=0)
        try:
            raw = send(client)
        except sdk.OpenAIError as error:
            failure = self._failure(sdk, error)
        else:
            return self._read(raw)
        return _given_back(failure)

    def _failure(self, sdk: Any, error: Exception) -> Exception:
        if isinstance(error, sdk.APIStatusError):
            return self._refusal(error)
        if isinstance(error, sdk.APITimeoutError):
            return TimeoutError(f"{self.where} was silent for {self._timeout_s:g} s")
        if isinstance(error, sdk.APIConnectionError):
            cause = type(error.__cause__).__name__
            if cause in _BROKEN_REQUEST:
                return EndpointError(f"could not be asked ({cause})", where=self.where, may_pass=False)
            return ConnectionError(f"no connection to {self.where}, or it was lost ({cause})")
        return EndpointError(f"could not be asked ({type(error).__name__})", where=self.where, may_pass=False)

    def _refusal(self, error: Any) -> EndpointError:
        status, said = error.status_code, self._said(error.response.text)
        code, param = (value if isinstance(value, str) else None for value in (error.code, error.param))
        code = _plain(self._clients.redacted(code or ""))
        named = f" ({code})" if code else ""
        hint = _HINTS.get(status, "See the error's `detail` for its words." if said else "")
        return EndpointError(
            f"answered HTTP {status}{named}. {hint}".rstrip(),
            where=self.where,
            status_code=status,
            code=code,
            param=param,
            retry_after_s=asked_wait(error),
            detail=said,
        )

    def _said(self, text: str) -> str:
        return self._clients.redacted(text)[:DETAIL]

    def _read(self, raw: Any) -> dict[str, Any] | EndpointError:
        response = raw.http_response
        try:
            value = json.loads(response.content)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            problem = "answered with something that is no JSON object. Check base_url=."
            return EndpointError(problem, where=self.where, may_pass=True, detail=self._said(response.text))
        if value.get("error") and not value.get("choices") and not value.get("data"):
            return self._error_in(value["error"])
        return value

    def _error_in(self, problem: Any) -> EndpointError:
        """Return the error that came as a good answer, as some gateways send it."""
        code = problem.get("code") if isinstance(problem, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else None
        shown = _plain(self._clients.redacted(str(code))) if code is not None else None
        said = self._said(json.dumps(problem, ensure_ascii=False))
        named = f" ({shown})" if shown else ""
        return EndpointError(
            f"answered with an error{named}", where=self.where, status_code=status, code=shown, detail=said
        )


def _given_back(failure: Exception) -> EndpointError:
    # Outside the except block: a chained error of the SDK would carry the prompt into tracebacks.
    if isinstance(failure, EndpointError):
        return failure
    raise failure


def _plain(code: str) -> str | None:
    """Return an error code if it is a plain word, so that no message of ours quotes anything else."""
    return code if re.fullmatch(r"[\w.-]{1,60}", code, re.ASCII) else None
