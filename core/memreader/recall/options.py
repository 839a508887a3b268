"""Every knob of recall in one frozen value; the defaults are what the benchmarks measure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """Weights of the fusion and of the relevance floor.

    L is BM25 divided by its highest value, P the cosine, z(x) = (x - mean) / standard deviation / 5 over the
    candidates, c = comb_lexical L + comb_spread z(L) + comb_dense w z(P), w the weight of the vectors. A question's
    score is

        lexical_weight L + w z(P)
        + after c[next] + second_before c[the one before the last] + before c[last], in the same session or section
        + group (BM25 of the whole session or section) + speaker + date + how it is said.
    """

    lexical_weight: float = 0.75
    dense_weight: float = 0.6
    """w of a query in words."""
    dense_weight_cjk: float = 0.8
    """w of a mostly Chinese, Japanese or Korean query, for an embedder that knows these languages."""
    dense_weight_unknown: float = 0.1
    """w of such a query for an embedder that hardly does (`english_only`)."""
    utterance_lexical: float = 0.3
    """L of a query that is something said, no question; what stands around a memory doesn't count for it."""
    utterance_dense: float = 1.0
    """z(P) of such a query, in English; in other languages in proportion to w."""

    document_lexical: float = 0.5
    document_dense: float = 0.8
    """Of pieces of documents, in place of the first two; what stands around them tells nothing: on 109 questions about
    31 documents each feature of turns loses hits (`python -m benchmarks docs`)."""

    question_before: float = 0.6
    """Share of the BM25 of a turn that asks, which the answer after it gets."""
    comb_lexical: float = 0.5
    comb_spread: float = 0.5
    comb_dense: float = 0.8
    after: float = 0.10
    before: float = 0.05
    """Not for a question that asks for several things."""
    second_before: float = 0.15
    group: float = 0.50
    group_list: float = 0.20
    """Less for a question that asks for several things: they are told in several sessions."""
    group_infer: float = 0.40
    """Less for one that asks for a guess."""

    speaker: float = 0.40
    """Said by the one person that the question names."""
    speaker_infer: float = 0.30
    date: float = 0.90
    """On a date that the question names."""
    question_end: float = 0.10
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

    floor_one: float = 0.08
    """Relevance below which a query to a single memory finds nothing; relevance is in [0, 1], see `recall.floor`."""
    floor_many: float = 0.21
    """The same for `floor_size` memories or more: the best of many is close to anything by chance."""
    floor_size: int = 400
    floor_words: float = 0.08
    """The same for a query of which only the words count."""
    relevance_similarity_weight: float = 0.7
    """Share of the similarity in a memory's relevance; the rest is its coverage of the query's terms."""
