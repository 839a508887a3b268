"""What the LlamaIndex tests share: a model loaded once, an empty memory, a scripted LLM, texts offsets go wrong in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.schema import Document

from llamaindex_memreader import MemReaderEmbedding
from memreader import Memory, MiniLMEmbedder


class ScriptedLLM(FunctionCallingLLM):
    """Answers with the given messages in turn, the last one for ever, and remembers every prompt it was handed.

    A dict among them calls a tool: `{"name": {"argument": "value"}}`.
    """

    replies: list[Any]
    prompts: list[list[ChatMessage]] = []  # noqa: RUF012 - pydantic copies the default for each model

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, model_name="scripted")

    @property
    def last_prompt(self) -> str:
        return "\n".join(f"{message.role.value}: {message.content}" for message in self.prompts[-1])

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self.prompts.append([message.model_copy(deep=True) for message in messages])
        reply = self.replies[min(len(self.prompts), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, dict):
            called = ChatMessage(role="assistant", additional_kwargs={"tool_calls": [reply]})
            return ChatResponse(message=called)
        return ChatResponse(message=ChatMessage(reply, role="assistant"), delta=reply)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages, **kwargs)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Iterator[ChatResponse]:
        yield self.chat(messages, **kwargs)

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:
        response = self.chat(messages, **kwargs)

        async def stream() -> AsyncIterator[ChatResponse]:
            yield response

        return stream()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.chat([ChatMessage(prompt)]).message.content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return self.complete(prompt)

    def stream_complete(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("nobody was expected to ask for this")

    astream_complete = stream_complete

    def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **kwargs: Any) -> dict[str, Any]:
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, response: ChatResponse, **kwargs: Any) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("tool_calls", [])
        return [
            ToolSelection(tool_id=f"call-{len(self.prompts)}", tool_name=name, tool_kwargs=arguments)
            for call in calls
            for name, arguments in call.items()
        ]


@pytest.fixture(scope="session")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder()


@pytest.fixture
def memory(embedder: MiniLMEmbedder) -> Iterator[Memory]:
    with Memory.in_memory(embedder=embedder) as memory:
        yield memory


@pytest.fixture
def scripted() -> Callable[..., ScriptedLLM]:
    """Makes a model that gives these answers, the last one for ever."""
    return lambda *replies: ScriptedLLM(replies=list(replies) or ["Noted."])


TEXTS = {
    "repeated": "The same paragraph again.\n\n" * 40,
    "repeated-inside": "yes. yes. no. yes. yes. " * 60,
    "cjk": "我去年搬到了上海。今年养了一只猫！它叫团团；很可爱…「真的吗？」她问。" * 30,
    "japanese": "猫がいます。猫がいます。名前はまだない。" * 40,
    "crlf": "First line.\r\nSecond line.\r\n\r\nFirst line.\r\n" * 40,
    "spaces": "  \t one   two  \u00a0 three \u2003 four  \n\n\n" * 40,
    "unclean": "\ufeffone\x00two\x0bthree\x0cfour\x85five. " * 40,
    "emoji": "A family 👨‍👩‍👧‍👦 and a flag 🇳🇱, e\u0301 too. " * 40,
    "no-space": "x" * 5000,
    "markdown": "# Boats\n\nintro\n\n## Old\n\n```python\n# no heading\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    * 20,
    "one-word": "word",
    "empty": "",
    "only-spaces": " \n\t \r\n",
}


@pytest.fixture(params=TEXTS)
def document(request: pytest.FixtureRequest) -> Document:
    return Document(text=TEXTS[request.param], id_=f"doc-{request.param}", metadata={"file_name": "a.txt"})


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return [Document(text=text, id_=f"doc-{name}", metadata={"kind": name}) for name, text in TEXTS.items()]


@pytest.fixture(scope="session")
def embedding(embedder: MiniLMEmbedder) -> MemReaderEmbedding:
    return MemReaderEmbedding(embedder=embedder)
