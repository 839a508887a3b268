"""What an agent's messages are to its memory: the question of a turn, what is kept of it, and what was recalled."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_memreader.messages import from_langchain

OURS = frozenset({"search_memory", "save_memory"})
"""Tools whose answers are memories already."""
TURNS = 256
"""Turns whose notes are kept; one that is forgotten is recalled again."""

Turn: TypeAlias = tuple[str, str | None, str]
"""User, session and id of the question."""


def question_of(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """Return the last message of the user that has words; None for none."""
    return next(
        (
            m
            for m in reversed(messages)
            if isinstance(m, HumanMessage) and m.text.strip() and not _is_written_by_code(m)
        ),
        None,
    )


def to_keep(messages: Sequence[BaseMessage], *, tools: bool) -> Iterator[dict[str, Any]]:
    """Yield what users and assistants said, with files but without calls and thoughts, for `Memory.add`.

    What another middleware wrote, such as a summary of what was said, is left out.

    Args:
        messages: Of the agent's state.
        tools: Whether what tools answered is kept too, as said by a participant of the tool's name.
    """
    for message in messages:
        if _is_written_by_code(message):
            continue
        if isinstance(message, HumanMessage):
            yield from from_langchain([message])
        elif isinstance(message, AIMessage) and message.text.strip():
            yield _plain(message, "assistant", message.name)
        elif tools and isinstance(message, ToolMessage) and message.name not in OURS and message.text.strip():
            yield _plain(message, "participant", message.name or "tool")


def with_notes(system: SystemMessage | None, notes: str) -> SystemMessage:
    """Return a system message that ends with the notes; the given one is not changed."""
    if system is None:
        return SystemMessage(notes)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{notes}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": f"\n\n{notes}"}]})


class Notes:
    """What was recalled for each turn under way, so that one turn asks once however often its model is called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: OrderedDict[Turn, str] = OrderedDict()

    def get(self, turn: Turn) -> str | None:
        """Return what was recalled for a turn; None if nothing was yet, or it was long ago."""
        with self._lock:
            return self._of.get(turn)

    def put(self, turn: Turn, notes: str) -> None:
        """Keep what was recalled for a turn; that of the oldest goes."""
        with self._lock:
            self._of[turn] = notes
            while len(self._of) > TURNS:
                self._of.popitem(last=False)

    def drop(self, turn: Turn) -> None:
        """Forget what was recalled for a turn, if anything was."""
        with self._lock:
            self._of.pop(turn, None)


def _is_written_by_code(message: BaseMessage) -> bool:
    # LangChain's own middlewares mark so what stands in for other messages.
    return message.additional_kwargs.get("lc_source") is not None


def _plain(message: BaseMessage, role: str, name: str | None) -> dict[str, Any]:
    said = {"role": role, "content": str(message.text), "name": name, "message_id": message.id}
    return {key: value for key, value in said.items() if value is not None}
