"""Finding runs without a break, which byte-pair merging can't take in one piece at a cost linear in their length."""

from __future__ import annotations

import re
from itertools import pairwise

MAX_RUN = 2048
"""Characters of one kind in a row that are still encoded in one piece."""

_PUNCTUATION = (
    r"!-/:-@\[-`{-~\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3020"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_KINDS = (rf"[^\s\d{_PUNCTUATION}]", r"\s", r"\d", f"[{_PUNCTUATION}]")
_NOT = (rf"[\s\d{_PUNCTUATION}]", r"\S", r"\D", f"[^{_PUNCTUATION}]")
# A character whose successor is of another kind; the end of the text is no change.
_CHANGE = re.compile("|".join(f"{kind}(?={other})" for kind, other in zip(_KINDS, _NOT, strict=True)))
_STEP = MAX_RUN // 2


def pieces(text: str) -> list[str]:
    """Return `text` cut into pieces that can be encoded one by one; whole if no run is longer than `MAX_RUN`.

    A run is a stretch of characters of one kind (letters and symbols, spaces, digits, punctuation). Where it begins
    depends on its own neighbourhood only, so that a slice taken at changes of kind is cut like the whole. Cost is
    linear: a look-up every `MAX_RUN / 2` characters, and each run is walked once.
    """
    if len(text) <= MAX_RUN:
        return [text]
    cuts = [0]
    at = 0
    while at + _STEP <= len(text):
        if _CHANGE.search(text, at, at + _STEP):
            at += _STEP
            continue
        found = _CHANGE.search(text, at)
        end = found.end() if found else len(text)
        start = _run_start(text, at)
        if end - start > MAX_RUN:
            cuts.extend(range(start + MAX_RUN, end, MAX_RUN))
        at = max(end, at + 1)
    cuts.append(len(text))
    return [text[a:b] for a, b in pairwise(cuts)] if len(cuts) > 2 else [text]


def _run_start(text: str, at: int) -> int:
    """Return where the run that covers `at` begins; the block before it holds a change or is the text's first."""
    start = max(0, at - _STEP)
    last = start
    for found in _CHANGE.finditer(text, start, min(len(text), at + 1)):
        last = found.end()
    return last
