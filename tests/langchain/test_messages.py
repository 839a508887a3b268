"""LangChain messages in, LangChain messages out."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from langchain_memreader import from_langchain, to_langchain
from memreader import Conversation, Memory, MemReader, Message
from memreader.errors import InputError

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nnot a real picture").decode()
PDF = base64.b64encode(b"%PDF-1.4 not a real file").decode()
CALL = {"name": "lookup", "args": {"bird": "heron"}, "id": "call-1"}


def read(*messages: BaseMessage) -> list[Message]:
    """The messages as memreader reads them."""
    (conversation,) = MemReader().normalized(from_langchain(messages))
    assert isinstance(conversation, Conversation)
    return list(conversation.messages)


@pytest.mark.parametrize(
    ("message", "role", "name"),
    [
        (HumanMessage("hi"), "user", None),
        (HumanMessage("hi", name="Ana"), "user", "Ana"),
        (AIMessage("hi"), "assistant", None),
        (SystemMessage("hi"), "system", None),
        (SystemMessage("hi", additional_kwargs={"__openai_role__": "developer"}), "developer", None),
        (ToolMessage("hi", tool_call_id="c"), "tool", None),
        (FunctionMessage(name="lookup", content="hi"), "function", "lookup"),
        (ChatMessage("hi", role="user"), "user", None),
        (ChatMessage("hi", role="ai"), "assistant", None),
        (ChatMessage("hi", role="Critic"), "participant", "Critic"),
        (AIMessageChunk("hi"), "assistant", None),
        (HumanMessageChunk("hi"), "user", None),
    ],
)
def test_every_kind_of_message_has_its_role(message: BaseMessage, role: str, name: str | None) -> None:
    (got,) = read(message)
    assert (got.role, got.name, got.content) == (role, name, "hi")


def test_the_id_of_a_message_is_kept() -> None:
    assert [m.message_id for m in read(HumanMessage("a", id="h1"), AIMessage("b", id="run-2"))] == ["h1", "run-2"]


@pytest.mark.parametrize("key", ["chat_time", "timestamp", "created_at"])
def test_a_time_among_the_additional_kwargs_is_the_time_of_the_message(key: str) -> None:
    (got,) = read(HumanMessage("a", additional_kwargs={key: "2024-03-07T14:05:00"}))
    assert (got.chat_time, got.time_given) == ("2024-03-07T14:05:00", True)


def test_a_streamed_answer_is_one_plain_message_with_its_calls() -> None:
    chunks = [
        AIMessageChunk("I'll look", id="r"),
        AIMessageChunk(
            " it up", id="r", tool_call_chunks=[{"name": "lookup", "args": '{"bird":', "id": "call-1", "index": 0}]
        ),
        AIMessageChunk("", id="r", tool_call_chunks=[{"name": None, "args": ' "heron"}', "id": None, "index": 0}]),
    ]
    (got,) = read(chunks[0] + chunks[1] + chunks[2])
    assert (got.role, got.content, got.message_id) == ("assistant", "I'll look it up", "r")
    assert [(p.name, p.reference, p.call) for p in got.parts if p.kind == "tool_call"] == [
        ("lookup", "call-1", '{"bird": "heron"}')
    ]


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", tool_calls=[CALL]),
        AIMessage([{"type": "tool_use", "id": "call-1", "name": "lookup", "input": CALL["args"]}], tool_calls=[CALL]),
        AIMessage(
            [{"type": "tool_use", "id": "call-1", "name": "lookup", "input": CALL["args"]}],
            tool_calls=[CALL],
            response_metadata={"model_provider": "anthropic"},
        ),
        AIMessage(
            [{"type": "function_call", "call_id": "call-1", "name": "lookup", "arguments": '{"bird": "heron"}'}],
            tool_calls=[CALL],
            response_metadata={"model_provider": "openai"},
        ),
        AIMessage(content_blocks=[{"type": "tool_call", **CALL}]),  # type: ignore[typeddict-item]
    ],
)
def test_a_message_of_calls_only_is_flagged_and_holds_each_call_once(message: AIMessage) -> None:
    (got,) = read(message)
    assert got.flags == {"tool_call"}
    assert [(p.name, p.call) for p in got.parts if p.kind == "tool_call"] == [("lookup", '{"bird": "heron"}')]


def test_a_call_that_could_not_be_parsed_is_kept_as_text() -> None:
    (got,) = read(AIMessage("", invalid_tool_calls=[{"name": "lookup", "args": "{bird", "id": "c", "error": "e"}]))
    assert [(p.name, p.call) for p in got.parts if p.kind == "tool_call"] == [("lookup", "{bird")]


def test_a_tools_answer_knows_its_call_and_is_not_read_into_memories() -> None:
    (got,) = read(ToolMessage([{"type": "text", "text": "42"}], tool_call_id="call-1", name="lookup"))
    assert (got.content, got.parts[0].call, got.is_readable) == ("42", "call-1", False)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
        {"type": "image", "base64": PNG, "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    ],
)
def test_an_image_is_a_part_in_every_spelling_and_never_text(block: dict[str, Any]) -> None:
    (got,) = read(HumanMessage([{"type": "text", "text": "my boat"}, block]))
    assert got.content == "my boat"
    assert [(p.kind, p.media_type, p.data) for p in got.parts[1:]] == [("image", "image/png", base64.b64decode(PNG))]
    assert PNG not in (got.raw or "")


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}, "a.pdf"),
        ({"type": "file", "base64": PDF, "mime_type": "application/pdf", "extras": {"filename": "b.pdf"}}, "b.pdf"),
        ({"type": "file", "source_type": "base64", "data": PDF, "mime_type": "application/pdf"}, None),
    ],
)
def test_a_file_keeps_its_bytes_and_its_name(block: dict[str, Any], name: str | None) -> None:
    (got,) = read(HumanMessage(["read this", block]))
    (part,) = [part for part in got.parts if part.kind == "file"]
    assert (part.name, part.media_type, part.data) == (name, "application/pdf", base64.b64decode(PDF))


def test_other_blocks_of_langchain_become_parts() -> None:
    (got,) = read(
        HumanMessage(
            content_blocks=[
                {"type": "audio", "base64": PNG, "mime_type": "audio/wav"},
                {"type": "audio", "url": "https://example.org/a.wav"},
                {"type": "video", "url": "https://example.org/a.mp4"},
                {"type": "text-plain", "text": "plain words", "title": "notes.txt", "mime_type": "text/plain"},
            ]
        )
    )
    assert [(p.kind, p.media_type or p.reference, p.name) for p in got.parts] == [
        ("audio", "audio/wav", None),
        ("audio", "https://example.org/a.wav", None),
        ("file", "https://example.org/a.mp4", None),
        ("file", "text/plain", "notes.txt"),
    ]


def test_what_a_model_thought_and_looked_up_itself_is_not_what_it_said() -> None:
    (got,) = read(
        AIMessage(
            [
                {"type": "reasoning", "reasoning": "hmm"},
                {"type": "server_tool_call", "id": "s", "name": "web", "args": {}},
                {"type": "server_tool_result", "tool_call_id": "s", "status": "success", "output": 42},
                {"type": "text", "text": "Herons do."},
            ],
            response_metadata={"output_version": "v1"},
        )
    )
    assert got.content == "Herons do."
    assert [part.kind for part in got.parts] == ["thinking", "tool_call", "tool_result", "text"]


def test_a_block_that_nobody_knows_is_an_error_that_names_the_message() -> None:
    with pytest.raises(InputError, match=r"'hologram'.*\[1\]"):
        read(HumanMessage("a"), HumanMessage([{"type": "hologram", "data": "x"}]))


def test_an_order_to_remove_a_message_is_no_message() -> None:
    assert from_langchain([RemoveMessage(id="x"), HumanMessage("a")]) == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize("content", ["", []])
def test_an_empty_message_is_no_error(content: Any) -> None:
    assert [m.content for m in read(HumanMessage(content))] == [""]


def test_the_messages_themselves_stay_as_they_are() -> None:
    given = [
        HumanMessage([{"type": "text", "text": "a"}, {"type": "image", "base64": PNG, "mime_type": "image/png"}]),
        AIMessage("", tool_calls=[CALL], additional_kwargs={"timestamp": 1683554160}),
        AIMessageChunk("x"),
    ]
    before = copy.deepcopy(given)
    made = from_langchain(given)
    made[1]["tool_calls"][0]["arguments"]["bird"] = "stork"
    assert given == before


def test_a_message_comes_back_as_it_went() -> None:
    call = {**CALL, "type": "tool_call"}
    given = [
        SystemMessage("be kind"),
        SystemMessage("be brief", additional_kwargs={"__openai_role__": "developer"}),
        HumanMessage("hi", id="h1", name="Ana", additional_kwargs={"chat_time": "2024-03-07T14:05:00"}),
        AIMessage("", id="a1", tool_calls=[call]),
        ToolMessage("42", tool_call_id="call-1", id="t1", name="lookup"),
        FunctionMessage(name="old", content="7"),
        AIMessage("hello", id="a2"),
    ]
    back = to_langchain(read(*given))
    assert from_langchain(back)[2] == from_langchain(given)[2]
    for one, other in zip(back, given, strict=True):
        assert type(one) is type(other)
        assert (one.content, one.id, one.name) == (other.content, other.id, other.name)
    assert isinstance(back[3], AIMessage)
    assert back[3].tool_calls == [call]
    assert isinstance(back[4], ToolMessage)
    assert back[4].tool_call_id == "call-1"


def test_a_participant_comes_out_as_a_human_with_a_name() -> None:
    assert to_langchain([Message("participant", "hi", name="Joost")]) == [HumanMessage("hi", name="Joost")]


def test_an_inferred_time_is_not_told() -> None:
    (message,) = to_langchain([Message("user", "hi", chat_time="2024-03-07T14:05:00", time_inferred=True)])
    assert message.additional_kwargs == {}


def test_a_conversation_is_added_once_however_often_it_is_sent(memory: Memory) -> None:
    history = [HumanMessage("I keep bees.", id="1"), AIMessage("How many hives?", id="2")]
    first = memory.add(from_langchain(history), user_id="ana", session_id="s")
    again = memory.add(from_langchain([*history, HumanMessage("Three.", id="3")]), user_id="ana", session_id="s")
    assert (len(first.added), len(again.added)) == (2, 1)
