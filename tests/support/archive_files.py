"""Dumps and archives to be read: good ones, and any other."""

from __future__ import annotations

import json
import pickle
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from memreader.archive import FILENAME, ArchiveFacts, ArchiveRows, open_archive
from memreader.errors import ArchiveError
from memreader.types import Vectors

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
TIME = st.sampled_from(["2024-02-29", "2024-02-29T23:59:59", "0001-01-01T00:00:00+14:00"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def own(name: str = "a", memory: str = "Ana has a cat.", **metadata: Any) -> dict[str, Any]:
    return {"id": name, "memory": memory, "metadata": metadata}


def written(folder: Path, content: Any) -> Path:
    path = folder / FILENAME
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=True).encode())
    return path


FACTS = ArchiveFacts("2024-05-01T12:00:00+00:00", "hashed-words-4", 4, "words-1")
METADATA = '{"user_id":"ana","created_at":"2024-05-01","updated_at":"2024-05-01"}'
KINDS = ("messages", "documents", "items", "ledger", "history", "aliases")


def message_row(position: int = 0, **changes: Any) -> dict[str, Any]:
    """A row of the table of messages, with `changes`."""
    return {
        "user_id": "ana", "session_id": "", "position": position, "source_key": f"m:{position}", "digest": "",
        "message_id": None, "parent_id": None, "role": "user", "name": None, "content": "I keep a cat.",
        "chat_time": None, "time_inferred": 0, "flags": "[]", "raw": None, "deleted": 0, **changes,
    }  # fmt: skip


def document_row(**changes: Any) -> dict[str, Any]:
    return {
        "user_id": "ana", "doc_key": "/cats.md", "source_key": "d:1", "doc_path": "cats.md", "sha256": "0" * 64,
        "media_type": "text/plain", "title": None, "page_starts": "[0,5]", "context": "", "doc_time": None,
        "text": "Cats.\nPurr.", **changes,
    }  # fmt: skip


def item_row(name: str = "a", **changes: Any) -> dict[str, Any]:
    return {
        "user_id": "ana", "item_id": name, "memory": "Ana keeps a cat.", "metadata": METADATA, "source_keys": ["m:0"],
        "relations": [["Ana", "keeps", "cat"]], "settled": [["another item", "supersede", "2024-05-01", "moved"]],
        "standing": '{"sources": [{"index": 0}], "entities": ["Ana"]}',
        "feedback": [[1, 1700000000, [-5, 7], "003c00bc"]], **changes,
    }  # fmt: skip


def ledger_row(**changes: Any) -> dict[str, Any]:
    return {"user_id": "ana", "source_key": "m:0", "reading_key": "r", **changes}


def history_row(**changes: Any) -> dict[str, Any]:
    return {
        "user_id": "ana", "item_id": "a", "version": 1, "event": "add", "at": "2024-05-01T12:00:00+00:00",
        "cause": "add", "memory": None, "metadata": None, **changes,
    }  # fmt: skip


def alias_row(**changes: Any) -> dict[str, Any]:
    return {"user_id": "ana", "key": "annie", "entity": "ana", "origin": "user", **changes}


def unit_vectors(count: int, dimension: int = 4, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def small_rows(**changes: Any) -> ArchiveRows:
    """Some rows of every kind."""
    rows = ArchiveRows(
        messages=[message_row(n) for n in range(3)],
        documents=[document_row()],
        items=[item_row("a"), item_row("b")],
        ledger=[ledger_row()],
        history=[history_row(), history_row(version=2, memory="old", metadata=METADATA)],
        aliases=[alias_row(), alias_row(key="ben", origin="apart")],
        vectors=[unit_vectors(2)],
    )
    return replace(rows, **changes)


def entries_of(path: Path) -> dict[str, bytes]:
    """What the zip at `path` holds."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, entries: dict[str, bytes], *, honest: bool = True) -> Path:
    """Write entries as a zip; where `honest`, the manifest is told their sizes, checksums and numbers of lines."""
    if honest:
        manifest = json.loads(entries["manifest.json"])
        for name, facts in manifest["entries"].items():
            data = entries.get(name, b"")
            count = data.count(b"\n") if name.endswith("l") else len(data) // 16
            facts |= {"count": count, "size": len(data), "sha256": sha256(data).hexdigest()}
        entries = {**entries, "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def read_all(path: Path, **limits: Any) -> dict[str, Any]:
    with open_archive(path, **limits) as reader:
        rows: dict[str, Any] = {kind: list(getattr(reader, kind)()) for kind in KINDS}
        return {**rows, "vectors": reader.vectors(0, reader.counts["vectors"]).tolist(), "manifest": reader.manifest}


def refusal(path: Path, **limits: Any) -> ArchiveError:
    """The error that opening the archive raises, before any row; it names the file."""
    with pytest.raises(ArchiveError) as caught:
        open_archive(path, **limits)
    assert str(path) in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return caught.value


def with_manifest(path: Path, **changes: Any) -> Path:
    entries = entries_of(path)
    manifest = {**json.loads(entries["manifest.json"]), **changes}
    return zipped(path, {**entries, "manifest.json": json.dumps(manifest).encode()}, honest=False)


def of_version(path: Path, version: int) -> Path:
    """Make an archive one of an older version, which had neither aliases nor hashes of what was rejected before 3."""
    entries = entries_of(path)
    if version < 3:
        del entries["aliases.jsonl"], entries["rejected.jsonl"]
    manifest = {**json.loads(entries["manifest.json"]), "version": version}
    manifest["entries"] = {name: facts for name, facts in manifest["entries"].items() if name in entries}
    return zipped(path, {**entries, "manifest.json": json.dumps(manifest).encode()}, honest=False)


def with_lines(path: Path, kind: str, *lines: bytes) -> Path:
    """Put these lines in place of all rows of a kind, with as many vectors as items, and a manifest that fits."""
    entries = {**entries_of(path), f"{kind}.jsonl": b"".join(line + b"\n" for line in lines)}
    vectors = unit_vectors(entries["items.jsonl"].count(b"\n"))
    return zipped(path, {**entries, "vectors.f32": vectors.tobytes()})
