"""All verbs on one store, seen by two processes, in long random histories; what must hold is asked after each step."""

from __future__ import annotations

from pathlib import Path

import pytest

from all_laws import check, check_words
from all_verbs import World, steps_of
from memreader import lifetimes
from memreader.records import Cap

CAPS = (None, None, Cap(7, "archive"), Cap(9, "reject"))


def live(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, *, steps: int, deep_every: int) -> None:
    world = World(folder, cap=CAPS[seed % len(CAPS)])
    monkeypatch.setattr(lifetimes, "clock", world.clock)
    try:
        for number, step in enumerate(steps_of(seed, steps), start=1):
            world.take(step)
            check(world, deep=number % deep_every == 0)
            if step[0] == "late":
                check_words(world)
        check(world, deep=True)
        check_words(world)
    finally:
        world.close()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_done_all_verbs_agree(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live(tmp_path, monkeypatch, seed, steps=30, deep_every=10)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 160))
def test_whatever_is_done_for_long_all_verbs_agree(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live(tmp_path, monkeypatch, seed, steps=80, deep_every=5)
