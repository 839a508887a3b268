"""Chain memory: what speaks to the question is recalled before the model runs, what was said is kept afterwards."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from langchain_memreader.documents import hit_to_document
from memreader import AddReport, Hit, Memory, TextualMemoryItem
from memreader.recall import render_context
from memreader.types import Failure, Scope

logger = logging.getLogger(__name__)

_INPUT_KEYS = ("input", "question", "query", "text")
_OUTPUT_KEYS = ("output", "answer", "response", "text", "result")


class MemReaderMemory(BaseMemory):
    """Remembers what was said in any session of one user, and recalls what speaks to the present question.

    Recalled words reach the model quoted, as notes and not as instructions. Saving never fails the chain: `last_report`
    and the log say what went wrong. Every message is saved once, under an id of its own and with the time of saving.

    Args:
        memory: Where the memories are.
        user_id: Whose memories.
        session_id: Label of what is saved; `clear()` clears this session.
        memory_key: The prompt's variable for what is recalled.
        input_key: The chain's input that is searched for and saved; by default the only one, or input, question, query
            or text, whichever comes first.
        output_key: The chain's output that is saved; by default the only one, or output, answer, response,
            text or result, whichever comes first.
        exclude_input_keys: Inputs that are never taken for the question.
        return_messages: Give a list of messages (one system message, none when nothing is found) in place of a string,
            as a `MessagesPlaceholder` or `ConversationalRetrievalChain` wants it.
        return_docs: Give Documents with scores and sources, which are not quoted.
        human_prefix: How a recalled user is called.
        ai_prefix: How a recalled assistant is called.
        k: How many memories at most.
        threshold: None for the calibrated floor, 0 for none, else the least score.
        max_tokens: Upper bound of the recalled block, frame included; a memory that doesn't fit is left out.
        clear_scope: Whether `clear()` deletes the session's memories or all of the user's.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    user_id: str
    session_id: str | None = None
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    exclude_input_keys: Sequence[str] = ()
    return_messages: bool = False
    return_docs: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    k: int = Field(default=4, ge=1)
    threshold: float | None = Field(default=None, ge=0, le=1)
    max_tokens: int = Field(default=2000, ge=1)
    clear_scope: Literal["session", "user"] = "session"
    _last_report: AddReport | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check(self) -> MemReaderMemory:
        Scope(self.user_id, self.session_id)
        if self.return_messages and self.return_docs:
            raise ValueError("return_messages and return_docs exclude each other. Set one of them.")
        return self

    @property
    def memory_variables(self) -> list[str]:
        """The one variable that this memory gives to the prompt."""
        return [self.memory_key]

    @property
    def last_report(self) -> AddReport | None:
        """What the last saving did; a failed one is in its `failures`. None before the first."""
        return self._last_report

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what is remembered about the question: a string, "" for nothing; or messages or Documents.

        Raises:
            ValueError: The inputs don't tell which of them is the question.
        """
        question = self._question(inputs)
        hits = self.memory.search(
            question, user_id=self.user_id, session_id=self.session_id, top_k=self.k, threshold=self.threshold
        )
        return {self.memory_key: self._as_variable(hits)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Keep the question and the answer; whatever goes wrong is logged and reported, never raised."""
        try:
            self._last_report = self._keep(inputs, outputs)
        except Exception as error:  # noqa: BLE001 - the answer is there, and must not be lost for failing to keep it
            kind = type(error).__name__
            logger.warning("a turn was not saved (%s); the chain goes on", kind)
            logger.debug("why it was not saved: %r", error)
            self._last_report = AddReport(failures=[Failure(kind, str(error))])
            return
        if self._last_report.failures:
            kinds = ", ".join(sorted({failure.kind for failure in self._last_report.failures}))
            logger.warning("part of a turn was not saved (%s); the chain goes on", kinds)

    def clear(self) -> None:
        """Delete the memories of the session, or with `clear_scope="user"` all of the user's.

        With neither a session nor that scope nothing is deleted, and the log says so.
        """
        if self.clear_scope == "session" and self.session_id is None:
            logger.warning(
                "nothing was cleared: set session_id, or clear_scope='user' to delete all of the user's memories"
            )
            return
        session_id = self.session_id if self.clear_scope == "session" else None
        items = self.memory.get_all(user_id=self.user_id, session_id=session_id)
        self.memory.delete([item.id for item in items], user_id=self.user_id)

    def _question(self, inputs: Mapping[str, Any]) -> str:
        passed_over = {self.memory_key, "stop", *self.exclude_input_keys}
        return _text(inputs[_pick(inputs, self.input_key, _INPUT_KEYS, "input", passed_over)])

    def _keep(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> AddReport:
        answer = _text(outputs[_pick(outputs, self.output_key, _OUTPUT_KEYS, "output")])
        said = [("user", self._question(inputs)), ("assistant", answer)]
        # LangChain gives no ids here: without one, "yes" said twice would be one message.
        messages = [{"role": role, "content": words, "message_id": str(uuid4())} for role, words in said]
        now = datetime.now().astimezone()
        return self.memory.add(messages, user_id=self.user_id, session_id=self.session_id, at=now)

    def _as_variable(self, hits: Sequence[Hit]) -> Any:
        if self.return_docs:
            return [hit_to_document(hit) for hit in hits]
        named = [replace(hit, item=self._named(hit.item)) for hit in hits]
        block = render_context(named, max_tokens=self.max_tokens, tokenizer=self.memory.reader.tokenizer)
        if self.return_messages:
            return [SystemMessage(block)] if block else []
        return block

    def _named(self, item: TextualMemoryItem) -> TextualMemoryItem:
        """Return a turn (or window) with its speakers called as this chain calls them; a statement as it is."""
        sources = item.metadata.sources
        if not item.metadata.is_fast or not sources or any(source.type != "chat" for source in sources):
            return item
        prefixes = {"user": self.human_prefix, "assistant": self.ai_prefix}
        lines = [
            f"{source.name or prefixes.get(source.role or '', source.role)}: {source.content}" for source in sources
        ]
        return item.model_copy(update={"memory": "\n".join(lines)})


def _pick(
    values: Mapping[str, Any], key: str | None, known: Sequence[str], what: str, passed_over: Iterable[str] = ()
) -> str:
    """Return the key that holds what was said: the one that was set, the only one, or the first known one.

    Raises:
        ValueError: There is none.
    """
    if key is not None:
        if key not in values:
            raise ValueError(f"{what}_key={key!r} is not among the {what}s {sorted(values)}")
        return key
    candidates = [name for name in values if name not in passed_over]
    if len(candidates) == 1:
        return candidates[0]
    found = next((name for name in known if name in candidates), None)
    if found is None:
        raise ValueError(f"which {what} was said? There are {sorted(candidates)}: set {what}_key")
    return found


def _text(value: Any) -> str:
    """Return what was said as text: a string, a message, or the last of a list of messages."""
    if isinstance(value, list | tuple) and value and isinstance(value[-1], BaseMessage):
        value = value[-1]
    return str(value.text if isinstance(value, BaseMessage) else value)
