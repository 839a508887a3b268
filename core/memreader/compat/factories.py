"""The factories: a backend's name and its configuration in, a reader or a memory out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from memreader.compat.general import GeneralTextMemory
from memreader.compat.models import ChatModels, chat_models_for, embedder_for
from memreader.compat.translate import READERS, Config, parts_of, read_options, tokenizer_for
from memreader.forksafe import Guard
from memreader.identity import digest
from memreader.ports import ChatModel, Embedder, Tokenizer
from memreader.reader import MemReader

ADD_FILTER = "SIMPLE_STRUCT_ADD_FILTER"
"""MemOS's switch in the environment: "true" has a model check what was read."""


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

    _made: ClassVar[dict[tuple[str, int, int, int], tuple[MemReader, tuple[object, ...]]]] = {}
    """The dependencies are kept with the reader, so that no other object can have their id meanwhile."""
    _guard: ClassVar[Guard] = Guard()

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any] | Config,
        *,
        embedder: Embedder | None = None,
        tokenizer: Tokenizer | None = None,
        llm: ChatModel | None = None,
    ) -> MemReader:
        """Return the reader that `config` describes. Its models are asked for nothing until it reads.

        SIMPLE_STRUCT_ADD_FILTER=true in the environment has a model check what was read, as in MemOS.

        Args:
            config: Backend "simple_struct" or "strategy_struct". Of its configuration count `llm`, `general_llm`,
                `preference_extractor_llm`, `image_parser_llm`, `document_parser_llm`, `embedder`, `chunker`,
                `chat_window_max_tokens` and (strategy) `chat_chunker`.
            embedder: Takes the place of the configured one.
            tokenizer: Takes the place of the configured one.
            llm: Takes the place of all configured language models.

        Raises:
            ValueError: Unknown backend, a limit that makes no sense, a model that is named by halves, or a value that
                is not JSON.
        """
        backend, settings = parts_of(config, known=READERS)
        checked = os.environ.get(ADD_FILTER, "").strip().lower() == "true"
        try:
            key = (digest(backend, settings, checked), id(embedder), id(tokenizer), id(llm))
        except TypeError as error:
            raise ValueError(
                f"the configuration of {backend!r} must be JSON ({error}). "
                "Pass objects as embedder=, tokenizer= and llm=."
            ) from error
        with cls._guard.lock:
            if key not in cls._made:
                models = ChatModels(llm=llm) if llm is not None else chat_models_for(settings)
                reader = MemReader(
                    embedder=embedder or embedder_for(settings.get("embedder")),
                    tokenizer=tokenizer or tokenizer_for(settings.get("chunker")),
                    options=read_options(backend, settings, checked=checked),
                    **models,
                )
                cls._made[key] = (reader, (embedder, tokenizer, llm))
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
        llm: ChatModel | None = None,
    ) -> GeneralTextMemory:
        """Return the memory that `config` describes; see `GeneralTextMemory`.

        Args:
            config: Backend "general_text".
            embedder: Takes the place of the configured one.
            tokenizer: In place of the shipped one.
            llm: Takes the place of the configured one.

        Raises:
            ValueError: Unknown backend, a folder that is none, or a model that is named by halves.
        """
        _, settings = parts_of(config, known=("general_text",))
        return GeneralTextMemory(settings, embedder=embedder, tokenizer=tokenizer, llm=llm)
