"""What the LangChain tests share: the model, loaded once, an empty memory, and both ways to call a runnable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage

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
