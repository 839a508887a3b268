"""What the messages of a LlamaIndex chat are to its memory: the question of a turn, and what is kept of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from llamaindex_memreader.messages import from_llama_index

_ANSWERING = frozenset({MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL})
_CALLS = frozenset({"tool_call", "cache", "thinking"})
_STEPS = re.compile(r"\AThought:(?:.*^Thought:)?.*?^Answer:[^\S\n]*", re.DOTALL | re.MULTILINE)
"""What a ReActAgent puts before its answer, into the same message."""


def question_of(messages: Sequence[ChatMessage]) -> str:
    """Return the words of the user's last message that has any; "" for none."""
    asked = (m.content or "" for m in reversed(messages) if m.role == MessageRole.USER)
    return next((words for words in asked if words.strip()), "")


def to_keep(messages: Sequence[ChatMessage]) -> Iterator[dict[str, Any]]:
    """Yield what users and assistants said, with the users' files, without calls and thoughts, for `Memory.add`.

    Of what a ReActAgent writes down the answer is left. System prompts and what tools answered are left out.

    Raises:
        InputError: A user's message has a part of a kind that is not known.
    """
    for message in messages:
        if message.role == MessageRole.USER and any(_says_something(block) for block in message.blocks):
            yield from from_llama_index([message])
        elif message.role in _ANSWERING and (words := _STEPS.sub("", message.content or "", count=1).strip()):
            plain = ChatMessage(words, role=MessageRole.ASSISTANT, additional_kwargs=_without_calls(message))
            yield from from_llama_index([plain])


def without_repeated_question(said: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return what was said without a last message that repeats the user's one before it.

    LlamaIndex's agents hand the question to the memory beside the buffer that it already stands in. One that the user
    did say twice is left out only until something follows it in the buffer.
    """
    asked = [place for place, message in enumerate(said) if message["role"] == "user"]
    if len(asked) < 2 or asked[-1] != len(said) - 1:
        return said
    return said[:-1] if said[asked[-2]]["content"] == said[-1]["content"] else said


def _says_something(block: Any) -> bool:
    return bool(block.text.strip()) if block.block_type == "text" else block.block_type not in _CALLS


def _without_calls(message: ChatMessage) -> dict[str, Any]:
    return {key: value for key, value in message.additional_kwargs.items() if key not in {"tool_calls", "tool_call_id"}}
