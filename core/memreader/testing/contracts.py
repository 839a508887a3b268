"""What an implementation of a port must keep, as test classes: subclass one and give the fixture it names.

For your embedder: `class TestMine(EmbedderContract)` with a pytest fixture method `embedder` that returns it. A test's
name is its sentence, and its docstring.
"""

# ruff: noqa: D102

from __future__ import annotations

import asyncio
import copy
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from memreader.ports import ChatModel, Embedder, Reply, Tokenizer

T = TypeVar("T")
THREADS = 4
SAMPLES = (
    "The dog chased the cat across the yard.",
    "我去年搬到了上海，养了一只猫。",
    "Ça coûte 12,50 € — naïve façade 🙂",
    "one\r\ntwo\n\n  three\tfour",
    "def f(x):\n    return x * 2  # <|endoftext|>",
    "ok",
)


class EmbedderContract:
    """Subclass it, and give an `embedder` fixture."""

    related = ("The dog chased the cat.", "A dog was chasing a cat.", "Interest rates fell again in spring.")
    """Two texts that are about the same, and one that is about something else."""
    tolerance = 1e-3
    """How far two vectors of the same text may lie apart when the batch around it differs."""

    def test_it_is_an_embedder(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)
        assert embedder.name
        assert embedder.dimension > 0
        assert embedder.max_tokens > 0

    def test_no_texts_give_no_rows_of_the_dimension(self, embedder: Embedder) -> None:
        vectors = embedder.embed([])
        assert vectors.shape == (0, embedder.dimension)
        assert vectors.dtype == np.float32

    def test_there_is_one_float32_row_per_text(self, embedder: Embedder) -> None:
        vectors = embedder.embed(SAMPLES)
        assert vectors.shape == (len(SAMPLES), embedder.dimension)
        assert vectors.dtype == np.float32

    def test_rows_are_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        forth, back = embedder.embed(SAMPLES), embedder.embed(SAMPLES[::-1])
        np.testing.assert_allclose(forth, back[::-1], atol=self.tolerance)

    def test_every_vector_has_unit_length(self, embedder: Embedder) -> None:
        np.testing.assert_allclose(np.linalg.norm(embedder.embed(SAMPLES), axis=1), 1, atol=1e-3)

    def test_the_rest_of_the_batch_does_not_matter(self, embedder: Embedder) -> None:
        together = embedder.embed([*SAMPLES, "a long tail " * 40])
        alone = np.stack([embedder.embed([text])[0] for text in SAMPLES])
        np.testing.assert_allclose(together[: len(SAMPLES)], alone, atol=self.tolerance)

    def test_the_same_text_twice_is_the_same_vector(self, embedder: Embedder) -> None:
        first, second = embedder.embed([SAMPLES[0], SAMPLES[0]])
        np.testing.assert_allclose(first, second, atol=self.tolerance)

    def test_a_long_text_is_not_silently_cut(self, embedder: Embedder) -> None:
        first, second = embedder.embed(self._equal_up_to(embedder.max_tokens))
        np.testing.assert_allclose([np.linalg.norm(first), np.linalg.norm(second)], 1, atol=1e-3)
        assert np.abs(first - second).max() > 1e-5, "two texts that differ behind max_tokens have the same vector"

    def test_a_long_question_is_not_silently_cut(self, embedder: Embedder) -> None:
        first, second = (embedder.embed_query(text) for text in self._equal_up_to(embedder.max_tokens))
        np.testing.assert_allclose([np.linalg.norm(first), np.linalg.norm(second)], 1, atol=1e-3)
        assert np.abs(first - second).max() > 1e-5, "two questions that differ behind max_tokens have the same vector"

    @staticmethod
    def _equal_up_to(max_tokens: int) -> list[str]:
        # Every word is at least one token: what follows them lies beyond the limit.
        start = "winter " * max_tokens
        return [start + 8 * end for end in ("The parliament voted for the tax. ", "Bake bread with olives and salt. ")]

    def test_texts_with_hardly_anything_in_them_are_embedded(self, embedder: Embedder) -> None:
        vectors = embedder.embed(["", " ", "\n", ".", "🙂", "x" * 600])
        assert np.isfinite(vectors).all()

    def test_a_question_has_one_unit_vector(self, embedder: Embedder) -> None:
        vector = embedder.embed_query(SAMPLES[0])
        assert vector.shape == (embedder.dimension,)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vector), 1, atol=1e-3)

    def test_a_question_is_nearest_to_the_text_with_its_words(self, embedder: Embedder) -> None:
        texts = list(self.related[1:])
        assert int(np.argmax(embedder.embed(texts) @ embedder.embed_query(self.related[0]))) == 0

    def test_what_is_about_the_same_is_more_similar(self, embedder: Embedder) -> None:
        one, same, other = embedder.embed(list(self.related))
        assert float(one @ same) > float(one @ other)

    def test_the_given_texts_stay_as_they_are(self, embedder: Embedder) -> None:
        texts = list(SAMPLES)
        embedder.embed(texts)
        assert texts == list(SAMPLES)

    def test_a_vector_is_the_callers_own(self, embedder: Embedder) -> None:
        embedder.embed([SAMPLES[0]])[:] = 0
        assert np.linalg.norm(embedder.embed([SAMPLES[0]])[0]) > 0.5

    def test_a_copy_gives_the_same_vectors(self, embedder: Embedder) -> None:
        expected = embedder.embed(SAMPLES[:2])
        for twin in (copy.deepcopy(embedder), pickle.loads(pickle.dumps(embedder))):
            assert twin.fingerprint == embedder.fingerprint
            np.testing.assert_allclose(twin.embed(SAMPLES[:2]), expected, atol=self.tolerance)

    def test_threads_get_the_same_vectors(self, embedder: Embedder) -> None:
        expected = embedder.embed(SAMPLES)
        for vectors in _at_once(lambda: embedder.embed(SAMPLES)):
            np.testing.assert_allclose(vectors, expected, atol=self.tolerance)

    def test_the_fingerprint_stays_the_same(self, embedder: Embedder) -> None:
        before = embedder.fingerprint
        embedder.embed(SAMPLES[:1])
        assert before
        assert embedder.fingerprint == before


class TokenizerContract:
    """Subclass it, and give a `tokenizer` fixture."""

    def test_it_is_a_tokenizer(self, tokenizer: Tokenizer) -> None:
        assert isinstance(tokenizer, Tokenizer)
        assert tokenizer.name

    def test_an_empty_text_has_no_tokens(self, tokenizer: Tokenizer) -> None:
        assert tokenizer.count("") == 0
        assert len(tokenizer.byte_ends("")) == 0

    def test_there_is_an_end_for_every_token(self, tokenizer: Tokenizer) -> None:
        for text in SAMPLES:
            assert tokenizer.count(text) == len(tokenizer.byte_ends(text)) > 0

    def test_ends_ascend_to_the_last_byte(self, tokenizer: Tokenizer) -> None:
        for text in SAMPLES:
            ends = np.asarray(tokenizer.byte_ends(text))
            assert (np.diff(ends) >= 0).all()
            assert ends[-1] == len(text.encode())

    def test_special_tokens_are_plain_text(self, tokenizer: Tokenizer) -> None:
        text = "<|endoftext|>"
        assert tokenizer.count(text) > 1
        assert tokenizer.byte_ends(text)[-1] == len(text)

    def test_a_longer_text_has_more_tokens(self, tokenizer: Tokenizer) -> None:
        assert tokenizer.count("a word and another " * 50) > tokenizer.count("a word and another ")

    def test_a_long_run_without_a_space_is_counted_in_linear_time(self, tokenizer: Tokenizer) -> None:
        started = time.perf_counter()
        tokenizer.count("ab" * 100_000)
        assert time.perf_counter() - started < 20, "200,000 letters took longer than 20 s"

    def test_a_copy_counts_the_same(self, tokenizer: Tokenizer) -> None:
        for twin in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
            assert twin.name == tokenizer.name
            assert [twin.count(text) for text in SAMPLES] == [tokenizer.count(text) for text in SAMPLES]

    def test_threads_count_the_same(self, tokenizer: Tokenizer) -> None:
        expected = [tokenizer.count(text) for text in SAMPLES]
        assert _at_once(lambda: [tokenizer.count(text) for text in SAMPLES]) == [expected] * THREADS


class ChatModelContract:
    """Subclass it, and give a `chat_model` fixture: one that answers ten calls of any kind."""

    prompt = (
        {"role": "system", "content": "Answer in one word."},
        {"role": "user", "content": "What colour is the sky?"},
    )
    longest_hold_s = 1.0
    """How long `acomplete` may keep the event loop from anything else."""

    def test_it_is_a_chat_model(self, chat_model: ChatModel) -> None:
        assert isinstance(chat_model, ChatModel)

    def test_it_answers_with_text(self, chat_model: ChatModel) -> None:
        reply = chat_model.complete(self.prompt)
        assert isinstance(reply, Reply)
        assert isinstance(reply.text, str)

    def test_it_takes_the_schema_of_the_answer(self, chat_model: ChatModel) -> None:
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
        assert isinstance(chat_model.complete(self.prompt, schema=schema).text, str)

    def test_it_has_a_name(self, chat_model: ChatModel) -> None:
        assert chat_model.name

    def test_it_counts_what_it_used(self, chat_model: ChatModel) -> None:
        usage = chat_model.complete(self.prompt).usage
        assert usage.calls >= 1
        assert usage.prompt_tokens >= 0
        assert usage.completion_tokens >= 0

    def test_the_given_messages_stay_as_they_are(self, chat_model: ChatModel) -> None:
        messages = [dict(message) for message in self.prompt]
        chat_model.complete(messages)
        assert messages == [dict(message) for message in self.prompt]

    def test_a_conversation_with_turns_of_both_is_a_prompt(self, chat_model: ChatModel) -> None:
        turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, self.prompt[1]]
        assert isinstance(chat_model.complete(turns).text, str)

    def test_threads_each_get_an_answer(self, chat_model: ChatModel) -> None:
        replies = _at_once(lambda: chat_model.complete(self.prompt))
        assert all(isinstance(reply.text, str) for reply in replies)

    def test_it_answers_on_the_event_loop_without_holding_it(self, chat_model: ChatModel) -> None:
        replies, held = asyncio.run(self._ask_while_ticking(chat_model))
        assert all(isinstance(reply, Reply) and isinstance(reply.text, str) for reply in replies)
        assert held < self.longest_hold_s, f"acomplete held the event loop for {held:.1f} s"

    async def _ask_while_ticking(self, chat_model: ChatModel) -> tuple[list[Reply], float]:
        longest = 0.0

        async def tick() -> None:
            nonlocal longest
            last = time.perf_counter()
            while True:
                await asyncio.sleep(0.01)
                now = time.perf_counter()
                longest, last = max(longest, now - last), now

        clock = asyncio.create_task(tick())
        await asyncio.sleep(0.02)
        replies = await asyncio.gather(*(chat_model.acomplete(self.prompt) for _ in range(2)))
        await asyncio.sleep(0.02)
        clock.cancel()
        return replies, longest


def _at_once(work: Callable[[], T]) -> list[T]:
    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result() for future in [pool.submit(work) for _ in range(THREADS)]]
