"""What memreader needs from outside, as protocols; the docstring is the contract.

`memreader.testing` ships a contract class for each, so that your own implementation can be tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
"""float32, shape (n, d)."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls that a language model took."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A language model's answer."""

    text: str
    usage: Usage = Usage(calls=1)


@runtime_checkable
class ChatModel(Protocol):
    """Answers a list of messages with text."""

    def complete(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        """Return the answer to `messages` (dicts with role and content). Raises whatever went wrong."""
        ...

    async def acomplete(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        """Return the same as `complete`, without blocking the event loop."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    An embedder that hardly knows Chinese, Japanese and Korean may say so by an attribute `english_only = True`; recall
    then leans on words for these.
    """

    @property
    def name(self) -> str:
        """Name of the model, for people and error messages."""
        ...

    @property
    def dimension(self) -> int:
        """Length d of every vector this embedder returns."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest text, in tokens of the model, that is embedded in one piece."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal for two embedders exactly if they give the same vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of texts to be stored, shape (len(texts), d), in order, L2-normalised.

        An empty `texts` gives shape (0, d). A text longer than `max_tokens` is never silently cut.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, shape (d,), L2-normalised, in the space of `embed`."""
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """Counts and cuts tokens."""

    @property
    def name(self) -> str:
        """Name of the encoding; part of a reading's fingerprint."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`; special-token text counts as plain text."""
        ...

    def byte_ends(self, text: str) -> npt.NDArray[np.int64]:
        """Return for each token of `text` the UTF-8 byte offset at which it ends, ascending.

        The last equals `len(text.encode())`; an empty text gives an empty array.
        """
        ...
