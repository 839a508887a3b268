"""The factories: a backend's name and its configuration in, a reader or a memory out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from memreader.compat.general import GeneralTextMemory
from memreader.compat.translate import READERS, Config, embedder_for, parts_of, read_options, tokenizer_for
from memreader.forksafe import Guard
from memreader.identity import digest
from memreader.ports import Embedder, Tokenizer
from memreader.reader import MemReader


class MemReaderConfigFactory(BaseModel):
    """What `MemReaderFactory.from_config` takes: a backend's name and its configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str
    config: dict[str, Any] = Field(default_factory=dict)


class MemoryConfigFactory(BaseModel):
    """What `MemoryFactory.from_config` takes: a backend's name and its configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str
    config: dict[str, Any] = Field(default_factory=dict)


class MemReaderFactory:
    """Makes readers; the same configuration with the same dependencies gives the same reader."""

    _made: ClassVar[dict[tuple[str, int, int], tuple[MemReader, Embedder | None, Tokenizer | None]]] = {}
    """The dependencies are kept with the reader, so that no other object can have their id meanwhile."""
    _guard: ClassVar[Guard] = Guard()

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any] | Config,
        *,
        embedder: Embedder | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> MemReader:
        """Return the reader that `config` describes.

        Args:
            config: Backend "simple_struct" or "strategy_struct". Of its configuration `chunker`, `embedder`,
                `chat_window_max_tokens` and (strategy) `chat_chunker` count; `llm` is for fine reading, later.
            embedder: Takes the place of the configured one.
            tokenizer: Takes the place of the configured one.

        Raises:
            ValueError: Unknown backend, a limit that makes no sense, or a value that is not JSON.
        """
        backend, settings = parts_of(config, known=READERS)
        try:
            key = (digest(backend, settings), id(embedder), id(tokenizer))
        except TypeError as error:
            raise ValueError(
                f"the configuration of {backend!r} must be JSON ({error}). Pass objects as embedder= and tokenizer=."
            ) from error
        with cls._guard.lock:
            if key not in cls._made:
                reader = MemReader(
                    embedder=embedder or embedder_for(settings.get("embedder")),
                    tokenizer=tokenizer or tokenizer_for(settings.get("chunker")),
                    options=read_options(backend, settings),
                )
                cls._made[key] = (reader, embedder, tokenizer)
            return cls._made[key][0]


class MemoryFactory:
    """Makes memories."""

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any] | Config,
        *,
        embedder: Embedder | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> GeneralTextMemory:
        """Return the memory that `config` describes; see `GeneralTextMemory`.

        Args:
            config: Backend "general_text".
            embedder: Takes the place of the configured one.
            tokenizer: In place of the shipped one.

        Raises:
            ValueError: Unknown backend, or a folder that is none.
        """
        _, settings = parts_of(config, known=("general_text",))
        return GeneralTextMemory(settings, embedder=embedder, tokenizer=tokenizer)
