"""Hits in the order that a caller's reranker gives, with scores that mean what they mean in every search."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.errors import InvalidScoresError, MemReaderError
from memreader.items import TextualMemoryItem
from memreader.recall.lexical import terms
from memreader.recall.reranking import rerank_hits
from memreader.testing import RerankerContract
from memreader.types import Hit


class SharedWords:
    """Scores a text by the share of the query's terms that it holds."""

    name = "shared words"

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        wanted = set(terms(query))
        return [len(wanted & set(terms(text))) / (1 + len(wanted)) for text in texts]


class TestSharedWords(RerankerContract):
    @pytest.fixture
    def reranker(self) -> SharedWords:
        return SharedWords()


@dataclass
class Fixed:
    """Gives these scores, and remembers what it was asked."""

    scores: Any
    name: str = "fixed"
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def rerank(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        return self.scores


def hit(words: str, score: float = 0.5, **parts: float) -> Hit:
    return Hit(TextualMemoryItem(memory=words), score, None, parts)


def words(hits: Sequence[Hit]) -> list[str]:
    return [one.item.memory for one in hits]


HITS = [hit("a", 0.9, relevance=0.9), hit("b", 0.6, relevance=0.8, dense=0.1), hit("c", 0.6, relevance=0.6)]


def test_the_highest_score_comes_first_and_is_among_the_parts() -> None:
    reranker = Fixed([-2.0, 1.5, 7])
    ranked = rerank_hits("q", HITS, reranker, keep=3)
    assert words(ranked) == ["c", "b", "a"]
    assert [one.parts["rerank"] for one in ranked] == [7.0, 1.5, -2.0]
    assert ranked[1].parts == {"relevance": 0.8, "dense": 0.1, "rerank": 1.5}
    assert reranker.asked == [("q", ["a", "b", "c"])]
    assert "rerank" not in HITS[0].parts


def test_equal_scores_keep_the_order() -> None:
    assert words(rerank_hits("q", HITS, Fixed([1, 1, 1]), keep=3)) == ["a", "b", "c"]


def test_only_the_best_are_kept() -> None:
    assert words(rerank_hits("q", HITS, Fixed([1, 2, 3]), keep=2)) == ["c", "b"]
    assert len(rerank_hits("q", HITS, Fixed([1, 2, 3]), keep=99)) == 3


def test_a_hit_that_stood_under_a_worse_one_gets_its_own_score_back() -> None:
    ranked = rerank_hits("q", HITS, Fixed([2, 3, 1]), keep=3)
    assert [(one.item.memory, one.score) for one in ranked] == [("b", 0.8), ("a", 0.8), ("c", 0.6)]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-9, 9)), max_size=8), st.integers(1, 9))
def test_scores_never_rise_and_no_hit_is_lost_or_made_up(given_: list[tuple[float, float]], keep: int) -> None:
    hits = [hit(str(place), score) for place, (score, _) in enumerate(given_)]
    scores = [score for _, score in given_]
    ranked = rerank_hits("q", hits, Fixed(scores), keep=keep)
    assert len(ranked) == min(keep, len(hits))
    assert len(set(words(ranked))) == len(ranked)
    assert all(0 <= one.score <= hits[int(one.item.memory)].score for one in ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert [one.parts["rerank"] for one in ranked] == sorted(scores, reverse=True)[:keep]


def test_without_hits_nobody_is_asked() -> None:
    reranker = Fixed(None)
    assert rerank_hits("q", [], reranker, keep=3) == []
    assert reranker.asked == []


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([1.0, 2.0], "returned 2 for 3 texts"),
        ([], "returned 0 for 3 texts"),
        ([1.0, float("nan"), 2.0], "score 1 is nan"),
        ([float("-inf"), 1.0, 2.0], "score 0 is -inf"),
        (["high", 1.0, 2.0], "no numbers"),
        ([None, 1.0, 2.0], "no numbers"),
        (None, "no numbers"),
    ],
)
def test_anything_but_a_finite_score_per_text_is_an_error_that_says_so(scores: Any, problem: str) -> None:
    with pytest.raises(InvalidScoresError, match=problem) as raised:
        rerank_hits("q", HITS, Fixed(scores, "mine"), keep=3)
    assert isinstance(raised.value, MemReaderError)
    assert isinstance(raised.value, ValueError)
    assert raised.value.reranker == "mine"
    assert "RerankerContract" in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.args, again.problem) == (raised.value.args, raised.value.problem)


def test_what_the_reranker_raises_comes_through() -> None:
    class Broken(Fixed):
        def rerank(self, query: str, texts: Sequence[str]) -> Any:
            raise TimeoutError("slow")

    with pytest.raises(TimeoutError, match="slow"):
        rerank_hits("q", HITS, Broken(None), keep=3)


@pytest.mark.parametrize("keep", [0, -1])
def test_keeping_none_is_refused(keep: int) -> None:
    with pytest.raises(ValueError, match="keep"):
        rerank_hits("q", HITS, Fixed([1, 2, 3]), keep=keep)


Rerank = Callable[[SharedWords, str, Sequence[str]], Any]
BROKEN: list[tuple[str, Rerank]] = [
    ("one too few", lambda one, query, texts: SharedWords.rerank(one, query, texts)[:-1]),
    ("not a number", lambda one, query, texts: [float("nan") for _ in texts]),
    ("lower is better", lambda one, query, texts: [-score for score in SharedWords.rerank(one, query, texts)]),
    ("sorted", lambda one, query, texts: sorted(SharedWords.rerank(one, query, texts), reverse=True)),
    ("one for no text", lambda one, query, texts: SharedWords.rerank(one, query, texts) or [0.0]),
    ("fails on nothing", lambda one, query, texts: [1 / len(text) for text in texts]),
]


@pytest.mark.parametrize("rerank", [rerank for _, rerank in BROKEN], ids=[name for name, _ in BROKEN])
def test_a_broken_reranker_fails_its_contract(rerank: Rerank) -> None:
    class Broken(SharedWords):
        pass

    Broken.rerank = rerank  # type: ignore[method-assign,assignment]
    checks = [check for name, check in inspect.getmembers(RerankerContract) if name.startswith("test_")]
    failed = 0
    for check in checks:
        try:
            check(RerankerContract(), Broken())
        except (AssertionError, ValueError, ZeroDivisionError):
            failed += 1
    assert failed
