"""LlamaIndex messages in, LlamaIndex messages out."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms import types
from llama_index.core.base.llms.types import AudioBlock, ChatMessage, DocumentBlock, ImageBlock, TextBlock

from llamaindex_memreader import from_llama_index, to_llama_index
from memreader import Conversation, Memory, MemReader, Message
from memreader.testing import HashEmbedder

CALL = {"id": "c", "type": "function", "function": {"name": "lookup", "arguments": '{"bird": "heron"}'}}
PNG = b"\x89PNG\r\n\x1a\nnot a real picture"
PDF = b"%PDF-1.4 not a real file"


def read(*messages: ChatMessage) -> list[Message]:
    """The messages as memreader reads them."""
    (conversation,) = MemReader().normalized(from_llama_index(messages))
    assert isinstance(conversation, Conversation)
    return list(conversation.messages)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("user", "user"), ("assistant", "assistant"), ("system", "system"), ("developer", "developer"),
        ("tool", "tool"), ("function", "function"), ("chatbot", "assistant"), ("model", "assistant"),
    ],
)  # fmt: skip
def test_every_role_is_known(role: str, expected: str) -> None:
    (got,) = read(ChatMessage("hi", role=role))
    assert (got.role, got.content) == (expected, "hi")


@pytest.mark.parametrize("id_key", ["message_id", "id"])
@pytest.mark.parametrize("time_key", ["chat_time", "timestamp", "created_at"])
def test_name_id_and_time_come_from_the_additional_kwargs(id_key: str, time_key: str) -> None:
    extra = {"name": "Ana", id_key: "m1", time_key: "2024-03-07T14:05:00"}
    (got,) = read(ChatMessage("hi", role="user", additional_kwargs=extra))
    assert (got.name, got.message_id, got.chat_time, got.time_given) == ("Ana", "m1", "2024-03-07T14:05:00", True)


def block(kind: str, **fields: Any) -> Any:
    """A block of a kind that older versions of LlamaIndex don't have; they skip the test."""
    if not hasattr(types, kind):
        pytest.skip(f"this llama-index-core has no {kind}")
    return getattr(types, kind)(**fields)


class ForeignCall:
    """As OpenAI's client leaves them in a message."""

    def model_dump(self) -> dict[str, Any]:
        return CALL


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage(None, role="assistant", additional_kwargs={"tool_calls": [ForeignCall()]}),
        ChatMessage(None, role="assistant", additional_kwargs={"tool_calls": [CALL]}),
    ],
)
def test_a_message_of_calls_only_has_no_content_and_holds_each_call_once(message: ChatMessage) -> None:
    assert message.content is None
    (got,) = read(message)
    assert (got.content, got.flags) == ("", {"tool_call"})
    assert [(part.name, part.reference, part.call) for part in got.parts] == [("lookup", "c", '{"bird": "heron"}')]


@pytest.mark.parametrize("extra", [{}, {"tool_calls": [ForeignCall()]}])
def test_a_call_in_a_block_counts_once_even_if_it_stands_in_the_additional_kwargs_too(extra: dict[str, Any]) -> None:
    called = block("ToolCallBlock", tool_call_id="c", tool_name="lookup", tool_kwargs={"bird": "heron"})
    (got,) = read(ChatMessage(role="assistant", blocks=[called], additional_kwargs=extra))
    assert [(part.name, part.reference, part.call) for part in got.parts] == [("lookup", "c", '{"bird": "heron"}')]


def test_a_tools_answer_knows_its_call() -> None:
    (got,) = read(ChatMessage("42", role="tool", additional_kwargs={"tool_call_id": "c", "name": "lookup"}))
    assert (got.content, got.name, got.parts[0].call, got.is_readable) == ("42", "lookup", "c", False)


def test_blocks_become_parts_in_order_and_only_words_that_were_said_are_content(tmp_path: Path) -> None:
    picture = tmp_path / "heron.png"
    picture.write_bytes(PNG)
    blocks = [
        TextBlock(text="my boat"),
        ImageBlock(image=PNG),
        ImageBlock(url="https://example.org/a.png"),
        ImageBlock(path=picture),
        AudioBlock(audio=b"RIFF not a real recording", format="wav"),
        AudioBlock(url="https://example.org/a.wav"),
        DocumentBlock(data=PDF, title="a.pdf", document_mimetype="application/pdf"),
        TextBlock(text="is green"),
    ]
    (got,) = read(ChatMessage(role="user", blocks=blocks))
    assert got.content == "my boat\nis green"
    parts = [(part.kind, part.data or part.reference, part.name) for part in got.parts]
    assert parts == [
        ("text", None, None),
        ("image", PNG, None),
        ("image", "https://example.org/a.png", None),
        ("image", str(picture), None),
        ("audio", b"RIFF not a real recording", None),
        ("audio", "https://example.org/a.wav", None),
        ("file", PDF, "a.pdf"),
        ("text", None, None),
    ]


def test_the_newer_blocks_become_parts_too() -> None:
    words = TextBlock(text="quoted words")
    blocks = [
        block("VideoBlock", url="https://example.org/a.mp4"),
        block("CitableBlock", title="notes", source="n1", content=[words]),
        block("CitationBlock", cited_content=words, source="n2", title="t", additional_location_info={}),
        block("ThinkingBlock", content="hmm"),
        block("CachePoint", cache_control=block("CacheControl", type="ephemeral")),
        TextBlock(text="is green"),
    ]
    (got,) = read(ChatMessage(role="user", blocks=blocks))
    assert got.content == "is green"
    assert [(part.kind, part.data or part.reference, part.name) for part in got.parts] == [
        ("file", "https://example.org/a.mp4", None),
        ("file", b"quoted words", "notes"),
        ("file", "n2", "t"),
        ("thinking", None, None),
        ("text", None, None),
    ]


@pytest.mark.parametrize(
    "message", [ChatMessage(None, role="user"), ChatMessage("", role="user"), ChatMessage(role="user", blocks=[])]
)
def test_an_empty_message_is_no_error(message: ChatMessage) -> None:
    assert [got.content for got in read(message)] == [""]


def test_the_messages_themselves_stay_as_they_are() -> None:
    given = [
        ChatMessage("a", role="user", additional_kwargs={"chat_time": "2024-03-07T14:05:00", "name": "Ana"}),
        ChatMessage(role="user", blocks=[TextBlock(text="b"), ImageBlock(image=PNG)]),
    ]
    before = copy.deepcopy(given)
    read(*given)
    assert given == before


def test_a_message_comes_back_as_it_went() -> None:
    said = [
        ("be kind", "system", {}),
        ("hi", "user", {"name": "Ana", "message_id": "m"}),
        (None, "assistant", {"tool_calls": [CALL]}),
        ("42", "tool", {"name": "lookup", "tool_call_id": "c"}),
        ("hello", "assistant", {}),
    ]
    given = [
        ChatMessage(words, role=role, additional_kwargs={**extra, "chat_time": f"2024-03-07T14:0{minute}:00"})
        for minute, (words, role, extra) in enumerate(said)
    ]
    assert to_llama_index(read(*given)) == given


def test_a_participant_comes_out_as_a_user_with_a_name() -> None:
    (message,) = to_llama_index([Message("participant", "hi", name="Joost")])
    assert (message.role.value, message.additional_kwargs) == ("user", {"name": "Joost"})


def test_an_inferred_time_is_not_told() -> None:
    (message,) = to_llama_index([Message("user", "hi", chat_time="2024-03-07T14:05:00", time_inferred=True)])
    assert message.additional_kwargs == {}


def test_a_conversation_is_added_once_however_often_it_is_sent() -> None:
    history = [ChatMessage("I keep bees.", role="user"), ChatMessage("How many hives?", role="assistant")]
    with Memory.in_memory(embedder=HashEmbedder()) as memory:
        first = memory.add(from_llama_index(history), user_id="ana", session_id="s")
        grown = [*history, ChatMessage("Three.", role="user")]
        again = memory.add(from_llama_index(grown), user_id="ana", session_id="s")
    assert (len(first.added), len(again.added)) == (2, 1)
