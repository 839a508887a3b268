"""Files over their life: attached, deleted, emptied, moved, oddly named."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from memreader import Conversation, Document, FileInput, Memory, Message


def sent(words: str | None, data: bytes = b"The launch is on Tuesday.", name: str = "plan.txt") -> dict[str, Any]:
    inline = "data:text/plain;base64," + base64.b64encode(data).decode()
    file = {"type": "file", "file": {"filename": name, "file_data": inline}}
    return {"role": "user", "content": [*([{"type": "text", "text": words}] if words else []), file]}


def words(memory: Memory) -> list[str]:
    return [item.memory for item in memory.get_all(user_id="ana")]


@pytest.mark.parametrize("text", ["see the file", None])
def test_a_deleted_attachment_comes_back_when_its_message_is_added_again(memory: Memory, text: str | None) -> None:
    chat = [sent(text)]
    first = memory.add(chat, user_id="ana")
    (file,) = [item for item in memory.get_all(user_id="ana") if item.metadata.source == "file"]
    memory.delete(file.id, user_id="ana")
    again = memory.add(chat, user_id="ana")
    assert again.added == [file.id]
    assert sorted(again.ids) == sorted(first.ids)


def test_the_items_of_an_attachment_stand_for_its_message_on_every_add(memory: Memory) -> None:
    first = memory.add([sent("see the file")], user_id="ana")
    again = memory.add([sent("see the file")], user_id="ana")
    assert len(first.ids) == 2
    assert sorted(again.existing) == sorted(first.ids)


def test_a_file_attached_twice_in_one_chat_is_read_once(memory: Memory) -> None:
    memory.add([sent("here"), sent("and once more")], user_id="ana")
    assert words(memory).count("The launch is on Tuesday.") == 1


def test_equal_files_of_equal_relative_names_in_two_folders_are_two(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("1", "2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "n.md").write_text("same text", encoding="utf-8")
        monkeypatch.chdir(tmp_path / folder)
        assert len(memory.add(Path("n.md"), user_id="ana").added) == 1
    (tmp_path / "1" / "n.md").write_text("changed", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "1")
    memory.add(Path("n.md"), user_id="ana")
    assert sorted(words(memory)) == ["changed", "same text"]


def test_a_file_that_was_emptied_takes_its_words_away_and_is_reported(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old words", encoding="utf-8")
    memory.add(path, user_id="ana")
    path.write_text("", encoding="utf-8")
    report = memory.add(path, user_id="ana")
    assert words(memory) == []
    assert len(report.replaced) == 1
    assert [failure.kind for failure in report.failures] == ["EmptyDocumentError"]
    path.write_text("old words", encoding="utf-8")
    memory.add(path, user_id="ana")
    assert words(memory) == ["old words"]


def test_a_file_that_became_unreadable_keeps_its_words_and_is_reported(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old words", encoding="utf-8")
    memory.add(path, user_id="ana")
    path.write_bytes(b"%PDF-1.7 broken")
    report = memory.add(path, user_id="ana")
    assert words(memory) == ["old words"]
    assert [failure.kind for failure in report.failures] == ["DamagedDocumentError"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are always Unicode")
def test_a_file_name_that_is_no_unicode_is_read_under_a_readable_one(memory: Memory, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9.txt")
    odd.write_text("Espresso is 2 euros.", encoding="utf-8")
    fine = tmp_path / "ok.txt"
    fine.write_text("Tea is 1 euro.", encoding="utf-8")
    report = memory.add([odd, fine], user_id="ana")
    assert not report.failures
    assert len(report.added) == 2
    assert memory.get_all(user_id="ana")[0].metadata.sources[0].doc_path == str(tmp_path / "caf\ufffd.txt")
    memory.add(FileInput("a\udcff.txt", data=b"Cake is 3 euros."), user_id="ana")
    assert len(words(memory)) == 3


@pytest.mark.parametrize("given", [{"flags": ["hidden"]}, {"hidden": True}, {"deleted": True}, {"flags": "sidechain"}])
def test_a_message_flagged_by_the_caller_is_kept_and_not_read(memory: Memory, given: dict[str, Any]) -> None:
    report = memory.add([{"role": "user", "content": "secret", **given}, "hello"], user_id="ana")
    assert words(memory) == ["user: hello"]
    assert sum(report.flags.values()) == 1


def test_an_edited_message_is_read(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "corrected", "edited": True}], user_id="ana")
    assert words(memory) == ["user: corrected"]


@pytest.mark.parametrize("bad", [Message("king", "hi"), Message("user", "hi", flags=frozenset({"nonsense"}))])
def test_a_message_of_ours_that_makes_no_sense_is_named(memory: Memory, bad: Message) -> None:
    with pytest.raises(ValueError, match=r"messages\[1\]"):
        memory.add(Conversation((Message("user", "fine"), bad)), user_id="ana")


def test_values_of_ours_are_cleaned_and_numbered_like_any_others(memory: Memory) -> None:
    chat = Conversation((Message("user", "a\x00b", name="A\ud800nn"), Message("user", "c")))
    text = Document("one\x00 page\ud800two pages", "two.pdf", "00", page_starts=(0, 10))
    memory.add([chat, text], user_id="ana")
    first, second, page = memory.get_all(user_id="ana")
    assert (first.memory, first.metadata.sources[0].index) == ("Ann: ab", 0)
    assert (second.memory, second.metadata.sources[0].index) == ("user: c", 1)
    assert page.memory == "one pagetwo pages"
