"""How raw input is read, in one frozen value."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, get_args

from memreader.identity import digest
from memreader.lifetimes import SESSION_TTL_HOURS

Unit = Literal["turn", "window"]
Strategy = Literal["tokens", "length", "session"]
ChunkerKind = Literal["auto", "sentence", "character", "markdown", "simple"]

ChatPrompt = Literal["chat", "strategy"]
Reconcile = Literal[True, False, "model"]
"""Whether statements may stand for others or end them: by rules; not at all; by a model, and rules where it fails."""
Gate = Literal["rewrite", "hallucination"]

_OF_MODELS = frozenset({"keep_turns", "keep_raw", "carry", "prompt", "gates", "session_ttl_hours"})
"""Options that change nothing of what is read without a model: what only models are told, and how long items live."""

READING_VERSION = 1
"""Part of every reading key; raised when the same options would read a text into other items."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Knobs of reading. The presets of the seeds are values of this class.

    Raises:
        ValueError: A limit that makes no sense, with its name.
    """

    unit: Unit | None = None
    """One item per turn or per window; None: turns in `read` and `Memory`, windows in `get_memory`."""
    strategy: Strategy = "tokens"
    """How windows are cut: by tokens, by characters ("length"), or by messages ("session")."""
    window_tokens: int = 1024
    window_overlap: int = 200
    """Tokens of whole lines repeated from the window before, at most."""
    group_size: int | None = None
    """Messages per group before windows are cut (the seed's coarse cut is 10); None: windows alone."""
    group_overlap: int = 0
    content_length: int = 1600
    """Characters per window, strategy "length"."""
    chunk_session: int = 10
    """Messages per window, strategy "session"."""
    session_overlap: int = 2
    chunker: ChunkerKind = "auto"
    """How documents are cut; auto: markdown where the text is markdown, else sentence."""
    chunk_tokens: int | None = None
    """Tokens per chunk; None: 512, or what the embedder takes in one piece if that is less."""
    chunk_overlap: int | None = None
    """Tokens repeated from the chunk before, at most; None: a quarter of `chunk_tokens`."""
    timezone: str | None = None
    """Name of the zone that times without one are in; None keeps them as they are."""
    keep_turns: bool = True
    """Whether `Memory` keeps every turn as evidence beside what a model makes of them; else windows, until refined."""
    keep_raw: bool = True
    """Whether raw items stay to be found after refining, collapsed under what was made of them; else archived."""
    carry: bool = False
    """Whether a model gets the summaries and names of the windows before: one window after another, not at once."""
    prompt: ChatPrompt = "chat"
    """Which prompt conversations are read with."""
    gates: tuple[Gate, ...] = ()
    """What a model checks its memories for, in this order: "rewrite" makes them stand alone, "hallucination" drops
    those that the lines don't say."""
    session_ttl_hours: float = SESSION_TTL_HOURS
    """How long an item of lifetime "session" lives that doesn't say itself, from when it was learned."""

    def __post_init__(self) -> None:
        for name in ("window_tokens", "content_length", "chunk_session"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.chunk_tokens is not None and self.chunk_tokens < 1:
            raise ValueError(f"chunk_tokens must be at least 1, got {self.chunk_tokens}")
        if not 0 < self.session_ttl_hours < math.inf:
            raise ValueError(f"session_ttl_hours must be above 0 and finite, got {self.session_ttl_hours}")
        if isinstance(self.gates, str):
            raise ValueError(f"gates is a tuple of names, got {self.gates!r}: write ({self.gates!r},)")
        for gate in self.gates:
            if gate not in get_args(Gate):
                raise ValueError(f"gates are {', '.join(get_args(Gate))}, got {gate!r}")
        if self.prompt not in get_args(ChatPrompt):
            raise ValueError(f"prompt must be one of {', '.join(get_args(ChatPrompt))}, got {self.prompt!r}")
        pairs = [
            ("window_overlap", self.window_overlap, "window_tokens", self.window_tokens),
            ("session_overlap", self.session_overlap, "chunk_session", self.chunk_session),
        ]
        if self.group_size is not None:
            pairs.append(("group_overlap", self.group_overlap, "group_size", self.group_size))
        if self.chunk_tokens is not None and self.chunk_overlap is not None:
            pairs.append(("chunk_overlap", self.chunk_overlap, "chunk_tokens", self.chunk_tokens))
        for small_name, small, large_name, large in pairs:
            if not 0 <= small < large:
                raise ValueError(f"{small_name} must be at least 0 and below {large_name} ({large}), got {small}")

    def chunk_limits(self, max_tokens: int) -> tuple[int, int]:
        """Return (tokens per chunk, overlap) for an embedder that takes `max_tokens` in one piece.

        >>> ReadOptions().chunk_limits(256), ReadOptions(chunk_tokens=512).chunk_limits(256)
        ((256, 64), (512, 128))
        """
        size = min(512, max_tokens) if self.chunk_tokens is None else self.chunk_tokens
        overlap = size // 4 if self.chunk_overlap is None else self.chunk_overlap
        return size, min(overlap, size - 1)

    def reading_key(self, *, mode: str, unit: str, tokenizer: str, max_tokens: int) -> str:
        """Return the fingerprint of a reading: equal keys read a text into equal items."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _OF_MODELS}
        return "r:" + digest(READING_VERSION, mode, unit, tokenizer, self.chunk_limits(max_tokens), own)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How language models are called, and what one call of a verb (`add`, `refine`, `read`, ...) may take.

    Raises:
        ValueError: A limit that makes no sense, with its name.
    """

    concurrency: int = 8
    """Calls under way at once."""
    timeout_s: float = 120.0
    """For one try of one call."""
    attempts: int = 4
    """Tries of one call that met a rate limit, a server's error, a lost connection or the timeout; others have one."""
    wait_s: float = 1.0
    """Up to so long before the second try, twice that before the third, ..., at random; as long as the server asks."""
    max_calls: int | None = None
    """Tries that one call of a verb may make; what is left stays raw, refinable, and is reported."""
    max_tokens: int | None = None
    """Tokens of prompts and answers: after the first, no call is made whose prompt would go beyond; those under way are
    counted in."""
    similar: float = 0.45
    """How alike two memories are that a model is asked about with `reconcile="model"`: 0 as any two are by chance, 1
    equal, by the embedded model; other embedders are stretched to it. Lower asks more often."""

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("attempts", 1), ("max_calls", 0), ("max_tokens", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if not self.timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0, got {self.timeout_s}")
        if not 0 <= self.similar <= 1:
            raise ValueError(f"similar must be between 0 and 1, got {self.similar}")
        if not self.wait_s >= 0:
            raise ValueError(f"wait_s must not be negative, got {self.wait_s}")


SIMPLE_STRUCT = ReadOptions(unit="window", group_size=10, group_overlap=2, chunk_tokens=512, chunk_overlap=128)
"""MemOS's `simple_struct`: groups of ten messages, two carried, then token windows."""

STRATEGY_STRUCT = ReadOptions(unit="window", strategy="length", chunk_tokens=512, chunk_overlap=128, prompt="strategy")
"""MemOS's `strategy_struct`: windows by characters; `strategy="session"` cuts by messages."""
