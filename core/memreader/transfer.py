"""A whole store, or one user's part of it, into one file and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from memreader.archive import ENTRIES, ArchiveFacts, ArchiveReader, ArchiveRows, Row, open_archive, write_archive
from memreader.embedding import embed_texts
from memreader.errors import ArchiveError, InvalidVectorsError
from memreader.ports import Embedder
from memreader.recall import item_record
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.types import Progress, Vectors

PART = 1024
"""Items taken in at once."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote."""

    path: Path
    users: tuple[str, ...]
    counts: dict[str, int] = field(default_factory=dict)
    """Rows by kind: messages, documents, items, vectors, ledger, history, aliases, rejected."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    users: tuple[str, ...]
    added: int
    """Items that are new here."""
    existing: int
    """Items that were not taken: they, or other words in their place, were here already."""
    replaced: int
    """Items that went, since the archive has others under their id, or other words in the place of theirs."""
    embedded: int
    """How many texts had to be embedded anew: all, if the archive is of another embedder."""


def export_archive(
    store: Store, path: Path, *, user_id: str | None = None, progress: Progress | None = None
) -> ExportReport:
    """Return what was written to the archive at `path`: everything, as of one moment, or one user's part."""
    columns = {entry.partition(".")[0]: [column.name for column in ENTRIES[entry]] for entry in ENTRIES}
    with store.exporting(user_id) as rows:
        facts = rows.facts
        plain = {name: rows.plain(name, columns[name]) for name in ("messages", "documents", "ledger", "history")}
        tables = ("messages", "documents", "items", "items", "ledger", "history", "rejected")
        total = sum(map(rows.count, tables)) + rows.count_aliases()
        manifest = write_archive(
            path,
            ArchiveFacts(
                created_at=datetime.now().astimezone().isoformat(timespec="seconds"),
                embedder=facts.embedder,
                dimension=facts.dimension,
                lexicon=facts.lexicon,
            ),
            ArchiveRows(
                items=rows.items(),
                vectors=rows.vectors(),
                aliases=rows.aliases(),
                rejected=rows.rejected(),
                total=total,
                **plain,
            ),
            progress=progress,
        )
    return ExportReport(path, manifest.users, manifest.counts)


def import_archive(
    store: Store,
    path: Path,
    *,
    embedder: Embedder,
    on_conflict: str,
    max_unpacked_mb: float,
    user_id: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Return what taking in the archive at `path` did: everything in it in one transaction, or nothing."""
    with open_archive(path, max_unpacked_mb=max_unpacked_mb, progress=progress) as archive:
        foreign = [user for user in archive.users if user_id not in (None, user)]
        if foreign:
            raise ArchiveError(
                path=str(path),
                problem=f"it holds memories of other users ({len(foreign)})",
                where="manifest.json.users",
                remedy="Import it without naming a user, or export that user alone.",
            )
        facts = facts_of(embedder)
        known = (archive.facts.embedder, archive.facts.dimension) == (facts.embedder, facts.dimension)
        fresh = None if known else _embedded(archive, embedder, progress)
        total = sum(archive.counts.values())
        with store.importing(on_conflict=on_conflict, embedder=facts.embedder) as taker:
            done = 0

            def step(count: int = 1) -> None:
                nonlocal done
                done += count
                if progress is not None and (count > 1 or done % PART == 0):
                    progress("import", done, total)

            for row in archive.messages():
                taker.message(row)
                step()
            for row in archive.documents():
                taker.document(row)
                step()
            for start, rows in _parts(archive):
                vectors = archive.vectors(start, len(rows)) if fresh is None else fresh[start : start + len(rows)]
                for row, vector in zip(rows, vectors, strict=True):
                    if fresh is not None:  # Those of questions are of the other embedder, and there are no words.
                        row["feedback"] = [[*said[:3], None] for said in row.get("feedback", ())]
                    taker.item(row, item_record(row["item"], vector))
                step(2 * len(rows))
            for row in archive.ledger():
                taker.read(row)
                step()
            taker.begin_history()
            for row in archive.history():
                taker.version(row)
                step()
            for row in archive.aliases():
                taker.alias(row)
                step()
            for row in archive.rejected():
                taker.rejected(row)
                step()
            taker.settle()
            if progress is not None:
                progress("import", total, total)
        embedded = 0 if fresh is None else len(fresh)
        return ImportReport(archive.users, taker.added, taker.existing, taker.replaced, embedded)


def _embedded(archive: ArchiveReader, embedder: Embedder, progress: Progress | None) -> Vectors:
    """Return new vectors of all items; before the transaction, since it takes long."""
    total = archive.counts["items"]
    vectors = np.zeros((total, embedder.dimension), np.float32)
    for start, rows in _parts(archive):
        embedded = embed_texts(embedder, [row["memory"] for row in rows])
        if embedded.failures:
            error = next(iter(embedded.failures.values()))
            raise InvalidVectorsError(f"an item can't be embedded ({error}); nothing was imported") from error
        vectors[start : start + len(rows)] = embedded.vectors
        if progress is not None:
            progress("embed", start + len(rows), total)
    return vectors


def _parts(archive: ArchiveReader) -> Iterator[tuple[int, list[Row]]]:
    """Yield the items' rows, some at a time, with the number of the first."""
    part: list[Row] = []
    start = 0
    for row in archive.items():
        part.append(row)
        if len(part) == PART:
            yield start, part
            start, part = start + len(part), []
    if part:
        yield start, part
