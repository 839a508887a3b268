"""An agent that remembers its user from one thread to the next: MemReaderMiddleware for `create_agent`.

Needs llm-memreader[langchain-agents]; no key and no network, since a stand-in plays the model.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memreader import MemReaderMiddleware
from memreader import Memory


class StandIn(BaseChatModel):
    """Stands in for a model: saves what it is asked to, and otherwise repeats the notes it was handed."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def bind_tools(self, *_: Any, **__: Any) -> StandIn:
        """A real model would be told of the tools here."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        said = str(messages[-1].text)
        if isinstance(messages[-1], HumanMessage) and said.startswith("Remember: "):
            call = ToolCall(name="save_memory", args={"text": said.removeprefix("Remember: ")}, id="call-1")
            answer = AIMessage("", tool_calls=[call])
        elif messages[-1].type == "tool":
            answer = AIMessage("I will remember it.")
        else:
            notes = [line for line in str(messages[0].text).splitlines() if line.startswith("- ")]
            answer = AIMessage("My notes say: " + " / ".join(notes) if notes else "I have no notes about that.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


def main() -> None:
    """Two users in two threads, and one of them again in a third."""
    with tempfile.TemporaryDirectory() as name, Memory.open(Path(name)) as memory:
        # One agent for everybody: each run says whose memories it is about.
        agent = create_agent(
            StandIn(),
            system_prompt="You are a harbour master.",
            middleware=[MemReaderMiddleware(memory, k=2)],
            checkpointer=InMemorySaver(),
        )
        for user, thread, question in (
            ("elske", "monday", "Remember: Elske's kayak lies at mooring 14."),
            ("joost", "monday-2", "My rowing boat leaks at the stern."),
            ("elske", "tuesday", "At which mooring does my kayak lie?"),
            ("joost", "tuesday-2", "At which mooring does the kayak lie?"),
        ):
            config = {"configurable": {"user_id": user, "thread_id": thread}}
            state = agent.invoke({"messages": [HumanMessage(question)]}, config)
            print(f"{user}: {question}\nagent: {state['messages'][-1].text}\n")
        print("Kept of elske:", *(item.memory for item in memory.get_all(user_id="elske")), sep="\n  ")


if __name__ == "__main__":
    main()
