"""What an implementation of `TokenEmbedder` must keep: subclass it and give a `token_embedder` fixture."""

# ruff: noqa: D102

from __future__ import annotations

import numpy as np

from memreader.ports import TokenEmbedder
from memreader.types import Framed, TokenVectors

TEXTS = (
    "Ana: The dog chased the cat across the yard.",
    "我去年搬到了上海，养了一只猫。",
    "Bo: Ça coûte 12,50 € — naïve façade 🙂",
    "ok",
)


class TokenEmbedderContract:
    """Subclass it, and give a `token_embedder` fixture."""

    tolerance = 0.05
    """How far the cosine of two vectors of the same piece may be from 1 when the batch around its text differs."""

    def test_it_is_a_token_embedder(self, token_embedder: TokenEmbedder) -> None:
        assert isinstance(token_embedder, TokenEmbedder)
        assert token_embedder.token_fingerprint

    def test_no_texts_give_nothing(self, token_embedder: TokenEmbedder) -> None:
        assert token_embedder.embed_tokens([]) == []

    def test_every_piece_has_an_int8_vector_of_one_length(self, token_embedder: TokenEmbedder) -> None:
        query = token_embedder.embed_query_tokens(TEXTS[0])
        for tokens in [query, *token_embedder.embed_tokens([Framed(text) for text in TEXTS])]:
            assert tokens.pieces.dtype == np.uint16
            assert tokens.vectors.dtype == np.int8
            assert tokens.vectors.shape == (len(tokens.pieces), query.vectors.shape[1])
            assert len(tokens.pieces) >= 1
            norms = np.linalg.norm(tokens.vectors.astype(np.float32), axis=1)
            np.testing.assert_allclose(norms, 127, atol=6)

    def test_they_are_in_the_order_of_the_texts(self, token_embedder: TokenEmbedder) -> None:
        forth = token_embedder.embed_tokens([Framed(text) for text in TEXTS])
        back = token_embedder.embed_tokens([Framed(text) for text in TEXTS[::-1]])
        for one, same in zip(forth, back[::-1], strict=True):
            self._assert_same(one, same)

    def test_the_rest_of_the_batch_does_not_matter(self, token_embedder: TokenEmbedder) -> None:
        many = token_embedder.embed_tokens([Framed(text) for text in (*TEXTS, "a long tail " * 40)])
        for text, one in zip(TEXTS, many, strict=False):
            self._assert_same(one, token_embedder.embed_tokens([Framed(text)])[0])

    def test_what_stands_around_a_text_changes_its_vectors_and_not_its_pieces(
        self, token_embedder: TokenEmbedder
    ) -> None:
        alone, told, asked = token_embedder.embed_tokens(
            [
                Framed(TEXTS[0]),
                Framed(TEXTS[0], before=("Bo: Who chased whom?", "Bo: Tell me.")),
                Framed(TEXTS[0], after="Bo: Poor cat!"),
            ]
        )
        for other in (told, asked):
            np.testing.assert_array_equal(alone.pieces, other.pieces)
            assert not np.array_equal(alone.vectors, other.vectors)

    def test_a_question_finds_its_own_words(self, token_embedder: TokenEmbedder) -> None:
        query = token_embedder.embed_query_tokens(TEXTS[0])
        texts = token_embedder.embed_tokens([Framed(text) for text in TEXTS])
        best = [float((query.vectors / 127.0 @ (one.vectors / 127.0).T).max(axis=1).mean()) for one in texts]
        assert int(np.argmax(best)) == 0
        assert best[0] > 1 - self.tolerance

    def test_texts_with_hardly_anything_in_them_and_long_ones_are_taken(self, token_embedder: TokenEmbedder) -> None:
        texts = ["", " ", "\n", ".", "🙂", "x" * 600, "winter is cold " * 400]
        long = (texts[-1], texts[-1])
        found = token_embedder.embed_tokens([Framed(text, before=long, after=texts[-1]) for text in texts])
        assert len(found) == len(texts)
        assert not len(found[0].pieces)
        for tokens in found:
            assert len(tokens.pieces) == len(tokens.vectors)

    def _assert_same(self, one: TokenVectors, other: TokenVectors) -> None:
        np.testing.assert_array_equal(one.pieces, other.pieces)
        cosines = (one.vectors.astype(np.float32) * other.vectors).sum(axis=1) / 127.0**2
        assert (cosines > 1 - self.tolerance).all()
