"""Answers one hop away: the questions are what they say, and the hop finds more of them."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.__main__ import names
from benchmarks.hops import filled, load, measure
from memreader import Memory, RecallOptions
from memreader.recall.lexical import terms
from memreader.testing import HashEmbedder


def test_it_is_found() -> None:
    assert "hops" in names()


def test_an_answer_shares_a_name_with_what_leads_to_it_and_no_word_with_its_question() -> None:
    hops, others = load()
    assert len(hops) >= 30
    assert len(others) >= 50
    for hop in hops:
        assert hop.name in hop.first
        assert hop.name in hop.answer
        assert not set(terms(hop.answer)) & set(terms(hop.question)), hop
        assert set(terms(hop.first)) & set(terms(hop.question)), hop
        assert not any(hop.name in text for text in others)


def test_the_hop_finds_more_and_costs_nothing_that_the_words_find() -> None:
    hops, others = load()
    embedder = HashEmbedder()
    with filled(embedder, hops, others, named=True) as memory:
        rows = []
        for weight in (RecallOptions().expansion, 0.0):
            options = replace(RecallOptions(), expansion=weight)
            with Memory.open(memory.folder, embedder=embedder, recall_options=options) as opened:
                rows.append(measure(opened, hops, threshold=0))
    assert rows[0]["R@10"] > rows[1]["R@10"] + 10
    assert rows[0]["found@5"] >= rows[1]["found@5"]
