"""What a reranker must keep: subclass the contract, and give a `reranker` fixture."""

# ruff: noqa: D102

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memreader.ports import Reranker

_THREADS = 4


class RerankerContract:
    """Subclass it, and give a `reranker` fixture."""

    query = "Where does Ana live?"
    texts = ("Ana lives in Porto.", "Interest rates fell again in spring.", "他养了一只猫。")
    """The first one answers the query, the others don't."""
    tolerance = 1e-3
    """How far two scores of the same text may lie apart when the texts around it differ."""

    def test_it_is_a_reranker(self, reranker: Reranker) -> None:
        assert isinstance(reranker, Reranker)
        assert reranker.name

    def test_no_texts_give_no_scores(self, reranker: Reranker) -> None:
        assert len(reranker.rerank(self.query, [])) == 0

    def test_there_is_one_finite_score_per_text(self, reranker: Reranker) -> None:
        for count in range(1, len(self.texts) + 1):
            scores = np.array([float(score) for score in reranker.rerank(self.query, self.texts[:count])])
            assert scores.shape == (count,)
            assert np.isfinite(scores).all()

    def test_the_text_that_answers_has_the_highest_score(self, reranker: Reranker) -> None:
        assert int(np.argmax(np.array(reranker.rerank(self.query, self.texts)))) == 0

    def test_scores_are_in_the_order_of_the_texts(self, reranker: Reranker) -> None:
        forth = np.array(reranker.rerank(self.query, self.texts))
        back = np.array(reranker.rerank(self.query, self.texts[::-1]))
        np.testing.assert_allclose(forth, back[::-1], atol=self.tolerance)

    def test_texts_with_hardly_anything_in_them_are_scored(self, reranker: Reranker) -> None:
        scores = reranker.rerank(self.query, ["", " ", "\n", ".", "🙂", "x" * 600, "a long tail " * 2_000])
        assert np.isfinite(np.array(scores, np.float64)).all()
        assert len(scores) == 7

    def test_the_given_texts_stay_as_they_are(self, reranker: Reranker) -> None:
        texts = list(self.texts)
        reranker.rerank(self.query, texts)
        assert texts == list(self.texts)

    def test_threads_get_the_same_scores(self, reranker: Reranker) -> None:
        expected = np.array(reranker.rerank(self.query, self.texts))
        with ThreadPoolExecutor(_THREADS) as pool:
            for scores in pool.map(lambda _: reranker.rerank(self.query, self.texts), range(_THREADS)):
                np.testing.assert_allclose(np.array(scores), expected, atol=self.tolerance)
