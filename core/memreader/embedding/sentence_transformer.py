"""Any model of the library sentence-transformers, which is installed and fetches models by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memreader.embedding.batching import checked, normalised, pieces_that_fit
from memreader.errors import require
from memreader.forksafe import Guard
from memreader.identity import digest
from memreader.ports import Vectors


class SentenceTransformerEmbedder:
    """Embeds with a SentenceTransformer. A text longer than it takes is embedded in pieces, never cut.

    Args:
        model: The model itself, or its name or folder, which sentence-transformers loads (and, if it isn't on this
            machine, downloads) at the first call.
        query_prefix: Set before every question, for models that were trained so ("query: ").
        text_prefix: Set before every text to be stored ("passage: ").
        batch_size: Texts that the model takes at once.
        trust_remote_code: Let a model that is loaded by name run its own code.

    Raises:
        MissingExtraError: sentence-transformers is not installed (at the first call).
    """

    def __init__(
        self,
        model: Any,
        *,
        query_prefix: str = "",
        text_prefix: str = "",
        batch_size: int = 32,
        trust_remote_code: bool = False,
    ) -> None:
        self._given = {name: value for name, value in locals().items() if name != "self"}
        self._prefixes = (query_prefix, text_prefix)
        self._batch_size = batch_size
        self._trust_remote_code = trust_remote_code
        self._guard = Guard()
        self._model: Any = None if isinstance(model, str) else model
        self._name = model if isinstance(model, str) else _name_of(model)

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self._given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["given"])  # type: ignore[misc]

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of every vector; the model is loaded for it."""
        return int(self._load().get_sentence_embedding_dimension())

    @property
    def max_tokens(self) -> int:
        """Longest text that is embedded in one piece, in tokens of the model, its special ones among them."""
        return int(self._load().max_seq_length or 512)

    @property
    def fingerprint(self) -> str:
        """Of the name, the dimension, the longest piece and the prefixes."""
        return "st:" + digest(self._name, self.dimension, self.max_tokens, list(self._prefixes))

    def warm_up(self) -> None:
        """Load the model now."""
        self._load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts to be stored, float32, shape (len(texts), d), in order."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._embed(texts, self._prefixes[1])

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (d,)."""
        vector: Vectors = self._embed([text], self._prefixes[0])[0]
        return vector

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        model, count = self._load(), self._count
        limit = max(1, self.max_tokens - count(prefix) - 2)
        pieces: list[str] = []
        owner: list[int] = []
        for place, text in enumerate(texts):
            for piece in pieces_that_fit(text, count=count, limit=limit):
                pieces.append(prefix + piece)
                owner.append(place)
        with self._guard.lock:
            rows = model.encode(pieces, batch_size=self._batch_size, show_progress_bar=False, convert_to_numpy=True)
        vectors = checked(np.asarray(rows), count=len(pieces), dimension=self.dimension)
        if len(pieces) == len(texts):
            return vectors
        out = np.zeros((len(texts), vectors.shape[1]), np.float32)
        np.add.at(out, owner, vectors)
        return normalised(out)

    def _count(self, text: str) -> int:
        return len(self._load().tokenizer.encode(text, add_special_tokens=False)) if text else 0

    def _load(self) -> Any:
        if self._model is None:
            with self._guard.lock:
                if self._model is None:
                    library = require("sentence_transformers", package="sentence-transformers")
                    self._model = library.SentenceTransformer(self._name, trust_remote_code=self._trust_remote_code)
        return self._model


def _name_of(model: Any) -> str:
    card = getattr(model, "model_card_data", None)
    named = getattr(card, "base_model", None) or getattr(card, "model_name", None)
    return named if isinstance(named, str) and named else type(model).__name__
