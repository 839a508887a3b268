"""What speaks for each candidate beside its own words: what stands around it, who said it and when, and how it is said.

Every feature is silent where the data has nothing to say: documents have no speakers and ask no questions, a bare role
is no name, an item without a time is near to no date.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.recall.options import Weights
from memreader.recall.question import Question
from memreader.stores.around import Around
from memreader.traits import (
    CAPITAL,
    HAS_QUESTION,
    IN_DOCUMENT,
    NUMBER,
    QUESTION_END,
    REACTION,
    SHORT,
    STATEMENT,
    TIME,
)

Floats: TypeAlias = npt.NDArray[np.float64]
Parts: TypeAlias = dict[str, Floats]

TURN_WORDS = 10
"""Terms that a piece of a document counts as having: its length says nothing about it."""
LONGEST = 50
"""Terms above which a turn gets no longer."""


def spread(values: Floats) -> Floats:
    """Return (x - mean) / standard deviation / 5: all zeros where the values do not differ."""
    deviation = values.std() if len(values) else 0.0
    if deviation < 1e-9:
        return np.zeros_like(values)
    scaled: Floats = (values - values.mean()) / deviation / 5
    return scaled


def at(values: Floats, places: npt.NDArray[np.int64]) -> Floats:
    """Return the values at some places, 0 for the place -1."""
    if not len(values):
        return values
    taken: Floats = np.where(places >= 0, values[places], 0.0)
    return taken


def asked_before(lexical: Floats, around: Around, share: float) -> Floats:
    """Return BM25 with a share of what the question before a turn has: "Auntie Lu does." answers in no word of it."""
    asked = has(around, HAS_QUESTION)
    return lexical + share * at(lexical * asked, around.before)


def structure(comb: Floats, group: Floats, around: Around, question: Question, weights: Weights) -> Parts:
    """Return the contributions of the neighbours and of the session or section.

    Args:
        comb: Words and vectors of each candidate, together.
        group: BM25 of each candidate's group, in [0, 1].
        around: Of the candidates.
        question: What is asked for.
        weights: Of each.
    """
    several, guess = float(question.list), float(question.infer)
    before = around.before
    second = np.where(before >= 0, before[before], -1) if len(before) else before
    near = weights.after * at(comb, around.after) + weights.second_before * at(comb, second)
    near += weights.before * (1 - several) * at(comb, before)
    if weights.asked:
        near += weights.asked * at(comb * has(around, HAS_QUESTION), before)
    weight = weights.group - weights.group_list * several - weights.group_infer * guess
    together = weight * group
    if weights.group_best and not question.list:
        together = together + weights.group_best * best_of_groups(comb, around)
    return {"neighbours": near, "group": together}


def best_of_groups(comb: Floats, around: Around, count: int = 3) -> Floats:
    """Return for each candidate the mean of the best values in its group, at most `count`; 0 for those without one."""
    rows = np.flatnonzero((around.groups >= 0) & (around.marks & STATEMENT == 0))
    if not len(rows):
        return np.zeros(len(comb))
    order = rows[np.lexsort((-comb[rows], around.groups[rows]))]
    groups = around.groups[order]
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    top = rank < count
    size = len(around.group_words)
    total = np.bincount(groups[top], comb[order[top]], size)
    mean = total / np.maximum(np.bincount(groups[top], minlength=size), 1)
    spread_out: Floats = np.where(around.groups >= 0, mean[around.groups], 0.0)
    return spread_out


def circumstances(around: Around, question: Question, weights: Weights, *, many: int) -> Parts:
    """Return the contributions of who said it, of when, and of how it is said.

    How it is said tells likely answers from unlikely ones among many; among a few it would drown what they say, so it
    counts in proportion to the logarithm of their number, and in full from `many`.
    """
    parts: Parts = {}
    full = min(math.log(max(len(around.marks), 1)) / math.log(many), 1.0)
    speaker = question.speaker_of(around.names)
    if speaker is not None:
        weight = weights.speaker + weights.speaker_infer * question.infer
        parts["speaker"] = weight * (around.speakers == speaker)
    if question.dates:
        parts["date"] = weights.date * question.date_scores(around.days.astype(np.int64))
    parts["manner"] = full * (
        weights.time * has(around, TIME)
        + weights.capital * has(around, CAPITAL)
        + weights.length * _length(around)
        - weights.question_end * has(around, QUESTION_END)
        - weights.short * has(around, SHORT)
        - weights.reaction * has(around, REACTION)
    )
    asked = (
        (question.when, weights.when, TIME),
        (question.how_many, weights.how_many, NUMBER),
        (question.who, weights.who, CAPITAL),
        (question.where, weights.where, CAPITAL),
    )
    if any(wanted for wanted, _, _ in asked):
        fitting = (weight * has(around, mark) for wanted, weight, mark in asked if wanted)
        parts["asked"] = full * sum(fitting, np.zeros(len(around.marks)))
    return parts


def has(around: Around, mark: int) -> Floats:
    """Return 1 for each candidate with a mark, else 0."""
    marked: Floats = np.where(around.marks & mark != 0, 1.0, 0.0)
    return marked


def _length(around: Around) -> Floats:
    words = np.where(around.marks & IN_DOCUMENT, TURN_WORDS, np.minimum(around.words, LONGEST))
    lengths: Floats = np.log1p(words.astype(np.float64))
    return lengths
