"""Chat models at OpenAI-compatible endpoints."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import SecretStr

from memreader.forksafe import Guard
from memreader.models.endpoint import Endpoint, EndpointError
from memreader.models.habits import Habits
from memreader.ports import Reply, Usage

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_CUT_SHORT = frozenset({"length", "max_tokens", "model_length", "content_filter"})

_Exchange: TypeAlias = "Generator[dict[str, Any], dict[str, Any] | EndpointError, Reply]"


class OpenAIChatModel:
    """Answers through an OpenAI-compatible endpoint: OpenAI, Azure, Ollama, vLLM, Ark, llama.cpp and their like.

    A wanted JSON schema is asked for as such, then as any JSON object, then in plain text, whichever the endpoint
    takes; a temperature or a limit that it refuses is left out. What it takes is remembered with this object. A call
    makes no second try by itself: how patient a reading is says `ModelOptions`. Thread-safe; connects when first asked.

    Args:
        model: Its name at the endpoint; with Azure that of the deployment.
        base_url: Where the endpoint is, such as "http://localhost:11434/v1"; OpenAI's when None.
        api_key: An address of this machine needs none. With neither this nor `base_url`, the SDK's own settings count
            (OPENAI_API_KEY, OPENAI_BASE_URL).
        azure_endpoint: In place of `base_url`, with `api_version`.
        api_version: Of Azure's interface.
        temperature: None for the endpoint's own.
        max_output_tokens: Longest answer; None for the endpoint's own limit.
        timeout_s: Longest silence of the endpoint; what one try may take altogether is `ModelOptions.timeout_s`.
        headers: Sent with every request.
        extra_body: Further fields of every request, such as {"enable_thinking": False}.
        client: A ready client of the SDK, for what these arguments can't say; it stays the caller's to close.
        async_client: The same for the event loop; without it `acomplete` uses `client` in a thread.

    Raises:
        ValueError: An address that is none, a key that is missing or can't be one, or a limit that makes no sense.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | SecretStr | None = None,
        azure_endpoint: str | None = None,
        api_version: str | None = None,
        temperature: float | None = 0.0,
        max_output_tokens: int | None = None,
        timeout_s: float = 600.0,
        headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        client: Any = None,
        async_client: Any = None,
    ) -> None:
        if not model:
            raise ValueError("the model's name is empty")
        if max_output_tokens is not None and max_output_tokens < 1:
            raise ValueError(f"max_output_tokens must be at least 1, got {max_output_tokens}")
        self._model = model
        self._temperature = temperature
        self._max_output_tokens = max_output_tokens
        self._extra_body = dict(extra_body or {})
        self._endpoint = Endpoint(
            base_url=base_url,
            api_key=api_key,
            azure_endpoint=azure_endpoint,
            api_version=api_version,
            timeout_s=timeout_s,
            headers=headers,
            client=client,
            async_client=async_client,
        )
        self._guard = Guard()
        self._habits = Habits()

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self._model!r} at {self._endpoint.where})"

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._model

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Return the answer to `messages`; its usage counts every request that it took.

        Raises:
            EndpointError: The endpoint refused, or its answer holds no text.
            TimeoutError: It was silent for too long.
            ConnectionError: It can't be reached, or was lost in the middle.
            MissingExtraError: The SDK is not installed.
        """
        exchange = self._exchange(messages, schema)
        body = next(exchange)
        while True:
            try:
                body = exchange.send(self._endpoint.chat(body))
            except StopIteration as done:
                reply: Reply = done.value
                return reply

    async def acomplete(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """Return the same as `complete`, without blocking the event loop."""
        exchange = self._exchange(messages, schema)
        body = next(exchange)
        while True:
            answer = await self._endpoint.achat(body)
            try:
                body = exchange.send(answer)
            except StopIteration as done:
                reply: Reply = done.value
                return reply

    def close(self) -> None:
        """Let go of the connections; a later call makes new ones."""
        self._endpoint.close()

    async def aclose(self) -> None:
        """Let go of the connections, those of this event loop too."""
        await self._endpoint.aclose()

    def _exchange(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None) -> _Exchange:
        """Yield the requests that it takes, each a body, and return the reply."""
        sent = [_sendable(message) for message in messages]
        with self._guard.lock:
            habits = self._habits
        calls = 0
        while True:
            wishes = habits.wishes(
                schema=schema, temperature=self._temperature, max_output_tokens=self._max_output_tokens
            )
            extra = {"extra_body": self._extra_body} if self._extra_body else {}
            answer = yield {"model": self._model, "messages": sent, **wishes, **extra}
            calls += 1
            if not isinstance(answer, EndpointError):
                break
            humbler = habits.after(answer, wishes)
            if humbler is None:
                raise answer
            habits = humbler
        # Only now: that it was answered shows that the refusals were about the wishes.
        with self._guard.lock:
            self._habits = self._habits.joined(habits)
        return _reply(answer, calls, self._endpoint.where)


def _reply(answer: Mapping[str, Any], calls: int, where: str) -> Reply:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        raise EndpointError("answered without any choice", where=where, may_pass=True)
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    reason = str(choice.get("finish_reason"))
    truncated = reason in _CUT_SHORT
    text = _text(message.get("content"))
    if text is None:
        if message.get("refusal"):
            raise EndpointError("declined to answer (a refusal)", where=where, may_pass=False)
        if not truncated or reason == "content_filter":
            shown = f" (finish_reason {reason})" if reason in ("stop", "tool_calls", "content_filter") else ""
            raise EndpointError(f"answered without text{shown}", where=where, may_pass=False)
        text = ""
    return Reply(text, _usage(answer.get("usage"), calls), truncated)


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return content if isinstance(content, str) else None


def _usage(usage: Any, calls: int) -> Usage:
    given = usage if isinstance(usage, Mapping) else {}
    prompt, completion = (given.get(name) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(calls, *(count if isinstance(count, int) and count > 0 else 0 for count in (prompt, completion)))


def _sendable(value: Any) -> Any:
    """Return a copy of a message that is valid UTF-8 throughout: half characters can't be sent."""
    if isinstance(value, str):
        return _HALF_CHARACTER.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {key: _sendable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(part) for part in value]
    return value
