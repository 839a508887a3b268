"""Whatever is no dump is a clear error with its place, and nothing of it is loaded."""

from __future__ import annotations

import json
import os
import pickle
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive_files import JSON, own, written
from memreader.archive import FILENAME, read_dump, write_dump
from memreader.errors import ArchiveError

GOLDEN = Path(__file__).parent / "golden" / "memos_dump.json"


def refusal(folder: Path, content: Any, **options: Any) -> ArchiveError:
    """The error that loading `content` raises; it names the file."""
    path = written(folder, content)
    with pytest.raises(ArchiveError) as caught:
        read_dump(folder, **options)
    assert str(path) in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "/etc/passwd", "../a", "a\\b", "c:a", "a:b", "a\0b", "a/", "\ud800", None, Path("a"), b"a"],
)
def test_a_file_name_is_a_bare_name(name: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bare name"):
        write_dump(tmp_path / "in", [], filename=name)
    with pytest.raises(ValueError, match="bare name"):
        read_dump(tmp_path, filename=name)
    assert not os.listdir(tmp_path)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "null").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "socket"))
        for name in ("pipe", "folder", "null", "socket"):
            with pytest.raises(ArchiveError, match="a folder, a pipe or a device"):
                read_dump(tmp_path, filename=name)
            with pytest.raises(ArchiveError, match="a folder, a pipe or a device"):
                write_dump(tmp_path, [], filename=name)
    for name in ("loop", "absent"):
        with pytest.raises(OSError, match=name):
            read_dump(tmp_path, filename=name)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / FILENAME).open("wb") as stream:
        stream.truncate(10**13)  # A hole: the disk holds nothing of it.
    with pytest.raises(ArchiveError, match=r"holds 10000000\.0 MB, over max_mb=1000\. Raise max_mb"):
        read_dump(tmp_path)
    size = written(tmp_path, [own()]).stat().st_size
    assert read_dump(tmp_path, max_mb=size / 1e6)
    assert "over max_mb" in str(refusal(tmp_path, [own()], max_mb=(size - 1) / 1e6))


def test_a_percentage_without_its_scale_names_the_remedy() -> None:
    with pytest.raises(ArchiveError) as caught:
        read_dump(GOLDEN)
    assert caught.value.where == "[0].payload.metadata.confidence"
    assert caught.value.remedy == "Pass confidence_scale=100 if it counts to 100."


@pytest.mark.parametrize(
    ("confidence", "scale", "remedy"),
    [
        (1.01, 1, "=100"),
        (-1, 1, "Mend"),
        (101, 100, "Mend"),
        (True, 1, "Mend"),
        ("0.5", 1, "Mend"),
        (10**99, 1, "Mend"),
    ],
)
def test_a_confidence_off_the_scale_is_refused(confidence: Any, scale: float, remedy: str, tmp_path: Path) -> None:
    error = refusal(tmp_path, [own(), own("b", confidence=confidence)], confidence_scale=scale)
    assert error.where == "[1].metadata.confidence"
    assert (
        error.problem.endswith(f"is not between 0 and {scale}, which confidence_scale says")
        or "is a number" in error.problem
    )
    assert remedy in error.remedy


@pytest.mark.parametrize("options", [{"confidence_scale": 0}, {"confidence_scale": float("nan")}, {"max_mb": -1}])
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be a number above 0"):
        read_dump(tmp_path, **options)


def test_an_id_stands_once_for_each_user(tmp_path: Path) -> None:
    raw = [own("1"), own("2"), own("1", user_id="ana"), own("1", user_id="ben")]
    written(tmp_path, raw)
    assert len(read_dump(tmp_path)) == 4
    error = refusal(tmp_path, [*raw, own("1", user_id="ana")])
    assert (error.where, error.problem) == ("[4].id", "is the same id as that of [2]")


NESTED = json.loads("[" * 900 + "]" * 900)
BROKEN: list[tuple[Any, str, str]] = [
    (b"", "", "is empty"),
    (b" \n", "", "is empty"),
    (b"\xff\xfe[\0]\0", "", "is not UTF-8"),
    (b'[{"memory": "\xe9"}]', "", "is not UTF-8 (byte 13)"),
    (b"{}", "", "is not a JSON list"),
    ({"nodes": [], "edges": []}, "", "is not a JSON list"),
    (b"[", "[0]", "Expecting value (line 1, column 2)"),
    (b"[1", "[0]", "is an object, this is a number"),
    (b"[]]", "", "something follows"),
    (json.dumps([own()]).encode() + b"x", "", "something follows"),
    (json.dumps([own()]).encode()[:-1], "[0]", "the file ends"),
    (json.dumps([own()]).encode()[:-1] + b",]", "[1]", "Expecting value"),
    (json.dumps([own(), own("b")]).encode().replace(b"}, {", b"} {"), "[0]", "something else than a comma"),
    (b'[{"memory": "a", "memory": "b"}]', "[0]", "has the key 'memory' twice"),
    (b'[{"memory": "a", "metadata": {"info": {"k": 1, "k": 1}}}]', "[0]", "has the key 'k' twice"),
    (b'[{"memory": "a", "metadata": {"confidence": NaN}}]', "[0]", "has NaN"),
    (b'[{"memory": "a", "metadata": {"info": {"k": -Infinity}}}]', "[0]", "has -Infinity"),
    (b'[{"memory": "a", "metadata": {"info": {"k": 1e999}}}]', "[0]", "a number too large"),
    (b'[{"memory": "a", "metadata": {"info": {"k": ' + b"9" * 5000 + b"}}}]", "[0]", "thousands of digits"),
    (b'[{"memory": "a", "metadata": {"info": {"k": ' + b"[" * 100_000, "[0]", "nested too deeply"),
    (b"[" * 1_000_000, "[0]", "nested too deeply"),
    ([own(), None], "[1]", "this is null"),
    ([own(), [own()]], "[1]", "this is a list"),
    ([{}], "[0].memory", "string"),
    ([own(memory=" ")], "[0].memory", "at least one character"),
    ([own(name="")], "[0].id", "1 to 256"),
    ([own(name="x" * 257)], "[0].id", "1 to 256"),
    ([{**own(), "id": 7}], "[0].id", "string"),
    ([own(name="\ud800")], "[0].id", "surrogate"),
    ([own(memory="half \udc00")], "[0].memory", "surrogate"),
    ([own(info={"k": "\ud800"})], "[0].metadata.info", "surrogate"),
    ([own(graph_id={"\ud800": 1})], "[0].metadata.info", "surrogate"),
    ([own(**{"\ud800": 1})], "[0].metadata.info.\ufffd\ufffd\ufffd.[key]", "surrogate"),
    ([own(sources=[{"content": "a", "x": "\ud800"}])], "[0].metadata.sources[0].x", "surrogate"),
    ([own(sources=[{"content": "a", "\ud800": 1}])], "[0].metadata.sources[0]", "unicode string"),
    ([{**own(), "score": 1}], "[0]", "has the field 'score'"),
    ([{**own(), "metadata": []}], "[0].metadata", "this is a list"),
    ([own(type="mood")], "[0].metadata.type", "procedure"),
    ([own(updated_at="yesterday")], "[0].metadata.updated_at", "ISO 8601"),
    ([own(sources=["[]", 5])], "[0].metadata.sources[1]", "valid dictionary"),
    ([own(sources=[{"type": "web", "source_type": "x"}])], "[0].metadata.sources[0]", "'source_type'"),
    ([own(info=[], graph_id=1)], "[0].metadata.info", "this is a list"),
    ([own(embedding=[1, "x"])], "[0].metadata.embedding[1]", "number"),
    ([{"id": "a", "vector": [1]}], "[0].payload", "this is null"),
    ([{"id": "a", "payload": {"memory": "m"}, "extra": 1}], "[0]", "has the field 'extra'"),
    ([{"id": "a", "payload": {"memory": "m", "extra": 1}}], "[0].payload", "has the field 'extra'"),
    ([{"id": "a", "payload": {"id": "b", "memory": "m"}}], "[0].payload.id", "another id"),
    ([{"id": "a", "payload": {"metadata": {}}}], "[0].payload.memory", "string"),
    ([{"id": NESTED, "payload": {"id": NESTED, "memory": "m"}}], "[0].payload.id", "not text"),
    ([own(graph_id=NESTED, info={"graph_id": NESTED})], "[0].metadata.info", "JSON can't"),
    ([own(sources=[{}] * 100_001)], "[0].metadata.sources", "100001 parts"),
    ([own(history=[{}] * 100_001)], "[0].metadata.history", "100001 parts"),
]


@pytest.mark.parametrize(("content", "where", "problem"), BROKEN)
def test_what_is_wrong_is_said_with_its_place(content: Any, where: str, problem: str, tmp_path: Path) -> None:
    error = refusal(tmp_path, content)
    assert error.where == where
    assert problem in error.problem
    str(error).encode()


def test_an_error_holds_no_words_of_the_memory(tmp_path: Path) -> None:
    secret = "the vault's number is 4711"
    for raw in (own(memory=secret, type=secret), own(memory=secret, sources=[{"index": secret}]), {secret: secret}):
        assert secret not in str(refusal(tmp_path, [raw])).replace(repr(secret), "")


@given(data=st.data())
def test_any_bytes_give_memories_or_a_clear_error(data: st.DataObject, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.getbasetemp()
    valid = GOLDEN.read_bytes()
    start = data.draw(st.integers(0, len(valid)))
    end = data.draw(st.integers(start, len(valid)))
    path = written(folder, valid[:start] + data.draw(st.binary(max_size=8)) + valid[end:])
    with suppress(ArchiveError):
        read_dump(path, confidence_scale=100)


@given(
    raw=st.lists(
        JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "memory", "metadata", "payload"), JSON))
    )
)
def test_any_json_gives_memories_or_a_clear_error(raw: list[Any], tmp_path_factory: Any) -> None:
    path = written(tmp_path_factory.getbasetemp(), raw)
    with suppress(ArchiveError):
        read_dump(path)


@pytest.mark.parametrize(
    "shape", ['[{{"id": {0}, "payload": {{"id": {0}}}}}]', '[{{"metadata": {{"x": {0}, "info": {{"x": {0}}}}}}}]']
)
def test_nesting_to_the_limit_is_a_clear_error(shape: str, tmp_path: Path) -> None:
    for depth in range(850, 1000):
        refusal(tmp_path, shape.format("[" * depth + "]" * depth).encode())
