"""kill -9 while raw items are refined, wherever it hits: nothing is lost, nothing twice, and refining goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import facts
from facts import POINTS, assert_facts, chat_of_facts, open_facts

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
FACTS = [pytest.param(200, 1, id="200 facts"), pytest.param(1000, 6, marks=pytest.mark.long, id="1000 facts")]


def refine_in_a_process(folder: Path, point: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, facts.__file__, str(folder), point, str(number)]
    environment = {**os.environ, "PYTHONPATH": str(Path(facts.__file__).parent)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def ended(process: subprocess.Popen[str]) -> int:
    said, _ = process.communicate(timeout=120)
    assert said.startswith("ready\n")
    return process.returncode


def said(folder: Path, count: int) -> None:
    with open_facts(folder) as memory:
        memory.add(chat_of_facts(range(count)), user_id="ana", session_id="s", mode="fast")


def refined_so_far(folder: Path, count: int) -> int:
    with open_facts(folder) as memory:
        return assert_facts(memory, "ana", range(count))


def assert_refined_to_the_end(folder: Path, count: int) -> None:
    with open_facts(folder) as memory:
        report = memory.refine(user_id="ana")
        assert (report.left, report.failures) == ([], [])
        assert assert_facts(memory, "ana", range(count), refined=range(count)) == count
        assert memory.refine(user_id="ana").usage.calls == 0
        # What is written can be found, with the vector of its words.
        for fact in random.Random(count).sample(range(count), 5):
            hits = memory.search(f"Known is F{fact:04}.", user_id="ana", top_k=1)
            assert f"F{fact:04}" in hits[0].item.memory
            assert hits[0].similarity == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("count", "rounds"), FACTS)
def test_a_kill_at_any_point_of_a_window_loses_nothing_and_makes_nothing_twice(
    tmp_path: Path, count: int, rounds: int
) -> None:
    said(tmp_path, count)
    so_far = 0
    for round_ in range(rounds):
        for place, point in enumerate(POINTS):
            number = 1 + (round_ + place) % 4
            assert ended(refine_in_a_process(tmp_path, point, number)) == -signal.SIGKILL
            refined = refined_so_far(tmp_path, count)
            # Windows before the one that was killed stay done.
            done = {"asked": 0, "committed": number}.get(point, number - 1)
            assert refined > so_far if done else refined >= so_far
            so_far = refined
    assert 0 < so_far < count
    assert_refined_to_the_end(tmp_path, count)


@pytest.mark.parametrize(("count", "rounds"), FACTS)
def test_a_kill_at_any_time_loses_nothing_and_makes_nothing_twice(tmp_path: Path, count: int, rounds: int) -> None:
    said(tmp_path, count)
    chance = random.Random(rounds)
    killed = 0
    for _ in range(2 * rounds):
        process = refine_in_a_process(tmp_path, "never", 0)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.15))
        process.kill()
        killed += "done" not in process.communicate(timeout=60)[0]
        refined_so_far(tmp_path, count)
    assert killed
    assert_refined_to_the_end(tmp_path, count)


def test_two_processes_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    said(tmp_path, 120)
    processes = [refine_in_a_process(tmp_path, point, 3) for point in ("written", "linking")]
    assert [ended(process) for process in processes] == [-signal.SIGKILL] * 2
    refined_so_far(tmp_path, 120)
    assert_refined_to_the_end(tmp_path, 120)
