"""A conversation as one LlamaIndex document: its transcript, and who said which part of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import BaseNode, Document, MetadataMode

from llamaindex_memreader.messages import from_llama_index
from memreader import Conversation, Message
from memreader.chunking import render_line
from memreader.errors import InputError
from memreader.normalize import normalize

NAMESPACE = UUID("0c0f1f8e-5f0e-5d54-9a55-6f8f2a1b7c3d")
"""Of every id that is made here."""

MESSAGES_KEY = "memreader_messages"
"""Where a conversation's document keeps, as JSON text, who said which part of it; its nodes don't carry it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a transcript: `text[start:end]` is its line, `text[words:end]` what was said."""

    message: Message
    start: int
    words: int
    end: int


def conversation_document(
    messages: Sequence[Any],
    *,
    session_id: str | None = None,
    doc_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Return a conversation as a Document that `MemReaderNodeParser` cuts into turns or windows.

    The text is the transcript, a line `speaker: [time]: words` per message (times that nobody gave are left out).
    System prompts, tool calls and their answers are not part of it, as they are not read into memories.

    Args:
        messages: ChatMessages of LlamaIndex, or what `Memory.add` takes as one conversation.
        session_id: Goes into the metadata of every node.
        doc_id: Id of the document: the same one again, with more messages, replaces it in a docstore. By default the
            session_id, else one made from the text.
        metadata: The caller's own, for the document and every node; JSON-ready.

    Raises:
        InputError: A message can't be read, or it isn't one conversation.
    """
    readable = [message for message in _conversation(messages).messages if message.is_readable]
    text = transcript(readable)
    kept = {**(metadata or {}), MESSAGES_KEY: json.dumps(_records(readable), ensure_ascii=False)}
    if session_id is not None:
        kept["session_id"] = session_id
    hidden = [MESSAGES_KEY, "session_id"]
    return Document(
        id_=doc_id or session_id or str(uuid5(NAMESPACE, text)),
        text=text,
        metadata=kept,
        excluded_embed_metadata_keys=list(hidden),
        excluded_llm_metadata_keys=list(hidden),
    )


def transcript(messages: Sequence[Message]) -> str:
    """Return the lines of the messages, without a line break after the last."""
    return "".join(map(render_line, messages)).removesuffix("\n")


def lines_of(document: BaseNode) -> list[Line]:
    """Return the lines of a document made by `conversation_document`, in order.

    Raises:
        InputError: Its text is not the one it was made with, so that nothing can be cited exactly.
    """
    text = document.get_content(metadata_mode=MetadataMode.NONE)
    lines: list[Line] = []
    start = 0
    for words, end, role, name, chat_time, message_id, index in json.loads(document.metadata[MESSAGES_KEY]):
        said = Message(role, text[words:end], index=index, name=name, chat_time=chat_time, message_id=message_id)
        lines.append(Line(said, start, words, end))
        start = end + 1
    if transcript([line.message for line in lines]) != text:
        raise InputError(
            f"the text of the conversation {document.node_id!r} is not the one that conversation_document made. "
            "Put MemReaderNodeParser before what changes or splits texts."
        )
    return lines


def _conversation(messages: Sequence[Any]) -> Conversation:
    plain = [given for m in messages for given in (from_llama_index([m]) if isinstance(m, ChatMessage) else [m])]
    found = normalize(plain, type="chat") if plain else [Conversation(())]
    if len(found) != 1 or not isinstance(found[0], Conversation):
        raise InputError("not one conversation; give its messages in one list")
    return found[0]


def _records(messages: Sequence[Message]) -> list[list[Any]]:
    """Return what `lines_of` needs to find each message in the transcript again."""
    records: list[list[Any]] = []
    start = 0
    for message in messages:
        end = start + len(render_line(message)) - 1
        words = end - len(message.content)
        time = None if message.time_inferred else message.chat_time
        records.append([words, end, message.role, message.name, time, message.message_id, message.index])
        start = end + 1
    return records
