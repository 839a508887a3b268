"""Memories that the text doesn't bear out, dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memreader.gates.verdicts import Gate, Verdict, judge, kept, reason_of, unjudged, yes_or_no
from memreader.plan import Plan
from memreader.prompts import Prompts


def check(
    memories: Sequence[str],
    *,
    evidence: str,
    language: str,
    prompts: Prompts,
    language_name: str | None = None,
    instructions: str = "",
) -> Plan[list[Verdict]]:
    """Return one verdict per memory, in order: kept, or dropped with the model's reason.

    Where the model says nothing about a memory, or nothing that can be used (no answer, no JSON, another type), it is
    kept, with the status "no verdict".

    Args:
        memories: Texts of memories; with none, nothing is asked.
        evidence: What they were read from, as a passage is shown; with none, nothing is asked.
        language: Of the memories, ISO 639-1.
        prompts: Where the prompt "hallucination" is taken from.
        language_name: What the prompt calls the language; None for its English name.
        instructions: Further rules.
    """
    return (
        yield from judge(
            _GATE,
            memories,
            evidence=evidence,
            language=language,
            prompts=prompts,
            language_name=language_name,
            instructions=instructions,
        )
    )


def _read(text: str, said: object) -> Verdict:
    keep = yes_or_no(said.get("keep") if isinstance(said, Mapping) else said)
    if keep is None:
        return unjudged(text, "keep is neither true nor false")
    reason = reason_of(said)
    return kept(text, reason) if keep else Verdict(False, text, reason, "dropped")


_GATE = Gate("hallucination", {"keep": "boolean", "reason": "string"}, _read)
