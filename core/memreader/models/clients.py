"""Clients of the official SDK for one address: one for threads, one per event loop, none shared with a forked child."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
import weakref
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from memreader.errors import require
from memreader.forksafe import Guard

CONNECT_S = 10.0
"""Patience for a connection to come about; that for an answer is `timeout_s`."""

_torn: list[object] = []


class Clients:
    """Makes clients when they are first needed, and closes them. The arguments are those of `Endpoint`."""

    def __init__(
        self,
        *,
        base_url: str | None,
        api_key: str | SecretStr | None,
        azure_endpoint: str | None,
        api_version: str | None,
        timeout_s: float,
        headers: Mapping[str, str] | None,
    ) -> None:
        self._address = _checked_address(base_url, azure_endpoint, api_version)
        self._is_azure = azure_endpoint is not None
        self._api_version = api_version
        self.is_local = self._address is not None and _is_local(self._address)
        self._key = _checked_key(api_key, self._address, may_miss=self.is_local or bool(headers))
        if not timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0, got {timeout_s}")
        self._timeout_s = timeout_s
        self._headers = dict(headers or {})
        self.where = "the OpenAI endpoint" if self._address is None else host_of(self._address)
        self._guard = Guard()
        self._tls: ssl.SSLContext | None = None
        self._made: tuple[int, Any, weakref.finalize[Any, Any]] | None = None
        self._on_loops: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[Any, None]]] = {}

    def sdk(self) -> Any:
        """Return the imported SDK.

        Raises:
            MissingExtraError: It is not installed.
        """
        with self._guard.lock:
            sdk = require("openai", package="openai", extra="openai")
            # It loads this one itself, but at the first request: on the event loop.
            require("openai.resources.chat.completions", package="openai", extra="openai")
            return sdk

    def blocking(self) -> Any:
        """Return the client for calls that block."""
        with self._guard.lock:
            made = self._made
            if made is not None and made[0] != os.getpid():
                # A parent's connections: not even closed, that would be told to the other end.
                made[2].detach()
                _torn.append(made[1])
                made = None
            if made is None:
                client = self._make("OpenAI", "DefaultHttpxClient")
                made = self._made = (os.getpid(), client, weakref.finalize(self, client.close))
            return made[1]

    async def awaiting(self) -> Any:
        """Return the client of this event loop, which is closed when the loop ends: its connections live no longer."""
        for gone in [loop for loop in list(self._on_loops) if loop.is_closed()]:
            self._on_loops.pop(gone, None)
        loop = asyncio.get_running_loop()
        kept = self._on_loops.get(loop)
        if kept is None:
            keeper = _keeping(self._make("AsyncOpenAI", "DefaultAsyncHttpxClient"))
            kept = self._on_loops[loop] = (await anext(keeper), keeper)
        return kept[0]

    def close(self) -> None:
        """Let go of the connections of calls that blocked; a later call makes new ones."""
        with self._guard.lock:
            made, self._made = self._made, None
        if made is not None and made[0] == os.getpid():
            made[2]()

    async def aclose(self) -> None:
        """Let go of the connections of this event loop, and of those that `close` does."""
        loop = asyncio.get_running_loop()
        if (kept := self._on_loops.pop(loop, None)) is not None:
            await kept[1].aclose()
        self.close()

    def redacted(self, text: str) -> str:
        """Return `text` without the key."""
        key = self._key.get_secret_value() if self._key is not None else ""
        return text.replace(key, "***") if key else text

    def _make(self, kind: str, http_kind: str) -> Any:
        sdk = self.sdk()
        timeout = sdk.Timeout(self._timeout_s, connect=min(CONNECT_S, self._timeout_s))
        settings: dict[str, Any] = {"timeout": timeout, "max_retries": 0, "default_headers": self._headers}
        if self.is_local:
            # Certificates are read once: it takes longer than a call.
            self._tls = self._tls or ssl.create_default_context()
            settings["http_client"] = getattr(sdk, http_kind)(trust_env=False, timeout=timeout, verify=self._tls)
        key = self._key.get_secret_value() if self._key is not None else None
        if self._is_azure:
            kind = kind.replace("OpenAI", "AzureOpenAI")
            return getattr(sdk, kind)(
                azure_endpoint=self._address, api_version=self._api_version, api_key=key, **settings
            )
        if self._address is None:
            return getattr(sdk, kind)(api_key=key, **settings)
        client = getattr(sdk, kind)(base_url=self._address, api_key=key or "none", **settings)
        client.organization = client.project = None  # Found in the environment, and meant for another endpoint.
        return client


async def _keeping(client: Any) -> AsyncGenerator[Any, None]:
    # An event loop that ends closes its generators first, and with this one the client.
    try:
        yield client
    finally:
        await client.close()


def _checked_address(base_url: str | None, azure_endpoint: str | None, api_version: str | None) -> str | None:
    if base_url is not None and azure_endpoint is not None:
        raise ValueError("base_url= and azure_endpoint= were both given; one says where the endpoint is")
    if azure_endpoint is not None and not api_version:
        raise ValueError("azure_endpoint= needs api_version=, for example '2024-10-21'")
    address = base_url if azure_endpoint is None else azure_endpoint
    if address is None:
        return None
    address = address.strip()
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("base_url= and azure_endpoint= must begin with http:// or https:// and name a host")
    return address


def _checked_key(api_key: str | SecretStr | None, address: str | None, *, may_miss: bool) -> SecretStr | None:
    key = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key or ""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError("api_key= holds characters that no key has; it was probably copied with something else")
    if key:
        return SecretStr(key)
    if address is not None and not may_miss:
        raise ValueError(f"{host_of(address)} is not on this machine: pass api_key= (any text, if it needs none)")
    return None


def _is_local(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(address: str) -> str:
    """Return host and port: the rest of an address may hold a password."""
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
