"""Taking an archive in where something is already: places, words and deletions of both sides come together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archive_files import message_row
from memreader.errors import ArchiveError, SourceExistsError
from memreader.memory import Memory
from stored import assert_citations, table
from whole_memory import LONG, archive, chat, everything, open_it


@pytest.fixture
def memory() -> Iterator[Memory]:
    with open_it() as memory:
        yield memory


@pytest.fixture
def other() -> Iterator[Memory]:
    with open_it() as memory:
        yield memory


def test_messages_of_one_session_are_put_behind_each_other(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.add(chat("one", "two", LONG), user_id="ana", session_id="s")
    other.add(chat("here zero", "here one", first=10), user_id="ana", session_id="s")
    memory.admin.export(tmp_path / "all.zip")
    other.admin.import_(tmp_path / "all.zip")
    kept = table(other, "SELECT content FROM messages ORDER BY position")
    assert kept == [("here zero",), ("here one",), ("one",), ("two",), (LONG,)]
    assert_citations(other)
    assert other.add(chat("one", "two", LONG, "three"), user_id="ana", session_id="s").added != []
    assert [item.metadata.sources[0].index for item in other.get_all(user_id="ana")][-1] == 5


def test_the_order_of_messages_stays_whatever_places_are_free(memory: Memory, other: Memory, tmp_path: Path) -> None:
    other.admin.import_(archive(tmp_path / "gap.zip", [message_row(n, session_id="s") for n in (0, 7)], ["m:0", "m:7"]))
    memory.add([f"turn {n}" for n in range(12)], user_id="ana", session_id="s")
    memory.admin.export(tmp_path / "all.zip")
    other.admin.import_(tmp_path / "all.zip")
    turns = [words for (words,) in table(other, "SELECT content FROM messages ORDER BY position") if "turn" in words]
    assert turns == [f"turn {n}" for n in range(12)]
    assert_citations(other)


def test_a_chat_that_both_have_is_one_chat(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.add(chat("one", "two", "three", LONG), user_id="ana", session_id="s")
    other.add(["before"], user_id="ana", session_id="s")
    other.add(chat("one", "two"), user_id="ana", session_id="s")
    memory.admin.export(tmp_path / "all.zip")
    report = other.admin.import_(tmp_path / "all.zip", on_conflict="skip")
    assert report.existing == 2
    kept = [words for (words,) in table(other, "SELECT content FROM messages ORDER BY position")]
    assert kept == ["before", "one", "two", "three", LONG]
    assert_citations(other)
    assert other.add(chat("one", "two", "three", LONG), user_id="ana", session_id="s").added == []


@pytest.mark.parametrize("kind", ["message", "document"])
@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_a_source_with_other_words_is_one_or_the_other(
    memory: Memory, other: Memory, tmp_path: Path, kind: str, on_conflict: Any
) -> None:
    file = tmp_path / "house.txt"
    for one, words in ((memory, f"Their words. {LONG}"), (other, "My words.")):
        file.write_text(words, encoding="utf-8")
        one.add(file if kind == "document" else chat(words), user_id="ana", session_id="s")
    theirs, mine = ([item.memory for item in one.get_all(user_id="ana")] for one in (memory, other))
    memory.admin.export(tmp_path / "all.zip")
    report = other.admin.import_(tmp_path / "all.zip", on_conflict=on_conflict)
    expected = theirs if on_conflict == "replace" else mine
    assert [item.memory for item in other.get_all(user_id="ana")] == expected
    assert (report.added, report.existing) == ((len(theirs), 0) if on_conflict == "replace" else (0, len(theirs)))
    assert report.replaced == (1 if on_conflict == "replace" else 0)
    assert_citations(other)
    # Read again, it is what was given: an edit.
    file.write_text(f"Their words. {LONG}", encoding="utf-8")
    again = other.add(file if kind == "document" else chat(f"Their words. {LONG}"), user_id="ana", session_id="s")
    assert [item.memory for item in other.get_all(user_id="ana")] == theirs
    assert (again.added == []) is (on_conflict == "replace")


@pytest.mark.parametrize("kind", ["message", "document"])
def test_a_source_with_other_words_refuses_the_archive(
    memory: Memory, other: Memory, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "house.txt"
    for one, words in ((memory, "Their words."), (other, "My words.")):
        file.write_text(words, encoding="utf-8")
        one.add(file if kind == "document" else chat(words), user_id="ana", session_id="s")
    before = everything(other)
    memory.admin.export(tmp_path / "all.zip")
    with pytest.raises(SourceExistsError, match="on_conflict") as caught:
        other.admin.import_(tmp_path / "all.zip")
    assert (caught.value.kind, caught.value.place) == (kind, "s[0]" if kind == "message" else str(file))
    assert everything(other) == before


@pytest.mark.parametrize("kind", ["message", "document"])
@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_what_was_deleted_in_part_here_or_there_is_made_whole(
    memory: Memory, other: Memory, tmp_path: Path, kind: str, on_conflict: Any
) -> None:
    (tmp_path / "house.txt").write_text(LONG, encoding="utf-8")
    given = tmp_path / "house.txt" if kind == "document" else chat(LONG)
    for one, at in ((memory, 1), (other, 3)):
        ids = one.add(given, user_id="ana", session_id="s").added
        one.delete(ids[at], user_id="ana")
    memory.admin.export(tmp_path / "all.zip")
    report = other.admin.import_(tmp_path / "all.zip", on_conflict=on_conflict)
    assert report.added == (1 if on_conflict == "skip" else len(ids) - 1)
    assert {item.id for item in other.get_all(user_id="ana")} == set(ids)
    assert_citations(other)
    assert table(other, "SELECT text FROM documents" if kind == "document" else "SELECT content FROM messages") == [
        (LONG,)
    ]


def test_what_was_deleted_here_comes_back_and_what_was_deleted_there_stays(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    for one, at in ((memory, 1), (other, 0)):
        ids = one.add(chat("one", "two"), user_id="ana", session_id="s").added
        one.delete(ids[at], user_id="ana")
    memory.admin.export(tmp_path / "all.zip")
    other.admin.import_(tmp_path / "all.zip", on_conflict="skip")
    assert {item.id for item in other.get_all(user_id="ana")} == set(ids)
    assert table(other, "SELECT content, deleted FROM messages ORDER BY position") == [("one", 0), ("two", 0)]
    assert_citations(other)
    events = [[one.event for one in other.history(item_id, user_id="ana")] for item_id in ids]
    assert events == [["add", "delete", "add"], ["add"]]


def test_an_archive_that_lies_about_its_vectors_harms_nothing(memory: Memory, tmp_path: Path) -> None:
    memory.add("Ana keeps a dog.", user_id="ana")
    archive(tmp_path / "lies.zip", [message_row(0)], ["m:0"], dimension=32)
    assert memory.admin.import_(tmp_path / "lies.zip").embedded == 1
    assert len(memory.search("Ana keeps a cat", user_id="ana", threshold=0, top_k=9)) == 2


@pytest.mark.parametrize(
    "messages",
    [
        [message_row(0), message_row(2**63 - 1)],
        [message_row(2**63 - 1)],
        [message_row(0, session_id="t"), message_row(1, session_id="t", source_key="m:x")],
        [message_row(0, source_key="m:here", session_id="elsewhere")],
    ],
)
def test_strange_messages_come_in_or_are_refused_whole(
    memory: Memory, other: Memory, tmp_path: Path, messages: list[dict[str, Any]]
) -> None:
    memory.add(["a", "b"], user_id="ana")
    ((key,),) = table(memory, "SELECT source_key FROM messages WHERE position = 0")
    for message in messages:
        message["source_key"] = message["source_key"].replace("m:here", key)
    path = archive(tmp_path / "odd.zip", messages, ["m:0"])
    for one in (memory, other):
        before = everything(one)
        try:
            one.admin.import_(path, on_conflict="replace")
        except ArchiveError:
            assert everything(one) == before
        one.add("still works", user_id="ana")
        assert one.search("still works", user_id="ana") != []
