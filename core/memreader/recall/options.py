"""Every knob of recall in one frozen value; the defaults are what the benchmarks measure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a question's evidence about turns.

    L is BM25 divided by its highest value, P the cosine, M the late interaction, z(x) = (x - mean) / standard deviation
    / 5 over the candidates, c = comb_lexical L + comb_spread z(L) + comb_dense w z(P) + comb_late z(M), w the weight of
    the vectors. The score is

        lexical_weight L + w z(P) + late_weight z(M)
        + after c[next] + second_before c[the one before the last] + before c[last], in the same session
        + asked c[last] if that asks + group (BM25 of the whole session) + group_best (mean of its three best c)
        + speaker + date + how it is said.

    What each group of weights brings: points of R@10 that are lost without it, categories 1 to 4 of half of LoCoMo; by
    late interaction, by words and vectors, by words alone, and in brackets the same with roles in place of names.

    =============================================================== =========== =========== ===========
    all                                                             87.5 (84.7) 84.3 (81.3) 82.6 (80.3)
    =============================================================== =========== =========== ===========
    late_weight, comb_late                                          9.3 (9.5)   -          -
    lexical_weight, comb_lexical, comb_spread                       .3 (.5)     5.4 (7.1)  17.0 (25.7)
    dense_weight, comb_dense                                        -           1.7 (1.0)  -
    after, before, second_before, asked, question_before            .7 (1.9)    3.2 (5.7)  4.5 (7.0)
    group and group_*                                               .5 (1.4)    .7 (1.3)   1.8 (1.6)
    *_list, *_infer                                                 .8 (.3)     .5 (.1)    .4 (-.2)
    speaker, speaker_infer                                          1.7 (0)     1.6 (0)    2.1 (0)
    date                                                            2.0 (2.8)   2.7 (2.5)  2.7 (2.4)
    question_end, short, reaction, time, capital, length            .8 (.8)     1.7 (1.7)  1.3 (1.9)
    when, how_many, who, where                                      .2 (-.3)    .2 (.8)    .5 (.7)
    =============================================================== =========== =========== ===========
    """

    lexical_weight: float = 0.75
    dense_weight: float = 0.6
    """w of a query in words."""
    late_weight: float = 0.0
    question_before: float = 0.8
    """Share of the BM25 of a turn that asks, which the answer after it gets."""
    comb_lexical: float = 0.5
    comb_spread: float = 0.5
    comb_dense: float = 0.8
    comb_late: float = 0.0
    after: float = 0.15
    before: float = 0.05
    """Not for a question that asks for several things."""
    second_before: float = 0.15
    asked: float = 0.0
    """Of what the question before a turn has."""
    group: float = 0.50
    group_list: float = 0.20
    """Less for a question that asks for several things: they are told in several sessions."""
    group_infer: float = 0.40
    """Less for one that asks for a guess."""

    group_best: float = 0.0
    """Of the three best of the session, together; not for a question that asks for several things."""

    speaker: float = 0.40
    """Said by the person that the question is about."""
    speaker_infer: float = 0.30
    date: float = 0.70
    """On a date that the question names."""
    question_end: float = 0.15
    short: float = 0.10
    reaction: float = 0.05
    time: float = 0.05
    capital: float = 0.10
    length: float = 0.05
    """Of ln(1 + terms) of a turn."""
    when: float = 0.30
    """Words that tell when, for a question when."""
    how_many: float = 0.15
    who: float = 0.25
    where: float = 0.30


LATE = Weights(
    lexical_weight=0.1,
    late_weight=1.0,
    dense_weight=0.0,
    question_before=0.0,
    comb_lexical=0.7,
    comb_spread=0.0,
    comb_dense=0.0,
    comb_late=0.8,
    after=0.15,
    before=0.10,
    second_before=0.15,
    asked=0.20,
    group=0.40,
    group_list=0.15,
    group_infer=0.35,
    group_best=0.15,
    speaker=0.35,
    speaker_infer=0.30,
    date=0.80,
    question_end=0.05,
    short=0.10,
    reaction=0.05,
    time=0.075,
    capital=0.05,
    length=0.0,
    when=0.30,
    how_many=0.10,
    who=0.20,
    where=0.20,
)
"""With late interaction: it knows a turn's context, so what stands around it counts less."""


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """Weights of the fusion, by what a query is and what it is about, and of the relevance floor."""

    plain: Weights = Weights()
    """Without late interaction."""
    late: Weights = LATE
    dense_weight_cjk: float = 0.8
    """w of a mostly Chinese, Japanese or Korean query, for an embedder that knows these languages."""
    dense_weight_unknown: float = 0.1
    """w of such a query for an embedder that hardly does (`english_only`)."""
    utterance_lexical: float = 0.3
    """L of a query that is something said, no question; what stands around a memory doesn't count for it."""
    utterance_dense: float = 1.0
    """z(P) of such a query, in English; in other languages in proportion to w."""

    utterance_late: float = 0.5
    """z(M) of such a query."""

    document_lexical: float = 0.3
    document_dense: float = 0.8
    """Of pieces of documents, in place of the first two; what stands around them tells nothing: on 109 questions about
    31 documents each feature of turns loses hits (`python -m benchmarks docs`)."""
    document_coverage: float = 0.5
    """Of the share of the query's idf that the terms of such a piece make up: a piece is long, so which words it holds
    tells more than how often."""

    expansion: float = 0.3
    """Most that a memory gains by the graph: it mentions what the best evidence mentions, see `recall.expansion`. Never
    enough to pass a memory that speaks for itself. 0 asks no graph."""
    expansion_specific: float = 0.5
    """Share of that for a question that asks for one thing, a time, a number, a person or a place; something said
    gains nothing."""

    floor_one: float = 0.08
    """Evidence below which a query to a single memory finds nothing; it is in [0, 1], see `recall.floor.margin`."""
    floor_many: float = 0.34
    """The same for `floor_size` memories or more: the best of many is close to anything by chance. On 786 questions to
    five conversations it costs 0.1 points of R@10 (`python -m benchmarks locomo` prints the curve)."""
    floor_size: int = 400
    floor_utterance: float = 0.28
    """`floor_many` for a query that is something said."""
    floor_document: float = 0.21
    """`floor_many` for pieces of documents: they are long, so that each is less like a question."""
    floor_words: float = 0.08
    """The same for a query of which only the words count."""
    floor_one_late: float = 0.15
    """`floor_one`, `floor_many` and `floor_utterance` for memories with token vectors."""
    floor_many_late: float = 0.435
    floor_utterance_late: float = 0.37
    floor_nameless: float = 0.86
    """Share of the floor of turns that is left for a question that holds names where no speaker has one: nobody says
    his own, so these words are found nowhere."""
    relevance_similarity_weight: float = 0.7
    """Share of the similarity in a memory's relevance; the rest is its coverage of the query's terms."""
    relevance_late_weight: float = 0.45
    """Share of the late interaction in the evidence that is compared with the floor, where there is any."""
    relevance_late_similarity_weight: float = 0.73
    """Share of the similarity in the rest of it."""

    feedback_weight: float = 0.1
    """Most that feedback adds to a memory's score or takes from it, see `recall.feedback`; 0 turns feedback off. First
    and second of a search are 0.25 apart (median), others of the first ten 0.02 to 0.1."""
    feedback_half_life_days: float = 30.0
    """Days after which feedback counts half."""
    feedback_general: float = 0.3
    """What feedback about no question counts, of what it does for the question that it is about."""

    def __post_init__(self) -> None:
        if not 0 <= self.feedback_weight < math.inf:
            raise ValueError(f"feedback_weight must be 0 or more, got {self.feedback_weight}")
        if not 0 < self.feedback_half_life_days < math.inf:
            raise ValueError(f"feedback_half_life_days must be above 0, got {self.feedback_half_life_days}")
        if not 0 <= self.feedback_general <= 1:
            raise ValueError(f"feedback_general must be between 0 and 1, got {self.feedback_general}")

    def without_vectors(self) -> RecallOptions:
        """Return options by which only words, and what stands around a memory, decide the order."""
        return replace(
            self,
            plain=replace(self.plain, dense_weight=0.0),
            late=replace(self.late, dense_weight=0.0, late_weight=0.0, comb_late=0.0),
            dense_weight_cjk=0.0,
            dense_weight_unknown=0.0,
            utterance_late=0.0,
            document_dense=0.0,
            expansion=0.0,
        )
