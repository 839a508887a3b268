"""Memories that can't be understood alone, reworded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memreader.extract.schema import MAX_VALUE_CHARS
from memreader.gates.verdicts import Gate, Verdict, judge, kept, reason_of, unjudged, yes_or_no
from memreader.plan import Plan
from memreader.prompts import Prompts
from memreader.text import clean


def rewrite(
    memories: Sequence[str],
    *,
    evidence: str,
    language: str,
    prompts: Prompts,
    language_name: str | None = None,
    instructions: str = "",
) -> Plan[list[Verdict]]:
    """Return one verdict per memory, in order: kept as it is, or reworded; none is ever dropped.

    Where the model says nothing about a memory, or nothing that can be used (no answer, no JSON, another type, no new
    words), it is kept as it is, with the status "no verdict".

    Args:
        memories: Texts of memories; with none, nothing is asked.
        evidence: What they were read from, as a passage is shown; with none, nothing is asked.
        language: Of the memories, ISO 639-1.
        prompts: Where the prompt "rewrite" is taken from.
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


_GATE = Gate("rewrite", {"need_rewrite": "boolean", "rewritten": "string", "reason": "string"}, _read, takes_words=True)
