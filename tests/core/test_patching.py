"""A change of an item: what is given is replaced, what follows from the item's life is not, and the rest is checked."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.errors import InputError
from memreader.items import SourceMessage, TextualMemoryItem, TextualMemoryMetadata
from memreader.patching import KEPT, Patch, patched

OLD_TIME = "2024-05-01T12:00:00+00:00"


def tea(**metadata: Any) -> TextualMemoryItem:
    given = {"user_id": "ana", "created_at": OLD_TIME, "updated_at": OLD_TIME, **metadata}
    return TextualMemoryItem(id="a", memory="likes tea", metadata=given)


def test_a_text_is_the_new_words() -> None:
    old = tea(tags=["drink"], info={"n": 1})
    new = patched(old, "likes coffee")
    assert (new.id, new.memory) == ("a", "likes coffee")
    assert new.metadata.model_dump(exclude={"version", "updated_at"}) == old.metadata.model_dump(
        exclude={"version", "updated_at"}
    )


@pytest.mark.parametrize(
    "patch",
    [
        {"memory": "likes coffee", "metadata": {"tags": ["bean"], "confidence": 0.5}},
        {"memory": "likes coffee", "tags": ["bean"], "confidence": 0.5},
        {"memory": "likes coffee", "tags": ["bean"], "metadata": {"confidence": 0.5}},
        {"id": "a", "memory": "likes coffee", "metadata": TextualMemoryMetadata(tags=["bean"], confidence=0.5)},
        TextualMemoryItem(id="a", memory="likes coffee", metadata=TextualMemoryMetadata(tags=["bean"], confidence=0.5)),
        TextualMemoryItem(memory="likes coffee", metadata=TextualMemoryMetadata(tags=["bean"], confidence=0.5)),
    ],
    ids=["nested", "flat", "both", "metadata object", "item", "item without an id"],
)
def test_fields_may_be_given_in_any_form(patch: Patch) -> None:
    new = patched(tea(background="since a trip"), patch)
    assert (new.id, new.memory) == ("a", "likes coffee")
    assert (new.metadata.tags, new.metadata.confidence) == (["bean"], 0.5)
    assert (new.metadata.background, new.metadata.user_id) == ("since a trip", "ana")


def test_a_field_is_replaced_as_a_whole() -> None:
    new = patched(tea(tags=["a", "b"], info={"one": 1, "two": 2}), {"tags": ["c"], "info": {"three": 3}})
    assert (new.metadata.tags, new.metadata.info) == (["c"], {"three": 3})


def test_a_field_can_be_emptied() -> None:
    old = tea(session_id="s", memory_time="2024-05-01", type="fact", sources=[SourceMessage(content="x")])
    new = patched(old, {"session_id": None, "memory_time": None, "type": None, "sources": []})
    metadata = new.metadata
    assert (metadata.session_id, metadata.memory_time, metadata.type, metadata.sources) == (None, None, None, [])


def test_the_version_is_one_higher_and_the_time_is_now() -> None:
    before = datetime.now().astimezone() - timedelta(seconds=1)
    new = patched(tea(version=4), "likes coffee")
    assert new.metadata.version == 5
    assert before <= datetime.fromisoformat(new.metadata.updated_at) <= datetime.now().astimezone()
    assert new.metadata.created_at == OLD_TIME


@pytest.mark.parametrize(
    ("field", "value"),
    [("created_at", "2020-01-01"), ("version", 99), ("updated_at", "2020-01-01"), ("embedding", [1.0])],
)
def test_what_follows_from_its_life_is_passed_over(field: str, value: Any) -> None:
    assert field in KEPT
    new = patched(tea(), {"metadata": {field: value}})
    assert getattr(new.metadata, field) != value
    assert new.metadata.version == 2


@pytest.mark.parametrize("user_id", ["ana", None])
def test_the_user_may_be_named_again(user_id: str | None) -> None:
    assert patched(tea(), {"metadata": {"user_id": user_id}}).metadata.user_id == "ana"


@pytest.mark.parametrize(
    ("patch", "named"),
    [
        ({"colour": "red"}, "colour"),
        ({"metadata": {"colour": "red"}}, "colour"),
        ({7: "red"}, "7"),
        ({"id": "b"}, "id"),
        ({"id": None}, "id"),
        (TextualMemoryItem(id="b", memory="x"), "id"),
        ({"user_id": "ben"}, "user"),
        ({"metadata": {"user_id": "ben"}}, "user"),
        (TextualMemoryItem(memory="x", metadata=TextualMemoryMetadata(user_id="ben")), "user"),
        ({"metadata": "red"}, "metadata"),
        ({"memory": ""}, "memory"),
        ({"memory": 7}, "memory"),
        ("  \n", "memory"),
        ("half \ud800", "memory"),
        ({"confidence": 2}, "confidence"),
        ({"status": "gone"}, "status"),
        ({"tags": "drink"}, "tags"),
        ({"memory_time": "soon"}, "memory_time"),
        ({"info": {"x": object()}}, "info"),
        (None, "NoneType"),
        (["likes coffee"], "list"),
        (b"likes coffee", "bytes"),
    ],
)
def test_what_cannot_be_is_refused_by_name(patch: Any, named: str) -> None:
    old = tea()
    with pytest.raises(InputError, match=named):
        patched(old, patch)
    assert old == tea()


def test_the_words_of_a_memory_are_not_in_an_error() -> None:
    with pytest.raises(InputError) as caught:
        patched(tea(), {"memory": "my secret", "confidence": 7, "background": "my secret"})
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@given(
    st.dictionaries(
        st.sampled_from(["tags", "entities", "usage", "background", "key", "session_id", "agent_id"]),
        st.just(None),
        max_size=7,
    ),
    st.text("abc ", min_size=1).filter(str.strip),
)
def test_exactly_what_is_given_changes(fields: dict[str, Any], words: str) -> None:
    old = tea(tags=["t"], entities=["e"], usage=["u"], background="b", key="k", session_id="s", agent_id="g")
    lists = ("tags", "entities", "usage")
    given_fields = {name: [words] if name in lists else words for name in fields}
    new = patched(old, {"memory": words, "metadata": given_fields})
    assert new.memory == words
    for name in TextualMemoryMetadata.model_fields:
        if name in given_fields:
            assert getattr(new.metadata, name) == given_fields[name]
        elif name not in ("version", "updated_at"):
            assert getattr(new.metadata, name) == getattr(old.metadata, name)


def test_a_key_taken_from_the_old_words_follows_the_new_ones() -> None:
    item = TextualMemoryItem(id="a", memory="user: I live in Lisbon. It is nice.", metadata={"key": "I live in Lisbon"})
    assert patched(item, "I moved to Porto. It rains.").metadata.key == "I moved to Porto"
    assert patched(item, {"memory": "I moved to Porto.", "key": "home"}).metadata.key == "home"
    assert patched(item, {"tags": ["x"]}).metadata.key == "I live in Lisbon"
    named = item.model_copy(update={"metadata": item.metadata.model_copy(update={"key": "home"})})
    assert patched(named, "I moved to Porto.").metadata.key == "home"
