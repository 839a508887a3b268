"""LlamaIndex's LLMs under our port."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
)
from llama_index.core.llms import LLMMetadata, MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM

from llamaindex_memreader import as_chat_model
from memreader.ports import ChatModel, Reply, Usage
from memreader.testing import ChatModelContract

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What colour is the sky?"}]


class Saying(MockLLM):
    """Gives one response, and remembers what it was asked."""

    response: Any = None
    asked: list[list[ChatMessage]] = []  # noqa: RUF012 - pydantic copies the default for each model
    sleep_s: float = 0.0
    model: str = "small"

    @classmethod
    def class_name(cls) -> str:
        return "Saying"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.model)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self.asked.append(list(messages))
        time.sleep(self.sleep_s)
        if isinstance(self.response, Exception):
            raise self.response
        answer: ChatResponse = self.response
        return answer


def saying(text: str | None, raw: Any = None, **more: Any) -> Saying:
    llm = Saying()
    llm.response = ChatResponse(message=ChatMessage(role="assistant", content=text), raw=raw, **more)
    return llm


class TestMock(ChatModelContract):
    @pytest.fixture
    def chat_model(self) -> ChatModel:
        return as_chat_model(MockLLM(max_tokens=5))


class TestMockOfChats(ChatModelContract):
    @pytest.fixture
    def chat_model(self) -> ChatModel:
        return as_chat_model(MockLLM(is_chat_model=True))


class TestMockOfFunctions(ChatModelContract):
    @pytest.fixture
    def chat_model(self) -> ChatModel:
        return as_chat_model(MockFunctionCallingLLM())


class TestBlocking(ChatModelContract):
    """Custom LLMs have no async way of their own: they go to a thread."""

    longest_hold_s = 0.2

    @pytest.fixture
    def chat_model(self) -> ChatModel:
        llm = saying("blue")
        llm.sleep_s = 0.25
        return as_chat_model(llm)


@pytest.mark.parametrize(
    ("raw", "usage", "truncated"),
    [
        (None, Usage(1), False),
        ("text", Usage(1), False),
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}, Usage(1, 7, 3), False),
        ({"usage": SimpleNamespace(prompt_tokens=7, completion_tokens=3)}, Usage(1, 7, 3), False),
        (
            SimpleNamespace(usage=SimpleNamespace(input_tokens=7, output_tokens=3), stop_reason="max_tokens"),
            Usage(1, 7, 3),
            True,
        ),
        ({"usage": None, "choices": [{"finish_reason": "length"}]}, Usage(1), True),
        (SimpleNamespace(choices=[SimpleNamespace(finish_reason="length")]), Usage(1), True),
        ({"choices": [{"finish_reason": "stop"}]}, Usage(1), False),
        ({"choices": []}, Usage(1), False),
        ({"prompt_eval_count": 7, "eval_count": 3, "done_reason": "length"}, Usage(1, 7, 3), True),
        (
            {"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3}, "finish_reason": "MAX_TOKENS"},
            Usage(1, 7, 3),
            True,
        ),
        ({"usage": {"prompt_tokens": "7", "completion_tokens": -3}}, Usage(1), False),
    ],
)
def test_usage_and_end_are_read_from_whatever_a_provider_sends(raw: Any, usage: Usage, truncated: bool) -> None:
    model = as_chat_model(saying("blue", raw))
    assert model.complete(ASKED) == Reply("blue", usage, truncated)
    assert asyncio.run(model.acomplete(ASKED)) == Reply("blue", usage, truncated)


def test_usage_beside_the_answer_counts_too() -> None:
    model = as_chat_model(saying("blue", additional_kwargs={"prompt_tokens": 7, "completion_tokens": 3}))
    assert model.complete(ASKED).usage == Usage(1, 7, 3)


def test_an_answer_without_text_is_empty_and_thoughts_are_no_text() -> None:
    assert as_chat_model(saying(None)).complete(ASKED).text == ""
    llm = Saying()
    llm.response = ChatResponse(
        message=ChatMessage(role="assistant", blocks=[ThinkingBlock(content="hm"), TextBlock(text="blue")])
    )
    assert as_chat_model(llm).complete(ASKED).text == "blue"


def test_messages_become_those_of_llama_index() -> None:
    llm = saying("ok")
    image = {"type": "image_url", "image_url": {"url": "https://x.invalid/a.png"}}
    parts = [{"type": "text", "text": "look"}, image, image | {"image_url": "data:image/png;base64,aGk="}]
    as_chat_model(llm).complete([*ASKED, {"role": "assistant", "content": "blue"}, {"role": "user", "content": parts}])
    system, user, assistant, last = llm.asked[0]
    assert [message.role for message in llm.asked[0]] == [
        MessageRole.SYSTEM,
        MessageRole.USER,
        MessageRole.ASSISTANT,
        MessageRole.USER,
    ]
    assert [system.content, user.content, assistant.content] == ["Be brief.", "What colour is the sky?", "blue"]
    assert [type(block) for block in last.blocks] == [TextBlock, ImageBlock, ImageBlock]
    assert str(last.blocks[1].url) == "https://x.invalid/a.png"  # type: ignore[union-attr]


def test_a_schema_is_left_to_the_prompt() -> None:
    assert as_chat_model(saying("blue")).complete(ASKED, schema={"type": "object"}).text == "blue"


def test_errors_of_the_model_pass_as_they_are() -> None:
    llm = Saying()
    llm.response = ConnectionResetError("gone")
    model = as_chat_model(llm)
    with pytest.raises(ConnectionResetError):
        model.complete(ASKED)
    with pytest.raises(ConnectionResetError):
        asyncio.run(model.acomplete(ASKED))


def test_a_name_is_the_class_and_the_model_or_the_callers() -> None:
    assert as_chat_model(saying("x")).name == "Saying(small)"
    assert as_chat_model(MockLLM()).name == "MockLLM"
    assert as_chat_model(saying("x"), name="mine").name == "mine"
