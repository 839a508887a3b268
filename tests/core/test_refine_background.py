"""Refining in the background: it finds what is new, survives what fails, and ends cleanly."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from facts import assert_facts, chat_of_facts, facts_in, finding, open_facts
from fine_replies import Changing
from memreader import Memory
from memreader.errors import ModelRequiredError, StoreFullError
from memreader.options import ModelOptions
from memreader.testing import HashEmbedder

SOON = 0.02
"""Seconds between two looks."""


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not refining_threads()


def refining_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "memreader-refine"]


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def say(memory: Memory, first: int, last: int, user: str = "ana") -> None:
    memory.add(chat_of_facts(range(first, last)), user_id=user, session_id="s", mode="fast")


def refined(memory: Memory, user: str = "ana") -> int:
    return len(facts_in(item for item in memory.get_all(user_id=user) if item.metadata.evolve_from))


class Gate:
    """A model that answers when it may, and counts who waits."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.waiting = 0
        self._lock = threading.Lock()

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        with self._lock:
            self.waiting += 1
        assert self.open.wait(30)
        return finding(messages)


def test_it_refines_what_is_there_and_what_comes_later(tmp_path: Path) -> None:
    with open_facts(tmp_path) as memory:
        say(memory, 0, 10)
        background = memory.refine_in_background(every_s=SOON)
        until(lambda: refined(memory) == 10)
        say(memory, 10, 20)
        until(lambda: refined(memory) == 20)
        assert background.stop()
        assert_facts(memory, "ana", range(20), refined=range(20))
        assert background.last_report is not None
        assert background.last_error is None


def test_it_refines_every_user_or_only_one(tmp_path: Path) -> None:
    with open_facts(tmp_path) as memory:
        for user in ("ana", "ben", "cleo"):
            say(memory, 0, 3, user)
        one = memory.refine_in_background(every_s=SOON, user_id="ben")
        until(lambda: refined(memory, "ben") == 3)
        assert one.stop()
        assert (refined(memory, "ana"), refined(memory, "cleo")) == (0, 0)
        memory.refine_in_background(every_s=SOON)
        until(lambda: refined(memory, "ana") == refined(memory, "cleo") == 3)


def test_stopping_writes_what_is_under_way_and_begins_nothing_more(tmp_path: Path) -> None:
    model = Gate()
    with open_facts(tmp_path, model, model_options=ModelOptions(concurrency=2)) as memory:
        say(memory, 0, 60)
        background = memory.refine_in_background(every_s=SOON)
        until(lambda: model.waiting == 2)
        assert background.stop(timeout_s=0.05) is False
        assert background.running
        model.open.set()
        assert background.stop()
        assert not background.running
        assert model.waiting == 2
        assert 0 < assert_facts(memory, "ana", range(60)) == refined(memory) < 60
        assert background.last_report is not None
        assert len(background.last_report.refined) == refined(memory)
        assert background.stop(), "a second call says the same"
        report = memory.refine(user_id="ana")
        assert len(report.refined) == 60 - len(background.last_report.refined)
        assert_facts(memory, "ana", range(60), refined=range(60))


def test_closing_the_memory_stops_it_and_keeps_what_is_under_way(tmp_path: Path) -> None:
    model = Gate()
    memory = open_facts(tmp_path, model, model_options=ModelOptions(concurrency=2))
    say(memory, 0, 60)
    one, other = memory.refine_in_background(every_s=SOON), memory.refine_in_background(every_s=60)
    until(lambda: model.waiting >= 2)
    closing = threading.Thread(target=memory.close)
    closing.start()
    time.sleep(0.05)
    assert closing.is_alive()
    model.open.set()
    closing.join(30)
    assert [closing.is_alive(), one.running, other.running] == [False] * 3
    with open_facts(tmp_path) as again:
        assert 0 < assert_facts(again, "ana", range(60)) < 60


def test_two_that_look_at_one_folder_refine_everything_once(tmp_path: Path) -> None:
    with open_facts(tmp_path) as memory, open_facts(tmp_path) as other:
        for one in (memory, other):
            one.refine_in_background(every_s=SOON)
        for start in range(0, 60, 6):
            say(memory, start, start + 6)
        until(lambda: refined(memory) == 60)
        assert_facts(memory, "ana", range(60), refined=range(60))


class NotOursError(Exception):
    pass


@pytest.mark.parametrize("error", [ValueError, TimeoutError, AssertionError, NotOursError, OSError, MemoryError])
def test_a_model_that_raises_anything_does_not_end_it(tmp_path: Path, error: type[Exception]) -> None:
    def failing(messages: list[dict[str, Any]]) -> str:
        raise error("F0001 says")

    script = Changing(failing)
    with open_facts(tmp_path, script, model_options=ModelOptions(attempts=1)) as memory:
        say(memory, 0, 10)
        background = memory.refine_in_background(every_s=SOON)
        until(lambda: background.last_report is not None)
        assert background.last_report is not None
        assert {failure.kind for failure in background.last_report.failures} == {error.__name__}
        assert refined(memory) == 0
        script.script = finding
        until(lambda: refined(memory) == 10)
        assert background.last_error is None
        assert background.running


def test_a_full_disk_does_not_end_it_and_is_told_without_words_of_anybody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_facts(tmp_path) as memory:
        say(memory, 0, 200)
        resize(memory, "(SELECT 1)")
        background = memory.refine_in_background(every_s=SOON)
        until(lambda: background.last_error is not None)
        assert isinstance(background.last_error, StoreFullError)
        assert background.running
        resize(memory, "1000000")
        until(lambda: refined(memory) == 200 and background.last_error is None)
        assert_facts(memory, "ana", range(200), refined=range(200))
    loud = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert any("StoreFullError" in line for line in loud)
    assert not any("lamp" in line for line in loud)


def resize(memory: Memory, pages: str) -> None:
    """Bound the database to so many pages, or to those it has."""
    with memory._store._database.transaction() as db:
        (count,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {count if pages.startswith('(') else pages}")


class Unreachable(HashEmbedder):
    """An embedder whose server is away for some time."""

    __slots__ = ()
    away = threading.Event()

    def embed(self, texts: Any) -> Any:
        if self.away.is_set():
            raise ConnectionError("no route")
        return super().embed(texts)


def test_an_embedder_that_is_away_does_not_end_it(tmp_path: Path) -> None:
    with open_facts(tmp_path, embedder=Unreachable(dimension=32)) as memory:
        say(memory, 0, 10)
        Unreachable.away.set()
        background = memory.refine_in_background(every_s=SOON)
        until(lambda: isinstance(background.last_error, ConnectionError))
        assert refined(memory) == 0
        Unreachable.away.clear()
        until(lambda: refined(memory) == 10 and background.last_error is None)


def test_it_goes_on_with_the_embedder_of_a_reindexed_store(tmp_path: Path) -> None:
    with open_facts(tmp_path) as memory:
        say(memory, 0, 5)
        background = memory.refine_in_background(every_s=SOON)
        until(lambda: refined(memory) == 5)
        memory.admin.reindex(HashEmbedder(dimension=48))
        say(memory, 5, 10)
        until(lambda: refined(memory) == 10 and background.last_error is None)
        assert memory.search("Known is F0007.", user_id="ana", top_k=1)[0].item.memory.startswith("Known is F0007")


def test_it_looks_as_often_as_it_is_told(tmp_path: Path) -> None:
    looks: list[float] = []

    def noting(messages: list[dict[str, Any]]) -> str:
        looks.append(time.monotonic())
        return "no answer"

    with open_facts(tmp_path, noting) as memory:
        say(memory, 0, 3)
        memory.refine_in_background(every_s=0.25)
        until(lambda: len(looks) == 4)
        assert all(later - earlier >= 0.25 for earlier, later in pairwise(looks))


@pytest.mark.parametrize("every_s", [60.0, 1e300, float("inf")])
def test_waiting_long_ends_at_once(tmp_path: Path, every_s: float) -> None:
    with open_facts(tmp_path) as memory:
        say(memory, 0, 3)
        background = memory.refine_in_background(every_s=every_s)
        until(lambda: refined(memory) == 3)
        say(memory, 3, 6)
        time.sleep(0.1)
        assert refined(memory) == 3
        started = time.monotonic()
        assert background.stop()
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("every_s", [0, -1, float("nan")])
def test_it_needs_some_time_between_two_looks(tmp_path: Path, every_s: float) -> None:
    with open_facts(tmp_path) as memory, pytest.raises(ValueError, match="every_s"):
        memory.refine_in_background(every_s=every_s)


def test_it_needs_a_model(memory: Memory) -> None:
    with pytest.raises(ModelRequiredError):
        memory.refine_in_background()
