"""Laws of normalize: nothing else than InputError, nothing changed, nothing lost, order kept."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.errors import InputError
from memreader.items import TextualMemoryItem
from memreader.normalize import file_inputs, normalize
from memreader.text import clean
from memreader.types import ROLES, Conversation, Document, FileInput

NOW = datetime(2024, 2, 3, tzinfo=UTC)

NAMES = """
role content text type name speaker from value parts tool_calls function_call id parent chat_time timestamp messages
memory metadata tags custom_tags image_url url file file_data file_id filename source data media_type input_audio
refusal input tool_use_id thinking inline_data functionCall function arguments caption summary output audio reasoning
title context mime_type
"""
VALUES = """
user assistant system tool participant text image_url file input_audio image document tool_use tool_result thinking
refusal base64 url content function_call reasoning function_call_output data:image/png;base64,aGVsbG8= data:,x
aGVsbG8gd29ybGQ= https://example.com/a.pdf report.pdf ../a.md 2023-05-08
"""
KEYS = st.sampled_from(NAMES.split()) | st.text(max_size=4)
ODD = st.sampled_from(["8 May 2023", "\ud800", "\x00", ""])
WORDS = st.sampled_from(VALUES.split()) | ODD | st.text(st.characters(codec=None), max_size=12)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.binary(max_size=4)
JUNK = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
TYPES = st.sampled_from(["chat", "doc", None])


def parts(content: Any) -> Any:
    return st.lists(
        st.fixed_dictionaries({"type": WORDS}, optional={"text": content, "image_url": JUNK, "file": JUNK}), max_size=3
    )


MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(sorted(ROLES)), "content": WORDS | st.none() | parts(WORDS) | JUNK},
    optional={"name": JUNK, "chat_time": JUNK, "id": JUNK, "tool_calls": JUNK},
)


@settings(max_examples=400, deadline=None)
@given(JUNK | st.lists(MESSAGES | JUNK, max_size=4), TYPES, st.booleans())
def test_junk_is_read_or_an_input_error_and_never_changed(data: Any, kind: Any, as_text: bool) -> None:
    before = deepcopy(data)
    try:
        inputs = normalize(data, type=kind, as_text=as_text, now=NOW)
    except InputError:
        inputs = []
    assert repr(data) == repr(before)
    for each in inputs:
        check_storable(each)


def check_storable(each: Any) -> None:
    """Everything can be written as UTF-8 and JSON, and is numbered, dated and known by role."""
    assert isinstance(each, Conversation | Document | FileInput | TextualMemoryItem)
    if isinstance(each, Document):
        assert each.text.encode().decode() == clean(each.text)
    if not isinstance(each, Conversation):
        return
    for index, message in enumerate(each.messages):
        assert message.index == index
        assert message.role in ROLES
        assert datetime.fromisoformat(message.chat_time or "")
        assert clean(message.content) == message.content
        for text in (message.name, message.message_id, message.raw, *(p.text for p in message.parts)):
            assert text is None or text.encode() is not None
        if message.raw is not None:
            json.loads(message.raw, parse_constant=lambda name: 1 / 0)
    file_inputs(each)


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=20), st.data())
def test_no_message_and_no_word_is_lost_and_order_is_kept(texts: list[str], data: st.DataObject) -> None:
    roles = [data.draw(st.sampled_from(["user", "assistant", "participant"])) for _ in texts]
    raw: list[Any] = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    (chat,) = normalize([raw], now=NOW)
    assert isinstance(chat, Conversation)
    assert [(m.role, m.content) for m in chat.messages] == [(r, clean(t)) for r, t in zip(roles, texts, strict=True)]
    assert [m.locator for m in chat.messages] == [f"[0][{i}]" for i in range(len(texts))]
    split = [{"role": "user", "content": [{"type": "text", "text": text} for text in texts]}]
    (joined,) = normalize(split, now=NOW)
    assert isinstance(joined, Conversation)
    assert joined.messages[0].content.split() == [word for text in texts for word in clean(text).split()]


@settings(deadline=None)
@given(st.lists(st.lists(st.just("hi"), max_size=3), max_size=6))
def test_there_is_one_conversation_for_each_inner_list(data: list[list[str]]) -> None:
    inputs = normalize(data, now=NOW)
    assert [len(c.messages) for c in inputs if isinstance(c, Conversation)] == [len(inner) for inner in data]


@settings(deadline=None)
@given(st.lists(st.none() | st.datetimes(), min_size=1, max_size=8))
def test_every_message_has_a_time_that_someone_gave_unless_nobody_did(given_times: list[datetime | None]) -> None:
    data = [{"role": "user", "content": "hi", "chat_time": when} for when in given_times]
    (chat,) = normalize(data, now=NOW)
    assert isinstance(chat, Conversation)
    nobody = all(when is None for when in given_times)
    known = [None if when is None else when.isoformat() for when in given_times]
    for message, when in zip(chat.messages, known, strict=True):
        assert message.time_inferred is nobody
        assert message.time_given is (when is not None)
        assert message.chat_time == (when or message.chat_time)
        assert nobody or message.chat_time in known


@settings(deadline=None)
@given(st.lists(MESSAGES, max_size=4))
def test_what_was_normalised_stays_as_it_is(data: list[Any]) -> None:
    try:
        (chat,) = normalize([data], now=NOW)
    except InputError:
        return
    assert isinstance(chat, Conversation)
    assert normalize(chat) == [chat]
    if chat.messages and not chat.messages[0].time_inferred:
        (again,) = normalize(list(chat.messages), now=NOW)
        assert isinstance(again, Conversation)
        assert again.messages == chat.messages
