"""Options: limits that make no sense are refused by name, and everything that changes a reading changes its key."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT, ReadOptions
from memreader.recall import RecallOptions


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"window_tokens": 0}, "window_tokens"),
        ({"window_tokens": 200}, "window_overlap"),
        ({"window_overlap": -1}, "window_overlap"),
        ({"content_length": 0}, "content_length"),
        ({"chunk_session": 0}, "chunk_session"),
        ({"chunk_session": 2}, "session_overlap"),
        ({"session_overlap": -1}, "session_overlap"),
        ({"group_size": 2, "group_overlap": 2}, "group_overlap"),
        ({"group_size": 0}, "group_overlap"),
        ({"chunk_tokens": 0}, "chunk_tokens"),
        ({"chunk_tokens": 100, "chunk_overlap": 100}, "chunk_overlap"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_name(options: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ReadOptions(**options)


@given(st.integers(2, 4096), st.none() | st.integers(2, 2048), st.none() | st.integers(0, 4096))
def test_a_chunk_is_never_smaller_than_its_overlap(
    max_tokens: int, chunk_tokens: int | None, chunk_overlap: int | None
) -> None:
    if chunk_tokens is not None and chunk_overlap is not None and chunk_overlap >= chunk_tokens:
        return
    size, overlap = ReadOptions(chunk_tokens=chunk_tokens, chunk_overlap=chunk_overlap).chunk_limits(max_tokens)
    assert 0 <= overlap < size <= (chunk_tokens or min(512, max_tokens))


OF_MODELS = {"keep_turns", "keep_raw", "carry", "prompt", "gates", "session_ttl_hours"}

OTHERS: dict[str, Any] = {
    "unit": "window",
    "strategy": "session",
    "window_tokens": 512,
    "window_overlap": 100,
    "group_size": 10,
    "group_overlap": 1,
    "content_length": 800,
    "chunk_session": 8,
    "session_overlap": 1,
    "chunker": "markdown",
    "chunk_tokens": 128,
    "chunk_overlap": 16,
    "timezone": "Asia/Shanghai",
}


def key(options: ReadOptions, **how: Any) -> str:
    return options.reading_key(**{"mode": "fast", "unit": "turn", "tokenizer": "o200k_base", "max_tokens": 256, **how})


def test_every_option_is_part_of_the_reading_key() -> None:
    assert set(OTHERS) | OF_MODELS == {field.name for field in fields(ReadOptions)}
    plain = ReadOptions()
    keys = {key(replace(plain, **{name: value})) for name, value in OTHERS.items()}
    assert len(keys | {key(plain)}) == len(OTHERS) + 1


def test_what_only_a_model_heeds_is_no_part_of_it() -> None:
    others = ReadOptions(keep_turns=False, keep_raw=False, carry=True, prompt="strategy", gates=("rewrite",))
    assert key(others) == key(ReadOptions())


@pytest.mark.parametrize("how", [{"mode": "fine"}, {"unit": "window"}, {"tokenizer": "gpt2"}, {"max_tokens": 512}])
def test_how_it_is_read_is_part_of_the_reading_key(how: dict[str, Any]) -> None:
    assert key(ReadOptions(), **how) != key(ReadOptions())


def test_the_reading_key_is_the_same_for_equal_options() -> None:
    assert key(ReadOptions(window_tokens=512)) == key(ReadOptions(window_tokens=512))


def test_the_presets_are_the_seeds() -> None:
    assert SIMPLE_STRUCT.chunk_limits(256) == STRATEGY_STRUCT.chunk_limits(256) == (512, 128)
    assert (SIMPLE_STRUCT.window_tokens, SIMPLE_STRUCT.window_overlap) == (1024, 200)
    assert (SIMPLE_STRUCT.group_size, SIMPLE_STRUCT.group_overlap) == (10, 2)
    assert (STRATEGY_STRUCT.content_length, STRATEGY_STRUCT.chunk_session, STRATEGY_STRUCT.session_overlap) == (
        1600,
        10,
        2,
    )


def test_options_do_not_change() -> None:
    with pytest.raises(AttributeError):
        ReadOptions().window_tokens = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        RecallOptions().dense_weight_cjk = 1  # type: ignore[misc]
