"""What an archive says and holds is checked, down to every row, and an error names the place."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive_files import (
    FACTS,
    KINDS,
    alias_row,
    entries_of,
    message_row,
    of_version,
    read_all,
    refusal,
    small_rows,
    unit_vectors,
    with_lines,
    with_manifest,
    zipped,
)
from memreader.archive import open_archive, write_archive
from memreader.archive.columns import VERSION
from memreader.errors import ArchiveError

MB = 10**6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good archive."""
    write_archive(tmp_path / "a.zip", FACTS, small_rows())
    return tmp_path / "a.zip"


@pytest.mark.parametrize("version", [VERSION + 1, 999, 10**30])
def test_a_newer_version_is_refused_whatever_it_holds(version: int, path: Path) -> None:
    zipped(path, {**entries_of(path), "more.bin": b"?"}, honest=False)
    error = refusal(with_manifest(path, version=version))
    assert "written by a newer memreader" in error.problem
    assert error.remedy.startswith("Update memreader")


NO_MANIFEST: list[tuple[dict[str, Any], str, str]] = [
    ({"format": "zip"}, "manifest.json", "memreader-archive"),
    ({"version": 0}, "manifest.json, version", "no version"),
    ({"version": True}, "manifest.json, version", "no version"),
    ({"version": "1"}, "manifest.json, version", "no version"),
    ({"created_at": "now"}, "manifest.json, created_at", "ISO 8601"),
    ({"embedder": None}, "manifest.json, embedder", "is null"),
    ({"lexicon": ""}, "manifest.json, lexicon", "is empty"),
    ({"dimension": 0}, "manifest.json, dimension", "between 1 and 65536"),
    ({"dimension": 8}, "manifest.json, entries.vectors.f32.size", "as many vectors"),
    ({"dimension": 4.0}, "manifest.json, dimension", "is float"),
    ({"users": "ana"}, "manifest.json, users", "not a list"),
    ({"users": ["ana", "ana"]}, "manifest.json, users", "twice"),
    ({"users": ["ana", " "]}, "manifest.json, users[1]", "not blank"),
    ({"users": ["ana", "a\0"]}, "manifest.json, users[1]", "not blank"),
    ({"users": [["ana"]]}, "manifest.json, users[0]", "is list, not text"),
    ({"users": [json.loads("[" * 900 + "]" * 900)]}, "manifest.json, users[0]", "is list, not text"),
    ({"users": ["\ud800"]}, "manifest.json, users[0]", "surrogate"),
    ({"entries": []}, "manifest.json, entries", "not an object"),
    ({"entries": {}}, "manifest.json, entries.messages.jsonl", "is missing"),
    ({"x": "\ud800"}, "", ""),
]


@pytest.mark.parametrize(("changes", "where", "problem"), NO_MANIFEST)
def test_a_manifest_that_is_none_is_refused(changes: dict[str, Any], where: str, problem: str, path: Path) -> None:
    if not where:
        read_all(with_manifest(path, **changes))
        return
    error = refusal(with_manifest(path, **changes))
    assert error.where == where
    assert problem in error.problem


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b"\xff", b"NaN", b'{"a": 1, "a": 1}', b"[" * 10**6, b'{"format": 1e999}']
)
def test_a_manifest_that_is_no_json_of_ours_is_refused(text: bytes, path: Path) -> None:
    zipped(path, {**entries_of(path), "manifest.json": text}, honest=False)
    assert refusal(path).where.startswith("manifest.json")


def test_a_row_or_a_manifest_that_is_too_long_is_refused(path: Path) -> None:
    write_archive(path, FACTS, small_rows(messages=[message_row(), message_row(1, content="x" * 3 * MB)]))
    with open_archive(path, max_row_mb=2.5) as reader, pytest.raises(ArchiveError, match=r"over max_row_mb=2\.5"):
        list(reader.messages())
    assert refusal(path, max_row_mb=0.0001).where == "manifest.json"


@pytest.mark.parametrize(
    ("hostile", "problem"),
    [
        ("[" + "{}," * 10**6 + "{}]", "far more parts"),
        ("[" + '"",' * 2 * 10**6 + '""]', "far more parts"),
        ('"' + '\\"' * 10**6, "is not JSON"),
        ('"' + "\\" * (2 * 10**6 + 1), "is not JSON"),
    ],
    ids=["objects", "strings", "quotes", "backslashes"],
)
def test_a_line_that_would_fill_the_memory_is_refused_unparsed(hostile: str, problem: str, path: Path) -> None:
    row = {**json.loads(entries_of(path)["items.jsonl"].splitlines()[0]), "metadata": f'{{"info": {{"a": {hostile}}}}}'}
    for line in (hostile.encode(), json.dumps(row).encode()):
        with_lines(path, "items", line)
        with open_archive(path) as reader, pytest.raises(ArchiveError, match=f"line 1.*{problem}"):
            list(reader.items())


def test_an_entry_that_is_not_what_was_written_is_refused(path: Path) -> None:
    entries = entries_of(path)
    manifest = json.loads(entries["manifest.json"])
    for name in ("items.jsonl", "vectors.f32", "ledger.jsonl"):
        data = entries[name]
        zipped(
            path, {**entries, name: data.replace(b"cat", b"dog") if name == "items.jsonl" else data[::-1]}, honest=False
        )
        assert refusal(path).where.startswith(name)
        for changes in ({"sha256": sha256(b"").hexdigest()}, {"sha256": "x"}, {"size": len(data) - 1}, {"count": 9}):
            facts = {**manifest["entries"], name: {**manifest["entries"][name], **changes}}
            zipped(path, entries, honest=False)
            error = refusal(with_manifest(path, entries=facts))
            assert error.where.startswith(name) or name in error.where or "entries" in error.where


def test_lines_that_are_not_as_many_or_not_whole_are_refused(path: Path) -> None:
    entries = entries_of(path)
    zipped(path, {**entries, "ledger.jsonl": entries["ledger.jsonl"] + b"{}"})
    assert "lines" in refusal(path).problem
    zipped(path, {**entries, "ledger.jsonl": b""})
    assert read_all(path)["ledger"] == []


@pytest.mark.parametrize("count", [0, 1, 3])
def test_vectors_that_are_not_as_many_as_the_items_are_refused(count: int, path: Path) -> None:
    zipped(path, {**entries_of(path), "vectors.f32": unit_vectors(count).tobytes()})
    assert "another number of vectors than of items" in refusal(path).problem


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([1.01, 0, 0, 0], "is not of unit length"),
        ([np.nan, 0, 0, 0], "not finite"),
        ([0, -np.inf, 0, 0], "not finite"),
        ([3e38, 3e38, 0, 0], "is not of unit length"),
    ],
)
def test_a_vector_that_nobody_could_search_is_refused(row: list[float], problem: str, path: Path) -> None:
    vectors = np.concatenate([unit_vectors(1), np.array([row], np.float32)])
    zipped(path, {**entries_of(path), "vectors.f32": vectors.tobytes()})
    error = refusal(path)
    assert (error.where, problem in error.problem) == ("vectors.f32, row 1", True)


LONG = "x" * 257
DEEP = "[" * 10**5
BAD_ROWS: list[tuple[str, dict[str, Any], str, str]] = [
    ("messages", {"user_id": "ben"}, "user_id", "the manifest doesn't name"),
    ("messages", {"user_id": None}, "user_id", "is null, not text"),
    ("messages", {"user_id": ["ana"]}, "user_id", "is list, not text"),
    ("messages", {"position": -1}, "position", "between 0 and"),
    ("messages", {"position": 2**63}, "position", "between 0 and"),
    ("messages", {"position": "1"}, "position", "is str, not a whole number"),
    ("messages", {"position": 1.0}, "position", "is float"),
    ("messages", {"position": True}, "position", "is bool"),
    ("messages", {"position": 0}, "", "the same user_id and session_id and position as an earlier line"),
    ("messages", {"source_key": "m:0"}, "", "the same user_id and source_key as an earlier line"),
    ("messages", {"source_key": ""}, "source_key", "is empty"),
    ("messages", {"content": None}, "content", "is null"),
    ("messages", {"content": "\ud800"}, "content", "surrogate"),
    ("messages", {"raw": 5}, "raw", "is int"),
    ("messages", {"chat_time": "yesterday"}, "chat_time", "ISO 8601"),
    ("messages", {"deleted": 2}, "deleted", "neither 0 nor 1"),
    ("messages", {"flags": "{}"}, "flags", "is dict, not a list"),
    ("messages", {"flags": "[1]"}, "flags", "is int"),
    ("messages", {"flags": DEEP}, "flags", "nested too deeply"),
    ("messages", {"more": 1}, "", "has the column 'more'"),
    ("documents", {"page_starts": "[5,0]"}, "page_starts", "does not ascend"),
    ("documents", {"page_starts": "[-1]"}, "page_starts", "between 0 and"),
    ("documents", {}, "", "the same user_id and doc_key"),
    ("items", {"user_id": "ben"}, "metadata.user_id", "is another user than the row's"),
    ("items", {"user_id": "ben", "metadata": "{}"}, "user_id", "the manifest doesn't name"),
    ("items", {"item_id": LONG}, "item_id", "has 257 characters"),
    ("items", {"item_id": ""}, "item_id", "is empty"),
    ("items", {"item_id": "a"}, "", "the same user_id and item_id"),
    ("items", {"memory": " "}, "memory", "at least one character"),
    ("items", {"memory": None}, "memory", "is null"),
    ("items", {"metadata": "{"}, "metadata", "is not JSON"),
    ("items", {"metadata": "[]"}, "metadata", "dictionary"),
    ("items", {"metadata": '{"mood": 1}'}, "metadata.mood", "not permitted"),
    ("items", {"metadata": '{"tags": ["a", 1]}'}, "metadata.tags[1]", "valid string"),
    ("items", {"metadata": '{"confidence": 1.5}'}, "metadata.confidence", "less than or equal to 1"),
    ("items", {"metadata": '{"confidence": NaN}'}, "metadata", "has NaN"),
    ("items", {"metadata": '{"info": {"k": 1e999}}'}, "metadata", "too large"),
    ("items", {"metadata": '{"info": {}, "info": {}}'}, "metadata", "twice"),
    ("items", {"metadata": '{"info": {"a": ' + DEEP}, "metadata", "nested too deeply"),
    ("items", {"metadata": '{"info": {"a": "\\ud800"}}'}, "metadata.info", "surrogate"),
    ("items", {"metadata": '{"user_id": "ben"}'}, "metadata.user_id", "another user"),
    ("items", {"source_keys": "m:0"}, "source_keys", "is str, not a list"),
    ("items", {"source_keys": [""]}, "source_keys", "is empty"),
    ("items", {"relations": [["a", "b"]]}, "relations", "not [head, relation, tail]"),
    ("items", {"relations": [["a", "b", None]]}, "relations", "is null"),
    ("items", {"settled": None}, "settled", "is null, not a list"),
    ("items", {"settled": [["b", "merge", ""]]}, "settled", "not [item, kind, at, reason]"),
    ("items", {"settled": [["", "merge", "", ""]]}, "settled", "is empty"),
    ("items", {"settled": [["z", "merge", "", ""]]}, "settled", "names the item itself"),
    ("items", {"settled": [["b", "merge", "", ""], ["b", "merge", "", ""]]}, "settled", "names an item twice"),
    ("items", {"settled": [["b", "add", "", ""]]}, "settled", "neither merge nor supersede"),
    ("items", {"settled": [["b", ["merge"], "", ""]]}, "settled", "neither merge nor supersede"),
    ("items", {"settled": [["b", "supersede", "", ""]]}, "settled", "ISO 8601"),
    ("items", {"settled": [["b", "merge", "now", ""]]}, "settled", "ISO 8601"),
    ("items", {"settled": [["b", "merge", "", None]]}, "settled", "is null"),
    ("items", {"standing": "{}"}, "standing", "is not {"),
    ("items", {"standing": '{"sources": [], "entities": [], "tags": []}'}, "standing", "is not {"),
    ("items", {"standing": '{"sources": [{"index": -1}], "entities": []}'}, "standing.sources[0].index", "greater"),
    ("items", {"standing": '{"sources": [], "entities": [1]}'}, "standing.entities[0]", "valid string"),
    ("items", {"feedback": None}, "feedback", "is null, not a list"),
    ("items", {"feedback": [[1, 0, None]]}, "feedback", "not [useful, at, terms, vector]"),
    ("items", {"feedback": [[2, 0, None, None]]}, "feedback", "neither 0 nor 1"),
    ("items", {"feedback": [[1, -1, None, None]]}, "feedback", "between 0 and"),
    ("items", {"feedback": [[1, 0, [2**63], None]]}, "feedback", "64 bit"),
    ("items", {"feedback": [[1, 0, [True], None]]}, "feedback", "64 bit"),
    ("items", {"feedback": [[1, 0, "tea", None]]}, "feedback", "is str, not a list"),
    ("items", {"feedback": [[1, 0, None, "003c"]]}, "feedback", "not one in hex"),
    ("items", {"feedback": [[1, 0, [], "003"]]}, "feedback", "not one in hex"),
    ("items", {"feedback": [[1, 0, [], "007c"]]}, "feedback", "not one in hex"),
    ("items", {"feedback": [[1, 0, [], "00fe"]]}, "feedback", "not one in hex"),
    ("items", {"feedback": [[1, 0, [], ["003c"]]]}, "feedback", "not one in hex"),
    ("ledger", {"reading_key": 1}, "reading_key", "is int"),
    ("ledger", {}, "", "the same user_id and source_key and reading_key"),
    ("history", {"event": "gone"}, "event", "is none of add, delete, replace, restore, update"),
    ("history", {"event": ["add"]}, "event", "is none of"),
    ("history", {"at": ""}, "at", "ISO 8601"),
    ("history", {"memory": "a", "metadata": '{"user_id": "ben"}'}, "metadata.user_id", "another user"),
    ("history", {"item_id": LONG}, "item_id", "257"),
]


@pytest.mark.parametrize(("kind", "changes", "where", "problem"), BAD_ROWS)
def test_a_row_that_is_none_is_refused_with_its_line(
    kind: str, changes: dict[str, Any], where: str, problem: str, path: Path
) -> None:
    lines = entries_of(path)[f"{kind}.jsonl"].decode().splitlines()
    fresh = {"messages": {"position": 9, "source_key": "m:9"}, "items": {"item_id": "z"}}.get(kind, {})
    bad = json.dumps({**json.loads(lines[0]), **fresh, **changes})
    with_lines(path, kind, *(line.encode() for line in lines), bad.encode())
    with open_archive(path) as reader, pytest.raises(ArchiveError) as caught:
        list(getattr(reader, kind)())
    assert caught.value.where == f"{kind}.jsonl, line {len(lines) + 1}" + (f", {where}" if where else "")
    assert problem in caught.value.problem
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "is not JSON"),
        (b"5", "is int, not a row"),
        (b"[]", "is list, not a row"),
        (b"{}", "is missing"),
        (b"\xff", "is not UTF-8"),
        (b"{} {}", "something follows"),
        (b'{"a": 1, "a": 1}', "has the key 'a' twice"),
        (b"[" * 10**5, "nested too deeply"),
        (b'{"version": ' + b"9" * 5000 + b"}", "thousands of digits"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_line_that_is_no_row_is_refused(kind: str, line: bytes, problem: str, path: Path) -> None:
    with_lines(path, kind, line)
    with open_archive(path) as reader, pytest.raises(ArchiveError, match="line 1") as caught:
        list(getattr(reader, kind)())
    assert problem in caught.value.problem


def test_a_column_that_is_missing_is_named(path: Path) -> None:
    entries = entries_of(path)
    for kind in KINDS:
        row = json.loads(entries[f"{kind}.jsonl"].splitlines()[0])
        for column in row:
            with_lines(path, kind, json.dumps({name: row[name] for name in row if name != column}).encode())
            with open_archive(path) as reader, pytest.raises(ArchiveError, match="is missing") as caught:
                list(getattr(reader, kind)())
            assert caught.value.where == f"{kind}.jsonl, line 1, {column}"


@pytest.mark.parametrize(
    ("version", "later"), [(1, ("settled", "standing", "feedback")), (2, ("feedback",))], ids=["1", "2"]
)
def test_an_older_archive_has_none_of_the_columns_that_came_later(
    version: int, later: tuple[str, ...], path: Path
) -> None:
    rows = [json.loads(line) for line in entries_of(path)["items.jsonl"].splitlines()]
    older = [{name: row[name] for name in row if name not in later} for row in rows]
    with_lines(path, "items", *(json.dumps(row).encode() for row in older))
    whole = path.read_bytes()
    with open_archive(of_version(path, version)) as reader:
        assert [{name: row[name] for name in older[0]} for row in reader.items()] == older
    path.write_bytes(whole)
    with open_archive(of_version(path, version + 1)) as reader, pytest.raises(ArchiveError, match="is missing"):
        list(reader.items())
    path.write_bytes(whole)
    with_lines(path, "items", *(json.dumps(row).encode() for row in rows))
    with (
        open_archive(of_version(path, version)) as reader,
        pytest.raises(ArchiveError, match=f"has the column '{later[0]}'"),
    ):
        list(reader.items())


@pytest.mark.parametrize("version", [1, 2])
def test_an_archive_before_version_3_has_no_decisions_about_names(path: Path, version: int) -> None:
    with open_archive(of_version(path, version)) as reader:
        assert list(reader.aliases()) == []
        assert "aliases" not in reader.counts
    assert "is missing" in refusal(with_manifest(path, version=3)).problem
    write_archive(path, FACTS, small_rows())
    assert "no part of an archive" in refusal(with_manifest(path, version=version)).problem


@pytest.mark.parametrize("origin", ["stated", "", None, 1, ["user"]])
def test_a_decision_about_names_is_user_or_apart(path: Path, origin: Any) -> None:
    with_lines(path, "aliases", json.dumps(alias_row(origin=origin)).encode())
    with open_archive(path) as reader, pytest.raises(ArchiveError, match="neither user nor apart") as caught:
        list(reader.aliases())
    assert caught.value.where == "aliases.jsonl, line 1, origin"


def test_an_error_holds_no_words_of_the_memory(path: Path) -> None:
    secret = "the vault's number is 4711"
    row = json.loads(entries_of(path)["items.jsonl"].splitlines()[0])
    for changes in ({"metadata": secret}, {"memory": [secret]}, {"metadata": json.dumps({"type": secret})}):
        with_lines(path, "items", json.dumps({**row, "memory": secret, **changes}).encode())
        with open_archive(path) as reader, pytest.raises(ArchiveError) as caught:
            list(reader.items())
        assert "vault" not in str(caught.value)


@given(kind=st.sampled_from(KINDS), line=st.binary(max_size=200))
def test_any_line_gives_rows_or_a_clear_error(kind: str, line: bytes, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "line.zip"
    write_archive(path, FACTS, small_rows())
    with_lines(path, kind, line)
    with suppress(ArchiveError):
        read_all(path)
