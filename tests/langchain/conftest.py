"""What the LangChain tests share: the model, loaded once, an empty memory, and both ways to call a runnable."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

from memreader import Memory, MiniLMEmbedder


class RecordingModel(FakeListChatModel):
    """Answers with the given texts in turn, and remembers every prompt it was handed."""

    prompts: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies the default for each model

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.prompts.append(messages)
        return super()._call(messages, *args, **kwargs)

    @property
    def last_prompt(self) -> str:
        return "\n".join(str(message.text) for message in self.prompts[-1])


class ToolCallingModel(BaseChatModel):
    """Answers with the given messages in turn, whole or word by word; remembers the prompts and tools it was handed.

    An exception among them is raised in its turn.
    """

    replies: list[Any]
    prompts: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies the default for each model
    tools: list[Any] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "tool-calling"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        self.tools[:] = tools
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.prompts.append(messages)
        reply = self.replies[len(self.prompts) - 1]
        if isinstance(reply, Exception):
            raise reply
        return AIMessage(reply) if isinstance(reply, str) else reply

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        reply = self._next(messages)
        for piece in re.findall(r"\S+\s*", str(reply.text)):
            yield ChatGenerationChunk(message=AIMessageChunk(piece, id=reply.id))
        calls = [
            {"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": n, "type": "tool_call_chunk"}
            for n, c in enumerate(reply.tool_calls)
        ]
        yield ChatGenerationChunk(message=AIMessageChunk("", id=reply.id, tool_call_chunks=calls))

    def system(self, call: int) -> str:
        """The system prompt of a call, "" for none."""
        return "\n".join(str(message.text) for message in self.prompts[call] if message.type == "system")


def calls(*named: tuple[str, dict[str, Any]], text: str = "", id: str = "") -> AIMessage:
    """What a model says when it calls tools."""
    made = [
        {"name": name, "args": arguments, "id": f"call-{id}-{n}", "type": "tool_call"}
        for n, (name, arguments) in enumerate(named)
    ]
    return AIMessage(text, tool_calls=made, id=id or None)


class Way:
    """Calls the method of a thing, or its async twin."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, thing: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if self.name == "async":
            return await getattr(thing, f"a{method}")(*args, **kwargs)
        return getattr(thing, method)(*args, **kwargs)


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Way:
    return Way(request.param)


@pytest.fixture(scope="session")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder()


@pytest.fixture
def memory(minilm: MiniLMEmbedder) -> Iterator[Memory]:
    with Memory.in_memory(embedder=minilm) as memory:
        yield memory


@pytest.fixture
def answering() -> Callable[..., RecordingModel]:
    """Makes a model that gives the answers in turn."""
    return lambda *answers: RecordingModel(responses=list(answers))


@pytest.fixture
def model() -> RecordingModel:
    return RecordingModel(responses=["Noted, thank you."])


@pytest.fixture
def scripted() -> Callable[..., ToolCallingModel]:
    """Makes a model that gives the answers, texts or messages with tool calls, in turn."""
    return lambda *replies: ToolCallingModel(replies=list(replies))


@pytest.fixture
def calling() -> Callable[..., AIMessage]:
    """Makes what a model says when it calls tools: `calling(("name", {...}), ..., text="", id="")`."""
    return calls
