"""Every knob of recall in one frozen value; the defaults are what the benchmarks measure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """Weights of the fusion and of the relevance floor.

    The fused score is `lexical_weight * bm25 / max(bm25) + w * z(cosine) / 5`, with w by the query's script. On the
    five LoCoMo conversations that w was chosen on, BM25 alone finds 62.6 % of the evidence in ten turns, cosine alone
    48.7 %, the fusion 68.9 % (`python -m benchmarks locomo`).
    """

    lexical_weight: float = 0.5
    dense_weight: float = 0.5
    """w of a query in words."""
    dense_weight_cjk: float = 0.8
    """w of a mostly Chinese, Japanese or Korean query, for an embedder that knows these languages."""
    dense_weight_unknown: float = 0.1
    """w of such a query for an embedder that hardly does (`english_only`)."""
    floor_one: float = 0.08
    """Relevance below which a query to a single memory finds nothing; relevance is in [0, 1], see `recall.floor`."""
    floor_many: float = 0.21
    """The same for `floor_size` memories or more: the best of many is close to anything by chance."""
    floor_size: int = 400
    floor_words: float = 0.08
    """The same for a query of which only the words count."""
    relevance_similarity_weight: float = 0.7
    """Share of the similarity in a memory's relevance; the rest is its coverage of the query's terms."""
