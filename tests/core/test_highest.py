"""The highest of many values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memreader.recall.highest import highest


@given(st.lists(st.integers(-3, 3)), st.integers(1, 20))
def test_they_are_those_of_a_stable_sort(values: list[int], count: int) -> None:
    expected = sorted(range(len(values)), key=lambda place: -values[place])[:count]
    assert highest(np.array(values, np.float64), count).tolist() == expected


def test_the_least_value_of_all_may_be_without_bound() -> None:
    assert highest(np.array([-np.inf, 1.0, -np.inf]), 2).tolist() == [1, 0]
