"""Parts of a MemOS configuration into our values: options, tokenizer, folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Protocol

from pydantic import BaseModel

from memreader.errors import InputError, TokenizerNotFoundError
from memreader.forksafe import Guard
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT, ReadOptions
from memreader.ports import Tokenizer
from memreader.tokenizing import load_tokenizer

logger = logging.getLogger(__name__)

READERS = {"simple_struct": SIMPLE_STRUCT, "strategy_struct": STRATEGY_STRUCT}
CHUNKERS = ("sentence", "character", "markdown", "simple")

_said: set[str] = set()
_saying = Guard()


class Config(Protocol):
    """A configuration as an object."""

    @property
    def backend(self) -> str:
        """Name of what to make."""
        ...

    @property
    def config(self) -> Any:
        """Its settings."""
        ...


def parts_of(config: Mapping[str, Any] | Config, *, known: Sequence[str] | Mapping[str, Any]) -> tuple[str, Any]:
    """Return backend and settings of a configuration in either form."""
    if isinstance(config, Mapping):
        backend, settings = config.get("backend"), config.get("config")
    else:
        backend, settings = config.backend, config.config
    if backend not in known:
        raise ValueError(f"unknown backend {backend!r}. Known are: {', '.join(sorted(known))}")
    return str(backend), section(settings)


def section(value: Any) -> dict[str, Any]:
    """Return a part of a configuration as a dict; empty when left out, or written `{ ... }` as manuals do."""
    if value is None or value == {...}:
        return {}
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if not isinstance(value, Mapping):
        raise ValueError(f"a part of the configuration is a {type(value).__name__}, not a dict")
    return {key: {} if part == {...} else part for key, part in value.items()}


def _settings(value: Any) -> dict[str, Any]:
    """Return the settings of a part, which stand in its `config` or in the part itself."""
    part = section(value)
    return section(part["config"]) if "config" in part else part


def read_options(backend: str, settings: Mapping[str, Any], *, checked: bool = False) -> ReadOptions:
    """Return the preset of a backend with the limits that `settings` gives.

    Args:
        backend: One of `READERS`.
        settings: Its configuration.
        checked: Have a model drop what the conversation doesn't say.

    Raises:
        ValueError: Unknown chunker or way to cut chats, or a limit that makes no sense.
    """
    changes: dict[str, Any] = {"gates": ("hallucination",)} if checked else {}
    chunker = section(settings.get("chunker"))
    if "backend" in chunker:
        if chunker["backend"] not in CHUNKERS:
            raise ValueError(f"unknown chunker {chunker['backend']!r}. Known are: {', '.join(CHUNKERS)}")
        changes["chunker"] = chunker["backend"]
    limits = _settings(chunker)
    if (size := _number(limits, "chunk_size")) is not None:
        changes |= {"chunk_tokens": size, "chunk_overlap": min(128, size // 4)}
    if (overlap := _number(limits, "chunk_overlap")) is not None:
        changes["chunk_overlap"] = overlap
    if (window := _number(settings, "chat_window_max_tokens")) is not None:
        changes |= {"window_tokens": window, "window_overlap": min(200, window // 5)}
    if READERS[backend].strategy != "tokens":
        changes |= _chat_windows(_settings(settings.get("chat_chunker")))
    return replace(READERS[backend], **changes)


def _chat_windows(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for MemOS's `chat_chunker`."""
    length = _number(settings, "chunk_length")
    length = _number(settings, "content_length") if length is None else length
    by_messages = length is None and "chunk_session" in settings
    kind = settings.get("chunk_type", "chunk_session" if by_messages else "content_length")
    if kind not in ("content_length", "chunk_session", "session"):
        raise ValueError(f"unknown chunk_type {kind!r}. Known are: content_length, chunk_session")
    if kind == "content_length":
        return {"strategy": "length", **({} if length is None else {"content_length": length})}
    names = {"chunk_session": "chunk_session", "chunk_overlap": "session_overlap"}
    limits = {ours: _number(settings, theirs) for theirs, ours in names.items()}
    return {"strategy": "session", **{name: limit for name, limit in limits.items() if limit is not None}}


def _number(settings: Mapping[str, Any], name: str) -> int | None:
    value = settings.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    return value


def tokenizer_for(value: Any) -> Tokenizer | None:
    """Return the encoding that a chunker's configuration names if it is on this machine; None for the shipped one."""
    name = _settings(value).get("tokenizer_or_token_counter")
    if name is None:
        return None
    try:
        return load_tokenizer(name)
    except (InputError, TokenizerNotFoundError):
        say_once(f"the tokenizer {name!r} is not on this machine: o200k_base is used. Pass yours as tokenizer=.")
        return None


def folder_of(value: Any) -> Path | None:
    """Return the folder that a `vector_db` configuration names; None for no `path`.

    Raises:
        ValueError: `collection_name` is not a plain name.
    """
    settings = _settings(value)
    path, name = settings.get("path"), settings.get("collection_name")
    if path is None:
        if settings.get("host") or settings.get("url"):
            say_once("a vector database elsewhere is not used: the memories are kept here, and go with the object.")
        return None
    if name is not None and (not isinstance(name, str) or name in ("", "..") or PurePath(name).name != name):
        raise ValueError(f"collection_name must be a plain name, got {name!r}")
    return Path(path) / name if name else Path(path)


def say_once(text: str) -> None:
    """Log a warning, the same one only once per process."""
    with _saying.lock:
        new = text not in _said
        _said.add(text)
    if new:
        logger.warning("%s", text)
