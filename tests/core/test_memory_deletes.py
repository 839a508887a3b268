"""Deleting: exactly what is meant goes, comes back when it is added again, and takes only its own words along."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.testing import HashEmbedder
from stored import said, table

USERS, LABELS = ("ana", "ANA", "ana "), (None, "s", "t")


def words(memory: Memory, user_id: str = "ana", **labels: Any) -> list[str]:
    return [item.memory.removeprefix("user: ") for item in memory.get_all(user_id=user_id, **labels)]


@dataclass(frozen=True)
class Entry:
    """What the model below knows of an item: a message's, or one that the caller made."""

    words: str
    user: str
    session: str | None
    agent: str | None
    message_id: str | None
    made: bool


class Model:
    """What must be there, in plain Python."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        edited = [
            one
            for one in self.entries
            if entry.message_id
            and (one.user, one.session, one.message_id) == (entry.user, entry.session, entry.message_id)
        ]
        self.entries = [one for one in self.entries if one not in edited]
        self.entries.append(entry)

    def drop(self, doomed: list[Entry]) -> list[str]:
        self.entries = [one for one in self.entries if one not in doomed]
        return [one.words for one in doomed]

    def of(self, user: str, **fields: str | None) -> list[Entry]:
        return [
            one
            for one in self.entries
            if one.user == user and all(getattr(one, name) == value for name, value in fields.items() if value)
        ]


@settings(max_examples=settings().max_examples // 5)
@given(st.data())
def test_what_is_there_is_what_a_plain_model_says(data: st.DataObject) -> None:
    model = Model()
    label = st.sampled_from(LABELS)
    with Memory.in_memory(embedder=HashEmbedder(dimension=16)) as memory:
        for number in range(data.draw(st.integers(4, 16))):
            user = data.draw(st.sampled_from(USERS))
            session, agent = data.draw(label), data.draw(label)
            verb = data.draw(st.sampled_from(["add", "add", "add", "made", "ids", "source", "all"]))
            message_id = data.draw(st.sampled_from([None, "m1", "m2"]))
            theirs = model.of(user)
            if verb in ("add", "made"):
                made = verb == "made"
                entry = Entry(f"words {number}", user, session, agent, None if made else message_id, made)
                given_data = {"memory": entry.words} if made else said(entry.words, message_id)
                memory.add(given_data, user_id=user, session_id=session, agent_id=agent)
                model.add(entry)
            elif verb == "ids" and theirs:
                doomed = data.draw(st.lists(st.sampled_from(theirs), unique=True, max_size=3))
                ids = [
                    item.id
                    for one in doomed
                    for item in memory.get_all(user_id=user)
                    if one.words in item.memory.split(": ")
                ]
                other = data.draw(st.sampled_from(USERS))
                if other != user:
                    assert memory.delete(ids, user_id=other) == []
                assert memory.delete([*ids, "nothing"], user_id=user) == ids
                model.drop(doomed)
            elif verb == "source" and message_id:
                report = memory.delete_by_source(user_id=user, session_id=session, message_id=message_id)
                gone = model.drop(model.of(user, session=session, message_id=message_id))
                assert (len(report.ids), report.messages) == (len(gone), len(gone))
            elif verb == "all":
                doomed = model.of(user, session=session, agent=agent)
                report = memory.delete_all(user_id=user, session_id=session, agent_id=agent)
                assert len(report.ids) == len(model.drop(doomed))
                assert report.messages == len([one for one in doomed if not one.made])
            check(memory, model, user)


def check(memory: Memory, model: Model, changed: str) -> None:
    for session in LABELS:
        for agent in LABELS:
            expected = [one.words for one in model.of(changed, session=session, agent=agent)]
            assert words(memory, changed, session_id=session, agent_id=agent) == expected
    for user in USERS:
        entries = model.of(user)
        assert words(memory, user) == [one.words for one in entries]
        hits = memory.search("words", user_id=user, top_k=99, threshold=0)
        assert sorted(hit.item.memory.removeprefix("user: ") for hit in hits) == sorted(one.words for one in entries)
        kept = table(memory, "SELECT content FROM messages WHERE user_id = ? AND content <> ''", user)
        assert sorted(content for (content,) in kept) == sorted(one.words for one in entries if not one.made)


class TestBySource:
    """delete_by_source."""

    @pytest.fixture
    def filled(self, memory: Memory, tmp_path: Path) -> Memory:
        (tmp_path / "house.txt").write_text("The house is blue.", encoding="utf-8")
        for user in ("ana", "ben"):
            for session in ("s", "t"):
                memory.add(
                    [said(f"The roof leaks in {session}.", "m1"), said("I like tea.", "m2")],
                    user_id=user,
                    session_id=session,
                )
            memory.add(tmp_path / "house.txt", user_id=user)
            memory.add(["The garden is large."], type="doc", user_id=user)
            memory.add({"memory": "made by hand", "metadata": {"sources": [{"message_id": "m1"}]}}, user_id=user)
        return memory

    EVERYTHING = (
        "The roof leaks in s.", "I like tea.", "The roof leaks in t.", "I like tea.", "The house is blue.",
        "The garden is large.", "made by hand",
    )  # fmt: skip

    def test_a_message_goes_from_every_session(self, filled: Memory) -> None:
        report = filled.delete_by_source(user_id="ana", message_id="m1")
        assert (len(report.ids), report.messages, report.documents, report.purge.complete) == (3, 2, 0, True)
        assert words(filled) == ["I like tea.", "I like tea.", "The house is blue.", "The garden is large."]
        assert words(filled, "ben") == list(self.EVERYTHING)

    def test_a_message_goes_from_one_session(self, filled: Memory) -> None:
        report = filled.delete_by_source(user_id="ana", session_id="t", message_id="m1")
        assert (len(report.ids), report.messages) == (1, 1)
        assert words(filled) == [one for one in self.EVERYTHING if one != "The roof leaks in t."]

    def test_a_document_goes_by_its_path(self, filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for document in (tmp_path / "house.txt", Path("house.txt"), str(tmp_path / "house.txt")):
            report = filled.delete_by_source(user_id="ana", document=document)
            assert (len(report.ids), report.messages, report.documents) == (1, 0, 1)
            assert words(filled) == [one for one in self.EVERYTHING if one != "The house is blue."]
            assert filled.add(tmp_path / "house.txt", user_id="ana").added == report.ids
            filled.delete("made by hand", user_id="ana")
            assert sorted(words(filled)) == sorted(self.EVERYTHING)
        assert words(filled, "ben") == list(self.EVERYTHING)

    def test_a_document_goes_by_the_path_that_its_items_cite(self, filled: Memory) -> None:
        (item,) = filled.get_all(user_id="ana", filter={"memory": "The garden is large."})
        path = item.metadata.sources[0].doc_path
        report = filled.delete_by_source(user_id="ana", document=path)
        assert (report.ids, report.documents) == ([item.id], 1)

    @pytest.mark.parametrize("arguments", [{}, {"session_id": "s"}, {"message_id": "m1", "document": "x"}])
    def test_exactly_one_source_is_named(self, filled: Memory, arguments: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="message_id or document"):
            filled.delete_by_source(user_id="ana", **arguments)
        assert words(filled) == list(self.EVERYTHING)

    @pytest.mark.parametrize("name", ["nothing", "", "%", "m_", "\ud800", "a\0b"])
    def test_what_is_not_there_is_not_deleted(self, filled: Memory, name: str) -> None:
        assert filled.delete_by_source(user_id="ana", message_id=name).ids == []
        assert filled.delete_by_source(user_id="ana", document=name).ids == []
        assert words(filled) == list(self.EVERYTHING)

    def test_an_item_that_no_longer_cites_its_message_goes_with_it(self, memory: Memory) -> None:
        (item_id,) = memory.add(said("The roof leaks.", "m1"), user_id="ana", session_id="s").added
        memory.update(item_id, {"memory": "Ana's roof leaks.", "sources": []}, user_id="ana")
        assert memory.delete_by_source(user_id="ana", session_id="t", message_id="m1").ids == []
        assert memory.delete_by_source(user_id="ana", session_id="s", message_id="m1").ids == [item_id]

    def test_the_other_messages_of_a_window_stay(self) -> None:
        chat = [said(f"Turn {n}: house {n} is blue.", f"m{n}") for n in range(8)]
        options = ReadOptions(unit="window", window_tokens=40, window_overlap=15)
        with Memory.in_memory(embedder=HashEmbedder(), read_options=options) as memory:
            memory.add(chat, user_id="ana")
            report = memory.delete_by_source(user_id="ana", message_id="m1")
            assert (len(report.ids), report.messages) == (1, 1)
            kept = table(memory, "SELECT content FROM messages ORDER BY position")
            assert kept == [(one["content"] if n != 1 else "",) for n, one in enumerate(chat)]
            assert not any("house 1" in item.memory for item in memory.get_all(user_id="ana"))
            # What lost its item is read again.
            memory.add([one for one in chat if one["id"] != "m1"], user_id="ana")
            cited = {source.index for item in memory.get_all(user_id="ana") for source in item.metadata.sources}
            assert cited == {0, 2, 3, 4, 5, 6, 7}

    def test_a_file_whose_name_is_no_utf8_goes_by_its_path(self, memory: Memory, tmp_path: Path) -> None:
        file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
        try:
            file.write_text("The cafe is blue.", encoding="utf-8")
        except OSError:
            pytest.skip("no such names here")
        ids = memory.add(file, user_id="ana").added
        assert memory.delete_by_source(user_id="ana", document=file).ids == ids

    def test_a_message_without_an_item_goes_too(self, memory: Memory) -> None:
        memory.add([{**said("You are a helpful gnome.", "m1", "system")}, said("I like tea.", "m2")], user_id="ana")
        report = memory.delete_by_source(user_id="ana", message_id="m1")
        assert (report.ids, report.messages) == ([], 1)
        assert table(memory, "SELECT content, raw, name FROM messages WHERE message_id = 'm1'") == [("", None, None)]


def test_a_deleted_message_keeps_its_place(memory: Memory) -> None:
    ids = memory.add(["one", "two", "three"], user_id="ana", session_id="s").added
    assert memory.delete(ids[1], user_id="ana") == [ids[1]]
    memory.add("four", user_id="ana", session_id="s")
    assert [item.metadata.sources[0].index for item in memory.get_all(user_id="ana")] == [0, 2, 3]
    assert memory.add(["one", "two", "three"], user_id="ana", session_id="s").added == [ids[1]]
    assert [item.metadata.sources[0].index for item in memory.get_all(user_id="ana")] == [0, 2, 3, 1]


@pytest.mark.parametrize("labels", [{}, {"session_id": "s"}])
def test_a_session_that_is_deleted_begins_anew(memory: Memory, labels: dict[str, str]) -> None:
    memory.add(["zero", "one"], user_id="ana", session_id="s")
    memory.delete_all(user_id="ana", **labels)
    assert table(memory, "SELECT count(*) FROM messages") == [(0,)]
    memory.add(["two", "one"], user_id="ana", session_id="s")
    assert [(item.memory, item.metadata.sources[0].index) for item in memory.get_all(user_id="ana")] == [
        ("user: two", 0),
        ("user: one", 1),
    ]


def test_of_the_user_nothing_is_left(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "house.txt").write_text("The house is blue.", encoding="utf-8")
    first = {}
    for user in ("ana", "ben"):
        chat = [said("I like tea.", "m1"), tmp_path / "house.txt"]
        (first[user], *_) = memory.add(chat, user_id=user, session_id="s").added
        memory.update(first[user], {"memory": "Ana likes tea.", "entities": ["Ana"]}, user_id=user)
        memory.delete(memory.add("gone soon", user_id=user).added, user_id=user)
    report = memory.delete_all(user_id="ana")
    assert (len(report.ids), report.messages, report.documents, report.purge.complete) == (2, 1, 1, True)
    assert memory.history(first["ana"], user_id="ana") == []
    assert memory.graph.entities(user_id="ana") == []
    assert memory.admin.users() == ["ben"]
    tables = [name for (name,) in table(memory, "SELECT name FROM sqlite_master WHERE sql LIKE '%user_id%TEXT%'")]
    assert len(tables) >= 7
    for name in tables:
        assert "ana" not in {user for (user,) in table(memory, f"SELECT user_id FROM {name}")}
    assert len(memory.history(first["ben"], user_id="ben")) == 2
    assert len(memory.get_all(user_id="ben")) == 2
    assert len(memory.graph.entities(user_id="ben")) == 1


def test_the_history_says_why(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "house.txt"
    file.write_text("The house is blue.", encoding="utf-8")
    ids = memory.add([said("I like tea.", "m1"), said("It rains.", "m2"), file], user_id="ana").added
    memory.delete_by_source(user_id="ana", message_id="m1")
    memory.add(said("It snows.", "m2"), user_id="ana")
    file.write_text("The house is red.", encoding="utf-8")
    memory.add(file, user_id="ana")
    causes = [memory.history(item_id, user_id="ana")[-1].cause for item_id in ids]
    assert causes == ["delete_by_source", "the message was edited", "the document changed"]
    memory.add(["one", "two"], user_id="ana", session_id="s")
    gone = memory.delete_all(user_id="ana", session_id="s").ids
    assert [memory.history(item_id, user_id="ana") for item_id in gone] == [[], []]


def test_a_document_goes_by_any_way_of_writing_its_path(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("The boiler is serviced in October.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for added in (Path("docs/a.md"), tmp_path / "docs" / "a.md"):
        for written in ("docs/a.md", "./docs/a.md", str(tmp_path / "docs/a.md"), Path("docs/../docs/a.md")):
            ids = memory.add(added, user_id="ana").added
            assert len(ids) == 1
            assert memory.delete_by_source(user_id="ana", document=written).ids == ids, (added, written)
    assert memory.delete_by_source(user_id="ana", document="docs/b.md").ids == []
