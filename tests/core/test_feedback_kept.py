"""What is said of a memory's use is kept without a word of the question, as long as the memory, and taken along."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from boiler import BOILER, WEIGHT, WHERE, Clock, found, ids, opened, part_of
from left_behind import left_of
from memreader import Memory
from memreader.errors import EmbedderMismatchError, ItemNotFoundError, StoreClosedError
from memreader.recall.feedback import DAY
from memreader.stores.feedback_rows import MOST
from memreader.testing import HashEmbedder
from other_process import end, heard, say, start
from reindexed import Turned
from stored import table


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    """A memory of a boiler."""
    with opened(clock) as memory:
        memory.add(BOILER, user_id="ana")
        yield memory


def test_an_unknown_memory_and_another_users_are_absent(memory: Memory) -> None:
    (ben,) = memory.add("The boiler is broken.", user_id="ben").added
    for item_id in ("none", ben, "\ud800", ""):
        with pytest.raises(ItemNotFoundError):
            memory.feedback(item_id, user_id="ana", useful=True)
    assert table(memory, "SELECT count(*) FROM feedback") == [(0,)]


@pytest.mark.parametrize(
    ("wrong", "error"), [({"useful": 1}, TypeError), ({"query": 3}, TypeError), ({"query": " \n"}, ValueError)]
)
def test_what_makes_no_sense_is_refused(memory: Memory, wrong: dict[str, Any], error: type[Exception]) -> None:
    item_id = ids(found(memory))[0]
    with pytest.raises(error):
        memory.feedback(item_id, **{"user_id": "ana", "useful": True, **wrong})
    assert table(memory, "SELECT count(*) FROM feedback") == [(0,)]


async def test_the_other_verbs_say_the_same(memory: Memory) -> None:
    item_id = ids(found(memory))[0]
    assert (await memory.afeedback(item_id, user_id="ana", useful=True)).useful == 1
    scoped = memory.scoped(user_id="ana", session_id="other")
    assert scoped.feedback(item_id, useful=False, query=WHERE).useless == 1
    assert (await scoped.afeedback(item_id, useful=True)).useful == 2
    stats = memory.admin.stats("ana")
    assert (stats.useful, stats.useless) == (2, 1)
    memory.close()
    with pytest.raises(StoreClosedError):
        memory.feedback(item_id, user_id="ana", useful=True)


def test_of_one_memory_the_last_times_are_kept(memory: Memory, clock: Clock) -> None:
    one, other = ids(found(memory))[:2]
    memory.feedback(other, user_id="ana", useful=True)
    for number in range(MOST + 5):
        clock.now += 1
        report = memory.feedback(one, user_id="ana", useful=number >= 5)
    assert (report.useful, report.useless) == (MOST, 0)
    assert table(memory, "SELECT count(*) FROM feedback") == [(MOST + 1,)]


def test_no_word_of_a_question_is_in_any_file_and_nothing_is_left_after_delete_all(tmp_path: Path) -> None:
    query = "Where did the zyxquorble hide?"
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.add(BOILER, user_id="ana")
        memory.feedback(ids(found(memory))[0], user_id="ana", useful=True, query=query)
        assert left_of(tmp_path, {"zyxquorble", "hide"}) == set()
        memory.delete_all(user_id="ana")
        assert table(memory, "SELECT count(*) FROM feedback") == [(0,)]
        memory.add(BOILER, user_id="ana")
        assert all("feedback" not in hit.parts for hit in found(memory))


def test_it_is_in_an_archive(memory: Memory, clock: Clock, tmp_path: Path) -> None:
    one, other = ids(found(memory))[:2]
    memory.feedback(one, user_id="ana", useful=False, query=WHERE)
    clock.now += 10 * DAY
    memory.feedback(other, user_id="ana", useful=True)
    memory.admin.export(tmp_path / "all.zip")
    with opened(clock) as copy:
        copy.admin.import_(tmp_path / "all.zip")
        assert found(copy) == found(memory)
        copy.admin.export(tmp_path / "again.zip")
        copy.admin.import_(tmp_path / "again.zip", on_conflict="replace")
        assert found(copy) == found(memory)
        assert table(copy, "SELECT count(*) FROM feedback") == [(2,)]


@pytest.mark.parametrize("others", [HashEmbedder(dimension=48), Turned(dimension=HashEmbedder().dimension)])
def test_with_another_embedder_questions_are_compared_by_their_terms(
    memory: Memory, clock: Clock, others: HashEmbedder, tmp_path: Path
) -> None:
    first = ids(found(memory))[0]
    memory.feedback(first, user_id="ana", useful=True, query=WHERE)
    memory.admin.export(tmp_path / "all.zip")
    with opened(clock, embedder=others) as copy:
        copy.admin.import_(tmp_path / "all.zip")
        assert part_of(copy, first) == pytest.approx(WEIGHT * np.tanh(1))
        assert part_of(copy, first, "Does my sister sail?") == 0
        assert table(copy, "SELECT vector FROM feedback") == [(None,)]
    stale = Memory.open(memory.folder, embedder=HashEmbedder())
    memory.admin.reindex(others)
    assert part_of(memory, first) == pytest.approx(WEIGHT * np.tanh(1))
    assert table(memory, "SELECT vector FROM feedback") == [(None,)]
    with stale, pytest.raises(EmbedderMismatchError):
        stale.feedback(first, user_id="ana", useful=True, query=WHERE)


OTHER = """
import sys
from memreader.memory import Memory
from memreader.testing import HashEmbedder
memory = Memory.open(sys.argv[1], embedder=HashEmbedder())
def act():
    hits = memory.search("Where is the boiler?", user_id="ana", threshold=0)
    memory.feedback(hits[0].item.id, user_id="ana", useful=False, query="Where is the boiler?")
    print(hits[0].item.id, flush=True)
for line in sys.stdin:
    act()
"""


def test_what_another_process_is_told_counts_here(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.add(BOILER, user_id="ana")
        before = ids(found(memory))
        process = start(OTHER, tmp_path)
        try:
            say(process)
            assert heard(process) == before[0]
            assert ids(found(memory))[:2] == [before[1], before[0]]
            say(process)
            assert heard(process) == before[1]
            assert part_of(memory, before[1]) < 0
        finally:
            end(process)


def test_a_search_of_a_user_of_whom_nothing_was_said_asks_the_database_once(memory: Memory) -> None:
    found(memory)
    asked: list[str] = []
    feedback = memory._store.feedback
    inner = feedback._database
    feedback._database = _Counted(inner, asked)  # type: ignore[assignment]
    found(memory)
    assert asked == []
    memory.add("The boiler is new.", user_id="ana")
    found(memory)
    found(memory)
    assert asked == ["snapshot"]


class _Counted:
    """A database that notes what it is asked for."""

    def __init__(self, inner: Any, asked: list[str]) -> None:
        self._inner, self._asked = inner, asked

    def __getattr__(self, name: str) -> Any:
        self._asked.append(name)
        return getattr(self._inner, name)


def test_an_archive_row_is_readable(memory: Memory, tmp_path: Path) -> None:
    first = ids(found(memory))[0]
    memory.feedback(first, user_id="ana", useful=True)
    memory.admin.export(tmp_path / "all.zip")
    with ZipFile(tmp_path / "all.zip") as archive:
        rows = [json.loads(line) for line in archive.read("items.jsonl").splitlines()]
    assert {row["item_id"]: row["feedback"] for row in rows}[first] == [[1, 1_700_000_000, None, None]]
