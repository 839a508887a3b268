"""Embeddings at OpenAI-compatible endpoints."""

from __future__ import annotations

import base64
import binascii
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import SecretStr

from memreader.embedding.batching import checked, normalised, pieces_that_fit
from memreader.errors import DimensionMismatchError, InputError, InvalidVectorsError
from memreader.forksafe import Guard
from memreader.identity import digest
from memreader.models.endpoint import Endpoint, EndpointError
from memreader.models.retrying import policy
from memreader.options import ModelOptions
from memreader.ports import Vectors
from memreader.tokenizing import load_tokenizer

logger = logging.getLogger(__name__)

SHORTEST = 32
"""Characters below which a text that is called too long is taken for refused as it is."""
_PROBE = "How long is a vector?"
_BLANK = "."
"""Stands for a text without a letter: endpoints refuse an empty one."""
_REFUSED = frozenset({400, 413, 422})
_LENGTH = re.compile(r"too (long|large)|length|tokens|maximum|exceed", re.I)
_DIMENSION = re.compile("dimension|matryoshka", re.I)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer that says no to what was sent; asking again changes nothing."""

    error: EndpointError


@dataclass(slots=True)
class _Tally:
    """What a call met on its way."""

    refusals: int = 0


class OpenAIEmbedder:
    """Embeds through an OpenAI-compatible endpoint: OpenAI, Azure, Ollama, vLLM, Ark, llama.cpp and their like.

    A batch that the endpoint refuses is halved until it fits, and the size that does is remembered. A text longer than
    `max_tokens`, or than the endpoint takes, is embedded in pieces, whose normalised mean it gets. Rate limits, errors
    of the server and lost connections are tried again. Thread-safe; connects at the first call.

    Args:
        model: Its name at the endpoint; with Azure that of the deployment.
        dimension: Length of the vectors, also asked for where the endpoint knows how to shorten them; None: the
            model's own, measured once by embedding a short text.
        base_url: As for `OpenAIChatModel`, like `api_key`, `azure_endpoint`, `api_version`, `headers`, `client`.
        api_key: See above.
        azure_endpoint: See above.
        api_version: See above.
        batch_size: Texts per request, at most.
        max_tokens: Longest text in one piece, in tokens of o200k_base. Set it to what the model takes if that is less:
            otherwise every long text costs a refusal.
        query_prefix: Set before every question, for models that were trained so ("query: ").
        text_prefix: Set before every text to be stored ("passage: ").
        timeout_s: Longest silence of the endpoint.
        attempts: Tries of a request.
        wait_s: Up to so long before the second try, twice that before the third, ...; as long as the server asks.
        headers: See above.
        client: See above.

    Raises:
        ValueError: An address that is none, a key that is missing or can't be one, or a limit that makes no sense.
    """

    def __init__(
        self,
        model: str,
        *,
        dimension: int | None = None,
        base_url: str | None = None,
        api_key: str | SecretStr | None = None,
        azure_endpoint: str | None = None,
        api_version: str | None = None,
        batch_size: int = 64,
        max_tokens: int = 8191,
        query_prefix: str = "",
        text_prefix: str = "",
        timeout_s: float = 60.0,
        attempts: int = 4,
        wait_s: float = 1.0,
        headers: Mapping[str, str] | None = None,
        client: Any = None,
    ) -> None:
        self._given = {name: value for name, value in locals().items() if name != "self"}
        if isinstance(api_key, str):
            self._given["api_key"] = SecretStr(api_key)
        if not model:
            raise ValueError("the model's name is empty")
        for name, value in (("batch_size", batch_size), ("max_tokens", max_tokens), ("dimension", dimension)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self._model = model
        self._max_tokens = max_tokens
        self._prefixes = {"query": query_prefix, "text": text_prefix}
        self._patience = ModelOptions(attempts=attempts, wait_s=wait_s)
        self._endpoint = Endpoint(
            base_url=base_url,
            api_key=api_key,
            azure_endpoint=azure_endpoint,
            api_version=api_version,
            timeout_s=timeout_s,
            headers=headers,
            client=client,
        )
        self._guard = Guard()
        self._dimension = dimension
        self._batch_size = batch_size
        self._shortened: dict[str, Any] = {} if dimension is None else {"dimensions": dimension}

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._model!r} at {self._endpoint.where})"

    def __getstate__(self) -> dict[str, Any]:
        if self._given["client"] is not None:
            raise TypeError("an OpenAIEmbedder that was given a client can't be pickled or copied")
        return {"given": self._given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["given"])  # type: ignore[misc]

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._model

    @property
    def max_tokens(self) -> int:
        """Longest text that is embedded in one piece."""
        return self._max_tokens

    @property
    def dimension(self) -> int:
        """Length of every vector; the first look at it may embed one short text.

        Raises:
            EndpointError, TimeoutError, ConnectionError: The endpoint gave no vector for it.
        """
        if self._dimension is None:
            self._embed([_PROBE], "text")
        assert self._dimension is not None
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Of the model's name, the dimension, `max_tokens` and the prefixes.

        Not of the address: a model that moves to another server gives the same vectors.
        """
        return "openai:" + digest(self._model, self.dimension, self._max_tokens, self._prefixes)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts to be stored, float32, shape (len(texts), d), in order.

        Raises:
            InputError: The endpoint refuses a text that stands alone.
            EndpointError: It refuses the request whatever the texts are, or its answer is none.
            TimeoutError, ConnectionError: It can't be reached, after `attempts` tries.
            InvalidVectorsError, DimensionMismatchError: It gave something else than one such vector per text.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._embed(texts, "text")

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (d,); raises the same."""
        vector: Vectors = self._embed([text], "query")[0]
        return vector

    def close(self) -> None:
        """Let go of the connections; a later call makes new ones."""
        self._endpoint.close()

    def _embed(self, texts: Sequence[str], kind: str) -> Vectors:
        prefix = self._prefixes[kind]
        pieces: list[str] = []
        owner: list[int] = []
        for place, text in enumerate(texts):
            for piece in self._pieces(text, prefix):
                pieces.append(piece)
                owner.append(place)
        rows = self._all_rows(pieces, prefix)
        if len(pieces) == len(texts):
            return rows
        out = np.zeros((len(texts), rows.shape[1]), np.float32)
        np.add.at(out, owner, rows)
        return normalised(out)

    def _pieces(self, text: str, prefix: str) -> list[str]:
        clean = _HALF_CHARACTER.sub("\ufffd", text)
        count = load_tokenizer().count
        limit = max(1, self._max_tokens - (count(prefix) if prefix else 0))
        pieces = [piece for piece in pieces_that_fit(clean, count=count, limit=limit) if piece.strip()]
        return pieces or [_BLANK]

    def _all_rows(self, pieces: Sequence[str], prefix: str) -> Vectors:
        """Return one unit vector per piece."""
        parts: list[Vectors] = []
        place = 0
        while place < len(pieces):
            batch = pieces[place : place + self._batch_size]
            parts.append(self._rows(batch, prefix, _Tally()))
            place += len(batch)
        return np.concatenate(parts)

    def _rows(self, batch: Sequence[str], prefix: str, tally: _Tally) -> Vectors:
        answer = self._post([prefix + piece for piece in batch])
        if not isinstance(answer, _Refusal):
            return self._checked(answer, len(batch))
        tally.refusals += 1
        seen = tally.refusals
        if len(batch) > 1:
            middle = len(batch) // 2
            halves = [self._rows(part, prefix, tally) for part in (batch[:middle], batch[middle:])]
            if tally.refusals == seen:
                # Nothing in it was refused alone: it was the number.
                self._batch_size = min(self._batch_size, len(batch) - middle)
            return np.concatenate(halves)
        return self._split(batch[0], prefix, tally, answer.error)

    def _split(self, piece: str, prefix: str, tally: _Tally, error: EndpointError) -> Vectors:
        """Return the vector of a text that was refused, from its halves, where the reason may be its length."""
        about_length = error.status_code == 413 or _LENGTH.search(error.detail)
        if len(piece) < 2 * SHORTEST or not about_length:
            raise InputError(f"{error.where} refused to embed a text of {len(piece)} characters: {error}") from None
        logger.warning("%r takes less than max_tokens=%d in one piece; set max_tokens=", self, self._max_tokens)
        halves = [half for half in pieces_that_fit(piece, count=len, limit=len(piece) * 3 // 4) if half.strip()]
        rows = np.concatenate([self._rows([half], prefix, tally) for half in halves])
        return normalised(rows.mean(axis=0, keepdims=True))

    def _post(self, texts: list[str]) -> dict[str, Any] | _Refusal:
        """Return the answer, or the refusal of these texts, after as many tries as it takes and may have."""
        from tenacity import Retrying

        shortened = self._shortened
        while True:
            body = {"model": self._model, "input": texts, "encoding_format": "float", **shortened}
            value: dict[str, Any] | _Refusal | Exception = Retrying(**policy(self._patience))(self._attempt, body)
            if isinstance(value, Exception):
                raise value
            if not isinstance(value, _Refusal):
                # Only now: that it was answered shows what the refusal was about.
                self._shortened = shortened
                return value
            if not (shortened and _DIMENSION.search(f"{value.error.param} {value.error.detail}")):
                return value
            shortened = {}

    def _attempt(self, body: Mapping[str, Any]) -> dict[str, Any] | _Refusal | Exception:
        try:
            answer = self._endpoint.embeddings(body)
        except (TimeoutError, ConnectionError) as error:
            return error
        if not isinstance(answer, EndpointError):
            return answer
        status = answer.status_code or 0
        too_long = status >= 500 and re.search(r"too (long|large)|context length", answer.detail, re.I)
        return _Refusal(answer) if status in _REFUSED or too_long else answer

    def _checked(self, answer: Mapping[str, Any], count: int) -> Vectors:
        rows = _rows_of(answer, self._endpoint.where)
        with self._guard.lock:
            expected = self._dimension or (rows.shape[1] if rows.ndim == 2 else 0)
            vectors = checked(rows, count=count, dimension=expected)
            if not expected:
                raise DimensionMismatchError(expected=1, got=0)
            self._dimension = expected
        return vectors


def _rows_of(answer: Mapping[str, Any], where: str) -> Vectors:
    """Return the vectors of an answer in the order of their index, shape (n, d)."""
    data = answer.get("data")
    if not isinstance(data, list) or not all(isinstance(entry, Mapping) for entry in data):
        raise EndpointError("answered without embeddings", where=where, may_pass=False)
    places = [entry.get("index") for entry in data]
    if sorted(place for place in places if isinstance(place, int)) == list(range(len(data))):
        data = sorted(data, key=lambda entry: entry["index"])
    try:
        return np.asarray([_numbers(entry.get("embedding")) for entry in data], np.float32)
    except (TypeError, ValueError, binascii.Error):
        pass
    raise InvalidVectorsError(f"{where} gave something that is not one list of numbers per text. Check the model.")


def _numbers(embedding: Any) -> Any:
    return np.frombuffer(base64.b64decode(embedding), "<f4") if isinstance(embedding, str) else embedding
