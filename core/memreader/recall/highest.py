"""The highest of many values, without sorting the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memreader.records import Keys


def highest(values: npt.NDArray[np.float64], count: int, *, ties: Keys | None = None) -> Keys:
    """Return the places of the `count` highest values, the highest first, equal ones in their order.

    Args:
        values: None of them NaN.
        count: Above 0; all where there are no more.
        ties: Numbers beside the values: of equal values the one with the lower number comes first.

    >>> highest(np.array([1.0, 3.0, 1.0, 2.0]), 3).tolist()
    [1, 3, 0]
    """
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        among = np.flatnonzero(values >= least)
    else:
        among = np.arange(len(values))
    second = among if ties is None else ties[among]
    order: Keys = among[np.lexsort((second, -values[among]))[:count]]
    return order
