"""The labelled documents are whole: quotes, licences, counts; and a hit is what it is said to be."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from typing import Any

import pytest

from benchmarks import docs
from benchmarks.docs import Chunk, Labelled, Question, Scores, covering, files, label, load, measure, notes_on
from memreader import Memory
from memreader.testing import HashEmbedder

LICENCES = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "Unlicense"}
WORDS_OF_LICENCE = {
    "MIT": "Permission is hereby granted, free of charge",
    "BSD-2-Clause": "Redistribution and use in source and binary forms",
    "BSD-3-Clause": "Redistribution and use in source and binary forms",
    "Apache-2.0": "Licensed under the Apache License, Version 2.0",
    "Unlicense": "free and unencumbered software released into the public domain",
}
QUESTIONS = load()


def texts() -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in files()}


def sources() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((docs.FOLDER / "sources.json").read_text(encoding="utf-8"))
    return entries


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class SmallEmbedder(HashEmbedder):
    """Makes chunks of the size that the embedded model makes."""

    max_tokens = 256


class TestTheTexts:
    def test_every_text_has_a_licence_and_an_origin(self) -> None:
        named = sources()
        assert sorted(entry["file"] for entry in named) == sorted(texts())
        for entry in named:
            assert entry["licence"] in LICENCES
            assert all(entry[key].strip() for key in ("project", "version", "path"))
            licence = (docs.FOLDER / "licences" / entry["licence_file"]).read_text(encoding="utf-8")
            assert WORDS_OF_LICENCE[entry["licence"]] in " ".join(licence.split())

    def test_no_licence_is_without_a_text(self) -> None:
        kept = {file.name for file in (docs.FOLDER / "licences").iterdir()}
        assert kept == {entry["licence_file"] for entry in sources()}

    def test_they_are_many_and_small(self) -> None:
        assert 15 <= len(texts()) <= 40
        assert sum(file.stat().st_size for file in docs.FOLDER.rglob("*") if file.is_file()) <= 1_500_000


class TestTheQuestions:
    def test_every_quote_stands_exactly_once_in_its_file(self) -> None:
        found = texts()
        wrong = [(q.text, quote) for q in QUESTIONS for quote in q.evidence if found[q.file].count(quote) != 1]
        assert QUESTIONS
        assert all(q.evidence for q in QUESTIONS)
        assert wrong == []

    def test_they_are_many_of_every_kind_and_over_all_files(self) -> None:
        kinds = Counter(q.kind for q in QUESTIONS)
        assert len(QUESTIONS) >= 60
        assert set(kinds) == set(docs.KINDS)
        assert min(kinds.values()) >= len(QUESTIONS) / 4
        assert sum(q.needs_heading for q in QUESTIONS) >= 5
        assert {q.file for q in QUESTIONS} == set(texts())

    def test_none_is_asked_twice_or_copied_from_its_text(self) -> None:
        found = {name: " ".join(words(text)) for name, text in texts().items()}
        assert len({q.text for q in QUESTIONS}) == len(QUESTIONS)
        assert [q.text for q in QUESTIONS if " ".join(words(q.text)) in found[q.file]] == []

    def test_no_two_share_a_span(self) -> None:
        found = texts()
        spans = sorted(
            (q.file, found[q.file].index(quote), found[q.file].index(quote) + len(quote))
            for q in QUESTIONS
            for quote in q.evidence
        )
        assert [(one, two) for one, two in itertools.pairwise(spans) if one[0] == two[0] and two[1] < one[2]] == []


def test_the_defaults_make_two_hundred_chunks_and_each_question_has_one_that_answers() -> None:
    with Memory.in_memory(embedder=SmallEmbedder(dimension=16)) as memory:
        report = memory.add(docs.files(), user_id=docs.USER)
        corpus = docs.chunks_in(memory)
        labelled = label(QUESTIONS, corpus)
        search = docs.our_search(memory)
        scores = measure(labelled[:5], search)
    assert not report.failures
    assert len(corpus.turns) >= 200
    assert [one.question.text for one in labelled if not one.gold] == []
    assert len(scores.ranks) == 5


@pytest.mark.parametrize(
    ("start", "end", "covered"),
    [(0, 100, True), (10, 16, True), (10, 15, False), (14, 100, True), (15, 100, False), (20, 30, False)],
)
def test_a_hit_covers_at_least_three_fifths_of_the_span(start: int, end: int, covered: bool) -> None:
    chunk = Chunk("c", "a.md", start, end, "")
    assert (covering([chunk], "a.md", 10, 20) == {"c"}) == covered
    assert covering([chunk], "b.md", 10, 20) == frozenset()


def test_a_chunk_with_any_of_the_spans_answers() -> None:
    question = next(q for q in QUESTIONS if len(q.evidence) == 2)
    text = texts()[question.file]
    starts = [text.index(quote) for quote in question.evidence]
    ends = [start + len(quote) for start, quote in zip(starts, question.evidence, strict=True)]
    chunks = [Chunk(str(start), question.file, start, end, "") for start, end in zip(starts, ends, strict=True)]
    (labelled,) = label([question], docs.Corpus((*chunks, Chunk("far off", question.file, 0, 1, ""))))
    assert labelled.gold == {chunk.turn_id for chunk in chunks}


def test_scores_are_shares_of_the_questions_that_have_a_hit_in_time() -> None:
    question = Question("?", "a.md", ("x",), "shared", needs_heading=False)
    labelled = [Labelled(question, frozenset({gold})) for gold in ("a", "b", "g", "z")]
    scores = measure(labelled, lambda _question, k: list("abcdefg")[:k])
    row = scores.row([question] * 4)
    assert scores.ranks == [1, 2, 7, None]
    assert (row["R@1"], row["R@5"], row["R@10"], row["n"]) == (25.0, 50.0, 75.0, 4)
    assert row["MRR"] == pytest.approx(100 * (1 + 1 / 2 + 1 / 7) / 4)
    assert (row["R@5 shared"], row["R@5 between"]) == (50.0, 0.0)


def test_the_goal_is_judged_by_points_and_says_how_many_questions_it_rests_on() -> None:
    ours, better, worse = Scores([1, 2, None, 9]), Scores([1, 2, 3, None]), Scores([1, 6, None, None])
    notes = notes_on({docs.OURS: ours, docs.LEXICAL: better, docs.DENSE: worse}, [], docs.Corpus(()))
    assert "-25.0 (0 questions won, 1 lost): missed" in notes[1]
    assert "+25.0 (1 questions won, 0 lost): met" in notes[2]
