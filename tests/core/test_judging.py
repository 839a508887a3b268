"""A model decides about memories that are like each other; the rules have the last word about time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memreader import Memory
from memreader.embedding import MiniLMEmbedder
from memreader.errors import ModelRequiredError
from memreader.options import ModelOptions
from memreader.testing import FunctionChatModel


def judging(action: str, keep: str = "new") -> Any:
    """A model that says the same about every pair, and nothing else."""

    def answer(messages: Any, **_: Any) -> str:
        text = messages[-1]["content"]
        assert "# Pairs" in text
        pairs = [line for line in text[text.index("# Pairs") :].splitlines() if line[:1].isdigit()]
        return json.dumps({str(place): {"action": action, "keep": keep, "reason": "so"} for place in range(len(pairs))})

    return FunctionChatModel(answer)


def told(memory: Memory, *said: tuple[str, str]) -> list[Any]:
    reports = [memory.add([{"memory": text}], user_id="ana", at=at, reconcile="model") for text, at in said]
    assert all(report.failures == [] for report in reports)
    return [decision for report in reports for decision in report.decisions]


LIKES = ("User enjoys hiking in the mountains.", "2024-01-01"), ("User is fond of mountain hikes.", "2024-02-01")


@pytest.mark.parametrize(("keep", "stays"), [("new", 1), ("old", 0)])
def test_what_a_model_holds_to_be_the_same_becomes_one(minilm: MiniLMEmbedder, keep: str, stays: int) -> None:
    with Memory.in_memory(embedder=minilm, llm=judging("merge", keep)) as memory:
        (decided,) = told(memory, *LIKES)
        assert (decided.action, decided.by, decided.reason) == ("merge", "model", "so")
        assert [item.memory for item in memory.get_all(user_id="ana")] == [LIKES[stays][0]]


def test_what_a_model_holds_to_be_over_ends(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm, llm=judging("supersede")) as memory:
        told(memory, *LIKES)
        (item,) = memory.get_all(user_id="ana")
        assert item.memory == LIKES[1][0]
        (before,) = memory.get_all(user_id="ana", filter={"status": "archived"})
        assert before.metadata.valid_until == "2024-02-01"


def test_equal_times_never_end_each_other_whatever_a_model_says(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm, llm=judging("supersede")) as memory:
        assert told(memory, LIKES[0], (LIKES[1][0], LIKES[0][1])) == []
        assert len(memory.get_all(user_id="ana")) == 2


def test_a_model_that_fails_leaves_both_and_says_so(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm, llm=FunctionChatModel(lambda *_, **__: "I can't")) as memory:
        memory.add([{"memory": LIKES[0][0]}], user_id="ana", at=LIKES[0][1], reconcile="model")
        report = memory.add([{"memory": LIKES[1][0]}], user_id="ana", at=LIKES[1][1], reconcile="model")
        assert len(report.failures) == 1
        assert len(memory.get_all(user_id="ana")) == 2


def test_no_model_is_asked_about_what_is_not_alike(minilm: MiniLMEmbedder) -> None:
    model = FunctionChatModel(lambda *_, **__: pytest.fail("asked"))
    with Memory.in_memory(embedder=minilm, llm=model) as memory:
        told(memory, LIKES[0], ("The boiler is serviced every October.", "2024-03-01"))


def test_only_who_asks_for_it_has_a_model_decide(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm, llm=judging("merge")) as memory:
        for text, at in LIKES:
            memory.add([{"memory": text}], user_id="ana", at=at)
        assert len(memory.get_all(user_id="ana")) == 2
    with Memory.in_memory(embedder=minilm) as memory:
        with pytest.raises(ModelRequiredError):
            memory.add([{"memory": "x y"}], user_id="ana", reconcile="model")
        with pytest.raises(ValueError, match="'model'"):
            memory.add([{"memory": "x y"}], user_id="ana", reconcile="always")  # type: ignore[arg-type]


@pytest.mark.parametrize(("similar", "asked"), [(0.0, 1), (0.45, 1), (0.95, 0)])
def test_the_user_says_how_much_alike_two_are_that_a_model_is_asked_about(
    minilm: MiniLMEmbedder, similar: float, asked: int
) -> None:
    with Memory.in_memory(embedder=minilm, llm=judging("merge"), model_options=ModelOptions(similar=similar)) as memory:
        assert len(told(memory, *LIKES)) == asked


def test_a_share_of_alikeness_is_between_nothing_and_all() -> None:
    with pytest.raises(ValueError, match="similar must be between 0 and 1"):
        ModelOptions(similar=1.5)
