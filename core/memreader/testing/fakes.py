"""Models that work without one: deterministic, fast, and loud when a test did not expect a call."""

from __future__ import annotations

import asyncio
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from memreader.forksafe import Guard
from memreader.ports import Reply, Vectors
from memreader.types import Framed, TokenVectors

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
_WORD = re.compile(rf"(?P<cjk>[{_CJK}]+)|[^\W_{_CJK}]+")
_PLACES = 4
"""Coordinates per word: with fewer, two words would often share one."""


class ScriptedChatModel:
    """Replies with the given texts in order, and remembers the prompts it saw.

    An exception among the replies is raised in its turn. A call that nothing was scripted for raises AssertionError;
    since a plan driver makes a value of every error, such prompts are kept in `unexpected` too. Thread-safe.

    >>> model = ScriptedChatModel(["yes", TimeoutError("slow")])
    >>> model.complete([{"role": "user", "content": "Is it raining?"}]).text
    'yes'
    >>> model.prompts[0][0]["content"]
    'Is it raining?'
    """

    name = "scripted"

    def __init__(self, replies: Iterable[str | Reply | BaseException] = ()) -> None:
        self._replies = iter(replies)
        self._guard = Guard()
        self.prompts: list[list[dict[str, Any]]] = []
        """Every prompt, in the order the calls came."""
        self.unexpected: list[list[dict[str, Any]]] = []
        """The prompts that no reply was left for."""
        self.schemas: list[Mapping[str, Any] | None] = []
        """The schema of each call, in the order the calls came."""

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Return the next reply.

        Raises:
            AssertionError: None is left.
        """
        prompt = [dict(message) for message in messages]
        with self._guard.lock:
            self.prompts.append(prompt)
            self.schemas.append(schema)
            number = len(self.prompts)
            reply = next(self._replies, None)
            if reply is None:
                self.unexpected.append(prompt)
        if reply is None:
            raise AssertionError(f"no reply scripted for call {number}")
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(reply)

    async def acomplete(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """Return the next reply; `complete` and this one share the script."""
        return self.complete(messages, schema=schema)


class FunctionChatModel:
    """Replies with what a function makes of the prompt, whichever call comes first; remembers the prompts. Thread-safe.

    Args:
        reply: Takes the messages; returns text or a `Reply`, or raises.
        delay_s: How long each answer takes.

    >>> model = FunctionChatModel(lambda messages: messages[-1]["content"].upper())
    >>> model.complete([{"role": "user", "content": "hi"}]).text
    'HI'
    """

    name = "function"

    def __init__(self, reply: Callable[[list[dict[str, Any]]], str | Reply], *, delay_s: float = 0.0) -> None:
        self._reply = reply
        self._delay_s = delay_s
        self._guard = Guard()
        self.prompts: list[list[dict[str, Any]]] = []
        """Every prompt, in the order the calls came."""

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None) -> Reply:  # noqa: ARG002 - the port's
        """Return the function's reply, after the delay."""
        time.sleep(self._delay_s)
        return self._answer(messages)

    async def acomplete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002 - the port's
    ) -> Reply:
        """Return the same as `complete`, the event loop free during the delay."""
        await asyncio.sleep(self._delay_s)
        return self._answer(messages)

    def _answer(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        prompt = [dict(message) for message in messages]
        with self._guard.lock:
            self.prompts.append(prompt)
        reply = self._reply(prompt)
        return reply if isinstance(reply, Reply) else Reply(reply)


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Unit vectors from the words of a text: texts that share words are similar, whatever the language.

    Words are lower-cased, Chinese, Japanese and Korean go by character pairs; each word sets a few coordinates by its
    hash. A text without words stands for itself. Needs no model; equal on every machine.

    >>> tea, coffee, tax = HashEmbedder().embed(["I like tea", "I like coffee", "Pay the taxes"])
    >>> bool(tea @ coffee > 0.5 > tea @ tax)
    True
    """

    dimension: int = 256
    max_tokens: int = 256
    """What it says; it embeds a text of any length in one piece."""

    @property
    def name(self) -> str:
        """`hashed-words-` and the dimension."""
        return f"hashed-words-{self.dimension}"

    @property
    def fingerprint(self) -> str:
        """The same as the name: nothing else decides the vectors."""
        return self.name

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32, shape (len(texts), dimension), in order."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _words(text):
                _add(row, word)
            if not row.any():
                _add(row, text)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vectors = np.divide(rows, np.where(lengths > 0, lengths, 1), dtype=np.float32)
        return unit

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (dimension,)."""
        vector: Vectors = self.embed([text])[0]
        return vector


@dataclass(frozen=True, slots=True)
class HashTokenEmbedder:
    """What `HashEmbedder` gives, and a vector for every word, with a trace of the words around its text.

    >>> from memreader.types import Framed
    >>> (tokens,) = HashTokenEmbedder().embed_tokens([Framed("I like tea", before=("Coffee?",))])
    >>> tokens.vectors.shape
    (3, 96)
    """

    dimension: int = 256
    max_tokens: int = 256
    trace: float = 0.3
    """Share of what stands around a text in the vectors of its words."""

    @property
    def name(self) -> str:
        """The same as of `HashEmbedder`."""
        return HashEmbedder(self.dimension).name

    @property
    def fingerprint(self) -> str:
        """The same as of `HashEmbedder`."""
        return self.name

    @property
    def token_fingerprint(self) -> str:
        """`hashed-tokens-` and the trace."""
        return f"hashed-tokens-{self.trace}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of `HashEmbedder`."""
        return HashEmbedder(self.dimension).embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (dimension,)."""
        return HashEmbedder(self.dimension).embed_query(text)

    def embed_tokens(self, texts: Sequence[Framed]) -> list[TokenVectors]:
        """Return a vector of 96 dimensions for every word."""
        return [self._tokens(framed) for framed in texts]

    def embed_query_tokens(self, text: str) -> TokenVectors:
        """Return a vector of 96 dimensions for every word."""
        return self._tokens(Framed(text))

    def _tokens(self, framed: Framed) -> TokenVectors:
        words = list(_words(framed.text)) or ([framed.text] if framed.text else [])
        codes = [blake2b(word.encode("utf-8", "surrogatepass"), digest_size=2).digest() for word in words]
        pieces = np.array([int.from_bytes(code, "little") for code in codes], np.uint16)
        hashed = HashEmbedder(96)
        vectors = hashed.embed(words)
        for place, text in enumerate((*framed.before, framed.after)):
            if text:
                # Turned by its place: what comes before is not what comes after.
                vectors += self.trace * np.roll(hashed.embed([text]), place + 1, axis=1)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return TokenVectors(pieces, np.round(vectors * 127).astype(np.int8))


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).lower()):
        run = match[0]
        if match["cjk"] and len(run) > 1:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        else:
            yield run


def _add(row: Vectors, word: str) -> None:
    code = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4 * _PLACES).digest()
    for place in range(_PLACES):
        number = int.from_bytes(code[4 * place : 4 * place + 4], "little")
        # Places of one word that coincide must not cancel out: all of them have the sign of the first.
        row[(number >> 1) % len(row)] += 1 if code[0] & 1 else -1
