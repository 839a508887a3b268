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

from memreader.errors import ArchiveError, ItemExistsError
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.records import Batch, ItemRecord
from memreader.testing import HashEmbedder
from stored import assert_citations
from whole_memory import EMBEDDER, LONG, OPTIONS, chat, everything, open_it


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
        assert one.add(tmp_path / "house.txt", user_id="ana").added == []
        again = one.add(chat("I like tea.", LONG, "It rains."), user_id="ana", session_id="s", agent_id="g")
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
