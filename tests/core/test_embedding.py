"""Texts through any embedder: in slices, checked, one bad text isolated; and what the embedded model promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.embedding import MiniLMEmbedder, ModelFileError, checked, embed_texts
from memreader.embedding.batching import SLICE, even_cuts
from memreader.errors import DimensionMismatchError, InvalidVectorsError, MissingExtraError
from memreader.ports import Vectors
from memreader.testing import HashEmbedder


class Picky:
    """Embeds hashed words, refuses a batch that holds a text it does not like, and counts its calls."""

    name = fingerprint = "picky"
    dimension = 32
    max_tokens = 64

    def __init__(self, refuses: Callable[[str], bool], error: Exception | None = None) -> None:
        self._refuses = refuses
        self._error = error or ValueError("too long")
        self._words = HashEmbedder(dimension=32)
        self.batches: list[int] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(len(texts))
        if any(self._refuses(text) for text in texts):
            raise self._error
        return self._words.embed(texts)

    def embed_query(self, text: str) -> Vectors:
        return self._words.embed_query(text)


class Returning(Picky):
    """Returns whatever it is told instead of vectors."""

    def __init__(self, make: Callable[[Vectors], object]) -> None:
        super().__init__(lambda text: False)
        self._make = make

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._make(super().embed(texts))  # type: ignore[return-value]


@given(st.lists(st.sampled_from(["a fine text", "another one", "bad"]), max_size=3 * SLICE))
def test_bad_texts_are_reported_and_the_others_embedded(texts: list[str]) -> None:
    embedder = Picky(lambda text: text == "bad")
    embedded = embed_texts(embedder, texts)
    assert sorted(embedded.failures) == [place for place, text in enumerate(texts) if text == "bad"]
    for place, text in enumerate(texts):
        expected = np.zeros(32) if text == "bad" else embedder.embed_query(text)
        np.testing.assert_allclose(embedded.vectors[place], expected, atol=1e-6)


def test_one_bad_text_costs_few_calls_more() -> None:
    embedder = Picky(lambda text: text == "bad")
    embed_texts(embedder, ["fine"] * (SLICE - 1) + ["bad"])
    assert len(embedder.batches) <= 2 * SLICE.bit_length()


def test_a_failure_names_its_text_and_reason() -> None:
    embedded = embed_texts(Picky(lambda text: text == "bad"), ["fine", "bad"])
    (failure,) = embedded.as_failures(["first", "second"])
    assert (failure.kind, failure.locator) == ("ValueError", "second")
    assert "too long" in failure.reason


@pytest.mark.parametrize("error", [ConnectionError("gone"), KeyError("bug"), MissingExtraError(package="p", extra="e")])
def test_what_is_not_about_a_text_passes(error: Exception) -> None:
    with pytest.raises(type(error)):
        embed_texts(Picky(lambda text: True, error), ["a", "b"])


def test_a_missing_model_is_no_bad_text(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="model_path"):
        embed_texts(MiniLMEmbedder(model_path=tmp_path / "none.onnx"), ["a", "b"])


@pytest.mark.parametrize("count", [0, 1, SLICE, 2 * SLICE + 5])
def test_progress_adds_up_to_the_texts_and_batches_are_bounded(count: int) -> None:
    steps: list[int] = []
    embedder = Picky(lambda text: False)
    embedded = embed_texts(embedder, ["a text"] * count, progress=steps.append)
    assert sum(steps) == count == len(embedded.vectors)
    assert embedded.vectors.shape == (count, 32)
    assert max(embedder.batches, default=0) <= SLICE


@pytest.mark.parametrize(
    "make",
    [
        lambda v: v[:-1],
        lambda v: v[0],
        lambda v: v[None],
        lambda v: np.full_like(v, np.nan),
        lambda v: np.where(np.arange(32) == 3, np.inf, v),
    ],
    ids=["a row less", "one vector", "a box", "nan", "infinite"],
)
def test_vectors_that_cannot_be_right_are_refused(make: Callable[[Vectors], object]) -> None:
    with pytest.raises(InvalidVectorsError):
        embed_texts(Returning(make), ["a text", "another"])


def test_another_length_is_refused_with_both() -> None:
    with pytest.raises(DimensionMismatchError) as caught:
        embed_texts(Returning(lambda v: v[:, :16]), ["a text"])
    assert (caught.value.expected, caught.value.got) == (32, 16)


def test_a_list_of_doubles_of_any_length_becomes_unit_floats() -> None:
    embedded = embed_texts(Returning(lambda v: (v.astype(np.float64) * 7).tolist()), ["a text"])
    assert embedded.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embedded.vectors, axis=1), 1, atol=1e-6)


def test_a_row_of_zeros_stays_one() -> None:
    assert not checked(np.zeros((1, 4), np.float32), count=1, dimension=4).any()


@given(st.integers(0, 5000), st.integers(1, 300))
def test_even_cuts_cover_the_length_with_the_fewest_ranges(length: int, limit: int) -> None:
    cuts = even_cuts(length, limit)
    assert cuts[0][0] == 0
    assert cuts[-1][1] == length
    assert all(left[1] == right[0] for left, right in pairwise(cuts))
    sizes = [end - start for start, end in cuts]
    assert max(sizes) <= limit
    assert max(sizes) - min(sizes) <= 1
    assert len(cuts) == max(1, -(-length // limit))


def test_the_model_is_known_by_its_checksum(minilm: MiniLMEmbedder) -> None:
    assert minilm.fingerprint == "minilm-mean-254:8199be6f699a395f"
    assert (minilm.dimension, minilm.max_tokens, minilm.english_only) == (384, 256, True)


def test_another_model_file_is_another_embedder(tmp_path: Path) -> None:
    file = tmp_path / "other.onnx"
    file.write_bytes(b"no model at all")
    assert MiniLMEmbedder(file).fingerprint != MiniLMEmbedder().fingerprint
    assert MiniLMEmbedder(file).name == "other.onnx"


def test_it_tells_what_is_about_the_same_without_a_word_in_common(minilm: MiniLMEmbedder) -> None:
    question = minilm.embed_query("Which pet does she own?")
    dog, tax = minilm.embed(["Her puppy sleeps on the sofa.", "The tax return is due in April."])
    assert question @ dog > question @ tax + 0.1


def test_the_vectors_are_those_of_the_published_model(minilm: MiniLMEmbedder) -> None:
    # Cosines of the full-precision model as its card describes it; int8 may move them a little.
    first, second, third = minilm.embed(["That is a happy person", "That is a happy dog", "Today is a sunny day"])
    np.testing.assert_allclose([first @ second, first @ third], [0.695, 0.257], atol=0.05)
