"""Pairs of statements in both languages: rules never merge or replace wrongly, and find most of what they should."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from memreader.extract.words import words_of
from memreader.options import ModelOptions
from memreader.plan import run
from memreader.ports import Reply
from memreader.prompts import Prompts
from memreader.reconcile import Decision, Statement, decide, judge, keys
from memreader.testing import FunctionChatModel
from statement_pairs import Pair, pairs_of

SETS = ("written_before", "written_after", "written_last")
ALL = [pair for name in SETS for pair in pairs_of(name)]
HAN = re.compile("[一-鿿]")
each_pair = pytest.mark.parametrize("pair", ALL, ids=str)


def both(pair: Pair) -> tuple[Statement, Statement]:
    return Statement(pair.new, pair.new_at), Statement(pair.old, pair.old_at)


def decided(pair: Pair) -> Decision:
    return decide(*both(pair))


def share(pairs: Sequence[Pair]) -> float:
    right = [pair for pair in pairs if decided(pair).action == pair.ideal or decided(pair).action == "skip"]
    return len(right) / len(pairs)


def of_kind(kind: str, *names: str) -> list[Pair]:
    return [pair for name in names or SETS for pair in pairs_of(name) if pair.kind == kind]


def test_the_table_is_large_and_half_of_it_is_chinese() -> None:
    assert len(ALL) >= 800
    assert 0.4 <= sum(HAN.search(pair.new) is not None for pair in ALL) / len(ALL) <= 0.6
    assert len({(pair.old, pair.new, pair.old_at, pair.new_at) for pair in ALL}) == len(ALL)


def test_paraphrases_share_few_words() -> None:
    few = 0
    for pair in of_kind("paraphrase"):
        one, other = words_of(pair.old), words_of(pair.new)
        few += len(one & other) / len(one | other) < 0.5
    assert few >= 40


@each_pair
def test_no_pair_is_merged_or_replaced_wrongly(pair: Pair) -> None:
    decision = decided(pair)
    assert decision.action in pair.expect
    assert decision.reason
    assert decision.by == "rules"
    if decision.action == "supersede":
        assert decision.keeps == pair.keep


@pytest.mark.parametrize("name", SETS)
def test_most_surface_duplicates_are_merged_and_most_updates_are_seen(name: str) -> None:
    assert share(of_kind("surface", name)) >= 0.95
    assert share(of_kind("update", name)) >= 0.8
    assert share(of_kind("imported", name)) == 1
    for kind in ("surface", "update"):
        for chinese in (True, False):
            assert share([pair for pair in of_kind(kind, name) if (HAN.search(pair.new) is not None) == chinese]) >= 0.8


def test_paraphrases_are_left_to_a_model() -> None:
    assert {decided(pair).action for pair in of_kind("paraphrase")} == {"add"}


def test_the_other_way_round_it_is_the_same_decision_seen_from_the_other_side() -> None:
    for pair in ALL:
        new, old = both(pair)
        one, other = decide(new, old), decide(old, new)
        assert one.action == other.action, pair
        if one.action == "supersede" or (one.action == "merge" and new.text != old.text):
            assert {one.keeps, other.keeps} == {"new", "old"}, pair


@pytest.mark.parametrize("at", [None, "2024-05-01", "2024-05-01T10:00:00+08:00"])
def test_at_one_time_or_at_none_nothing_is_replaced(at: str | None) -> None:
    for pair in ALL:
        assert decide(Statement(pair.new, at), Statement(pair.old, at)).action != "supersede", pair
        assert decide(Statement(pair.new, at), Statement(pair.old, None)).action != "supersede", pair


def test_what_the_rules_can_decide_is_found_by_its_keys() -> None:
    for pair in ALL:
        assert decided(pair).action == "add" or set(keys(pair.new)) & set(keys(pair.old)), pair


def test_few_statements_of_other_pairs_are_looked_at_and_none_of_them_is_the_same() -> None:
    texts = list(dict.fromkeys(text for pair in ALL for text in (pair.old, pair.new)))
    by_key: dict[str, list[str]] = {}
    for text in texts:
        for key in keys(text):
            by_key.setdefault(key, []).append(text)
    assert sum(len(found) == 1 for found in by_key.values()) > len(by_key) / 2


class Knows:
    """A model that knows the table: it reads the numbered pairs in a prompt, and says what is right."""

    def __init__(self) -> None:
        self.calls = 0
        self._right = {(pair.old, pair.new, pair.old_at, pair.new_at): pair for pair in ALL}

    def __call__(self, messages: list[dict[str, Any]]) -> Reply:
        self.calls += 1
        prompt = messages[-1]["content"]
        shown = re.findall(r'^(\d+): (\{"old".*\})$', prompt[prompt.rindex("\n# ") :], re.MULTILINE)
        said = {number: self._verdict(json.loads(line)) for number, line in shown}
        return Reply(json.dumps(said, ensure_ascii=False))

    def _verdict(self, shown: dict[str, str]) -> dict[str, Any]:
        times = [None if shown[name] == "unknown" else shown[name] for name in ("old_time", "new_time")]
        pair = self._right[shown["old"], shown["new"], times[0], times[1]]
        return {"action": pair.ideal, "keep": pair.keep, "reason": pair.kind}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_with_a_model_that_is_right_every_decision_is(language: str) -> None:
    model = Knows()
    plan = judge([both(pair) for pair in ALL], language=language, prompts=Prompts())
    judgement = run(plan, FunctionChatModel(model), options=ModelOptions(attempts=1))
    wrong = [
        (str(pair), decision)
        for pair, decision in zip(ALL, judgement.decisions, strict=True)
        if decision.action != pair.ideal or (pair.ideal == "supersede" and decision.keeps != pair.keep)
    ]
    assert wrong == []
    assert judgement.failures == ()
    assert model.calls <= len(ALL) / 20 + 1
