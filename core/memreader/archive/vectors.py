"""Unit vectors, or rows of zeros for texts that an embedder knew nothing of."""

from __future__ import annotations

import numpy as np

from memreader.archive.flaws import Flaw
from memreader.types import Vectors

_TOLERANCE = 1e-3
"""Of a squared length; float32 stays within 1e-5 for any dimension."""


def check_vectors(rows: Vectors, first: int) -> None:
    """Return if all rows can be searched.

    Args:
        rows: Shape (n, d).
        first: Number of the first row, for the error.

    Raises:
        Flaw: A row holds a number that is not finite, or is not of unit length.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
        wrong = ~((np.abs(squares - 1) <= _TOLERANCE) | (squares == 0))
    if not wrong.any():
        return
    place = int(wrong.argmax())
    finite = bool(np.isfinite(rows[place]).all())
    problem = "is not of unit length" if finite else "holds a number that is not finite"
    raise Flaw(problem, where=f"row {first + place}")
