"""What speaks for each candidate beside its own words: what stands around it, who said it and when, and how it is said.

Every feature is silent where the data has nothing to say: documents have no speakers and ask no questions, a bare role
is no name, an item without a time is near to no date.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memreader.recall.options import RecallOptions
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


def structure(comb: Floats, group: Floats, around: Around, question: Question, options: RecallOptions) -> Parts:
    """Return the contributions of the neighbours and of the session or section.

    Args:
        comb: Words and vectors of each candidate, together.
        group: BM25 of each candidate's group, in [0, 1].
        around: Of the candidates.
        question: What is asked for.
        options: Weights.
    """
    several, guess = float(question.list), float(question.infer)
    before = around.before
    second = np.where(before >= 0, before[before], -1) if len(before) else before
    near = options.after * at(comb, around.after) + options.second_before * at(comb, second)
    near += options.before * (1 - several) * at(comb, before)
    weight = options.group - options.group_list * several - options.group_infer * guess
    return {"neighbours": near, "group": weight * group}


def circumstances(around: Around, question: Question, options: RecallOptions) -> Parts:
    """Return the contributions of who said it, of when, and of how it is said.

    How it is said tells likely answers from unlikely ones among many; among a few it would drown what they say, so it
    counts in proportion to the logarithm of their number, and in full from `options.floor_size`.
    """
    parts: Parts = {}
    many = min(math.log(max(len(around.marks), 1)) / math.log(options.floor_size), 1.0)
    speaker = question.speaker_of(around.names)
    if speaker is not None:
        weight = options.speaker + options.speaker_infer * question.infer
        parts["speaker"] = weight * (around.speakers == speaker)
    if question.dates:
        parts["date"] = options.date * question.date_scores(around.days.astype(np.int64))
    parts["manner"] = many * (
        options.time * has(around, TIME)
        + options.capital * has(around, CAPITAL)
        + options.length * _length(around)
        - options.question_end * has(around, QUESTION_END)
        - options.short * has(around, SHORT)
        - options.reaction * has(around, REACTION)
    )
    asked = (
        (question.when, options.when, TIME),
        (question.how_many, options.how_many, NUMBER),
        (question.who, options.who, CAPITAL),
        (question.where, options.where, CAPITAL),
    )
    if any(wanted for wanted, _, _ in asked):
        fitting = (weight * has(around, mark) for wanted, weight, mark in asked if wanted)
        parts["asked"] = many * sum(fitting, np.zeros(len(around.marks)))
    return parts


def has(around: Around, mark: int) -> Floats:
    """Return 1 for each candidate with a mark, else 0."""
    marked: Floats = np.where(around.marks & mark != 0, 1.0, 0.0)
    return marked


def _length(around: Around) -> Floats:
    words = np.where(around.marks & IN_DOCUMENT, TURN_WORDS, np.minimum(around.words, LONGEST))
    lengths: Floats = np.log1p(words.astype(np.float64))
    return lengths
