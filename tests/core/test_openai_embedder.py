"""Embeddings at OpenAI-compatible endpoints, over HTTP against a server on this machine."""

from __future__ import annotations

import base64
import copy
import logging
import pickle
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memreader import OpenAIEmbedder
from memreader.embedding import embed_texts
from memreader.errors import DimensionMismatchError, InputError, InvalidVectorsError
from memreader.models import EndpointError
from memreader.ports import Embedder
from memreader.testing import EmbedderContract, HashEmbedder
from openai_server import Answer, OpenAIServer, refusal

HASHED = HashEmbedder(dimension=64)
KEY = "sk-very-secret-key"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimension=64) as server:
        yield server


@pytest.fixture
def embedder(server: OpenAIServer) -> Iterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder("hashed", base_url=server.url, wait_s=0.01)
    yield embedder
    embedder.close()


def vectors_of(rows: Any, **entry: Any) -> Answer:
    return Answer(body={"data": [{"index": place, "embedding": row, **entry} for place, row in enumerate(rows)]})


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self, server: OpenAIServer) -> Iterator[Embedder]:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, max_tokens=256)
        yield embedder
        embedder.close()


class TestContractOfAStrictServer(EmbedderContract):
    """One that takes four texts of 100 words, refuses empty ones, and answers in base64."""

    @pytest.fixture
    def embedder(self, server: OpenAIServer) -> Iterator[Embedder]:
        server.most_texts, server.most_words, server.as_base64 = 4, 100, True
        server.refused_texts = {"", " ", "\n"}
        embedder = OpenAIEmbedder("hashed", base_url=server.url, max_tokens=8191)
        yield embedder
        embedder.close()


class TestAsking:
    def test_nothing_is_asked_before_it_is_needed_and_the_dimension_once(
        self, server: OpenAIServer, embedder: OpenAIEmbedder
    ) -> None:
        assert (embedder.name, embedder.max_tokens, server.requests) == ("hashed", 8191, [])
        assert [embedder.dimension, embedder.dimension, embedder.embed([]).shape] == [64, 64, (0, 64)]
        assert len(server.requests) == 1

    def test_the_dimension_follows_from_the_first_texts(self, server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
        embedder.embed(["tea"])
        assert embedder.dimension == 64
        assert len(server.requests) == 1

    def test_a_known_dimension_is_not_asked_for_by_a_request(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, dimension=64)
        assert embedder.dimension == 64
        assert embedder.fingerprint
        assert embedder.embed([]).shape == (0, 64)
        assert server.requests == []
        embedder.embed(["tea"])
        assert server.requests[0].body == {
            "model": "hashed",
            "input": ["tea"],
            "encoding_format": "float",
            "dimensions": 64,
        }
        embedder.close()

    def test_texts_go_in_batches(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, batch_size=3)
        texts = [f"text {n}" for n in range(8)]
        np.testing.assert_allclose(embedder.embed(texts), HASHED.embed(texts), atol=1e-6)
        assert server.texts == [texts[:3], texts[3:6], texts[6:]]
        embedder.close()

    def test_prefixes_are_set_before_every_piece(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder(
            "e5", base_url=server.url, max_tokens=20, query_prefix="query: ", text_prefix="passage: "
        )
        embedder.embed(["tea " * 30])
        embedder.embed_query("tea?")
        assert all(text.startswith("passage: ") for text in server.texts[0])
        assert len(server.texts[0]) > 1
        assert server.texts[1] == ["query: tea?"]
        embedder.close()

    def test_a_long_text_is_the_mean_of_its_pieces(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, max_tokens=8)
        long = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
        row = embedder.embed(["tea", long, "coffee"])[1]
        pieces = [text for text in server.texts[0] if text not in ("tea", "coffee")]
        assert "".join(pieces) == long
        assert len(pieces) > 1
        mean = HASHED.embed(pieces).sum(axis=0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-6)
        embedder.close()

    def test_a_text_of_nothing_but_space_is_sent_as_a_full_stop(
        self, server: OpenAIServer, embedder: OpenAIEmbedder
    ) -> None:
        embedder.embed(["", " \n", "\ud83d"])
        assert server.texts == [[".", ".", "\ufffd"]]

    def test_a_length_that_the_model_can_not_give_is_left_out_and_that_is_remembered(
        self, server: OpenAIServer
    ) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, dimension=64)
        server.script(refusal("This model does not support specifying dimensions."))
        embedder.embed(["tea"])
        embedder.embed(["tea"])
        assert ["dimensions" in request.body for request in server.requests] == [True, False, False]
        embedder.close()

    def test_a_refusal_that_only_mentions_dimensions_teaches_nothing(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, dimension=64)
        server.script(*[refusal("your text about other dimensions is rude")] * 2)
        with pytest.raises(InputError):
            embedder.embed(["tea"])
        embedder.embed(["tea"])
        assert ["dimensions" in request.body for request in server.requests] == [True, False, True]
        embedder.close()

    def test_a_model_that_can_not_be_shortened_is_a_mismatch_that_names_both(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, dimension=32)
        with pytest.raises(DimensionMismatchError) as caught:
            embedder.embed(["tea"])
        assert (caught.value.expected, caught.value.got) == (32, 64)
        embedder.close()

    def test_a_ready_client_is_used(self, server: OpenAIServer) -> None:
        with openai.OpenAI(base_url=server.url, api_key=KEY) as client:
            embedder = OpenAIEmbedder("hashed", client=client)
            assert embedder.embed(["tea"]).shape == (1, 64)
            with pytest.raises(TypeError, match="client"):
                pickle.dumps(embedder)

    @pytest.mark.parametrize("name", ["batch_size", "max_tokens", "dimension"])
    def test_a_limit_that_makes_no_sense_is_refused_by_name(self, name: str) -> None:
        limits: dict[str, Any] = {name: 0}
        with pytest.raises(ValueError, match=name):
            OpenAIEmbedder("m", api_key=KEY, **limits)

    def test_a_model_has_a_name(self) -> None:
        with pytest.raises(ValueError, match="name"):
            OpenAIEmbedder("", api_key=KEY)


class TestFingerprint:
    def test_it_is_that_of_the_vectors_not_of_the_address(self, server: OpenAIServer) -> None:
        base: dict[str, Any] = {"dimension": 64, "api_key": KEY}
        one = OpenAIEmbedder("m", base_url=server.url, **base)
        assert one.fingerprint == OpenAIEmbedder("m", base_url="http://localhost:1/v1", **base).fingerprint
        others = [
            OpenAIEmbedder("n", **base),
            OpenAIEmbedder("m", api_key=KEY, dimension=32),
            OpenAIEmbedder("m", max_tokens=100, **base),
            OpenAIEmbedder("m", query_prefix="q: ", **base),
            OpenAIEmbedder("m", text_prefix="q: ", **base),
        ]
        assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 6

    def test_a_measured_dimension_counts_as_a_given_one(self, server: OpenAIServer) -> None:
        measured, given_ = (OpenAIEmbedder("m", base_url=server.url, dimension=d) for d in (None, 64))
        assert measured.fingerprint == given_.fingerprint
        measured.close()

    def test_no_key_is_shown(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("m", base_url=server.url, api_key=KEY)
        assert KEY not in repr(embedder) + repr(vars(embedder)) + embedder.fingerprint
        copied = copy.deepcopy(embedder)
        copied.embed(["tea"])
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        copied.close()


class TestAnswers:
    @pytest.mark.parametrize("as_base64", [False, True])
    def test_numbers_and_base64_are_the_same_and_the_index_gives_the_order(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, as_base64: bool
    ) -> None:
        server.as_base64 = as_base64
        texts = ["tea", "coffee", "a tax"]
        np.testing.assert_allclose(embedder.embed(texts), HASHED.embed(texts), atol=1e-6)

    def test_without_an_index_the_order_of_the_answer_counts(
        self, server: OpenAIServer, embedder: OpenAIEmbedder
    ) -> None:
        rows = HASHED.embed(["tea", "coffee"])
        server.script(vectors_of(rows.tolist(), index=None))
        np.testing.assert_allclose(embedder.embed(["tea", "coffee"]), rows, atol=1e-6)

    def test_vectors_of_any_length_are_made_unit_vectors(self, server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
        server.script(vectors_of([[3.0, 4.0]]))
        np.testing.assert_allclose(embedder.embed(["tea"]), [[0.6, 0.8]], atol=1e-6)

    @pytest.mark.parametrize(
        "answer",
        [
            vectors_of([[1.0]]),
            vectors_of([[1.0]] * 3),
            vectors_of([[1.0, 2.0], [1.0]]),
            vectors_of([[1.0], None]),
            vectors_of([["x"], ["y"]]),
            vectors_of([[float("nan")], [1.0]]),
            vectors_of([[], []]),
            vectors_of(["!!!", "???"]),
            vectors_of([base64.b64encode(b"12345").decode()] * 2),
        ],
    )
    def test_anything_but_one_vector_per_text_is_an_error_and_not_a_bad_text(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, answer: Answer
    ) -> None:
        server.script(answer)
        with pytest.raises((InvalidVectorsError, DimensionMismatchError)):
            embedder.embed(["tea", "coffee"])
        assert len(server.requests) == 1

    @pytest.mark.parametrize("body", [{}, {"data": None}, {"data": [1]}])
    def test_an_answer_without_embeddings_is_an_error(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, body: Any
    ) -> None:
        server.script(Answer(body=body))
        with pytest.raises(EndpointError, match="embeddings"):
            embedder.embed(["tea"])


class TestRefusals:
    def test_a_batch_that_is_too_large_is_halved_and_its_size_remembered(
        self, server: OpenAIServer, embedder: OpenAIEmbedder
    ) -> None:
        server.most_texts = 10
        texts = [f"text {n}" for n in range(64)]
        np.testing.assert_allclose(embedder.embed(texts), HASHED.embed(texts), atol=1e-6)
        before = len(server.requests)
        embedder.embed(texts)
        assert [len(batch) for batch in server.texts[before:]] == [8] * 8

    @pytest.mark.parametrize("status", [400, 413, 422])
    def test_every_status_of_a_refusal_counts(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, status: int
    ) -> None:
        server.script(refusal("no", status=status))
        assert len(embedder.embed(["tea", "coffee"])) == 2
        assert server.texts == [["tea", "coffee"], ["tea"], ["coffee"]]

    def test_a_text_that_the_model_finds_too_long_is_embedded_in_pieces_and_that_is_said(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, caplog: pytest.LogCaptureFixture
    ) -> None:
        server.most_words = 20
        long = " ".join(f"word{n}" for n in range(100))
        rows = embedder.embed(["tea", long, "coffee"])
        np.testing.assert_allclose(rows[[0, 2]], HASHED.embed(["tea", "coffee"]), atol=1e-6)
        assert float(rows[1] @ HASHED.embed([long])[0]) > 0.9
        assert "max_tokens" in caplog.text
        assert "word1" not in caplog.text
        server.requests.clear()
        embedder.embed(["text"] * 64)
        assert [len(texts) for texts in server.texts] == [64]

    def test_an_error_of_the_server_that_is_about_length_is_no_reason_to_wait(
        self, server: OpenAIServer, embedder: OpenAIEmbedder
    ) -> None:
        server.script(refusal("input is too large to process", status=500))
        embedder.embed(["one two three four " * 10])
        assert [len(texts) for texts in server.texts] == [1, 1, 1]

    def test_one_bad_text_is_isolated(self, server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
        server.refused_texts = {"bad"}
        texts = [f"text {n}" for n in range(40)]
        texts[13] = "bad"
        done = embed_texts(embedder, texts)
        assert list(done.failures) == [13]
        good = [place for place in range(40) if place != 13]
        np.testing.assert_allclose(done.vectors[good], HASHED.embed([texts[place] for place in good]), atol=1e-6)
        assert not done.vectors[13].any()

    def test_a_bad_text_teaches_nothing_about_the_size_of_batches(
        self, server: OpenAIServer, embedder: OpenAIEmbedder
    ) -> None:
        server.refused_texts = {"bad"}
        with pytest.raises(InputError):
            embedder.embed(["a", "b", "c", "bad"])
        server.requests.clear()
        embedder.embed(["text"] * 64)
        assert [len(texts) for texts in server.texts] == [64]

    def test_the_error_of_a_bad_text_quotes_neither_it_nor_the_key(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("m", base_url=server.url, api_key=KEY)
        server.script(refusal(f"'my secret' with {KEY}"))
        with pytest.raises(InputError) as caught:
            embedder.embed(["my secret"])
        assert "secret" not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert "9 characters" in str(caught.value)
        embedder.close()

    @given(
        texts=st.lists(st.sampled_from(["a b", "c d e", "f " * 9, "bad"]), min_size=1, max_size=30),
        most=st.integers(1, 9),
        words=st.integers(3, 12),
    )
    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_whatever_the_limits_every_good_text_gets_its_vector(
        self, server: OpenAIServer, texts: list[str], most: int, words: int
    ) -> None:
        server.most_texts, server.most_words, server.refused_texts = most, words, {"bad"}
        embedder = OpenAIEmbedder("hashed", base_url=server.url, dimension=64, max_tokens=words)
        done = embed_texts(embedder, texts)
        assert set(done.failures) == {place for place, text in enumerate(texts) if text == "bad"}
        for text, row in zip(texts, done.vectors, strict=True):
            if text != "bad":
                np.testing.assert_allclose(row, HASHED.embed([text])[0], atol=1e-5)
        embedder.close()


class TestFailures:
    @pytest.mark.parametrize(
        "failing",
        [
            Answer(status=429, body={}, headers={"Retry-After": "0"}),
            refusal("down", status=503),
            Answer(body=b"<html>gateway</html>"),
            Answer("x" * 1000, cut=True),
        ],
    )
    def test_what_passes_by_itself_is_tried_again(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, failing: Answer
    ) -> None:
        server.script(failing, failing)
        texts = ["tea", "coffee"]
        np.testing.assert_allclose(embedder.embed(texts), HASHED.embed(texts), atol=1e-6)
        assert server.texts == [texts] * 3

    @pytest.mark.parametrize(
        ("failing", "kind"),
        [
            (Answer(status=429, body={}), EndpointError),
            (refusal("down", status=500), EndpointError),
            (Answer("x" * 1000, cut=True), ConnectionError),
        ],
    )
    def test_what_goes_on_is_not_taken_for_a_bad_text(
        self, server: OpenAIServer, failing: Answer, kind: type[Exception]
    ) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, dimension=64, attempts=2, wait_s=0)
        server.script(*[failing] * 9)
        with pytest.raises(kind):
            embed_texts(embedder, ["tea", "coffee"])
        assert server.texts == [["tea", "coffee"]] * 2
        embedder.close()

    @pytest.mark.parametrize("status", [401, 403, 404])
    def test_what_is_about_no_text_is_not_tried_again(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, status: int
    ) -> None:
        server.script(refusal("no", status=status))
        with pytest.raises(EndpointError, match=str(status)):
            embed_texts(embedder, ["tea", "coffee"])
        assert len(server.requests) == 1

    def test_a_quota_that_is_used_up_is_not_tried_again(self, server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
        server.script(refusal("pay", status=429, code="insufficient_quota"))
        with pytest.raises(EndpointError, match="quota"):
            embedder.embed(["tea"])
        assert len(server.requests) == 1

    def test_silence_is_a_timeout_after_as_many_tries(self, server: OpenAIServer) -> None:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, timeout_s=0.1, attempts=2, wait_s=0)
        server.script(Answer(delay_s=5), Answer(delay_s=5))
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            embedder.embed(["tea"])
        assert time.monotonic() - started < 4
        assert len(server.requests) == 2
        embedder.close()

    def test_nothing_that_was_said_is_logged(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO)
        server.refused_texts = {"my secret"}
        embed_texts(embedder, ["tea", "my secret"])
        assert "secret" not in caplog.text
