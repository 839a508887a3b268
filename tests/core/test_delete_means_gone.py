"""After a purge no word of what was deleted, and no part of its vector, is in any file of the folder."""

from __future__ import annotations

import base64
import os
import signal
from collections.abc import Callable, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from left_behind import DenseEmbedder, left_of
from memreader.memory import Memory
from memreader.reader import MemReader
from memreader.recall import RecallOptions
from memreader.reindexing import facts_of
from memreader.stores import Store
from other_process import end, heard, say, start

EMBEDDER = DenseEmbedder(dimension=32)
OWNER, SESSION, AGENT = "ana-quorvex", "session-plimsoft", "agent-drubnik"
LABELS = {"user_id": OWNER, "session_id": SESSION, "agent_id": AGENT}
CONTENT = "The zyxquorble of 龘靐齉爩 is hidden."
OLD, NEW = "My oldvrenk was here.", "My newkrell is here."
DOCUMENT = "The docsprunk of 驫鱻麤 is in chapter one."
NOTE = "A notewimble by hand."
IN_MESSAGE = {"zyxquorble", "龘靐齉爩", "wendelquist", "infomarg", "标签籲", "rawplunk"}
IN_OTHERS_TOO = {"infomarg", "标签籲"}
IN_UPDATED = {"oldvrenk", "newkrell", "entivox", "relvax"}
IN_DOCUMENT, IN_NOTE = {"docsprunk", "驫鱻麤"}, {"notewimble", "backplonk"}
EVERYTHING = IN_MESSAGE | IN_UPDATED | IN_DOCUMENT | IN_NOTE
VECTORS = EMBEDDER.embed([f"Wendelquist: {CONTENT}", f"user: {OLD}", NEW, DOCUMENT, NOTE])
CHAT = [
    {"role": "user", "name": "Wendelquist", "content": CONTENT, "id": "m1", "custom": "rawplunk"},
    {"role": "user", "content": OLD, "id": "m2"},
]


def open_it(folder: Path) -> Memory:
    """A memory that keeps one index at a time, and writes a checkpoint of it when another user's takes its place."""
    facts = facts_of(EMBEDDER)
    store = Store.open(folder, facts, max_resident_mb=1e-6, checkpoint_above=3)
    return Memory(store, MemReader(embedder=EMBEDDER), RecallOptions())


def fill(memory: Memory, file: Path) -> dict[str, str]:
    """Add everything that is to be deleted, between much that stays; return the ids by what they hold."""
    memory.add([f"Others speak of thing number {n}. " * (n % 9 + 1) for n in range(60)], user_id="ben")
    memory.add(CHAT, **LABELS, metadata={"where": "infomarg"}, tags=["标签籲"])
    memory.add([f"Plain fact number {n}." for n in range(6)], user_id=OWNER)
    file.write_text(DOCUMENT, encoding="utf-8")
    memory.add(file, **LABELS)
    memory.add({"id": "note", "memory": NOTE, "metadata": {"background": "backplonk"}}, **LABELS)
    memory.add([f"Others say that thing {n} is fine. " * (n % 5 + 1) for n in range(60)], user_id="ben")
    ids = {item.memory: item.id for item in memory.get_all(user_id=OWNER)}
    memory.update(ids[f"user: {OLD}"], {"memory": NEW, "entities": ["Entivox", "Relvax"]}, user_id=OWNER)
    write_checkpoint(memory)
    assert left_of(memory.folder, [*EVERYTHING, OWNER, SESSION, AGENT], VECTORS) == {
        *EVERYTHING, OWNER, SESSION, AGENT, "a vector",
    }  # fmt: skip
    return ids


def write_checkpoint(memory: Memory) -> None:
    for user in (OWNER, "ben", OWNER, "ben"):
        memory.search("Plain thing", user_id=user)
    assert any(memory.folder.glob("indexes/*.ckpt"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notes" / "chapter.txt"


@pytest.fixture
def memory(tmp_path: Path, file: Path) -> Iterator[Memory]:
    file.parent.mkdir()
    with open_it(tmp_path / "mem") as memory:
        yield memory


def edit(memory: Memory, file: Path, ids: dict[str, str]) -> None:
    memory.add([{"role": "user", "content": "Edited.", "id": "m1"}, CHAT[1]], **LABELS)
    assert memory.admin.purge().complete


def change_file(memory: Memory, file: Path, ids: dict[str, str]) -> None:
    file.write_text("Another text.", encoding="utf-8")
    memory.add(file, **LABELS)
    assert memory.admin.purge().complete


def empty_file(memory: Memory, file: Path, ids: dict[str, str]) -> None:
    file.write_text(" ", encoding="utf-8")
    memory.add(file, **LABELS)
    assert memory.admin.purge().complete


def replace_and_delete(memory: Memory, file: Path, ids: dict[str, str]) -> None:
    memory.add({"id": "note", "memory": "Another note."}, user_id=OWNER)
    write_checkpoint(memory)
    memory.delete("note", user_id=OWNER)
    assert memory.admin.purge().complete


def delete_everything(memory: Memory, file: Path, ids: dict[str, str]) -> None:
    memory.delete([item.id for item in memory.get_all(user_id=OWNER, agent_id=AGENT)], user_id=OWNER)
    assert memory.admin.purge().complete


def delete_interrupted(memory: Memory, file: Path, ids: dict[str, str]) -> None:
    """Delete while a reindexing is half done: its vectors are staged."""

    def stop(stage: str, done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        memory.admin.reindex(progress=stop)
    delete_everything(memory, file, ids)


Deletion = Callable[[Memory, Path, dict[str, str]], Any]
WAYS: dict[str, tuple[Deletion, set[str], list[int]]] = {
    "delete": (delete_everything, EVERYTHING, [0, 1, 2, 3, 4]),
    "delete, half reindexed": (delete_interrupted, EVERYTHING, [0, 1, 2, 3, 4]),
    "delete_by_source, message": (
        lambda memory, *_: memory.delete_by_source(user_id=OWNER, message_id="m1"), IN_MESSAGE - IN_OTHERS_TOO, [0]
    ),
    "delete_by_source, updated message": (
        lambda memory, *_: memory.delete_by_source(user_id=OWNER, message_id="m2"), IN_UPDATED, [1, 2]
    ),
    "delete_by_source, document": (
        lambda memory, file, _: memory.delete_by_source(user_id=OWNER, document=file), IN_DOCUMENT, [3]
    ),
    "delete_all, user": (
        lambda memory, *_: memory.delete_all(user_id=OWNER), EVERYTHING | {OWNER, SESSION, AGENT}, [0, 1, 2, 3, 4]
    ),
    "delete_all, session": (
        lambda memory, *_: memory.delete_all(user_id=OWNER, session_id=SESSION), EVERYTHING | {SESSION, AGENT},
        [0, 1, 2, 3, 4],
    ),
    "delete_all, agent": (
        lambda memory, *_: memory.delete_all(user_id=OWNER, agent_id=AGENT), EVERYTHING | {AGENT}, [0, 1, 2, 3, 4]
    ),
    "changed file": (change_file, IN_DOCUMENT, [3]),
    "emptied file": (empty_file, IN_DOCUMENT, [3]),
    "edited message": (edit, IN_MESSAGE - IN_OTHERS_TOO, [0]),
    "replaced and deleted": (replace_and_delete, IN_NOTE, [4]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_is_deleted_is_in_no_file(memory: Memory, file: Path, way: str) -> None:
    deletion, words, vectors = WAYS[way]
    ids = fill(memory, file)
    report = deletion(memory, file, ids)
    assert report is None or report.purge.complete
    assert left_of(memory.folder, words, VECTORS[vectors]) == set()
    assert not memory.admin.stats().purge_due
    # And it does not come back with the checkpoints that are written later.
    memory.add([f"Later fact number {n}." for n in range(4)], user_id=OWNER)
    write_checkpoint(memory)
    assert left_of(memory.folder, words - {OWNER}, VECTORS[vectors]) == set()
    assert len(memory.get_all(user_id="ben")) == 120


@pytest.mark.parametrize(
    "way", ["delete", "delete_by_source", "delete_all", "changed file", "edited message", "in part", "note"]
)
def test_closing_purges(tmp_path: Path, file: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file.parent.mkdir()
    with open_it(tmp_path / "mem") as memory:
        ids = fill(memory, file)
        # As if another had been reading when the deletion wanted to purge.
        monkeypatch.setattr(memory._store._indexes.upkeep, "purge", lambda timeout_s: None)
        if way == "delete":
            memory.delete(list(ids.values()), user_id=OWNER)
        elif way == "delete_by_source":
            memory.delete_by_source(user_id=OWNER, message_id="m1")
        elif way == "delete_all":
            memory.delete_all(user_id=OWNER)
        elif way == "changed file":
            file.write_text("Another text.", encoding="utf-8")
            memory.add(file, **LABELS)
        elif way == "edited message":
            memory.add([{"role": "user", "content": "Edited.", "id": "m1"}], **LABELS)
        else:
            memory.delete(ids[DOCUMENT] if way == "in part" else "note", user_id=OWNER)
        assert memory.admin.stats().purge_due
        monkeypatch.undo()
    words = {
        "changed file": IN_DOCUMENT,
        "in part": IN_DOCUMENT,
        "note": IN_NOTE,
        "delete_all": EVERYTHING | {OWNER},
        "delete": EVERYTHING,
    }
    assert left_of(tmp_path / "mem", words.get(way, {"zyxquorble", "龘靐齉爩", "rawplunk"})) == set()


def test_what_is_deleted_during_a_purge_is_for_the_next_one(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = memory.add(["one", "zyxquorble"], user_id=OWNER).added
    memory.delete(ids[0], user_id=OWNER)
    database = memory._store._database
    purge = database.purge

    def purge_and_delete(timeout_s: float) -> str:
        reason = purge(timeout_s)
        memory.delete(ids[1], user_id=OWNER)
        return reason

    monkeypatch.setattr(database, "purge", purge_and_delete)
    assert memory.admin.purge().complete
    monkeypatch.undo()
    assert memory.admin.stats().purge_due
    assert memory.admin.purge().complete
    assert not memory.admin.stats().purge_due
    assert left_of(memory.folder, ["zyxquorble"]) == set()


def test_a_message_without_an_item_leaves_nothing_when_it_is_edited(memory: Memory) -> None:
    chat = [{"role": "system", "content": "You are a zyxquorble.", "id": "m1"}, {"role": "user", "content": "Hello."}]
    memory.add(chat, **LABELS)
    memory.add([{**chat[0], "content": "You are a helper."}, chat[1]], **LABELS)
    assert memory.admin.stats().purge_due
    assert memory.admin.purge().complete
    assert left_of(memory.folder, ["zyxquorble"]) == set()


def test_a_part_of_a_text_leaves_no_word_of_it(memory: Memory) -> None:
    text = " ".join(f"Sentence {n} has the word zyx{n:03}quorble in it." for n in range(200))
    memory.add([text], type="doc", user_id=OWNER)
    ids = [item.id for item in memory.get_all(user_id=OWNER)]
    assert len(ids) > 8
    kept = {item.id: item.memory for item in memory.get_all(user_id=OWNER) if item.id not in ids[2:5]}
    memory.delete(ids[2:5], user_id=OWNER)
    assert memory.admin.purge().complete
    words = [f"zyx{n:03}quorble" for n in range(200)]
    gone = {word for word in words if not any(word in memory for memory in kept.values())}
    assert len(gone) > 5
    assert left_of(memory.folder, words) == set(words) - gone


def test_a_file_in_a_message_goes_with_it(memory: Memory) -> None:
    data = base64.b64encode(DOCUMENT.encode()).decode()
    part = {"type": "file", "file": {"filename": "notewimble.txt", "file_data": f"data:text/plain;base64,{data}"}}
    message = {"role": "user", "id": "m1", "content": [{"type": "text", "text": "See the zyxquorble."}, part]}
    memory.add([message, {"role": "user", "content": "Thanks."}], user_id=OWNER, session_id="s")
    words = IN_DOCUMENT | {"notewimble", "zyxquorble"}
    assert left_of(memory.folder, words) == words
    report = memory.delete_by_source(user_id=OWNER, session_id="s", message_id="m1")
    assert (len(report.ids), report.messages, report.documents, report.purge.complete) == (2, 1, 1, True)
    assert left_of(memory.folder, words) == set()
    assert len(memory.add([message], user_id=OWNER, session_id="s").added) == 2


READER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/memory.db", isolation_level=None)
db.execute("BEGIN")
print(db.execute("SELECT count(*) FROM items").fetchone()[0], flush=True)
sys.stdin.readline()
db.close()
print("closed", flush=True)
sys.stdin.readline()
"""


def test_a_reader_in_another_process_is_named_and_waited_for(
    memory: Memory, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "purge", partialmethod(Store.purge, timeout_s=0.3))
    fill(memory, file)
    reader = start(READER, memory.folder)
    try:
        assert heard(reader) == "130"
        report = memory.delete_all(user_id=OWNER)
        assert len(report.ids) == 10
        assert not report.purge.complete
        assert "another process" in report.purge.reason
        assert memory.get_all(user_id=OWNER) == []
        assert memory.admin.stats().purge_due
        say(reader)
        assert heard(reader) == "closed"
        assert memory.admin.purge().complete
        assert not memory.admin.stats().purge_due
        assert left_of(memory.folder, EVERYTHING | {OWNER}, VECTORS) == set()
    finally:
        end(reader)


AS_HERE = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]!r}
from pathlib import Path
import test_delete_means_gone as tests
folder = Path(sys.argv[1])
memory = tests.open_it(folder)
"""
SEARCHER = """
for user in (tests.OWNER, "ben", tests.OWNER):
    print(len(memory.search("Plain", user_id=user, top_k=99, threshold=0)), flush=True)
sys.stdin.readline()
memory.search("Others", user_id="ben")
memory.close()
print("closed", flush=True)
"""


def test_another_process_that_has_it_open_is_not_in_the_way(memory: Memory, file: Path) -> None:
    fill(memory, file)
    searcher = start(AS_HERE + SEARCHER, memory.folder)
    try:
        assert [heard(searcher) for _ in range(3)] == ["10", "99", "10"]
        assert memory.delete_all(user_id=OWNER).purge.complete
        assert left_of(memory.folder, EVERYTHING | {OWNER}, VECTORS) == set()
        # It still has the index in memory, and writes down what it has: without what is gone.
        say(searcher)
        assert heard(searcher) == "closed"
        assert left_of(memory.folder, EVERYTHING | {OWNER}, VECTORS) == set()
    finally:
        end(searcher)


KILLED = """
ids = tests.fill(memory, folder.parent / "notes" / "chapter.txt")
memory.delete([item.id for item in memory.get_all(user_id=tests.OWNER, agent_id=tests.AGENT)], user_id=tests.OWNER)
left = folder / "indexes" / "left.tmp"
left.write_text("notewimble")
print("deleted", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_what_a_killed_process_deleted_is_gone_after_the_next_close(tmp_path: Path, file: Path) -> None:
    file.parent.mkdir()
    process = start(AS_HERE + KILLED, tmp_path / "mem")
    try:
        assert heard(process) == "deleted"
        os.kill(process.pid, signal.SIGKILL)
    finally:
        end(process)
    assert left_of(tmp_path / "mem", EVERYTHING, VECTORS) != set()
    with open_it(tmp_path / "mem") as memory:
        assert len(memory.get_all(user_id=OWNER)) == 6
        assert memory.admin.stats().purge_due
    assert left_of(tmp_path / "mem", EVERYTHING, VECTORS) == set()
