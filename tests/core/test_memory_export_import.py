"""export and import_: one file that restores everything, or comes into another store without harming what is there."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archive_files import item_row, message_row, small_rows, unit_vectors
from memreader.archive import ArchiveFacts, write_archive
from memreader.errors import ArchiveError, ItemExistsError, SourceExistsError
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.records import Batch, ItemRecord
from memreader.reindexing import facts_of
from memreader.testing import HashEmbedder

EMBEDDER = HashEmbedder(dimension=64, max_tokens=60)
OPTIONS = ReadOptions(window_tokens=60, window_overlap=0, chunk_tokens=60, chunk_overlap=20)
LONG = " ".join(f"Sentence number {n} says that house {n} is blue." for n in range(30))


def chat(*words: str, first: int = 0) -> list[dict[str, Any]]:
    return [{"role": "user", "content": one, "id": f"m{first + n}"} for n, one in enumerate(words)]


def open_it(**options: Any) -> Memory:
    return Memory.in_memory(**{"embedder": EMBEDDER, "read_options": OPTIONS, **options})


@pytest.fixture
def memory() -> Iterator[Memory]:
    with open_it() as memory:
        yield memory


@pytest.fixture
def other() -> Iterator[Memory]:
    with open_it() as memory:
        yield memory


def fill(memory: Memory, folder: Path) -> None:
    """Something of every kind for two users: chats, a file, an update, deletions of a whole and of a part."""
    (folder / "house.txt").write_text(f"A document. {LONG}", encoding="utf-8")
    for user in ("ana", "ben"):
        ids = memory.add(
            chat("I like tea.", LONG, "It rains.", "gone"), user_id=user, session_id="s", agent_id="g"
        ).added
        memory.add({"id": "given", "memory": "Ana knows Ben.", "metadata": {"entities": ["Ana", "Ben"]}}, user_id=user)
        memory.add(folder / "house.txt", user_id=user, tags=["doc"])
        memory.update(ids[0], {"memory": "I like coffee.", "info": {"n": 1}}, user_id=user)
        memory.delete([ids[2], ids[-1]], user_id=user)
        memory.add(["no id", "no id"], user_id=user, session_id="t")
    item = TextualMemoryItem(id="related", memory="Ana lives in Lisbon.", metadata={"user_id": "ana"})
    record = ItemRecord(item, EMBEDDER.embed([item.memory])[0], {1: 1}, relations=(("Ana", "lives in", "Lisbon"),))
    memory._store.write(Batch("ana", items=(record,)))


def rows(memory: Memory, query: str) -> list[tuple[Any, ...]]:
    with memory._store._database.reading() as db:
        return db.execute(query).fetchall()


def everything(memory: Memory, users: tuple[str, ...] = ("ana", "ben")) -> dict[str, Any]:
    """All that a user can see, and the words behind it."""
    out: dict[str, Any] = {}
    for user in users:
        items = memory.get_all(user_id=user)
        ids = {item_id for (item_id,) in rows(memory, f"SELECT item_id FROM history WHERE user_id = '{user}'")}
        hits = memory.search("house tea coffee", user_id=user, top_k=99, threshold=0)
        out[user] = {
            "items": items,
            "history": {item_id: memory.history(item_id, user_id=user) for item_id in sorted(ids)},
            "hits": [(hit.item.id, round(hit.score, 5)) for hit in hits],
            "entities": memory.graph.entities(user),
            "relations": memory.graph.relations(user),
        }
    columns = "user_id, session_id, position, source_key, digest, message_id, role, content, flags, raw, deleted"
    out["messages"] = rows(memory, f"SELECT {columns} FROM messages ORDER BY user_id, session_id, position")
    out["documents"] = rows(memory, "SELECT user_id, doc_key, source_key, doc_path, text FROM documents ORDER BY 1, 2")
    out["ledger"] = rows(memory, "SELECT * FROM ledger ORDER BY 1, 2, 3")
    return out


def assert_citations(memory: Memory, user: str = "ana") -> None:
    """Every source of an item that was read is cut out of its message or document."""
    messages = {
        (session, position): content
        for session, position, content in rows(
            memory, f"SELECT session_id, position, content FROM messages WHERE user_id = '{user}'"
        )
    }
    documents = dict(rows(memory, f"SELECT doc_path, text FROM documents WHERE user_id = '{user}'"))
    for item in memory.get_all(user_id=user):
        for source in item.metadata.sources:
            text = (
                documents[source.doc_path] if source.type == "doc" else messages[source.session_id or "", source.index]
            )
            assert text[source.start : source.end] == source.content


def test_everything_comes_back(memory: Memory, other: Memory, tmp_path: Path) -> None:
    fill(memory, tmp_path)
    before = everything(memory)
    report = memory.admin.export(tmp_path / "all.zip")
    assert stat.S_IMODE(report.path.stat().st_mode) == 0o600
    assert (report.users, report.counts["items"]) == (("ana", "ben"), memory.admin.stats().items)
    taken = other.admin.import_(tmp_path / "all.zip")
    assert (taken.users, taken.added, taken.existing, taken.replaced, taken.embedded) == (
        ("ana", "ben"), memory.admin.stats().items, 0, 0, 0,
    )  # fmt: skip
    assert everything(other) == before
    for user in ("ana", "ben"):
        assert_citations(other, user)
    # What was read is known: adding the same again adds only what was deleted, like in the store it came from.
    for one in (memory, other):
        again = one.add([chat("I like tea.", LONG, "It rains."), tmp_path / "house.txt"], user_id="ana", session_id="s")
        assert len(again.added) == 1
        assert one.add(["no id", "no id"], user_id="ana", session_id="t").added == []
    other.admin.export(tmp_path / "again.zip")


def test_one_users_part_is_only_that(memory: Memory, other: Memory, tmp_path: Path) -> None:
    fill(memory, tmp_path)
    assert memory.admin.export(tmp_path / "ana.zip", user_id="ana").users == ("ana",)
    other.admin.import_(tmp_path / "ana.zip", user_id="ana")
    assert other.admin.users() == ["ana"]
    assert everything(other, ("ana",))["ana"] == everything(memory, ("ana",))["ana"]


def test_another_users_archive_is_refused(memory: Memory, other: Memory, tmp_path: Path) -> None:
    fill(memory, tmp_path)
    memory.admin.export(tmp_path / "all.zip")
    with pytest.raises(ArchiveError, match="other users"):
        other.admin.import_(tmp_path / "all.zip", user_id="ana")
    assert other.admin.users() == []


def test_an_item_that_is_there_refuses_the_archive(memory: Memory, other: Memory, tmp_path: Path) -> None:
    fill(memory, tmp_path)
    memory.admin.export(tmp_path / "all.zip")
    other.add({"id": "given", "memory": "mine"}, user_id="ben")
    before = everything(other)
    with pytest.raises(ItemExistsError):
        other.admin.import_(tmp_path / "all.zip")
    assert everything(other) == before


@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_taking_in_ones_own_archive_changes_nothing(memory: Memory, tmp_path: Path, on_conflict: Any) -> None:
    fill(memory, tmp_path)
    before = everything(memory)
    memory.admin.export(tmp_path / "all.zip")
    report = memory.admin.import_(tmp_path / "all.zip", on_conflict=on_conflict)
    count = memory.admin.stats().items
    assert (report.added, report.existing, report.replaced) == (
        (0, count, 0) if on_conflict == "skip" else (count, 0, count)
    )
    assert everything(memory) == before


@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_who_wins_is_said(memory: Memory, other: Memory, tmp_path: Path, on_conflict: Any) -> None:
    for one, words in ((memory, "theirs"), (other, "mine")):
        one.add({"id": "given", "memory": words}, user_id="ana")
        one.update("given", f"still {words}", user_id="ana")
    memory.admin.export(tmp_path / "all.zip")
    other.admin.import_(tmp_path / "all.zip", on_conflict=on_conflict)
    winner = "theirs" if on_conflict == "replace" else "mine"
    (item,) = other.get_all(user_id="ana")
    assert item.memory == f"still {winner}"
    versions = other.history("given", user_id="ana")
    assert [(one.event, one.item and one.item.memory) for one in versions] == [
        ("add", winner),
        ("update", f"still {winner}"),
    ]
    assert [hit.item.memory for hit in other.search("mine theirs", user_id="ana")] == [f"still {winner}"]


def test_messages_of_one_session_are_put_behind_each_other(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.add(chat("one", "two", LONG), user_id="ana", session_id="s")
    other.add(chat("here zero", "here one", first=10), user_id="ana", session_id="s")
    memory.admin.export(tmp_path / "all.zip")
    other.admin.import_(tmp_path / "all.zip")
    kept = rows(other, "SELECT content FROM messages ORDER BY position")
    assert kept == [("here zero",), ("here one",), ("one",), ("two",), (LONG,)]
    assert_citations(other)
    assert other.add(chat("one", "two", LONG, "three"), user_id="ana", session_id="s").added != []
    assert [item.metadata.sources[0].index for item in other.get_all(user_id="ana")][-1] == 5


def test_the_order_of_messages_stays_whatever_places_are_free(memory: Memory, other: Memory, tmp_path: Path) -> None:
    other.admin.import_(archive(tmp_path / "gap.zip", [message_row(n, session_id="s") for n in (0, 7)], ["m:0", "m:7"]))
    memory.add([f"turn {n}" for n in range(12)], user_id="ana", session_id="s")
    memory.admin.export(tmp_path / "all.zip")
    other.admin.import_(tmp_path / "all.zip")
    turns = [words for (words,) in rows(other, "SELECT content FROM messages ORDER BY position") if "turn" in words]
    assert turns == [f"turn {n}" for n in range(12)]
    assert_citations(other)


def test_a_chat_that_both_have_is_one_chat(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.add(chat("one", "two", "three", LONG), user_id="ana", session_id="s")
    other.add(["before"], user_id="ana", session_id="s")
    other.add(chat("one", "two"), user_id="ana", session_id="s")
    memory.admin.export(tmp_path / "all.zip")
    report = other.admin.import_(tmp_path / "all.zip", on_conflict="skip")
    assert report.existing == 2
    kept = [words for (words,) in rows(other, "SELECT content FROM messages ORDER BY position")]
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
    assert rows(other, "SELECT text FROM documents" if kind == "document" else "SELECT content FROM messages") == [
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
    assert rows(other, "SELECT content, deleted FROM messages ORDER BY position") == [("one", 0), ("two", 0)]
    assert_citations(other)
    events = [[one.event for one in other.history(item_id, user_id="ana")] for item_id in ids]
    assert events == [["add", "delete", "add"], ["add"]]


@pytest.mark.parametrize("dimension", [64, 32])
def test_an_archive_of_another_embedder_is_embedded_anew(memory: Memory, tmp_path: Path, dimension: int) -> None:
    fill(memory, tmp_path)
    memory.admin.export(tmp_path / "all.zip")
    with open_it(embedder=HashEmbedder(dimension=dimension, max_tokens=60)) as other:
        told: list[str] = []
        report = other.admin.import_(tmp_path / "all.zip", progress=lambda stage, *_: told.append(stage))
        assert report.embedded == (0 if dimension == 64 else report.added)
        assert ("embed" in told) is (dimension != 64)
        assert told[0] == "check"
        assert told[-1] == "import"
        assert other.search("What do I like?", user_id="ana")[0].item.memory == "I like coffee."


def archive(path: Path, messages: list[dict[str, Any]], sources: list[str], **facts: Any) -> Path:
    """An archive with an item for each of the sources."""
    known = facts_of(EMBEDDER)
    values = {"created_at": "2024-05-01T12:00:00+00:00", "embedder": known.embedder, "dimension": 64, "lexicon": "x"}
    items = [item_row(f"i{n}", source_keys=[source], relations=[]) for n, source in enumerate(sources)]
    given = ArchiveFacts(**{**values, **facts})
    vectors = [unit_vectors(len(items), given.dimension)]
    content = small_rows(messages=messages, documents=[], items=items, ledger=[], history=[], vectors=vectors)
    write_archive(path, given, content)
    return path


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
    ((key,),) = rows(memory, "SELECT source_key FROM messages WHERE position = 0")
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


@pytest.mark.parametrize("cut", [0, 100, -30, "middle"])
def test_a_damaged_file_leaves_the_store_untouched(memory: Memory, other: Memory, tmp_path: Path, cut: Any) -> None:
    fill(memory, tmp_path)
    data = bytearray(memory.admin.export(tmp_path / "all.zip").path.read_bytes())
    if cut == "middle":
        data[len(data) // 2 : len(data) // 2 + 4] = b"hurt"
    else:
        data = data[:cut]
    (tmp_path / "all.zip").write_bytes(data)
    other.add("here", user_id="ana")
    before = everything(other)
    with pytest.raises(ArchiveError):
        other.admin.import_(tmp_path / "all.zip")
    assert everything(other) == before


def test_a_bad_last_row_and_nothing_is_imported(
    memory: Memory, other: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory, tmp_path)
    memory.admin.export(tmp_path / "all.zip")

    def stop(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("import", total):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        other.admin.import_(tmp_path / "all.zip", progress=stop)
    assert other.admin.users() == []
    assert other.admin.stats().messages == other.admin.stats().documents == other.admin.stats().entities == 0


KILLED = """
import os, signal, sys
from memreader.memory import Memory
from memreader.stores.importing import Importer
from memreader.testing import HashEmbedder
Importer.begin_history = lambda self: os.kill(os.getpid(), signal.SIGKILL)
memory = Memory.open(sys.argv[1], embedder=HashEmbedder(dimension=64, max_tokens=60))
memory.admin.import_(sys.argv[2])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_an_import_that_is_killed_leaves_nothing(memory: Memory, tmp_path: Path) -> None:
    fill(memory, tmp_path)
    memory.admin.export(tmp_path / "all.zip")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "mem"), str(tmp_path / "all.zip")]
    assert subprocess.run(command, timeout=60).returncode == -signal.SIGKILL
    with Memory.open(tmp_path / "mem", embedder=EMBEDDER, read_options=OPTIONS) as other:
        assert (other.admin.users(), other.admin.stats().messages) == ([], 0)
        other.admin.import_(tmp_path / "all.zip")
        assert everything(other) == everything(memory)
    assert sorted(os.listdir(tmp_path)) == ["all.zip", "house.txt", "mem"]
