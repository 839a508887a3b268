"""A LlamaIndex agent that remembers its users from one chat to the next: MemReaderMemoryBlock and a tool to search.

Needs llm-memreader[llamaindex]; no key and no network, since a stand-in plays the model.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory as Chat

from llamaindex_memreader import MemReaderMemoryBlock, MemReaderRetriever
from memreader import Memory

LOOK = "Look it up: "


class StandIn(FunctionCallingLLM):
    """Stands in for a model: searches when it is told to look something up, and otherwise repeats its notes."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, model_name="stand-in")

    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        last = messages[-1]
        said = last.content or ""
        if last.role == "user" and said.startswith(LOOK):
            call = {"name": "search_memory", "query": said.removeprefix(LOOK)}
            return ChatResponse(message=ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]}))
        shown = said if last.role == "tool" else "\n".join(m.content or "" for m in messages if m.role == "system")
        notes = [line for line in shown.splitlines() if line.startswith("- user: ")]
        answer = f"My notes say: {notes[0]}" if notes else "I have no notes about that."
        return ChatResponse(message=ChatMessage(answer, role="assistant"))

    def _prepare_chat_with_tools(self, *_: Any, chat_history: Any = None, **__: Any) -> dict[str, Any]:
        """A real model would be told of the tools here."""
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("tool_calls", [])
        return [ToolSelection(tool_id="1", tool_name=c["name"], tool_kwargs={"query": c["query"]}) for c in calls]

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        return asyncio.run(self.achat(messages))

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("the agent chats")

    stream_complete = acomplete = astream_complete = stream_chat = astream_chat = complete


async def talk(memory: Memory) -> None:
    """Two users in five chats; each one's later chats know of the own earlier ones."""
    # One block for everybody: the chat's name says whose it is.
    block = MemReaderMemoryBlock(memory=memory, user_id=lambda chat: str(chat).partition("/")[0], top_k=2)
    for name, said in (
        ("elske/monday", "My kayak lies at mooring 14."),
        ("joost/monday", "My rowing boat is at the yard since it leaks at the stern."),
        ("elske/tuesday", "At which mooring does my kayak lie?"),
        ("joost/tuesday", "At which mooring does the kayak lie?"),
        ("joost/wednesday", LOOK + "Where does the rowing boat leak?"),
    ):
        user = name.partition("/")[0]
        search = MemReaderRetriever(memory, user_id=user, session_id=name, similarity_top_k=1).as_tool()
        agent = FunctionAgent(llm=StandIn(), tools=[search], system_prompt="You are a harbour master.", streaming=False)
        chat = Chat.from_defaults(session_id=name, memory_blocks=[block])
        print(f"{name}: {said}\nagent: {await agent.run(said, memory=chat)}\n")
    print("Kept of elske:", *(item.memory for item in memory.get_all(user_id="elske")), sep="\n  ")


def main() -> None:
    """Run the chats on a new memory."""
    with tempfile.TemporaryDirectory() as name, Memory.open(Path(name)) as memory:
        asyncio.run(talk(memory))


if __name__ == "__main__":
    main()
