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


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 99)), unique_by=lambda one: one[1]), st.integers(1, 20))
def test_of_equal_values_those_with_the_lower_number_come_first(given: list[tuple[int, int]], count: int) -> None:
    values, ties = np.array([one for one, _ in given], np.float64), np.array([one for _, one in given], np.int64)
    expected = sorted(range(len(given)), key=lambda place: (-given[place][0], given[place][1]))[:count]
    assert highest(values, count, ties=ties).tolist() == expected
