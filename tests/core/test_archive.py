"""The archive: what was written comes out again to the letter, whatever the words; nothing is left half written."""

from __future__ import annotations

import json
import os
import stat
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive_files import (
    FACTS,
    TEXT,
    TIME,
    alias_row,
    document_row,
    entries_of,
    history_row,
    item_row,
    ledger_row,
    message_row,
    small_rows,
    unit_vectors,
    zipped,
)
from memreader.archive import ENTRIES, ArchiveReader, ArchiveRows, open_archive, write_archive
from memreader.errors import ArchiveError, DimensionMismatchError
from memreader.types import Vectors

KINDS = [entry.partition(".")[0] for entry in ENTRIES]
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
USER = NAME.filter(lambda text: text.strip() and "\0" not in text)
MAYBE = st.none() | TEXT
NUMBER = st.integers(0, 2**63 - 1)
METADATA = st.fixed_dictionaries(
    {}, optional={"tags": st.lists(TEXT, max_size=2), "info": st.dictionaries(TEXT, TEXT, max_size=2), "key": MAYBE}
).map(lambda metadata: json.dumps(metadata, ensure_ascii=False))
MEMORY = TEXT.filter(str.strip)
CHANGES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "messages": st.fixed_dictionaries(
        {"user_id": USER, "session_id": TEXT, "position": NUMBER, "source_key": NAME, "digest": TEXT, "role": NAME},
        optional={
            "message_id": MAYBE, "parent_id": MAYBE, "name": MAYBE, "raw": MAYBE, "chat_time": TIME | st.none(),
            "content": TEXT | st.just("长" * 100_000), "deleted": st.integers(0, 1), "time_inferred": st.integers(0, 1),
            "flags": st.lists(NAME, max_size=2).map(json.dumps),
        },
    ),
    "documents": st.fixed_dictionaries(
        {"user_id": USER, "doc_key": NAME, "source_key": NAME, "text": TEXT},
        optional={"title": MAYBE, "doc_time": TIME | st.none(), "page_starts": st.just("[]"), "context": TEXT},
    ),
    "items": st.fixed_dictionaries(
        {"user_id": USER, "item_id": NAME, "memory": MEMORY, "metadata": METADATA},
        optional={"source_keys": st.lists(NAME), "relations": st.lists(st.lists(NAME, min_size=3, max_size=3))},
    ),
    "ledger": st.fixed_dictionaries({"user_id": USER, "source_key": NAME, "reading_key": TEXT}),
    "history": st.fixed_dictionaries(
        {"user_id": USER, "item_id": NAME, "version": NUMBER, "at": TIME, "memory": MEMORY | st.none()},
        optional={"metadata": METADATA | st.none(), "cause": TEXT, "event": st.sampled_from(["update", "delete"])},
    ),
    "aliases": st.fixed_dictionaries({"user_id": USER, "key": NAME, "entity": NAME}),
    "rejected": st.fixed_dictionaries(
        {"user_id": USER, "store": NAME, "hash": st.binary(min_size=16, max_size=16).map(bytes.hex)}
    ),
}  # fmt: skip
MAKERS = {
    "messages": message_row, "documents": document_row, "items": item_row, "ledger": ledger_row, "history": history_row,
    "aliases": alias_row, "rejected": dict,
}  # fmt: skip
KEYS = {
    "messages": ("source_key", "position"),
    "documents": ("doc_key",),
    "items": ("item_id",),
    "ledger": ("source_key",),
    "aliases": ("key",),
    "rejected": ("hash",),
}


@st.composite
def all_rows(draw: st.DrawFn) -> dict[str, list[dict[str, Any]]]:
    """Rows of every kind, no two with the same key."""
    rows = {}
    for kind in KINDS:
        unique = tuple((lambda row, key=key: row[key]) for key in KEYS.get(kind, ()))
        changes = draw(st.lists(CHANGES[kind], max_size=3, unique_by=unique or None))
        rows[kind] = [MAKERS[kind](**change) for change in changes]
    return rows


def content(reader: ArchiveReader) -> dict[str, list[dict[str, Any]]]:
    """Every row of an archive, without the items that come with some."""
    rows = {kind: list(getattr(reader, kind)()) for kind in KINDS}
    return {kind: [{k: v for k, v in row.items() if k != "item"} for row in found] for kind, found in rows.items()}


@given(rows=all_rows(), dimension=st.integers(1, 9), cut=st.integers(1, 3))
def test_every_row_comes_out_as_it_went_in(
    rows: dict[str, list[dict[str, Any]]], dimension: int, cut: int, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "all.zip"
    vectors = unit_vectors(len(rows["items"]), dimension)
    pieces = [vectors[at : at + cut] for at in range(0, len(vectors), cut)]
    facts = replace(FACTS, dimension=dimension)
    manifest = write_archive(path, facts, ArchiveRows(**rows, vectors=iter(pieces)))
    with open_archive(path) as reader:
        assert content(reader) == rows
        assert np.array_equal(reader.vectors(0, len(vectors)), vectors)
        assert (reader.manifest, reader.facts) == (manifest, facts)
        assert reader.users == tuple(sorted({row["user_id"] for found in rows.values() for row in found}))
        assert reader.counts == {**{kind: len(found) for kind, found in rows.items()}, "vectors": len(vectors)}


def test_an_item_comes_with_its_row_and_a_version_too(tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", FACTS, small_rows())
    with open_archive(tmp_path / "a.zip") as reader:
        assert [(row["item"].id, row["item"].memory) for row in reader.items()] == [
            ("a", "Ana keeps a cat."),
            ("b", "Ana keeps a cat."),
        ]
        assert [row["item"] and row["item"].memory for row in reader.history()] == [None, "old"]


def test_vectors_come_in_any_order_while_rows_are_read(tmp_path: Path) -> None:
    vectors = unit_vectors(50)
    items = [item_row(str(n)) for n in range(50)]
    write_archive(tmp_path / "a.zip", FACTS, small_rows(items=items, vectors=[vectors]))
    with open_archive(tmp_path / "a.zip") as reader:
        for place, row in enumerate(reader.items()):
            assert np.array_equal(reader.vectors(int(row["item_id"]), 1)[0], vectors[place])
        for start, count in ((40, 10), (0, 50), (7, 0), (3, 2), (50, 0)):
            found = reader.vectors(start, count)
            assert np.array_equal(found, vectors[start : start + count])
            assert found.flags.writeable
        for start, count in ((-1, 1), (0, 51), (50, 1), (5, -1)):
            with pytest.raises(ValueError, match="vectors 0 to 50"):
                reader.vectors(start, count)


def test_a_zero_vector_is_kept_for_a_text_that_the_embedder_knew_nothing_of(tmp_path: Path) -> None:
    vectors = np.zeros((2, 4), np.float32)
    write_archive(tmp_path / "a.zip", FACTS, small_rows(vectors=[vectors]))
    with open_archive(tmp_path / "a.zip") as reader:
        assert not reader.vectors(0, 2).any()


def test_a_closed_archive_says_so(tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", FACTS, small_rows())
    reader = open_archive(tmp_path / "a.zip")
    reader.close()
    reader.close()
    with pytest.raises(ValueError, match="archive is closed"):
        next(reader.items())
    with pytest.raises(ValueError, match="archive is closed"):
        reader.vectors(0, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_only_the_owner_can_read_an_archive_and_its_entries_have_no_time(tmp_path: Path) -> None:
    for name in ("a/b/1.zip", "2.zip"):
        write_archive(str(tmp_path / name), FACTS, small_rows())
    assert stat.S_IMODE((tmp_path / "2.zip").stat().st_mode) == 0o600
    assert (tmp_path / "a/b/1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()


def test_an_archive_that_fails_halfway_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    def endless() -> Iterator[dict[str, Any]]:
        yield from (item_row(str(n)) for n in range(5000))
        raise KeyboardInterrupt

    path = tmp_path / "a.zip"
    write_archive(path, FACTS, small_rows())
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_archive(path, FACTS, small_rows(items=endless()))
    with pytest.raises(ArchiveError):
        write_archive(path, FACTS, small_rows(history=[history_row(event="gone")]))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.zip"]


BAD_VECTORS: list[tuple[Vectors, type[Exception], str]] = [
    (unit_vectors(1), ArchiveError, "there are 1 vectors of 2 items"),
    (unit_vectors(3), ArchiveError, "there are 3 vectors of 2 items"),
    (unit_vectors(2, 5), DimensionMismatchError, "expected 4-dimensional vectors, got 5"),
    (unit_vectors(2)[0], DimensionMismatchError, "4"),
    (unit_vectors(2) * 1.01, ArchiveError, r"vectors\.f32, row 0: is not of unit length"),
    (unit_vectors(2) * [[1], [np.nan]], ArchiveError, "row 1: holds a number that is not finite"),
    (unit_vectors(2) * [[1], [np.inf]], ArchiveError, "row 1: holds a number that is not finite"),
    (unit_vectors(2) * [[1], [1e30]], ArchiveError, "row 1: is not of unit length"),
]


@pytest.mark.parametrize(("vectors", "kind", "problem"), BAD_VECTORS)
def test_vectors_that_nobody_could_search_are_not_written(
    vectors: Vectors, kind: type[Exception], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=problem):
        write_archive(tmp_path / "a.zip", FACTS, small_rows(vectors=[vectors]))
    assert not os.listdir(tmp_path)


def test_a_row_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    for rows in (
        small_rows(items=[item_row(), item_row("b", memory=" ")]),
        small_rows(items=[item_row(), {**item_row("b"), "more": 1}]),
        small_rows(messages=[message_row(), message_row(1, user_id=" ")]),
        small_rows(messages=[message_row(), message_row(1, content="\ud800")]),
        small_rows(items=[item_row(), item_row("b", source_keys=["m"] * 10**6)]),
    ):
        with pytest.raises(ArchiveError, match="line 2"):
            write_archive(tmp_path / "a.zip", FACTS, rows)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("change", [{"created_at": ""}, {"embedder": ""}, {"lexicon": "\ud800"}, {"dimension": 70_000}])
def test_facts_that_could_not_be_read_are_not_written(change: dict[str, Any], tmp_path: Path) -> None:
    facts = replace(FACTS, **change)
    rows = small_rows(items=[], vectors=[])
    with pytest.raises(ArchiveError, match=f"manifest.json, {next(iter(change))}"):
        write_archive(tmp_path / "a.zip", facts, rows)
    assert not os.listdir(tmp_path)


def test_progress_counts_the_rows_that_are_written_and_the_bytes_that_are_checked(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    items = [item_row(str(n)) for n in range(2500)]
    rows = small_rows(items=items, vectors=[unit_vectors(2500)], total=5009)
    write_archive(tmp_path / "a.zip", FACTS, rows, progress=lambda *call: calls.append(call))
    assert calls == [("write", done, 5009) for done in (1000, 2000, 5009)]
    calls.clear()
    with open_archive(tmp_path / "a.zip", progress=lambda *call: calls.append(call)) as reader:
        size = sum(facts.size for facts in reader.manifest.entries.values())
    assert calls[-1] == ("check", size, size)


def test_an_archive_of_more_than_4_gb_would_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Beyond this limit a zip's directory is written in 64 bits.
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    path = tmp_path / "a.zip"
    write_archive(path, FACTS, small_rows())
    assert b"PK\x06\x06" in path.read_bytes()
    with open_archive(path) as reader:
        assert len(list(reader.items())) == 2


def test_an_archive_that_was_unpacked_and_packed_again_is_read(tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", FACTS, small_rows())
    entries = entries_of(tmp_path / "a.zip")
    zipped(tmp_path / "b.zip", dict(reversed(entries.items())), honest=False)
    (tmp_path / "link.zip").symlink_to("b.zip")
    with open_archive(tmp_path / "a.zip") as one, open_archive(tmp_path / "link.zip") as other:
        assert content(one) == content(other)
        assert np.array_equal(one.vectors(0, 2), other.vectors(0, 2))
