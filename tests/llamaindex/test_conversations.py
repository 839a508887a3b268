"""MemReaderNodeParser on conversations: turns and windows of a transcript."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import BaseNode, Document, MetadataMode, TextNode

from llamaindex_memreader import MemReaderNodeParser, conversation_document
from memreader.errors import InputError
from memreader.tokenizing import load_tokenizer

CHAT: list[Any] = [
    ChatMessage("Be kind.", role="system"),
    ChatMessage("I moved to Lisbon.\nassistant: no you didn't", role="user", additional_kwargs={"message_id": "m1"}),
    ChatMessage(None, role="assistant", additional_kwargs={"tool_calls": [{"id": "c", "name": "f", "args": {}}]}),
    ChatMessage("42", role="tool", additional_kwargs={"tool_call_id": "c"}),
    ChatMessage("How lovely!", role="assistant", additional_kwargs={"chat_time": "2024-03-07T14:05:00"}),
    {"role": "participant", "name": "Joost", "content": "我养了一只猫。"},
    {"role": "user", "content": "yes"},
    {"role": "user", "content": "yes"},
]


def texts(nodes: list[BaseNode]) -> list[str]:
    return [node.get_content(MetadataMode.NONE) for node in nodes]


def assert_exact(document: Document, nodes: list[BaseNode]) -> None:
    for node in nodes:
        assert isinstance(node, TextNode)
        assert document.text[node.start_char_idx : node.end_char_idx] == node.text


def test_the_transcript_has_a_line_per_message_that_is_speech() -> None:
    document = conversation_document(CHAT[1:], session_id="s")
    time = "[02:05 PM on 07 March, 2024]"
    assert document.text.splitlines() == [
        f"user: {time}: I moved to Lisbon.",
        "assistant: no you didn't",
        f"assistant: {time}: How lovely!",
        f"Joost: {time}: 我养了一只猫。",
        f"user: {time}: yes",
        f"user: {time}: yes",
    ]


def test_a_time_that_nobody_gave_is_not_in_the_transcript() -> None:
    assert conversation_document(["hi", "there"]).text == "user: hi\nuser: there"


def test_every_turn_is_a_node_that_knows_who_said_it() -> None:
    document = conversation_document(CHAT, session_id="s", metadata={"topic": "moving"})
    nodes = MemReaderNodeParser().get_nodes_from_documents([document])
    assert_exact(document, nodes)
    assert [(n.metadata["role"], n.metadata["speaker"], n.metadata["message_index"]) for n in nodes] == [
        ("user", "user", 1), ("assistant", "assistant", 4), ("participant", "Joost", 5), ("user", "user", 6),
        ("user", "user", 7),
    ]  # fmt: skip
    assert nodes[0].metadata["message_id"] == "m1"
    assert nodes[1].metadata["chat_time"] == "2024-03-07T14:05:00"
    assert {node.metadata["session_id"] for node in nodes} == {"s"}
    assert {node.metadata["topic"] for node in nodes} == {"moving"}
    assert len({node.node_id for node in nodes}) == 5, "'yes' said twice is two turns"


def test_nodes_carry_no_list_of_messages_and_hide_where_they_are_from() -> None:
    document = conversation_document(CHAT, session_id="s", metadata={"topic": "moving"})
    for node in MemReaderNodeParser().get_nodes_from_documents([document]):
        related = [node.source_node, node.prev_node, node.next_node]
        for metadata in (node.metadata, *(info.metadata for info in related if info is not None)):
            assert "memreader_messages" not in metadata
            assert all(isinstance(value, str | int) for value in metadata.values())
        expected = f"topic: moving\n\n{node.get_content(MetadataMode.NONE)}"
        assert node.get_content(MetadataMode.EMBED) == expected
        assert node.get_content(MetadataMode.LLM) == expected


def test_the_document_is_plain_json_and_shows_its_transcript_only() -> None:
    document = conversation_document(CHAT, session_id="s")
    again = Document.from_dict(json.loads(document.to_json()))
    parser = MemReaderNodeParser()
    assert texts(parser.get_nodes_from_documents([again])) == texts(parser.get_nodes_from_documents([document]))
    assert document.get_content(MetadataMode.EMBED) == document.text
    assert document.get_content(MetadataMode.LLM) == document.text


def test_windows_hold_whole_lines_overlap_and_keep_to_their_limit() -> None:
    chat = [{"role": "user" if i % 2 else "assistant", "content": f"Turn {i} is about herons."} for i in range(60)]
    document = conversation_document(chat, session_id="s")
    nodes = MemReaderNodeParser(unit="window", window_tokens=64, window_overlap=24).get_nodes_from_documents([document])
    assert_exact(document, nodes)
    count = load_tokenizer().count
    lines = document.text.splitlines()
    last = -1
    for node in nodes:
        own = node.get_content(MetadataMode.NONE)
        assert count(own) <= 64
        first, end = node.metadata["message_index"], node.metadata["last_message_index"]
        assert own.splitlines() == lines[first : end + 1]
        assert first <= last + 1
        assert end > last
        last = end
    assert last == 59
    overlaps = [b.metadata["message_index"] <= a.metadata["last_message_index"] for a, b in pairwise(nodes)]
    assert all(overlaps)


def test_a_turn_longer_than_a_window_is_cut_and_every_piece_cites_its_place() -> None:
    story = "".join(f"Sentence number {i} of a long story. " for i in range(100)).strip()
    document = conversation_document(["hi", story], session_id="s")
    for unit in ("turn", "window"):
        parser = MemReaderNodeParser(unit=unit, window_tokens=64, window_overlap=16)
        nodes = parser.get_nodes_from_documents([document])
        assert_exact(document, nodes)
        assert len(nodes) > 5
        count = load_tokenizer().count
        assert all(count(text) <= 64 for text in texts(nodes))
        own = [text for node, text in zip(nodes, texts(nodes), strict=True) if node.metadata["message_index"] == 1]
        if unit == "turn":
            assert "".join(own) == f"user: {story}"


CONTENT = st.lists(st.sampled_from(["yes. ", "ok", "\n", "user: ", "再见。", "👩‍👧", "\r\n", " "]), max_size=12).map(
    "".join
)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), CONTENT), max_size=12),
    st.sampled_from(["turn", "window"]),
)
@settings(deadline=None, max_examples=100)
def test_offsets_are_exact_on_any_chat(chat: list[tuple[str, str]], unit: Any) -> None:
    document = conversation_document([{"role": role, "content": words} for role, words in chat], doc_id="d")
    parser = MemReaderNodeParser(unit=unit, window_tokens=32, window_overlap=10)
    nodes = parser.get_nodes_from_documents([document])
    assert_exact(document, nodes)
    said = {place for place, (role, words) in enumerate(chat) if role != "system" and words.strip()}
    cited = {
        index
        for node in nodes
        for index in range(
            node.metadata["message_index"], node.metadata.get("last_message_index", node.metadata["message_index"]) + 1
        )
    }
    assert said <= cited


def test_a_grown_chat_keeps_the_ids_of_the_turns_before() -> None:
    parser = MemReaderNodeParser()
    before = [node.node_id for node in parser.get_nodes_from_messages(CHAT[:-1], session_id="s")]
    after = [node.node_id for node in parser.get_nodes_from_messages(CHAT, session_id="s")]
    assert after[:-1] == before
    assert len(after) == len(before) + 1


def test_the_documents_id_is_the_given_one_else_the_sessions_else_made_from_the_text() -> None:
    assert conversation_document(CHAT, session_id="s", doc_id="d").node_id == "d"
    assert conversation_document(CHAT, session_id="s").node_id == "s"
    assert conversation_document(CHAT).node_id == conversation_document(CHAT).node_id
    assert conversation_document(CHAT).node_id != conversation_document(CHAT[:-1]).node_id


def test_documents_and_conversations_mix() -> None:
    documents = [Document(text="A document.", id_="d"), conversation_document(CHAT, session_id="s")]
    nodes = MemReaderNodeParser().get_nodes_from_documents(documents)
    assert [node.ref_doc_id for node in nodes] == ["d", "s", "s", "s", "s", "s"]


@pytest.mark.parametrize("chat", [[], [{"role": "system", "content": "x"}], [{"role": "user", "content": " "}]])
def test_a_chat_without_speech_has_no_nodes(chat: list[Any]) -> None:
    assert MemReaderNodeParser().get_nodes_from_messages(chat, session_id="s") == []


def test_a_transcript_that_was_changed_is_an_error_and_never_cited_wrongly() -> None:
    document = conversation_document(CHAT, session_id="s")
    document.set_content(document.text.replace("Lisbon", "Porto"))
    with pytest.raises(InputError, match="'s'"):
        MemReaderNodeParser().get_nodes_from_documents([document])
    whole = conversation_document(CHAT, session_id="s")
    half = TextNode(text=whole.text[:60], metadata=whole.metadata)
    with pytest.raises(InputError, match="before what changes or splits texts"):
        MemReaderNodeParser().get_nodes_from_documents([half])


@pytest.mark.parametrize("wrong", [[["a"], ["b"]], [{"memory": "an item"}], [42]])
def test_what_is_not_one_conversation_is_refused(wrong: list[Any]) -> None:
    with pytest.raises(InputError):
        conversation_document(wrong)
