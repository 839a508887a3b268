"""The curve of relevance floors: what is asked of whom, and figures that can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import floors, locomo
from benchmarks.__main__ import main
from benchmarks.floors import FOREIGN, RIGHT, SWAPPED, UTTERANCE, Asked
from memreader.testing import HashTokenEmbedder

SAID = {
    "Ann": ("I bought a red kayak last week.", "Did Bo see the kayak?"),
    "Eve": ("My greenhouse is full of tomatoes.", "Ian waters the tomatoes at night."),
    "Kim": ("The choir sings in the old chapel.", "Lee sings the bass in the choir."),
}
ASKED = {"Ann": "What did Ann buy?", "Eve": "What is in Eve's greenhouse?", "Kim": "Where does Kim's choir sing?"}
OTHER = {"Ann": "Bo", "Eve": "Ian", "Kim": "Lee"}


def entry(name: str) -> dict[str, Any]:
    turns = [
        {"speaker": speaker, "dia_id": f"D1:{place}", "text": text}
        for place, (speaker, text) in enumerate(zip((name, OTHER[name]), SAID[name], strict=True), 1)
    ]
    return {
        "sample_id": name,
        "conversation": {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"},
        "qa": [
            {"question": ASKED[name], "evidence": ["D1:1"], "category": 4},
            {"question": f"Why is {name} sad?", "evidence": ["D1:2"], "category": 5},
            {"question": f"When did {OTHER[name]} speak to {name}?", "evidence": ["D1:2"], "category": 2},
        ],
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("talks") / "talks.json"
    path.write_text(json.dumps([entry(name) for name in SAID]), encoding="utf-8")
    return path


def test_each_question_is_asked_of_its_own_conversation_and_of_one_other(file: Path) -> None:
    samples = locomo.load(file)
    asked = [(place, *query) for place in range(3) for query in floors.queries(samples, place)]
    questions = sorted(q.text for s in samples for q in s.questions if q.category != 5)
    for kind in (RIGHT, FOREIGN):
        assert sorted(text for _, found, text, _ in asked if found == kind) == questions
    for place, kind, text, gold in asked:
        own = text in {question.text for question in samples[place].questions}
        assert kind == SWAPPED or own == (kind == RIGHT) == bool(gold)


def test_swapped_names_are_those_of_the_conversation_that_is_asked(file: Path) -> None:
    samples = locomo.load(file)
    names = [list(OTHER.items())[place] for place in range(3)]
    for place, (first, second) in enumerate(names):
        others = {name for pair in names for name in pair} - {first, second}
        for kind, text, _ in floors.queries(samples, place):
            if kind == SWAPPED:
                assert first in text or second in text
                assert not any(name in text for name in others)


def test_one_conversation_alone_is_asked_nothing_foreign(file: Path) -> None:
    assert {kind for kind, _, _ in floors.queries(locomo.load(file)[:1], 0)} == {RIGHT}


def test_a_row_says_what_a_floor_refuses_and_what_recall_that_costs() -> None:
    asked = [Asked(RIGHT, 0.3, 1.0), Asked(RIGHT, 0.1, 0.5), Asked(RIGHT, -0.1, 0.0), Asked(RIGHT, 0.9, 1.0)]
    asked += [Asked(FOREIGN, -0.1), Asked(FOREIGN, 0.1), Asked(UTTERANCE, 0.0)]
    assert floors.row(asked, 0.0) == {"R@10 lost": 0, RIGHT: 25, FOREIGN: 50, UTTERANCE: 0}
    assert floors.row(asked, 0.2) == {"R@10 lost": 12.5, RIGHT: 50, FOREIGN: 100, UTTERANCE: 100}


def test_one_line_marks_the_default_and_the_last_says_whether_the_goal_is_met() -> None:
    good = [Asked(RIGHT, 0.5, 1.0), Asked(FOREIGN, -0.1), Asked(SWAPPED, -0.1)]
    lines = floors.lines("made", good, 0.4)
    assert [line.split()[0] for line in lines if line.endswith("default")] == ["0.400"]
    assert len([line for line in lines if line.lstrip().startswith("0.")]) == len(floors.STEPS)
    assert lines[-1].endswith("met")
    assert floors.lines("made", [*good, Asked(RIGHT, -0.1, 1.0)], 0.4)[-1].endswith("missed")
    assert floors.lines("made", good[:2], 0.4)[-1].endswith("missed")


def test_the_curve_measures_what_a_search_by_default_does(file: Path) -> None:
    samples, embedder = locomo.load(file), HashTokenEmbedder()
    with locomo.filled(samples[0], embedder) as memory:
        asked = list(floors.ask(memory, samples, 0))
        texts = [text for _, text, _ in floors.queries(samples, 0)]
        found = [bool(memory.search(text, user_id="Ann")) for text in texts]
        assert [one.margin >= 0 for one in asked] == found
        assert {True, False} == set(found)
        assert [one.recall for one in asked if one.kind == RIGHT] == [1.0, 1.0]


def test_both_ways_to_search_are_measured(file: Path) -> None:
    embedder = HashTokenEmbedder()
    found = floors.measure(locomo.load(file), lambda sample: locomo.filled(sample, embedder), embedder)
    assert list(found) == [floors.LATE, floors.PLAIN]
    late, plain = found.values()
    assert [one.kind for one in late] == [one.kind for one in plain]
    assert [one.margin for one in late] != [one.margin for one in plain]


def test_locomo_prints_the_curve_beside_the_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["locomo", "--data", str(file), "--no-peers", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert sum("<- default" in note for note in report["notes"]) == 2
    assert report["results"]["memreader"]["questions"] == 6
    main(["locomo", "--data", str(file), "--no-peers", "--no-floors", "--json"])
    assert not any("<- default" in note for note in json.loads(capsys.readouterr().out)["notes"])
