"""Memories that the text doesn't bear out, dropped."""

from __future__ import annotations

from collections.abc import Mapping

from memreader.gates.verdicts import Gate, Verdict, kept, reason_of, unjudged, yes_or_no


def _read(text: str, said: object) -> Verdict:
    keep = yes_or_no(said.get("keep") if isinstance(said, Mapping) else said)
    if keep is None:
        return unjudged(text, "keep is neither true nor false")
    reason = reason_of(said)
    return kept(text, reason) if keep else Verdict(False, text, reason, "dropped")


check = Gate("hallucination", {"keep": "boolean", "reason": "string"}, _read)
"""Keeps a memory, or drops it with the model's reason."""
