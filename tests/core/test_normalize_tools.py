"""Tool calls, tool results, thoughts, and files sent in a message."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from memreader.normalize import file_inputs, normalize
from memreader.types import Conversation, FileInput, Part
from message_parts import PDF, PDF64, PDF_URI, PNG64, PNG_URI, assert_free_of_base64, conversation, message


def test_anthropics_tool_use_is_a_tool_call() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "北京"}}
    alone, beside = message([use], role="assistant"), message([{"type": "text", "text": "Let me look."}, use])
    assert alone.flags == {"tool_call"}
    assert (alone.parts[0].name, alone.parts[0].call, alone.parts[0].reference) == ("weather", '{"city": "北京"}', "t1")
    assert (beside.content, beside.flags) == ("Let me look.", frozenset())


@pytest.mark.parametrize("answer", ["22 degrees", [{"type": "text", "text": "22 degrees"}]])
def test_anthropics_tool_result_is_never_the_users_word(answer: Any) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": answer}
    alone, beside = message([result]), message([result, {"type": "text", "text": "thanks"}])
    assert (alone.flags, alone.content, alone.is_readable) == ({"tool_result"}, "22 degrees", False)
    assert (alone.parts[0].kind, alone.parts[0].call) == ("tool_result", "t1")
    assert (beside.content, beside.is_readable) == ("thanks", True)


def test_pictures_in_a_tool_result_are_kept() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG64}}
    one = message([{"type": "tool_result", "tool_use_id": "t1", "content": [image, {"type": "text", "text": "done"}]}])
    assert [part.kind for part in one.parts] == ["tool_result", "image"]
    assert_free_of_base64(one)


def test_thoughts_are_kept_and_not_said() -> None:
    thought = {"type": "thinking", "thinking": "hmm", "signature": "x"}
    one = message([thought, {"type": "text", "text": "42"}], role="assistant")
    assert (one.content, one.flags) == ("42", frozenset())
    assert one.parts[0] == Part("thinking", "hmm")
    assert message([thought], role="assistant").flags == {"thinking"}
    assert message([{"type": "redacted_thinking", "data": PDF64}], role="assistant").flags == {"thinking"}


def test_gemini_messages_are_read() -> None:
    (chat,) = normalize(
        [
            {"role": "user", "parts": [{"text": "weather?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"t": 22}}}]},
        ]
    )
    assert isinstance(chat, Conversation)
    ask, call, answer = chat.messages
    assert (ask.content, call.role, call.flags, answer.flags) == (
        "weather?",
        "assistant",
        {"tool_call"},
        {"tool_result"},
    )
    assert answer.parts[0].text == '{"t": 22}'
    by_role = {"role": "function", "parts": [{"functionResponse": {"name": "weather", "response": {"t": 22}}}]}
    (chat,) = normalize([by_role])
    assert isinstance(chat, Conversation)
    assert chat.messages[0].content == '{"t": 22}'


def test_words_and_a_file_are_both_kept_and_the_words_are_the_files_context() -> None:
    file = {"type": "file", "file": {"filename": "report.pdf", "file_data": PDF_URI}}
    given = {"role": "user", "content": [{"type": "text", "text": "my Q3 report"}, file], "chat_time": "2023-05-08"}
    (chat,) = normalize({"messages": [{"role": "user", "content": "hi"}, given], "team": "a", "tags": ["work"]})
    assert isinstance(chat, Conversation)
    assert chat.messages[1].is_readable
    assert file_inputs(chat) == [
        FileInput(
            "report.pdf",
            data=PDF,
            locator=".messages[1]",
            metadata={"team": "a"},
            tags=("work",),
            context="my Q3 report",
            doc_time="2023-05-08",
        )
    ]


def test_a_file_has_no_time_where_nobody_said_and_a_name_from_its_digest() -> None:
    (file,) = file_inputs(conversation([{"type": "file", "file": {"file_data": PDF_URI}}]))
    assert file.doc_time is None
    assert file.name == f"file-{sha256(PDF).hexdigest()[:16]}.pdf"


def test_references_are_no_files_to_read() -> None:
    image = {"type": "image_url", "image_url": PNG_URI}
    assert file_inputs(conversation([{"type": "file", "file": {"file_id": "f"}}, image])) == []


def test_a_documents_own_context_joins_the_words_around_it() -> None:
    document = {"type": "document", "context": "from HR", "source": {"type": "text", "data": "words"}}
    (file,) = file_inputs(conversation([{"type": "text", "text": "see this"}, document]))
    assert file.context == "see this\nfrom HR"
