"""Memories that can't be understood alone, reworded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memreader.extract.schema import MAX_VALUE_CHARS
from memreader.gates.verdicts import Gate, Verdict, kept, reason_of, unjudged, yes_or_no
from memreader.text import clean


def _read(text: str, said: object) -> Verdict:
    if not isinstance(said, Mapping):
        return unjudged(text, "the verdict is no object")
    wanted = yes_or_no(said.get("need_rewrite"))
    if wanted is None:
        return unjudged(text, "need_rewrite is neither true nor false")
    reason = reason_of(said)
    if not wanted:
        return kept(text, reason)
    new: Any = said.get("rewritten")
    if not isinstance(new, str) or not clean(new[: MAX_VALUE_CHARS + 1]).strip():
        return unjudged(text, "to be reworded, but without new words")
    if len(new) > MAX_VALUE_CHARS:
        return unjudged(text, f"the new words are longer than {MAX_VALUE_CHARS} characters")
    new = clean(new).strip()
    return kept(text, reason) if new == text else Verdict(True, new, reason, "rewritten")


rewrite = Gate(
    "rewrite", {"need_rewrite": "boolean", "rewritten": "string", "reason": "string"}, _read, takes_words=True
)
"""Keeps a memory as it is, or rewords it; none is ever dropped."""
