"""The dump: what goes into the file comes out again, and MemOS's own is read with everything in it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archive_files import JSON, TEXT, TIME, own, written
from memreader.archive import FILENAME, read_dump, write_dump
from memreader.errors import ArchiveError
from memreader.items import TextualMemoryItem, TextualMemoryMetadata

GOLDEN = Path(__file__).parent / "golden" / "memos_dump.json"
WORDS = TEXT.filter(str.strip)
SOURCE = st.fixed_dictionaries(
    {"type": st.sampled_from(["chat", "doc"]), "content": TEXT},
    optional={"chat_time": TIME, "index": st.integers(0, 9), "file_info": JSON},
)
METADATA = st.fixed_dictionaries(
    {"created_at": TIME, "updated_at": TIME},
    optional={
        "user_id": TEXT,
        "tags": st.lists(TEXT, max_size=3),
        "confidence": st.floats(0, 1),
        "sources": st.lists(SOURCE, max_size=2),
        "history": st.lists(st.dictionaries(TEXT, JSON, max_size=2), max_size=2),
        "info": st.dictionaries(TEXT, JSON, max_size=3),
        "embedding": st.lists(st.floats(-1, 1, width=32), max_size=4),
        "memory_time": TIME,
        "version": st.integers(1, 2**53),
    },
)
ITEM = st.builds(
    lambda name, memory, metadata: TextualMemoryItem(id=name, memory=memory, metadata=metadata),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=256),
    WORDS,
    METADATA,
)


@given(items=st.lists(ITEM, max_size=4, unique_by=lambda item: (item.metadata.user_id, item.id)))
@example(items=[])
def test_what_is_dumped_is_loaded_again(items: list[TextualMemoryItem], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.getbasetemp() / "round" / "trip"
    path = write_dump(folder, iter(items), with_embedding=True)
    assert read_dump(folder) == read_dump(path) == items
    raw = json.loads(path.read_text(encoding="utf-8"))
    assert [list(one) for one in raw] == [["id", "memory", "metadata"]] * len(items)
    write_dump(folder, items)
    bare = [
        item.model_copy(update={"metadata": item.metadata.model_copy(update={"embedding": None})}) for item in items
    ]
    assert read_dump(folder) == bare


def test_a_dump_is_a_list_of_memories_without_vectors_that_people_can_read(tmp_path: Path) -> None:
    metadata = TextualMemoryMetadata(embedding=[0.5, 0.25], tags=["猫"])
    write_dump(tmp_path, [TextualMemoryItem(id=str(n), memory="安娜有一只猫。", metadata=metadata) for n in range(2)])
    text = (tmp_path / "textual_memory.json").read_text(encoding="utf-8")
    assert text.count("安娜有一只猫。") == text.count("猫") - 2 == 2
    assert "embedding" not in text
    assert len(text.splitlines()) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_only_the_owner_can_read_a_dump(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = write_dump(tmp_path / "new", [])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_text() == "[]\n"


def test_a_dump_that_fails_halfway_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    def items() -> Iterator[TextualMemoryItem]:
        yield TextualMemoryItem(memory="x" * 100_000)
        raise KeyboardInterrupt

    path = write_dump(tmp_path, [TextualMemoryItem(memory="old")])
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_dump(tmp_path, items())
    item = TextualMemoryItem(memory="new")
    item.metadata.info["half"] = "\ud800"
    with pytest.raises(ArchiveError, match=r"\[0\]: holds something that JSON can't"):
        write_dump(tmp_path, [item])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [FILENAME]


def test_a_full_disk_leaves_the_old_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = write_dump(tmp_path, [TextualMemoryItem(memory="old")])
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_dump(tmp_path, [TextualMemoryItem(memory="new")])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [FILENAME]


def test_a_link_is_replaced_and_what_it_points_to_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tmp_path / FILENAME).symlink_to("kept")
    path = write_dump(tmp_path, [])
    assert (tmp_path / "kept").read_text() == "kept"
    assert not path.is_symlink()


def test_a_link_is_followed_when_it_is_read(tmp_path: Path) -> None:
    written(tmp_path, [own()])
    (tmp_path / "link.json").symlink_to(FILENAME)
    assert len(read_dump(tmp_path, filename="link.json")) == 1


def test_memos_s_dump_is_loaded_with_everything_in_it() -> None:
    lisbon, cats = read_dump(GOLDEN, confidence_scale=100)
    assert (lisbon.id, lisbon.memory) == ("0b1de9f3-5f0a-4d8e-9a26-7c1f0c6f3a01", "李娜去年搬到了里斯本。")
    metadata = lisbon.metadata
    assert (metadata.confidence, metadata.memory_time, metadata.entities) == (0.85, "2023-06-01", ["李娜", "里斯本"])
    assert metadata.updated_at == metadata.created_at == "2024-03-05T18:21:09.123456"
    assert metadata.info == {"title": "搬家", "graph_id": 17, "ref_id": {"doc": ["a", 2]}}
    assert metadata.embedding is None
    assert cats.id.endswith("a02")
    assert cats.metadata.info == {"graph_id": "own", "ref_id": 4, "metadata.graph_id": 18}
    assert (cats.metadata.confidence, cats.metadata.tags, cats.metadata.visibility) == (1, [], "private")
    said, paper, words = cats.metadata.sources
    assert (said.type, said.role, said.content, said.chat_time) == ("chat", "user", "I keep two cats.", None)
    assert said.model_extra == {"chat_time_text": "03:48 PM on 14 May, 2023"}
    assert (paper.type, paper.doc_path) == ("doc", "cats.pdf")
    assert paper.model_extra == {"file_info": {"pages": 3}, "source_type": "file"}
    assert (words.type, words.content) == ("doc", "As she said at dinner.")


def test_nothing_in_info_gives_way_to_a_field_that_is_not_ours(tmp_path: Path) -> None:
    written(tmp_path, [own(one=True, two=2, info={"one": 1, "two": 2, "metadata.one": 3})])
    info = read_dump(tmp_path)[0].metadata.info
    assert info == {"one": 1, "two": 2, "metadata.one": 3, "metadata.metadata.one": True}
    assert info["one"] is not True


def test_a_memory_without_an_id_has_the_same_one_every_time(tmp_path: Path) -> None:
    raw = [{"memory": "yes"}, {"memory": "yes"}, {"memory": "yes", "metadata": {"user_id": "ana"}}, {"memory": "no"}]
    written(tmp_path, raw)
    ids = [item.id for item in read_dump(tmp_path)]
    assert ids == [item.id for item in read_dump(tmp_path)]
    assert len(set(ids)) == 4


def test_a_byte_order_mark_is_skipped_and_names_in_milvus_s_form_too(tmp_path: Path) -> None:
    raw = {"id": "a", "vector": [1], "memory": "Ana has a cat.", "payload": {"metadata": {}}, "score": None}
    written(tmp_path, b"\xef\xbb\xbf" + json.dumps([raw]).encode())
    assert [item.memory for item in read_dump(tmp_path)] == ["Ana has a cat."]


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    path = written(tmp_path, [own(str(n)) for n in range(2500)])
    read_dump(tmp_path, progress=lambda *call: calls.append(call))
    size = len(path.read_text())
    assert [done for _, done, _ in calls] == sorted({done for _, done, _ in calls})
    assert calls[-1] == ("read", size, size)
    assert len(calls) == 3
