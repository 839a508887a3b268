"""A bound on a user's memories: what is too much is refused, or the least useful are archived; never in silence."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import Clock
from fine_replies import answering, reply
from fine_replies import memory as made
from memreader import Memory, TextualMemoryItem, lifetimes
from memreader.errors import MemoryFullError
from memreader.testing import FunctionChatModel, HashEmbedder
from stored import said, table

HOUR = 3600.0
ACTIVE = {"status": "activated"}


def item(item_id: str, text: str = "", **metadata: Any) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=text or f"Tea of kind {item_id}.", metadata=metadata)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lifetimes, "clock", clock)
    return clock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mem"


def opened(folder: Path, limit: int | None, when_full: Any = "reject", **more: Any) -> Memory:
    return Memory.open(folder, embedder=HashEmbedder(), max_items_per_user=limit, when_full=when_full, **more)


@pytest.fixture
def full(folder: Path) -> Iterator[Memory]:
    with opened(folder, 3) as memory:
        memory.add([item(name) for name in "abc"], user_id="ana", reconcile=False)
        yield memory


def active(memory: Memory) -> list[str]:
    return [one.id for one in memory.get_all(user_id="ana", filter=ACTIVE)]


def stored(memory: Memory) -> list[tuple[Any, ...]]:
    counted = ("items", "messages", "documents", "ledger", "history", "gone")
    return [table(memory, f"SELECT count(*) FROM {name}")[0] for name in counted]


# Refused.


def test_what_does_not_fit_is_refused_and_nothing_of_it_is_kept(full: Memory) -> None:
    before = stored(full)
    with pytest.raises(MemoryFullError, match=r"3 of at most 3 items, and 2 more don't fit; nothing") as caught:
        full.add([said("One.", "m1"), said("Two.", "m2")], user_id="ana", session_id="s")
    assert (caught.value.count, caught.value.limit, caught.value.wanted, caught.value.stored) == (3, 3, 2, 0)
    assert "when_full='archive'" in str(caught.value)
    assert stored(full) == before
    full.add("Ben is another.", user_id="ben")


def test_inputs_before_the_one_that_does_not_fit_stay_and_are_counted(folder: Path) -> None:
    with opened(folder, 3) as memory:
        chats = [[said("One.", "m1"), said("Two.", "m2")], [said("Three.", "m3"), said("Four.", "m4")]]
        with pytest.raises(MemoryFullError, match=r"2 items of this call were stored before it") as caught:
            memory.add(chats, user_id="ana")
        assert (caught.value.stored, caught.value.wanted) == (2, 2)
        assert len(active(memory)) == 2
        # Room again: what was refused is not taken for read.
        with opened(folder, None) as larger:
            assert len(larger.add(chats, user_id="ana").added) == 2


def test_the_same_again_and_a_change_fit_in_a_full_memory(full: Memory) -> None:
    assert full.add([item("a")], user_id="ana").existing == ["a"]
    full.update("a", {"tags": ["x"]}, user_id="ana")
    full.add([item("a", "Milk.")], user_id="ana", reconcile=False)
    full.delete("b", user_id="ana")
    full.add("Room again.", user_id="ana")
    assert len(active(full)) == 3


def test_what_only_repeats_takes_no_room_and_what_is_archived_has_none(full: Memory) -> None:
    report = full.add([item("again", "TEA OF KIND a", memory_time="2020-01-01")], user_id="ana")
    assert report.existing == ["a"]
    full.update("b", {"status": "archived"}, user_id="ana")
    full.add("Room again.", user_id="ana")
    with pytest.raises(MemoryFullError):
        full.restore("b", 1, user_id="ana")
    assert full.get("b", user_id="ana").metadata.status == "archived"  # type: ignore[union-attr]


def test_the_error_names_what_could_be_purged(full: Memory, clock: Clock) -> None:
    full.delete(["a"], user_id="ana")
    full.add("Short.", user_id="ana", ttl=HOUR)
    clock.ahead = 2 * HOUR
    with pytest.raises(MemoryFullError, match=r"purge_expired\(\) makes room for 1") as caught:
        full.add("More.", user_id="ana")
    assert caught.value.expired == 1
    full.purge_expired()
    full.add("More.", user_id="ana")


def test_a_file_that_does_not_fit_is_loaded_in_no_part_and_an_archive_wholly(full: Memory, tmp_path: Path) -> None:
    full.dump(tmp_path, user_id="ana")
    full.admin.export(tmp_path / "all.zip")
    with opened(tmp_path / "small", 2) as small:
        with pytest.raises(MemoryFullError):
            small.load(tmp_path, user_id="ana")
        assert active(small) == []
        assert small.admin.import_(tmp_path / "all.zip").added == 3
        with pytest.raises(MemoryFullError):
            small.add("More.", user_id="ana")
        small.delete("a", user_id="ana")


def test_a_smaller_bound_later_leaves_all_that_is_there(full: Memory, folder: Path) -> None:
    with opened(folder, 1) as smaller:
        smaller.update("a", {"tags": ["x"]}, user_id="ana")
        assert smaller.add([item("b")], user_id="ana").existing == ["b"]
        with pytest.raises(MemoryFullError):
            smaller.add("More.", user_id="ana")
    assert active(full) == ["a", "b", "c"]


def test_what_a_model_makes_counts_and_what_was_said_stays(folder: Path) -> None:
    model = FunctionChatModel(answering(otherwise=reply(made("Ana drinks tea.", [1]))))
    with opened(folder, 1, llm=model) as memory:
        with pytest.raises(MemoryFullError) as caught:
            memory.add([said("I drink tea.", "m1")], user_id="ana")
        assert caught.value.stored == 1
        assert len(active(memory)) == 1
    with opened(folder, 2, llm=model) as memory:
        assert len(memory.refine(user_id="ana").added) == 1


@pytest.mark.parametrize(
    ("limit", "when_full", "kind"),
    [(0, "reject", ValueError), (1.5, "reject", TypeError), (True, "archive", TypeError), (5, "forget", ValueError)],
)
def test_a_bound_that_makes_no_sense_is_refused(
    folder: Path, limit: Any, when_full: Any, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match=r"max_items_per_user|when_full"):
        opened(folder, limit, when_full)
    assert not folder.exists()


def test_two_processes_together_never_go_beyond(folder: Path) -> None:
    script = (
        "import sys\n"
        "from memreader import Memory\n"
        "from memreader.errors import MemoryFullError\n"
        "from memreader.testing import HashEmbedder\n"
        "with Memory.open(sys.argv[1], embedder=HashEmbedder(), max_items_per_user=20) as memory:\n"
        "    full = 0\n"
        "    for n in range(20):\n"
        "        try:\n"
        "            memory.add(f'{sys.argv[2]} says {n}.', user_id='ana')\n"
        "        except MemoryFullError:\n"
        "            full += 1\n"
        "    print(20 - full)\n"
    )
    opened(folder, None).close()
    runs = [
        subprocess.Popen([sys.executable, "-c", script, str(folder), name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    taken = [int(run.communicate(timeout=120)[0]) for run in runs]
    assert sum(taken) == 20
    with opened(folder, None) as memory:
        assert len(active(memory)) == 20


# Archived.


def test_the_least_useful_are_archived_and_named(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with opened(folder, 2, "archive") as memory:
        for year, name in ((2022, "b"), (2021, "a"), (2023, "c")):
            report = memory.add([item(name, memory_time=f"{year}-01-01")], user_id="ana", reconcile=False)
        assert report.archived == ["a"]
        assert report.added == ["c"]
        assert active(memory) == ["b", "c"]
        assert {hit.item.id for hit in memory.search("tea", user_id="ana", threshold=0)} == {"b", "c"}
        last = memory.history("a", user_id="ana")[-1]
        assert (last.version, last.event, last.cause) == (2, "update", "cap")
        assert last.item is not None
        assert last.item.metadata.status == "archived"
        assert "1 memories were archived: more than 2" in caplog.text


def test_what_was_archived_comes_back_and_something_else_makes_room(folder: Path) -> None:
    with opened(folder, 2, "archive") as memory:
        for year, name in ((2021, "a"), (2022, "b"), (2023, "c")):
            memory.add([item(name, memory_time=f"{year}-01-01")], user_id="ana", reconcile=False)
        memory.restore("a", 1, user_id="ana")
        # The oldest of all; but whoever restores it wants it.
        assert active(memory) == ["a", "c"]
        assert memory.history("b", user_id="ana")[-1].cause == "cap"


def test_one_input_may_be_more_than_the_bound(folder: Path) -> None:
    with opened(folder, 3, "archive") as memory:
        report = memory.add([said(f"Tea number {n}.", f"m{n}") for n in range(8)], user_id="ana", session_id="s")
        assert len(report.added) == 8
        assert report.archived == report.added[:5]
        assert active(memory) == report.added[5:]
        # Known all the same: an agent that sends all of it again doesn't turn it round.
        again = memory.add([said(f"Tea number {n}.", f"m{n}") for n in range(8)], user_id="ana", session_id="s")
        assert (again.added, again.archived) == ([], [])


def test_the_order_of_usefulness(folder: Path, clock: Clock) -> None:
    at = datetime.fromtimestamp(clock() + HOUR, UTC)
    new, old = "2024-01-01", "2020-01-01"
    with opened(folder, None) as memory:
        given_in_order = [
            item("expired", memory_time=new, expires_at=at),
            item("session", memory_time=new, lifetime="session", session_id="s"),
            item("refined", memory_time=new, evolve_to=["x"]),
            item("useless", memory_time=new),
            item("unsure", memory_time=new, confidence=0.2),
            item("old", memory_time=old),
            item("basic", memory_time="20220101T120000"),
            item("zoned", memory_time="2024-01-01T01:00:00+05:00"),
            item("new", memory_time="2024-01-01T00:00:00+00:00"),
        ]
        memory.add(list(reversed(given_in_order)), user_id="ana", reconcile=False)
        memory.feedback("useless", user_id="ana", useful=False)
    clock.ahead = 2 * HOUR
    with opened(folder, 1, "archive") as memory:
        report = memory.add([item("last", memory_time="2025-01-01")], user_id="ana", reconcile=False)
        assert report.archived == [one.id for one in given_in_order]


def test_what_was_of_use_outlives_what_is_newer(folder: Path) -> None:
    with opened(folder, 2, "archive") as memory:
        memory.add([item("old", memory_time="2020-01-01")], user_id="ana")
        memory.feedback("old", user_id="ana", useful=True)
        memory.add([item("new", memory_time="2024-01-01")], user_id="ana")
        assert memory.add([item("last", memory_time="2025-01-01")], user_id="ana").archived == ["new"]


def test_what_is_approved_takes_room_too(folder: Path) -> None:
    with opened(folder, 2) as memory:
        memory.add([item("stands")], user_id="ana")
        memory.add([item("a"), item("b")], user_id="ana", review=True, reconcile=False)
        with pytest.raises(MemoryFullError):
            memory.review.approve(["a", "b"], user_id="ana")
        assert [one.id for one in memory.review.pending(user_id="ana")] == ["a", "b"]
        assert memory.review.approve("a", user_id="ana").archived == []
        assert active(memory) == ["stands", "a"]
    with opened(folder, 2, "archive") as memory:
        report = memory.review.approve("b", user_id="ana")
        assert (report.ids, report.archived) == (["b"], ["stands"])
        assert active(memory) == ["a", "b"]
    with opened(folder, 1, "archive") as memory:
        memory.add([item("c"), item("d")], user_id="ana", review=True, reconcile=False)
        memory.review.approve(["c", "d"], user_id="ana")
        assert active(memory) == ["d"]  # More at once than there is room for: the bound holds all the same.


def test_what_a_model_makes_takes_the_place_of_its_turns(folder: Path) -> None:
    model = FunctionChatModel(answering(otherwise=reply(made("Ana drinks tea.", [1]))))
    with opened(folder, 1, "archive", llm=model) as memory:
        report = memory.add([said("I drink tea.", "m1")], user_id="ana")
        turn, fine = report.added
        assert report.archived == [turn]
        assert active(memory) == [fine]


def test_deleting_what_was_archived_leaves_nothing(folder: Path) -> None:
    with opened(folder, 1, "archive") as memory:
        memory.add([item("a", "The code word is Rosebud.")], user_id="ana")
        memory.add([item("b")], user_id="ana")
        memory.delete("a", user_id="ana")
        memory.admin.purge()
        assert [step.item for step in memory.history("a", user_id="ana")] == [None, None, None]
        assert b"Rosebud" not in b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.lists(st.lists(st.integers(2000, 2009), min_size=1, max_size=4), min_size=1, max_size=5))
def test_never_more_than_the_bound_and_always_the_latest(limit: int, calls: list[list[int]]) -> None:
    with Memory.in_memory(embedder=HashEmbedder(), max_items_per_user=limit, when_full="archive") as memory:
        kept: list[tuple[int, int, str]] = []
        number = 0
        for years in calls:
            for year in years:
                # One input each: what was archived is out of the race for good.
                name, number = f"i{number}", number + 1
                report = memory.add([item(name, memory_time=f"{year}-01-01")], user_id="ana", reconcile=False)
                kept = sorted([*kept, (year, number, name)])
                gone, kept = kept[:-limit], kept[-limit:]
                assert report.archived == [one for _, _, one in gone]
            assert sorted(active(memory)) == sorted(one for _, _, one in kept)
