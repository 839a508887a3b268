"""Keys and ids: equal for what is the same, different for everything else, on every machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.identity import content_digest, digest, document_key, item_id, message_keys
from memreader.types import Message, Part

texts = st.text(max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    content=st.sampled_from(["yes", "no", "ok"]),
    name=st.none() | st.sampled_from(["Ana", "Ben"]),
    message_id=st.none() | st.sampled_from(["1", "2"]),
    chat_time=st.none() | st.just("2024-05-01"),
    time_given=st.booleans(),
)


def same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1."""
    return repr(one) == repr(other)


@given(st.lists(json_values, max_size=3), st.lists(json_values, max_size=3))
def test_digests_are_equal_exactly_for_equal_values(one: list[object], other: list[object]) -> None:
    if same(one, other):
        assert digest(*one) == digest(*other)
    elif one != other:
        assert digest(*one) != digest(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a", "b"), ("ab",)), ((1,), ("1",)), ((None,), ("",)), ((["a"], "b"), (["a", "b"],)), ((), (None,))],
)
def test_a_digest_knows_types_and_borders(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert digest(*one) != digest(*other)


def test_a_digest_does_not_depend_on_the_order_of_keys_and_takes_any_text() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest("\ud800") != digest("\ud801")


@given(st.lists(messages, max_size=8), st.none() | st.just("s"))
def test_every_message_of_a_call_has_a_key_of_its_own_and_always_the_same(
    conversation: list[Message], session_id: str | None
) -> None:
    keys = message_keys(conversation, session_id=session_id)
    assert len(set(keys)) == len(conversation)
    assert keys == message_keys(conversation, session_id=session_id)


@given(st.lists(messages, max_size=6), st.lists(messages, max_size=3))
def test_a_chat_that_has_grown_keeps_the_keys_it_had(conversation: list[Message], more: list[Message]) -> None:
    before = message_keys(conversation, session_id="s")
    assert message_keys([*conversation, *more], session_id="s")[: len(before)] == before


@given(st.lists(st.lists(messages, max_size=4), max_size=4))
def test_the_same_words_in_two_conversations_of_a_call_have_two_keys(conversations: list[list[Message]]) -> None:
    seen: Counter[str] = Counter()
    keys = [key for chat in conversations for key in message_keys(chat, session_id="s", seen=seen)]
    assert len(set(keys)) == sum(map(len, conversations))


def key_of(message: Message, session_id: str | None = "s", at: str | None = None) -> str:
    (key,) = message_keys([message], session_id=session_id, at=at)
    return key


SAID = Message("user", "yes", 3, name="Ana", chat_time="2024-05-01", time_given=True)


@pytest.mark.parametrize(
    "other",
    [
        replace(SAID, role="assistant"),
        replace(SAID, content="no"),
        replace(SAID, name="Ben"),
        replace(SAID, chat_time="2024-05-02"),
        replace(SAID, message_id="1"),
        replace(SAID, parts=(Part("image", reference="https://example.org/a.png"),)),
    ],
)
def test_what_tells_messages_apart_changes_the_key(other: Message) -> None:
    assert key_of(other) != key_of(SAID)


def test_a_session_has_keys_of_its_own() -> None:
    assert len({key_of(SAID, session) for session in ("s", "t", None)}) == 3
    known = replace(SAID, message_id="1")
    assert len({key_of(known, session) for session in ("s", "t", None)}) == 3


@pytest.mark.parametrize(
    "other",
    [
        replace(SAID, index=9),
        replace(SAID, locator="[4]"),
        replace(SAID, raw="{}"),
        replace(SAID, parent_id="p"),
        replace(SAID, parts=(Part("text", "yes"),)),
    ],
)
def test_where_a_message_stands_does_not_change_the_key(other: Message) -> None:
    assert key_of(other) == key_of(SAID)


def test_a_time_that_nobody_gave_the_message_is_no_part_of_the_key() -> None:
    monday, tuesday = (
        Message("user", "yes", chat_time=day, time_inferred=True) for day in ("2024-05-06", "2024-05-07")
    )
    assert key_of(monday) == key_of(tuesday) == key_of(Message("user", "yes"))
    inherited = Message("user", "yes", chat_time="2024-05-06")
    assert key_of(inherited) == key_of(Message("user", "yes"))


def test_the_time_of_a_call_is_part_of_the_key_where_the_message_has_none() -> None:
    untimed = Message("user", "yes")
    assert key_of(untimed, at="2024-05-06") != key_of(untimed, at="2024-05-07")
    assert key_of(SAID, at="2024-05-06") == key_of(SAID, at="2024-05-07")


def test_a_message_id_stands_for_the_message_whatever_it_says() -> None:
    one, other = Message("user", "yes", message_id="1"), Message("user", "no, sorry", message_id="1")
    assert key_of(one) == key_of(other)
    assert content_digest(one) != content_digest(other)


@pytest.mark.parametrize(
    "other",
    [
        Message("user", "no"),
        Message("assistant", "yes"),
        Message("user", "yes", name="Ana"),
        Message("user", "yes", flags=frozenset({"deleted"})),
        Message("user", "yes", parts=(Part("file", reference="sha256:0"),)),
    ],
)
def test_an_edit_changes_the_digest(other: Message) -> None:
    assert content_digest(other) != content_digest(Message("user", "yes"))


def test_a_document_is_its_bytes_and_its_path() -> None:
    assert len({document_key(*one) for one in (("00", "a.md"), ("01", "a.md"), ("00", "b.md"))}) == 3


@given(st.lists(texts, min_size=1, max_size=4, unique=True), texts, texts, st.integers(0, 5), st.randoms())
def test_an_id_is_a_uuid_that_the_order_of_sources_does_not_change(
    keys: list[str], reading: str, text: str, occurrence: int, random: object
) -> None:
    identity = item_id("ana", keys, reading, text, occurrence)
    assert UUID(identity).version == 5
    assert item_id("ana", reversed(keys), reading, text, occurrence) == identity


def test_whose_it_is_what_it_says_and_how_it_was_read_change_the_id() -> None:
    given_id = ("ana", ["m:1"], "r:1", "yes", 0)
    others = [
        ("ben", ["m:1"], "r:1", "yes", 0),
        (None, ["m:1"], "r:1", "yes", 0),
        ("ana", ["m:2"], "r:1", "yes", 0),
        ("ana", ["m:1", "m:2"], "r:1", "yes", 0),
        ("ana", ["m:1"], "r:2", "yes", 0),
        ("ana", ["m:1"], "r:1", "no", 0),
        ("ana", ["m:1"], "r:1", "yes", 1),
    ]
    assert len({item_id(*one) for one in [given_id, *others]}) == len(others) + 1


def test_ids_are_the_same_on_every_machine_and_in_every_version() -> None:
    # A changed value means that every store would read everything again.
    assert item_id("ana", ["m:1"], "r:1", "user: yes") == "b25c9884-10ae-5588-b003-0e36c3f96bb8"
    assert message_keys([Message("user", "yes")], session_id="s") == ["m:cb2b5b325b5bdcfd40cbef3fa1bb95b8"]
    assert document_key("00", "a.md") == "d:a4d3cab63a26d94e9fcd9985d5210acd"
