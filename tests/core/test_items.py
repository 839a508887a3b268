"""Items: every field is checked, an invalid value names its field, and JSON gives the same item back."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memreader.items import (
    MAX_ID_LENGTH,
    ItemType,
    MemoryType,
    Origin,
    SourceMessage,
    Status,
    TextualMemoryItem,
    TextualMemoryMetadata,
    Visibility,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = texts.filter(str.strip)
labels = st.none() | texts
times = st.datetimes(timezones=st.none() | st.just(UTC) | st.just(timezone(timedelta(hours=9)))).map(
    datetime.isoformat
) | st.dates().map(date.isoformat)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, json_values, max_size=3)
sources = st.builds(
    SourceMessage,
    type=st.sampled_from(["chat", "doc"]),
    role=labels,
    name=labels,
    content=labels,
    chat_time=st.none() | times,
    message_id=labels,
    index=st.none() | st.integers(0, 10**6),
    doc_path=labels,
    page=st.none() | st.integers(1, 999),
    start=st.none() | st.integers(0, 10**6),
    end=st.none() | st.integers(0, 10**6),
)
metadata = st.builds(
    TextualMemoryMetadata,
    user_id=labels,
    session_id=labels,
    agent_id=labels,
    memory_type=st.sampled_from(get_args(MemoryType)),
    type=st.none() | st.sampled_from(get_args(ItemType)),
    status=st.sampled_from(get_args(Status)),
    key=labels,
    tags=st.lists(texts, max_size=3),
    background=texts,
    confidence=st.floats(0, 1),
    source=st.none() | st.sampled_from(get_args(Origin)),
    visibility=st.sampled_from(get_args(Visibility)),
    entities=st.lists(texts, max_size=3),
    sources=st.lists(sources, max_size=3),
    usage=st.lists(texts, max_size=2),
    embedding=st.none() | st.lists(st.floats(-1, 1), max_size=4),
    memory_time=st.none() | times,
    valid_until=st.none() | times,
    is_fast=st.booleans(),
    partial=st.booleans(),
    evolve_from=st.lists(texts, max_size=2),
    evolve_to=st.lists(texts, max_size=2),
    version=st.integers(1, 99),
    history=st.lists(objects, max_size=2),
    info=objects,
)
items = st.builds(TextualMemoryItem, id=words.map(lambda word: word[:MAX_ID_LENGTH]), memory=words, metadata=metadata)


@given(items)
def test_an_item_comes_back_from_json_as_it_was(item: TextualMemoryItem) -> None:
    assert TextualMemoryItem.model_validate_json(item.model_dump_json()) == item
    assert TextualMemoryItem.model_validate(json.loads(json.dumps(item.to_dict()))) == item


@given(metadata)
def test_what_the_metadata_leave_out_comes_back_as_their_defaults(given_metadata: TextualMemoryMetadata) -> None:
    kept = given_metadata.model_dump(mode="json", exclude_defaults=True)
    kept |= {"created_at": given_metadata.created_at, "updated_at": given_metadata.updated_at}
    assert TextualMemoryMetadata.model_validate(kept) == given_metadata


INVALID: list[tuple[str, Any]] = [
    ("user_id", 7),
    ("session_id", ["s"]),
    ("agent_id", 3.5),
    ("memory_type", "ShortTermMemory"),
    ("type", "rumour"),
    ("status", "asleep"),
    ("key", 1),
    ("tags", "work"),
    ("tags", [1]),
    ("background", None),
    ("confidence", 1.01),
    ("confidence", -0.01),
    ("confidence", 99),
    ("confidence", float("nan")),
    ("confidence", "high"),
    ("source", "hearsay"),
    ("visibility", "secret"),
    ("entities", [None]),
    ("sources", [{"index": -1}]),
    ("sources", [{"type": "film"}]),
    ("sources", [{"page": 0}]),
    ("sources", [{"start": -1}]),
    ("sources", [{"chat_time": "yesterday"}]),
    ("usage", [1]),
    ("embedding", [float("nan")]),
    ("embedding", [float("inf")]),
    ("embedding", ["a"]),
    ("memory_time", "last week"),
    ("memory_time", "2024-13-01"),
    ("memory_time", "2024-02-30"),
    ("memory_time", 1700000000),
    ("valid_until", "next week"),
    ("expires_at", "next week"),
    ("expires_at", 1700000000),
    ("lifetime", "short"),
    ("created_at", ""),
    ("updated_at", "12:00"),
    ("is_fast", "perhaps"),
    ("partial", "perhaps"),
    ("evolve_from", "x"),
    ("evolve_to", [3]),
    ("version", 0),
    ("history", ["x"]),
    ("info", []),
    ("info", {1: "x"}),
    ("info", {"x": object()}),
    ("info", {"x": b"\xff"}),
    ("info", {"x": "\ud800"}),
    ("tags", ["\ud800"]),
    ("colour", "red"),
]


@pytest.mark.parametrize(("field", "value"), INVALID, ids=lambda value: repr(value)[:24])
def test_an_invalid_value_is_refused_and_its_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        TextualMemoryMetadata.model_validate({field: value})
    assert caught.value.errors()[0]["loc"][0] == field
    assert field in str(caught.value)


@pytest.mark.parametrize(("field", "value"), INVALID, ids=lambda value: repr(value)[:24])
def test_an_invalid_value_is_refused_later_too(field: str, value: Any) -> None:
    known = TextualMemoryMetadata()
    with pytest.raises(ValueError, match=field):
        setattr(known, field, value)


def test_every_field_of_the_metadata_is_tried_with_something_invalid() -> None:
    assert {field for field, _ in INVALID} >= set(TextualMemoryMetadata.model_fields)


@pytest.mark.parametrize("value", ["", "  \n", None, 7, "\ud800"])
def test_a_memory_needs_words(value: Any) -> None:
    with pytest.raises(ValidationError, match="memory"):
        TextualMemoryItem(memory=value)


@pytest.mark.parametrize("value", ["", "x" * (MAX_ID_LENGTH + 1), 7, None, "\ud800"])
def test_an_id_has_1_to_256_characters(value: Any) -> None:
    with pytest.raises(ValidationError, match="id"):
        TextualMemoryItem(id=value, memory="words")
    assert TextualMemoryItem(id="x" * MAX_ID_LENGTH, memory="words").id


def test_an_item_without_an_id_gets_one_of_its_own() -> None:
    one, other = TextualMemoryItem(memory="words"), TextualMemoryItem(memory="words")
    assert one.id != other.id


def test_an_error_does_not_quote_the_value() -> None:
    with pytest.raises(ValidationError) as caught:
        TextualMemoryItem.model_validate({"memory": ["my secret word"], "metadata": {"tags": "my secret word"}})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given_time", "kept"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T10:00:00+02:00"),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 10, tzinfo=UTC), "2024-05-01T10:00:00+00:00"),
    ],
)
def test_a_time_is_kept_as_iso_8601(given_time: Any, kept: str) -> None:
    assert TextualMemoryMetadata(memory_time=given_time).memory_time == kept


def test_info_is_what_json_would_give_back() -> None:
    info = {"when": date(2024, 5, 1), "pair": (1, 2), "not a number": float("nan")}
    assert TextualMemoryMetadata(info=info).info == {"when": "2024-05-01", "pair": [1, 2], "not a number": None}


def test_info_that_holds_itself_is_refused() -> None:
    info: dict[str, Any] = {}
    info["again"] = info
    with pytest.raises(ValidationError, match="info"):
        TextualMemoryMetadata(info=info)


def test_a_source_keeps_the_callers_own_fields_if_json_can_hold_them() -> None:
    assert SourceMessage.model_validate({"channel": "email"}).model_dump()["channel"] == "email"
    with pytest.raises(ValidationError, match="channel"):
        SourceMessage.model_validate({"channel": object()})


def test_a_source_does_not_change() -> None:
    with pytest.raises(ValidationError, match="content"):
        SourceMessage(content="words").content = "others"  # type: ignore[misc]


def test_a_vector_is_added_to_a_copy_and_is_not_shown() -> None:
    item = TextualMemoryItem(memory="words")
    carrying = item.with_embedding(np.array([0.25, 0.5], np.float32))  # type: ignore[arg-type]
    assert item.metadata.embedding is None
    assert carrying.metadata.embedding == [0.25, 0.5]
    assert "0.25" not in repr(carrying)
    assert "embedding" not in carrying.to_dict(with_embedding=False)["metadata"]
    assert carrying.to_dict()["metadata"]["embedding"] == [0.25, 0.5]
