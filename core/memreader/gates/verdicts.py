"""What a model says about numbered memories: how it is asked, and what of its answer can be relied on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memreader.calling import Answer, Prompt
from memreader.gates.numbered import Unsaid, numbered, said_about, schema_of
from memreader.plan import Plan, ask
from memreader.prompts import Prompts
from memreader.text import clean

MAX_PER_PROMPT = 30
"""Memories that one call judges."""
_MAX_REASON_CHARS = 500
_YES = frozenset({"true", "yes", "是", "对", "真"})
_NO = frozenset({"false", "no", "否", "不", "不是", "假"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one memory."""

    keep: bool
    text: str
    """The new words of a reworded one, else the memory as it was."""
    reason: str
    """The model's; of "no verdict", what was wrong with its answer."""
    status: Literal["kept", "rewritten", "dropped", "no verdict"]
    failed: bool = False
    """Whether there is none because the call failed, or its answer can't be read at all."""


def kept(text: str, reason: str) -> Verdict:
    """Return that the model found nothing wrong."""
    return Verdict(True, text, reason, "kept")


def unjudged(text: str, reason: str) -> Verdict:
    """Return that nothing can be relied on: the memory stays."""
    return Verdict(True, text, reason, "no verdict")


@dataclass(frozen=True, slots=True)
class Gate:
    """One kind of second look."""

    task: str
    """Name of its prompt."""
    fields: Mapping[str, str]
    """Fields of a verdict and their JSON types; the first one decides."""
    read: Callable[[str, object], Verdict]
    """Makes a verdict on a memory of what the model said about it."""
    takes_words: bool = False
    """Whether words of the answer go into memories; then nothing of it may be a guess."""

    def __call__(
        self,
        memories: Sequence[str],
        *,
        evidence: str,
        language: str,
        prompts: Prompts,
        language_name: str | None = None,
        instructions: str = "",
    ) -> Plan[list[Verdict]]:
        """Return one verdict per memory, in order; many memories are asked about in several prompts of one batch.

        Where the model says nothing about a memory, or nothing that can be used (no answer, no JSON, another type), it
        is kept as it is, with the status "no verdict".

        Args:
            memories: Texts of memories; with none, nothing is asked.
            evidence: What they were read from, as a passage is shown; with none, nothing is asked.
            language: Of the memories, ISO 639-1.
            prompts: Where the prompt of `task` is taken from.
            language_name: What the prompt calls the language; None for its English name.
            instructions: Further rules.
        """
        if not evidence.strip():
            return [unjudged(memory, "there is no text to compare it with") for memory in memories]
        groups = [memories[start : start + MAX_PER_PROMPT] for start in range(0, len(memories), MAX_PER_PROMPT)]
        named = {} if language_name is None else {"language": language_name}
        asked = []
        for group in groups:
            values = {"conversation": evidence, "memories": numbered(group), "instructions": instructions, **named}
            message = {"role": "user", "content": prompts.render(self.task, language, **values)}
            asked.append(Prompt((message,), schema=schema_of(self.fields, len(group)), task="general"))
        answers = yield from ask(asked)
        return [
            verdict for group, answer in zip(groups, answers, strict=True) for verdict in _read(self, group, answer)
        ]


def _read(gate: Gate, memories: Sequence[str], answer: Answer) -> list[Verdict]:
    return [
        replace(unjudged(memory, said.reason), failed=said.failed)
        if isinstance(said, Unsaid)
        else gate.read(memory, said)
        for memory, said in zip(
            memories, said_about(answer, gate.fields, len(memories), exact=gate.takes_words), strict=True
        )
    ]


def yes_or_no(value: object) -> bool | None:
    """Return a truth value, also one in words; None for anything else.

    >>> yes_or_no(False), yes_or_no(" Yes "), yes_or_no("否"), yes_or_no(1), yes_or_no("maybe")
    (False, True, False, None, None)
    """
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def reason_of(said: object) -> str:
    """Return the reason in a verdict, cut; "" if there is none."""
    reason = said.get("reason") if isinstance(said, Mapping) else None
    return clean(reason[:_MAX_REASON_CHARS]).strip() if isinstance(reason, str) else ""
