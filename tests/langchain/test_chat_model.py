"""LangChain's chat models under our port."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableLambda

from langchain_memreader import as_chat_model
from memreader.ports import ChatModel, Reply, Usage
from memreader.testing import ChatModelContract

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What colour is the sky?"}]
SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}}


def saying(*messages: BaseMessage) -> BaseChatModel:
    return FakeMessagesListChatModel(responses=list(messages))


class Refusing(FakeListChatModel):
    """Claims structured output, and fails at it."""

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        raise RuntimeError("this provider has another way")

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        if "response_format" in kwargs:
            raise TypeError("unexpected response_format")
        return super()._call(messages, *args, **kwargs)


class Failing(FakeListChatModel):
    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        raise ConnectionResetError("gone")


class TestFakeList(ChatModelContract):
    @pytest.fixture
    def chat_model(self) -> ChatModel:
        return as_chat_model(FakeListChatModel(responses=["blue", "grey"]))


class TestFakeMessages(ChatModelContract):
    @pytest.fixture
    def chat_model(self) -> ChatModel:
        return as_chat_model(saying(AIMessage("blue")))


class TestFallbacks(ChatModelContract):
    @pytest.fixture
    def chat_model(self) -> ChatModel:
        return as_chat_model(Failing(responses=[]).with_fallbacks([FakeListChatModel(responses=["blue"])]))


class TestBlocking(ChatModelContract):
    """A model without an async way of its own goes to a thread."""

    longest_hold_s = 0.2

    @pytest.fixture
    def chat_model(self) -> ChatModel:
        return as_chat_model(FakeListChatModel(responses=["blue"], sleep=0.25))


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (AIMessage("blue"), Reply("blue", Usage(1))),
        (
            AIMessage("blue", usage_metadata={"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}),
            Reply("blue", Usage(1, 7, 3)),
        ),
        (
            AIMessage("blue", response_metadata={"token_usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
            Reply("blue", Usage(1, 7, 3)),
        ),
        (AIMessage("blue", response_metadata={"token_usage": None}), Reply("blue", Usage(1))),
        (AIMessage("bl", response_metadata={"finish_reason": "length"}), Reply("bl", Usage(1), truncated=True)),
        (AIMessage("bl", response_metadata={"finish_reason": "MAX_TOKENS"}), Reply("bl", Usage(1), truncated=True)),
        (AIMessage("bl", response_metadata={"stop_reason": "max_tokens"}), Reply("bl", Usage(1), truncated=True)),
        (AIMessage("bl", response_metadata={"done_reason": "length"}), Reply("bl", Usage(1), truncated=True)),
        (
            AIMessage("bl", response_metadata={"incomplete_details": {"reason": "max_output_tokens"}}),
            Reply("bl", Usage(1), truncated=True),
        ),
        (AIMessage("blue", response_metadata={"finish_reason": "stop"}), Reply("blue", Usage(1))),
        (
            AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "bl"}, "ue"]),
            Reply("blue", Usage(1)),
        ),
        (AIMessage([]), Reply("", Usage(1))),
    ],
)
def test_text_usage_and_end_are_read_from_whatever_a_provider_sends(answer: AIMessage, reply: Reply) -> None:
    model = as_chat_model(saying(answer))
    assert model.complete(ASKED) == reply
    assert asyncio.run(model.acomplete(ASKED)) == reply


def test_messages_become_those_of_langchain() -> None:
    seen: list[Any] = []

    def answer(messages: Any) -> BaseMessage:
        seen.append(messages)
        return AIMessage("ok")

    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://x.invalid/a.png"}}]
    as_chat_model(RunnableLambda(answer)).complete(
        [*ASKED, {"role": "assistant", "content": "blue"}, {"role": "user", "content": parts}]
    )
    system, user, assistant, last = seen[0]
    assert (type(system), system.content) == (SystemMessage, "Be brief.")
    assert (type(user), user.content) == (HumanMessage, "What colour is the sky?")
    assert (type(assistant), assistant.content) == (AIMessage, "blue")
    assert last.content == parts


def test_a_schema_never_makes_a_model_fail() -> None:
    model = as_chat_model(Refusing(responses=["blue"]))
    assert model.complete(ASKED, schema=SCHEMA).text == "blue"
    assert asyncio.run(model.acomplete(ASKED, schema=SCHEMA)).text == "blue"


def test_what_is_bound_to_a_model_is_sent() -> None:
    class Recording(FakeListChatModel):
        def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
            return str(kwargs["response_format"]["type"])

    bound = Recording(responses=[]).bind(response_format={"type": "json_object"})
    model = as_chat_model(bound)
    assert model.complete(ASKED).text == "json_object"
    assert model.name == "Recording"


def test_errors_of_the_model_pass_as_they_are() -> None:
    model = as_chat_model(Failing(responses=[]))
    with pytest.raises(ConnectionResetError):
        model.complete(ASKED)
    with pytest.raises(ConnectionResetError):
        asyncio.run(model.acomplete(ASKED))


def test_a_name_is_the_class_and_the_model_or_the_callers() -> None:
    class Named(FakeListChatModel):
        model_name: str = "small"

    assert as_chat_model(Named(responses=["x"])).name == "Named(small)"
    assert as_chat_model(FakeListChatModel(responses=["x"])).name == "FakeListChatModel"
    assert as_chat_model(Named(responses=["x"]), name="mine").name == "mine"


def test_an_async_model_is_asked_on_the_loop() -> None:
    class Async(FakeListChatModel):
        threads: list[str] = []  # noqa: RUF012 - pydantic copies the default for each model

        async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
            self.threads.append(threading.current_thread().name)
            return await super()._agenerate(*args, **kwargs)

    lc_model = Async(responses=["x"])
    asyncio.run(as_chat_model(lc_model).acomplete(ASKED))
    assert lc_model.threads == [threading.main_thread().name]
