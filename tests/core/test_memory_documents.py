"""Documents in a memory: exact spans, changed files, equal texts, repeated paragraphs."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memreader.errors import InputError, LooksLikePathError
from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.testing import HashEmbedder
from memreader.types import FileInput

PARAGRAPHS = [f"Paragraph {n} of the handbook says that rule {n} holds for everybody. " * 6 for n in range(8)]


@pytest.fixture
def memory() -> Iterator[Memory]:
    options = ReadOptions(chunk_tokens=100, chunk_overlap=0)
    with Memory.in_memory(embedder=HashEmbedder(), read_options=options) as memory:
        yield memory


def write(path: Path, *paragraphs: str) -> Path:
    path.write_text("\n\n".join(paragraphs), encoding="utf-8")
    return path


def spans(memory: Memory) -> list[tuple[str | None, int | None, int | None]]:
    sources = [item.metadata.sources[0] for item in memory.get_all(user_id="ana")]
    return [(source.doc_path, source.start, source.end) for source in sources]


def test_every_chunk_cites_its_span_of_the_text(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "handbook.txt", *PARAGRAPHS)
    report = memory.add(file, user_id="ana")
    text = file.read_text(encoding="utf-8")
    assert len(report.added) >= 8
    for item in memory.get_all(user_id="ana"):
        (source,) = item.metadata.sources
        assert (source.type, source.doc_path) == ("doc", str(file))
        assert item.memory == source.content == text[source.start : source.end]


def test_a_file_added_again_adds_nothing(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "handbook.txt", *PARAGRAPHS)
    first = memory.add(file, user_id="ana")
    again = memory.add(file, user_id="ana")
    assert (again.added, again.replaced, again.existing) == ([], [], first.added)


def test_a_changed_file_takes_the_place_of_its_old_chunks(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "handbook.txt", "The office opens at nine.")
    first = memory.add(file, user_id="ana")
    memory.search("office", user_id="ana")
    second = memory.add(write(file, "The office opens at ten."), user_id="ana")
    assert (second.replaced, second.existing) == (first.added, [])
    assert [item.memory for item in memory.get_all(user_id="ana")] == ["The office opens at ten."]
    assert [
        hit.item.memory for hit in memory.search("When does the office open? nine", user_id="ana", threshold=0)
    ] == ["The office opens at ten."]


def test_a_file_changed_back_is_read_again(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "handbook.txt"
    ids = [
        memory.add(write(file, text), user_id="ana").added for text in ("nine o'clock", "ten o'clock", "nine o'clock")
    ]
    assert ids[0] == ids[2] != ids[1]
    assert [item.memory for item in memory.get_all(user_id="ana")] == ["nine o'clock"]


def test_a_changed_file_leaves_other_users_theirs(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "handbook.txt", "The office opens at nine.")
    memory.add(file, user_id="ben")
    memory.add(file, user_id="ana")
    memory.add(write(file, "The office opens at ten."), user_id="ana")
    assert [item.memory for item in memory.get_all(user_id="ben")] == ["The office opens at nine."]


def test_the_same_text_in_two_files_is_two_documents(memory: Memory, tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.txt", "The key is blue."), write(tmp_path / "two.txt", "The key is blue.")
    memory.add([one, two], user_id="ana")
    assert [path for path, _, _ in spans(memory)] == [str(one), str(two)]
    memory.add(write(one, "The key is red."), user_id="ana")
    assert sorted(item.memory for item in memory.get_all(user_id="ana")) == ["The key is blue.", "The key is red."]


def test_equal_chunks_of_a_document_are_items_with_their_own_spans(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "handbook.txt", "The rule holds for everybody who works here. " * 60)
    report = memory.add(file, user_id="ana")
    items = memory.get_all(user_id="ana")
    text = file.read_text(encoding="utf-8")
    assert len({item.memory for item in items}) < len(items)
    assert len({item.id for item in items}) == len(report.added) == len(items)
    assert len(set(spans(memory))) == len(items)
    assert [text[start:end] for _, start, end in spans(memory)] == [item.memory for item in items]
    assert memory.add(file, user_id="ana").added == []


def test_deleted_chunks_come_back_with_their_file(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "handbook.txt", *PARAGRAPHS)
    first = memory.add(file, user_id="ana")
    before = spans(memory)
    memory.delete(first.added[2:4], user_id="ana")
    again = memory.add(file, user_id="ana")
    assert (again.added, len(again.existing)) == (first.added[2:4], len(first.added) - 2)
    assert sorted(spans(memory), key=str) == sorted(before, key=str)


def test_a_text_given_as_a_document_is_known_by_its_words(memory: Memory) -> None:
    first = memory.add(["A first text.", "A second text."], user_id="ana", type="doc")
    again = memory.add(["A second text.", "A third text."], user_id="ana", type="doc")
    assert (len(first.added), len(again.added), again.existing) == (2, 1, first.added[1:])


def test_bytes_of_the_same_name_are_two_documents_if_they_differ(memory: Memory) -> None:
    for text in (b"The office opens at nine.", b"The office opens at ten."):
        memory.add(FileInput("note.txt", data=text), user_id="ana")
    assert len(memory.get_all(user_id="ana")) == 2


def test_a_name_below_a_folder_is_a_file(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "note.txt", "The key is blue.")
    memory.add(["note.txt"], user_id="ana", type="doc", files_root=tmp_path)
    assert [item.memory for item in memory.get_all(user_id="ana")] == ["The key is blue."]
    with pytest.raises(InputError):
        memory.add(["../note.txt"], user_id="ana", type="doc", files_root=tmp_path / "deeper")


def test_a_string_that_looks_like_a_path_is_not_opened(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "note.txt", "The key is blue.")
    with pytest.raises(LooksLikePathError):
        memory.add([str(file)], user_id="ana", type="doc")
    memory.add(str(file), user_id="ana")
    assert [item.memory for item in memory.get_all(user_id="ana")] == [f"user: {file}"]


def test_a_file_that_cannot_be_read_is_a_failure_and_the_others_are_stored(memory: Memory, tmp_path: Path) -> None:
    empty, good = write(tmp_path / "empty.txt", ""), write(tmp_path / "good.txt", "The key is blue.")
    report = memory.add([empty, good], user_id="ana")
    assert [failure.kind for failure in report.failures] == ["EmptyDocumentError"]
    assert len(report.added) == 1
    write(empty, "Now it says something.")
    assert len(memory.add([empty, good], user_id="ana").added) == 1


def test_a_missing_file_raises_and_nothing_is_stored(memory: Memory, tmp_path: Path) -> None:
    good = write(tmp_path / "good.txt", "The key is blue.")
    with pytest.raises(FileNotFoundError):
        memory.add([good, tmp_path / "nowhere.txt"], user_id="ana")
    assert memory.get_all(user_id="ana") == []


def test_headings_are_kept_with_their_chunks(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    file.write_text("# Guide\n\nIntro.\n\n## Keys\n\nThe key is blue.\n", encoding="utf-8")
    memory.add(file, user_id="ana")
    headers = {tuple(item.metadata.info.get("headers", ())) for item in memory.get_all(user_id="ana")}
    assert ("Guide", "Keys") in headers or ("Guide",) in headers


def with_file(data: bytes, words: str = "Here is the handbook") -> dict[str, Any]:
    file = {"filename": "handbook.txt", "file_data": f"data:text/plain;base64,{base64.b64encode(data).decode()}"}
    return {"role": "user", "content": [{"type": "text", "text": words}, {"type": "file", "file": file}]}


def test_a_file_in_a_message_is_read_with_the_words_around_it(memory: Memory) -> None:
    chat = [with_file(b"The office opens at nine."), {"role": "user", "content": "thanks"}]
    first = memory.add(chat, user_id="ana", session_id="s")
    items = memory.get_all(user_id="ana")
    assert sorted(item.memory for item in items) == [
        "The office opens at nine.",
        "user: Here is the handbook",
        "user: thanks",
    ]
    (document,) = [item for item in items if item.metadata.sources[0].type == "doc"]
    assert document.metadata.sources[0].doc_path == "handbook.txt"
    assert document.metadata.info["context"] == "Here is the handbook"
    again = memory.add(chat, user_id="ana", session_id="s")
    assert (again.added, again.failures) == ([], [])
    assert set(again.existing) <= set(first.added)


def test_a_message_whose_file_could_not_be_read_is_tried_again(memory: Memory) -> None:
    chat = [with_file(b" \n ")]
    for _ in range(2):
        report = memory.add(chat, user_id="ana", session_id="s")
        assert [failure.kind for failure in report.failures] == ["EmptyDocumentError"]
        assert [item.memory for item in memory.get_all(user_id="ana")] == ["user: Here is the handbook"]
