"""Deleting a part of a text: only the words that no other item cites become blank, and all come back together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.records import Batch, MessageRecord
from memreader.stores.erasing import blanked
from memreader.testing import HashEmbedder
from memreader.types import Message
from stored import said, table

SENTENCES = [f"Sentence number {n} says that the colour of house {n} is blue." for n in range(40)]


@pytest.fixture
def memory() -> Iterator[Memory]:
    options = ReadOptions(window_tokens=60, window_overlap=0, chunk_tokens=60, chunk_overlap=20)
    with Memory.in_memory(embedder=HashEmbedder(max_tokens=60), read_options=options) as memory:
        yield memory


def long_text(memory: Memory, kind: str) -> tuple[str, list[str], str]:
    """Add a text of many items; return it, their ids, and the query for what is kept of it."""
    text = " ".join(SENTENCES)
    if kind == "document":
        ids = memory.add([text], type="doc", user_id="ana").added
        return text, ids, "SELECT text FROM documents"
    ids = memory.add([said("short"), said(text)], user_id="ana", session_id="s").added[1:]
    return text, ids, "SELECT content FROM messages WHERE position = 1"


def add_again(memory: Memory, kind: str, text: str) -> Any:
    if kind == "document":
        return memory.add([text], type="doc", user_id="ana")
    return memory.add([said("short"), said(text)], user_id="ana", session_id="s")


@pytest.mark.parametrize("kind", ["document", "message"])
class TestParts:
    """Items that are parts of one text."""

    def test_only_what_no_other_item_cites_becomes_blank(self, memory: Memory, kind: str) -> None:
        text, ids, query = long_text(memory, kind)
        assert len(ids) >= 6
        spans = {item.id: item.metadata.sources[0] for item in memory.get_all(user_id="ana")}
        doomed = [ids[1], ids[2], ids[-1]]
        memory.delete(doomed, user_id="ana")
        ((kept,),) = table(memory, query)
        assert len(kept) == len(text)
        living = {at for one in ids if one not in doomed for at in range(spans[one].start, spans[one].end)}
        dead = {at for one in doomed for at in range(spans[one].start, spans[one].end)} - living
        assert dead
        assert {at for at in range(len(text)) if kept[at] != text[at]} == {at for at in dead if not text[at].isspace()}
        for item in memory.get_all(user_id="ana"):
            (source,) = item.metadata.sources
            if source.index != 0:
                assert kept[source.start : source.end] == source.content

    def test_it_comes_back_whole(self, memory: Memory, kind: str) -> None:
        text, ids, query = long_text(memory, kind)
        changed = memory.update(ids[0], "These words were changed.", user_id="ana")
        memory.delete(ids[1:3], user_id="ana")
        report = add_again(memory, kind, text)
        assert (report.added, report.replaced) == (ids[1:3], [])
        assert table(memory, query) == [(text,)]
        assert memory.get(ids[0], user_id="ana") == changed
        assert add_again(memory, kind, text).added == []

    def test_the_last_item_takes_the_rest(self, memory: Memory, kind: str) -> None:
        text, ids, query = long_text(memory, kind)
        for item_id in ids:
            memory.delete(item_id, user_id="ana")
        assert table(memory, query) == ([] if kind == "document" else [("",)])
        assert add_again(memory, kind, text).added == ids

    def test_another_users_text_stays(self, memory: Memory, kind: str) -> None:
        text = long_text(memory, kind)[0]
        memory.add([text], type="doc" if kind == "document" else None, user_id="ben")
        memory.delete_all(user_id="ana")
        kept = table(memory, "SELECT text FROM documents UNION ALL SELECT content FROM messages")
        assert kept == [(text,)]


def test_an_edit_of_what_was_deleted_in_part_is_an_edit(memory: Memory) -> None:
    text, _, query = long_text(memory, "message")
    kept = {item.id: item for item in memory.get_all(user_id="ana")}
    memory.add([said(text, "long")], user_id="ben", session_id="s")
    theirs = [item.id for item in memory.get_all(user_id="ben")]
    memory.delete(theirs[1], user_id="ben")
    edited = text.replace("blue", "gray")
    report = memory.add([said(edited, "long")], user_id="ben", session_id="s")
    assert sorted(report.replaced) == sorted({*theirs} - {theirs[1]})
    assert table(memory, "SELECT content FROM messages WHERE user_id = 'ben'") == [(edited,)]
    assert all("gray" in item.memory for item in memory.get_all(user_id="ben"))
    # One whose letters became spaces is no deletion.
    report = memory.add([said(edited.replace("gray", "    "), "long")], user_id="ben", session_id="s")
    assert len(report.replaced) == len(theirs)
    assert {item.id: item for item in memory.get_all(user_id="ana")} == kept
    assert table(memory, query) == [(text,)]


@pytest.mark.parametrize("kind", ["whole", "part"])
def test_words_deleted_while_they_were_read_do_not_come_back_without_an_item(memory: Memory, kind: str) -> None:
    text, ids, query = long_text(memory, "message")
    (row,) = table(memory, "SELECT source_key FROM messages WHERE position = 1")
    memory.delete(ids if kind == "whole" else ids[1], user_id="ana")
    (left,) = table(memory, query)
    # What an add does that looked before the deletion, and thinks that all was read.
    memory._store.write(Batch("ana", "s", messages=(MessageRecord(Message("user", text), *row, "digest"),)))
    assert table(memory, query) == [left]
    assert [item.id for item in memory.get_all(user_id="ana")][1:] == ([] if kind == "whole" else [ids[0], *ids[2:]])
    assert set(add_again(memory, "message", text).added) == ({*ids} if kind == "whole" else {ids[1]})
    assert table(memory, query) == [(text,)]


def test_windows_that_share_a_message_take_only_their_own() -> None:
    options = ReadOptions(unit="window", window_tokens=40, window_overlap=15)
    chat = [said(f"Turn {n}: house {n} is blue.") for n in range(8)]
    with Memory.in_memory(embedder=HashEmbedder(), read_options=options) as memory:
        ids = memory.add(chat, user_id="ana").added
        cited = [{source.index for source in item.metadata.sources} for item in memory.get_all(user_id="ana")]
        assert len(ids) >= 3
        assert cited[0] & cited[1]
        memory.delete(ids[1], user_id="ana")
        kept = [position for (position,) in table(memory, "SELECT position FROM messages WHERE content <> ''")]
        assert set(kept) == set().union(*cited) - (cited[1] - cited[0] - cited[2])
        assert memory.add(chat, user_id="ana").added == [ids[1]]
        assert table(memory, "SELECT count(*) FROM messages WHERE content = ''") == [(0,)]


@given(
    st.text("ab \n", max_size=12), st.lists(st.tuples(st.integers(-2, 14), st.integers(-2, 14)), max_size=3), st.data()
)
def test_blanking_is_exact(text: str, spans: list[tuple[int, int]], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.tuples(st.integers(-2, 14), st.integers(-2, 14)), max_size=3))

    def inside(at: int, ranges: list[tuple[int, int]]) -> bool:
        return any(max(start, 0) <= at < end for start, end in ranges)

    assert blanked(text, spans, kept) == "".join(
        " " if inside(at, spans) and not inside(at, kept) and not one.isspace() else one for at, one in enumerate(text)
    )


def test_a_title_goes_with_the_part_that_it_stood_in(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "papers.md"
    parts = [f"# {name}\n\n{(name + ' speaks of other things here. ') * 60}\n\n" for name in ("Grumblewick", "Beta")]
    path.write_text("".join(parts), encoding="utf-8")
    memory.add(path, user_id="ana")
    doomed = memory.get_all(user_id="ana", filter={"memory": {"$contains": "Grumblewick"}})
    assert 0 < len(doomed) < len(memory.get_all(user_id="ana"))
    memory.delete([item.id for item in doomed], user_id="ana")
    assert memory.admin.purge().complete
    assert not any(b"Grumblewick" in file.read_bytes() for file in memory.folder.rglob("*") if file.is_file())


def test_words_go_though_the_item_no_longer_says_where_it_has_them_from(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("\n\n".join(f"Part {n}: " + "flumpen and other words. " * 60 for n in range(3)), encoding="utf-8")
    memory.add(path, user_id="ana")
    for item in memory.get_all(user_id="ana"):
        memory.update(item.id, {"sources": [], "memory": "nothing special"}, user_id="ana")
    memory.delete([item.id for item in memory.get_all(user_id="ana")], user_id="ana")
    assert memory.admin.purge().complete
    assert not any(b"flumpen" in file.read_bytes() for file in memory.folder.rglob("*") if file.is_file())
