"""A LangChain chat that ends, and another one that remembers it: MemReaderMemory on one folder.

Needs llm-memreader[langchain]; no key and no network, since a stand-in plays the model.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

from langchain_classic.chains import ConversationChain
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import BaseMessage

from langchain_memreader import MemReaderMemory
from memreader import Memory

DATA = Path(__file__).parent / "data" / "conversation.json"
USER = "elske"

# LangChain would rather have chains gone; whoever still has one can keep it.
warnings.simplefilter("ignore", LangChainDeprecationWarning)


class Parrot(SimpleChatModel):
    """Stands in for a model: repeats the notes it was handed."""

    @property
    def _llm_type(self) -> str:
        return "parrot"

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        notes = [line for line in str(messages[-1].text).splitlines() if line.startswith("- [")]
        return "My notes say: " + " / ".join(notes) if notes else "I have no notes about that."


def chat(folder: Path, session_id: str, *questions: str) -> None:
    """Ask in a chain of its own, as a new process would."""
    with Memory.open(folder) as memory:
        remembered = MemReaderMemory(memory=memory, user_id=USER, session_id=session_id, k=2)
        chain = ConversationChain(llm=Parrot(), memory=remembered)
        for question in questions:
            print(f"Human: {question}\nAI: {chain.invoke({'input': question})['response']}\n")


def main() -> None:
    """Import last year's chats, tell the assistant something new, and ask it the next day."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Memory.open(folder) as memory:
            for session in json.loads(DATA.read_text(encoding="utf-8"))["sessions"]:
                memory.add(session["messages"], user_id=USER, session_id=session["session_id"])
        print("--- Monday ---")
        chat(folder, "monday", "Which nuts am I allergic to?", "I sold the blue kayak to Ireen for 450 euros.")
        print("--- Tuesday, another chain ---")
        chat(folder, "tuesday", "Who bought my blue kayak?", "What is the coupling constant of chromodynamics?")


if __name__ == "__main__":
    main()
