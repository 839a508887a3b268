"""dump and load: everything comes back, all or nothing, and nobody takes another's memories by mistake."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memreader.errors import ArchiveError, InputError, InvalidVectorsError, ItemExistsError
from memreader.items import MAX_VERSION, TextualMemoryItem
from memreader.memory import Memory
from memreader.testing import HashEmbedder
from memreader.types import Vectors

CHAT = [
    {"role": "user", "content": "I like tea.", "id": "m1"},
    {"role": "user", "content": "我住在上海。", "name": "Ana"},
]


def filled(memory: Memory, user_id: str = "ana") -> list[TextualMemoryItem]:
    """Add items of many kinds and return them."""
    report = memory.add(CHAT, user_id=user_id, session_id="s", agent_id="g", tags=["x"], metadata={"n": [1, None]})
    memory.add(["A text. " * 300], type="doc", user_id=user_id)
    memory.add(
        {"id": "given", "memory": "By hand.", "metadata": {"entities": ["Ana"], "confidence": 0.5}}, user_id=user_id
    )
    memory.update(report.added[0], "I like coffee.", user_id=user_id)
    return memory.get_all(user_id=user_id)


def write(folder: Path, *items: Any, filename: str = "textual_memory.json") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / filename).write_text(json.dumps(items), encoding="utf-8")
    return folder


def own(name: str, words: str = "likes tea", **metadata: Any) -> dict[str, Any]:
    return {"id": name, "memory": words, "metadata": metadata}


def test_everything_comes_back(memory: Memory, tmp_path: Path) -> None:
    items = filled(memory)
    path = memory.dump(tmp_path / "out", user_id="ana")
    assert path == tmp_path / "out" / "textual_memory.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one["id"] for one in json.loads(path.read_bytes())] == [item.id for item in items]
    hits = memory.search("coffee", user_id="ana", threshold=0, top_k=99)
    memory.delete_all(user_id="ana")
    report = memory.load(tmp_path / "out", user_id="ana")
    assert (report.added, report.existing, report.replaced) == ([item.id for item in items], [], [])
    assert memory.get_all(user_id="ana") == items
    again = memory.search("coffee", user_id="ana", threshold=0, top_k=99)
    assert [(hit.item, hit.score, hit.parts) for hit in again] == [(hit.item, hit.score, hit.parts) for hit in hits]
    assert [entity.name for entity in memory.graph.entities(user_id="ana")] == ["Ana", "上海"]


def test_the_file_of_another_store_comes_in(memory: Memory, tmp_path: Path) -> None:
    items = filled(memory)
    memory.dump(tmp_path, user_id="ana", filename="ana.json")
    with Memory.in_memory(embedder=HashEmbedder(dimension=64)) as other:
        other.load(tmp_path, user_id="ana", filename="ana.json")
        assert other.get_all(user_id="ana") == items
        assert other.search("coffee", user_id="ana")[0].item.memory == "I like coffee."


def test_an_id_that_is_there_refuses_the_file(memory: Memory, tmp_path: Path) -> None:
    memory.add(own("b", "old"), user_id="ana")
    write(tmp_path, own("a"), own("b"), own("c"))
    with pytest.raises(ItemExistsError, match="on_conflict='skip'") as caught:
        memory.load(tmp_path, user_id="ana")
    assert caught.value.item_id == "b"
    assert [item.memory for item in memory.get_all(user_id="ana")] == ["old"]


def test_an_id_that_is_there_can_stay(memory: Memory, tmp_path: Path) -> None:
    memory.add(own("b", "old"), user_id="ana")
    report = memory.load(write(tmp_path, own("a"), own("b"), own("c")), user_id="ana", on_conflict="skip")
    assert (report.added, report.existing, report.replaced) == (["a", "c"], ["b"], [])
    assert [item.memory for item in memory.get_all(user_id="ana")] == ["old", "likes tea", "likes tea"]


def test_an_id_that_is_there_can_be_replaced(memory: Memory, tmp_path: Path) -> None:
    memory.add([own("b", "old"), own("c", "likes tea")], user_id="ana")
    write(tmp_path, own("a"), own("b", updated_at="2020-01-01"))
    report = memory.load(tmp_path, user_id="ana", on_conflict="replace")
    assert (report.added, report.existing, report.replaced) == (["a", "b"], [], ["b"])
    assert [item.memory for item in memory.get_all(user_id="ana")] == ["likes tea"] * 3
    versions = memory.history("b", user_id="ana")
    assert [(one.event, one.item and one.item.memory) for one in versions] == [("add", "old"), ("replace", "likes tea")]
    assert versions[0].at <= versions[1].at
    assert memory.search("old", user_id="ana") == []


def test_loading_what_is_there_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    items = filled(memory)
    memory.dump(tmp_path, user_id="ana")
    for on_conflict in ("skip", "replace"):
        report = memory.load(tmp_path, user_id="ana", on_conflict=on_conflict)
        assert (report.added, report.existing, report.replaced) == ([], [item.id for item in items], [])
    assert memory.get_all(user_id="ana") == items


@pytest.mark.parametrize(
    ("last", "named"),
    [
        (own("z", ""), r"\[2\]"),
        (own("z", confidence=7), r"\[2\]\.metadata\.confidence"),
        (own("a"), r"\[2\]\.id"),
        ({"id": "z"}, r"\[2\]"),
        ("words", r"\[2\]"),
        (own("z", user_id="ben"), r"\[2\]"),
        (own("z", status="gone"), r"\[2\]"),
    ],
)
def test_one_bad_item_and_nothing_is_loaded(memory: Memory, tmp_path: Path, last: Any, named: str) -> None:
    write(tmp_path, own("a"), own("b"), last)
    with pytest.raises((ArchiveError, InputError), match=named):
        memory.load(tmp_path, user_id="ana", on_conflict="replace")
    assert memory.get_all(user_id="ana") == []


@pytest.mark.parametrize(
    "content", [b"", b"[", b"{}", b'[{"memory": "x"}', b"\xff\xfe", b"[1e999]", b"[" * 100_000, b'[{"memory": "a"}] x']
)
def test_what_is_no_dump_is_refused(memory: Memory, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "textual_memory.json").write_bytes(content)
    with pytest.raises(ArchiveError):
        memory.load(tmp_path, user_id="ana")
    assert memory.get_all(user_id="ana") == []


@pytest.mark.parametrize("name", ["../x.json", "/etc/passwd", "a/b", "", ".."])
def test_a_file_name_leads_nowhere_else(memory: Memory, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="filename"):
        memory.dump(tmp_path, user_id="ana", filename=name)
    with pytest.raises(ValueError, match="filename"):
        memory.load(tmp_path, user_id="ana", filename=name)


def test_a_file_over_the_limit_is_refused(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, *(own(f"i{n}", "words " * 50) for n in range(50)))
    with pytest.raises(ArchiveError, match=r"max_mb=0\.01"):
        memory.load(tmp_path, user_id="ana", max_mb=0.01)
    assert memory.get_all(user_id="ana") == []


def test_a_folder_without_the_file_is_said(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        memory.load(tmp_path, user_id="ana")


def test_other_users_items_come_in_only_if_that_is_meant(memory: Memory, tmp_path: Path) -> None:
    items = filled(memory, "ben")
    memory.dump(tmp_path, user_id="ben")
    with pytest.raises(InputError, match=r"rescope=True \(at input\[0\]\)"):
        memory.load(tmp_path, user_id="ana")
    assert memory.get_all(user_id="ana") == []
    report = memory.load(tmp_path, user_id="ana", rescope=True)
    assert report.added == [item.id for item in items]
    assert {item.metadata.user_id for item in memory.get_all(user_id="ana")} == {"ana"}
    assert memory.get_all(user_id="ben") == items


def test_what_comes_in_can_be_changed_and_deleted(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, own("a", version=10**30))
    with pytest.raises(ArchiveError, match="version"):
        memory.load(tmp_path, user_id="ana")
    sources = [{"index": 10**30, "start": 10**30, "end": 10**40}, {"type": "doc", "doc_path": "x", "page": 10**30}]
    memory.load(write(tmp_path, own("a", version=MAX_VERSION, sources=sources)), user_id="ana")
    assert memory.update("a", "likes coffee", user_id="ana").metadata.version == MAX_VERSION
    assert memory.load(tmp_path, user_id="ana", on_conflict="replace").replaced == ["a"]
    assert memory.update("a", "likes coffee a lot", user_id="ana") == memory.get("a", user_id="ana")
    assert memory.search("coffee", user_id="ana", filter={"version": {"$gt": 5}})[0].item.id == "a"
    assert memory.delete("a", user_id="ana") == ["a"]


def test_items_of_nobody_become_the_users(memory: Memory, tmp_path: Path) -> None:
    memory.load(write(tmp_path, own("a"), {"memory": "no id"}), user_id="ana")
    assert [item.metadata.user_id for item in memory.get_all(user_id="ana")] == ["ana", "ana"]
    report = memory.load(tmp_path, user_id="ana", on_conflict="skip")
    assert (len(report.existing), report.added) == (2, [])


def test_percentages_are_said_and_scaled(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, own("a", confidence=85))
    with pytest.raises(ArchiveError, match="confidence_scale=100"):
        memory.load(tmp_path, user_id="ana")
    memory.load(tmp_path, user_id="ana", confidence_scale=100)
    assert memory.get_all(user_id="ana")[0].metadata.confidence == 0.85


@pytest.mark.parametrize("on_conflict", ["", "overwrite", None])
def test_an_unknown_policy_is_refused(memory: Memory, tmp_path: Path, on_conflict: Any) -> None:
    write(tmp_path, own("a"))
    with pytest.raises(ValueError, match="on_conflict"):
        memory.load(tmp_path, user_id="ana", on_conflict=on_conflict)
    with pytest.raises(ValueError, match="on_conflict"):
        memory.admin.import_(tmp_path / "x.zip", on_conflict=on_conflict)


class TestWholeStore:
    """admin.dump and admin.load."""

    def test_everybodys_items_come_back_as_theirs(self, memory: Memory, tmp_path: Path) -> None:
        before = {user: filled(memory, user) for user in ("ana", "ben")}
        memory.admin.dump(tmp_path)
        with Memory.in_memory(embedder=HashEmbedder()) as other:
            report = other.admin.load(tmp_path)
            assert len(report.added) == len(before["ana"]) + len(before["ben"])
            assert {user: other.get_all(user_id=user) for user in other.admin.users()} == before

    @pytest.mark.parametrize("owner", [None, "", " ", "a\0b"])
    def test_an_item_of_nobody_is_refused_with_its_place(self, memory: Memory, tmp_path: Path, owner: Any) -> None:
        write(tmp_path, own("a", user_id="ana"), own("b", user_id=owner))
        with pytest.raises(InputError, match=r"\[1\]"):
            memory.admin.load(tmp_path)
        assert memory.admin.users() == []

    def test_one_conflict_of_one_user_refuses_all(self, memory: Memory, tmp_path: Path) -> None:
        memory.add(own("b", "old"), user_id="ben")
        write(tmp_path, own("a", user_id="ana"), own("b", user_id="ben"), own("c", user_id="cem"))
        with pytest.raises(ItemExistsError):
            memory.admin.load(tmp_path)
        assert memory.admin.users() == ["ben"]
        assert len(memory.admin.load(tmp_path, on_conflict="replace").added) == 3

    def test_one_id_may_be_two_users(self, memory: Memory, tmp_path: Path) -> None:
        memory.admin.load(write(tmp_path, own("a", "one", user_id="ana"), own("a", "two", user_id="ben")))
        assert [memory.get_all(user_id=user)[0].memory for user in ("ana", "ben")] == ["one", "two"]


class Broken(HashEmbedder):
    """Can't embed words about coffee."""

    __slots__ = ()

    def embed(self, texts: Any) -> Vectors:
        if any("coffee" in text for text in texts):
            raise RuntimeError("no coffee")
        return HashEmbedder.embed(self, texts)


def test_an_item_that_cannot_be_embedded_refuses_the_file(tmp_path: Path) -> None:
    write(tmp_path, own("a"), own("b", "coffee"))
    with Memory.in_memory(embedder=Broken()) as memory:
        with pytest.raises(InvalidVectorsError, match="'b'"):
            memory.load(tmp_path, user_id="ana")
        assert memory.get_all(user_id="ana") == []


def test_progress_is_told_and_may_stop_it(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, *(own(f"i{n}") for n in range(30)))
    told: list[tuple[str, int, int]] = []
    memory.load(tmp_path, user_id="ana", progress=lambda *step: told.append(step))
    assert told[-1] == ("embed", 30, 30)

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "embed":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        memory.load(tmp_path, user_id="ben", progress=stop)
    assert memory.get_all(user_id="ben") == []


KILLED = """
import os, signal, sys
from memreader.memory import Memory
from memreader.testing import HashEmbedder
from memreader.stores.writing import BatchWriter
real, count = BatchWriter._write_item, 0
def killing(self, record):
    global count
    count += 1
    if count == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, record)
BatchWriter._write_item = killing
memory = Memory.open(sys.argv[1], embedder=HashEmbedder())
memory.load(sys.argv[2], user_id="ana")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_load_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "in", *(own(f"i{n}") for n in range(30)))
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "mem"), str(tmp_path / "in")], timeout=60)
    assert done.returncode == -signal.SIGKILL
    with Memory.open(tmp_path / "mem", embedder=HashEmbedder()) as memory:
        assert memory.admin.stats().items == 0
        assert memory.search("likes tea", user_id="ana") == []
        assert len(memory.load(tmp_path / "in", user_id="ana").added) == 30
    assert os.listdir(tmp_path / "in") == ["textual_memory.json"]
