"""New vectors for a whole store: what it is made for, and going over to another embedder or to newer terms."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from memreader.embedding import embed_texts
from memreader.errors import EmbedderMismatchError, InvalidVectorsError
from memreader.ports import Embedder
from memreader.recall import LEXICON, OLDER_LEXICONS, term_counts
from memreader.recall.describing import traits_of
from memreader.reconciling import statement_keys
from memreader.stores import Facts, Store
from memreader.types import Durability, Progress

PART = 256
"""Items embedded and staged at once: what an interruption may cost."""


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """What a reindexing did."""

    items: int
    """How many items got a new vector now."""
    resumed: int
    """How many had one already, from an earlier try."""
    embedder: str
    """What the store is made for now."""


def facts_of(embedder: Embedder) -> Facts:
    """Return what a store for this embedder is made for."""
    return Facts(embedder.dimension, f"{embedder.name} ({embedder.fingerprint})", LEXICON)


def open_store(
    folder: Path, embedder: Embedder, *, reindex: bool, durability: Durability, max_resident_mb: float
) -> Store:
    """Return the store of a folder for an embedder; the items of one of an older version get the terms of this one.

    Args:
        folder: Created when absent.
        embedder: Which the store is for.
        reindex: Return a store that is made for another one, too.
        durability: See `Store`.
        max_resident_mb: See `Store`.

    Raises:
        EmbedderMismatchError: The store is made for another embedder, or by a newer version.
    """
    facts = facts_of(embedder)
    wanted = None if reindex and Store.exists(folder) else facts
    with ExitStack() as undo:
        try:
            store = Store.open(folder, wanted, durability=durability, max_resident_mb=max_resident_mb)
            undo.callback(store.close)
        except EmbedderMismatchError:
            store = Store.open(folder, durability=durability, max_resident_mb=max_resident_mb)
            undo.callback(store.close)
            if store.facts.lexicon not in OLDER_LEXICONS or replace(store.facts, lexicon=LEXICON) != facts:
                raise
        store.renew_terms(LEXICON, OLDER_LEXICONS, term_counts)
        undo.pop_all()
    return store


def describe_store(store: Store, *, progress: Progress | None = None) -> None:
    """Give the items of a store of an older version their traits and keys; it has its own already otherwise."""

    def step(done: int, total: int) -> None:
        if progress is not None:
            progress("describe", done, total)

    store.describe(lambda item: traits_of(item).pack(), progress=step)
    store.give_keys(statement_keys, progress=step)


def reindex_store(store: Store, embedder: Embedder, *, progress: Progress | None = None) -> ReindexReport:
    """Give every item of a store a vector of `embedder`, and make the store one for it.

    The old index serves until every item has its new vector; then all change at once. A reindexing that was interrupted
    goes on where it stopped, in this process or another, when it is called for the same embedder.

    Raises:
        InvalidVectorsError: An item can't be embedded; the store stays as it was.
        ReindexInterruptedError: Another reindexing of this store began or ended meanwhile.
    """
    facts = facts_of(embedder)
    job = store.reindexing(facts)
    resumed = done = job.progress()[0]
    count = 0
    while True:
        part = job.next(PART)
        if part:
            embedded = embed_texts(embedder, [item.memory for item in part])
            if embedded.failures:
                error = next(iter(embedded.failures.values()))
                raise InvalidVectorsError(f"an item can't be embedded ({error}); the store stays as it was") from error
            job.stage(part, embedded.vectors, [term_counts(item.memory) for item in part])
            count += len(part)
            done, total = job.progress()
            if progress is not None:
                progress("reindex", done, total)
        elif job.finish():
            break
    store.adopt(facts)
    return ReindexReport(items=count, resumed=resumed, embedder=facts.embedder)
