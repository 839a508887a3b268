"""What a model decides about pairs of statements; where it says nothing usable, the rules have decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memreader.calling import ModelFailure, Prompt
from memreader.extract.failing import failure_of
from memreader.gates.numbered import Unsaid, numbered, said_about, schema_of
from memreader.gates.verdicts import reason_of
from memreader.plan import Plan, ask
from memreader.prompts import Prompts
from memreader.reconcile.decide import decide, more_complete
from memreader.reconcile.statement import Statement, order
from memreader.records import Action, Decision, Side
from memreader.types import Failure

MAX_PER_PROMPT = 20
"""Pairs that one call judges."""
_FIELDS = {"action": "string", "keep": "string", "reason": "string"}

Pair = tuple[Statement, Statement]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of pairs of statements."""

    decisions: tuple[Decision, ...]
    """One per pair, in order."""
    failures: tuple[Failure, ...] = ()
    """Of the calls that failed: the rules have decided about their pairs."""


def judge(
    pairs: Sequence[Pair],
    *,
    language: str,
    prompts: Prompts,
    language_name: str | None = None,
    instructions: str = "",
) -> Plan[Judgement]:
    """Return a decision per pair of (new, old); many pairs are asked about in several prompts of one batch.

    Pairs of the same words are not asked about. Where the model says nothing about a pair, or nothing that can be used,
    the rules decide, and `by` says so. Times bind the model as well: see `_of_model`.

    Args:
        pairs: Each the new statement and the old one; with none, nothing is asked.
        language: Of the statements, ISO 639-1.
        prompts: Where the prompt of the task "reconcile" is taken from.
        language_name: What the prompt calls the language; None for its English name.
        instructions: Further rules.
    """
    decisions = [decide(new, old) for new, old in pairs]
    open_ones = [place for place, one in enumerate(decisions) if one.action not in ("merge", "skip")]
    groups = [open_ones[start : start + MAX_PER_PROMPT] for start in range(0, len(open_ones), MAX_PER_PROMPT)]
    named = {} if language_name is None else {"language": language_name}
    asked = []
    for group in groups:
        values = {"pairs": numbered([_shown(pairs[place]) for place in group]), "instructions": instructions, **named}
        message = {"role": "user", "content": prompts.render("reconcile", language, **values)}
        asked.append(Prompt((message,), schema=schema_of(_FIELDS, len(group)), task="general"))
    failures = []
    for group, answer in zip(groups, (yield from ask(asked)), strict=True):
        said = said_about(answer, _FIELDS, len(group))
        if isinstance(answer, ModelFailure):
            failures.append(failure_of(answer))
        elif said and isinstance(said[0], Unsaid) and said[0].failed:
            failures.append(Failure("unreadable reply", said[0].reason))
        for place, one in zip(group, said, strict=True):
            decisions[place] = _of_model(*pairs[place], one) or decisions[place]
    return Judgement(tuple(decisions), tuple(failures))


def _shown(pair: Pair) -> dict[str, str]:
    new, old = pair
    return {"old": old.text, "old_time": old.at or "unknown", "new": new.text, "new_time": new.at or "unknown"}


def _of_model(new: Statement, old: Statement, said: object) -> Decision | None:
    """Return what the model decided, as far as the times allow; None if it said nothing usable.

    The later one in time replaces the other, whichever the model names; with equal or unknown times none does, nor if
    the model holds the old one to be true now although it is the earlier one. `skip` would lose where the new statement
    comes from, so it becomes a merge that keeps the old text.
    """
    if not isinstance(said, Mapping):
        return None
    action, keep = (_word(said.get(name)) for name in ("action", "keep"))
    if action not in ("skip", "merge", "supersede", "add") or keep not in ("new", "old", ""):
        return None
    reason = reason_of(said) or action
    if action == "merge":
        return Decision("merge", reason, cast(Side, keep) if keep else more_complete(new, old), "model")
    if action == "skip":
        return Decision("merge", reason, "old", "model")
    if action == "supersede":
        return _in_order(new, old, keep, reason)
    return Decision(cast(Action, action), reason, by="model")


def _in_order(new: Statement, old: Statement, keep: str, reason: str) -> Decision:
    turn = order(new, old)
    if not turn:
        why = "equal times" if turn == 0 else "nobody knows which is later"
        return Decision("add", f"{why}: {reason}", by="model")
    if turn > 0 and keep == "old":
        return Decision("add", f"the earlier one can't replace the later: {reason}", by="model")
    return Decision("supersede", reason, "new" if turn > 0 else "old", "model")


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else "" if value is None else "?"
