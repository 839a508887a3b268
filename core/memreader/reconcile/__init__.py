"""Reconciling: whether a statement says the same as another one, or what is so instead of it."""

from memreader.reconcile.candidates import keys
from memreader.reconcile.decide import decide
from memreader.reconcile.judge import MAX_PER_PROMPT, Judgement, judge
from memreader.reconcile.slots import Slot, slots
from memreader.reconcile.statement import Statement
from memreader.reconcile.surface import surface_key
from memreader.records import Decision

__all__ = [
    "MAX_PER_PROMPT",
    "Decision",
    "Judgement",
    "Slot",
    "Statement",
    "decide",
    "judge",
    "keys",
    "slots",
    "surface_key",
]
