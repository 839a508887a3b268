"""Chain memory: what speaks to the question is recalled before the model runs, what was said is kept afterwards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from langchain_memreader.documents import hit_to_document
from langchain_memreader.identity import Who, told_by_inputs
from langchain_memreader.messages import to_langchain
from langchain_memreader.recalling import fitting, quoted, transcript, without
from langchain_memreader.saving import OnReport, Said, Saver, WriteMode
from memreader import AddReport, Hit, Memory, Message
from memreader.types import Scope

logger = logging.getLogger(__name__)

_INPUT_KEYS = ("input", "question", "query", "text")
_OUTPUT_KEYS = ("output", "answer", "response", "text", "result")


class MemReaderMemory(BaseMemory):
    """Remembers what was said in any session of a user, and recalls what speaks to the present question.

    Recalled words reach the model quoted, as notes and not as instructions. Saving never fails the chain: `on_report`,
    `last_report` and the log say what went wrong. Every message is saved once, under an id of its own and with the time
    of saving. One object may serve many users at once, if each call says whose it is.

    Args:
        memory: Where the memories are.
        user_id: Whose memories: an id, or a function that returns it, given the chain's inputs.
        user_id_key: In its place, the input that holds the id.
        session_id: Label of what is saved, and what `buffer_turns` and `clear()` are about; likewise.
        session_id_key: In its place, the input that holds it.
        memory_key: The prompt's variable for what is recalled.
        input_key: The chain's input that is searched for and saved; by default the only one, or input, question, query
            or text, whichever comes first.
        output_key: The chain's output that is saved; by default the only one, or output, answer, response,
            text or result, whichever comes first.
        exclude_input_keys: Inputs that are never taken for the question.
        return_messages: Give a list of messages (one system message, none when nothing is found, then the recent turns)
            in place of a string, as a `MessagesPlaceholder` or `ConversationalRetrievalChain` wants it.
        return_docs: Give Documents with scores and sources, which are not quoted.
        human_prefix: How a user is called.
        ai_prefix: How an assistant is called.
        k: How many memories at most.
        threshold: None for the calibrated floor, 0 for none, else the least score.
        max_tokens: Upper bound of everything given. The recent turns come first, the last of them before earlier ones;
            a memory that doesn't fit into the rest is left out.
        buffer_turns: How many of the session's last turns, a question and an answer each, follow what is recalled, as
            they were said. What was made of them is not recalled then.
        write_mode: "fast" keeps what was said; "fine" has a language model read it before the chain goes on;
            "fast_then_refine" afterwards, in the background. None: "fast_then_refine" if the memory has a model.
        on_report: Called with the report of each saving, and of each refining in the background, from its thread.
        clear_scope: Whether `clear()` deletes the session's memories or all of the user's.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    user_id: Who | None = None
    user_id_key: str | None = None
    session_id: Who | None = None
    session_id_key: str | None = None
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
    buffer_turns: int = Field(default=0, ge=0)
    write_mode: WriteMode | None = None
    on_report: OnReport | None = Field(default=None, exclude=True, repr=False)
    clear_scope: Literal["session", "user"] = "session"
    _saver: Saver = PrivateAttr()

    @model_validator(mode="after")
    def _check(self) -> MemReaderMemory:
        if (self.user_id is None) == (self.user_id_key is None):
            raise ValueError("set either user_id or user_id_key: whose memories these are")
        if self.session_id is not None and self.session_id_key is not None:
            raise ValueError("session_id and session_id_key exclude each other. Set one of them.")
        if self.return_docs and (self.return_messages or self.buffer_turns):
            raise ValueError("return_docs excludes return_messages and buffer_turns. Set one of them.")
        fixed = [who if isinstance(who, str) else None for who in (self.user_id, self.session_id)]
        Scope("anybody" if fixed[0] is None else fixed[0], fixed[1])
        self._saver = Saver(self.memory, write_mode=self.write_mode, on_report=self.on_report)
        return self

    @property
    def memory_variables(self) -> list[str]:
        """The one variable that this memory gives to the prompt."""
        return [self.memory_key]

    @property
    def last_report(self) -> AddReport | None:
        """What the last saving in this thread or task did; a failed one is in its `failures`. None before the first."""
        return self._saver.last_report

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what is remembered about the question: a string, "" for nothing; or messages or Documents.

        Raises:
            ValueError: The inputs don't tell which of them is the question, or whose memories they are about.
        """
        question, scope = self._question(inputs), self._scope(inputs)
        recent = self._recent(scope)
        hits = self.memory.search(
            question,
            user_id=scope.user_id,
            session_id=scope.session_id,
            top_k=self.k,
            threshold=self.threshold,
            filter=without(None, (message.message_id for message in recent)),
        )
        return {self.memory_key: self._as_variable(hits, recent)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the same as `load_memory_variables`, without blocking the event loop."""
        return await asyncio.to_thread(self.load_memory_variables, inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Keep the question and the answer; whatever goes wrong is logged and reported, never raised."""
        self._saver.save(lambda: self._said(inputs, outputs))

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Do the same as `save_context`, without blocking the event loop."""
        await self._saver.asave(lambda: self._said(inputs, outputs))

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until what was saved is refined; return whether it is. See `write_mode`.

        Args:
            timeout_s: At most so long; None until it is.
        """
        return self._saver.flush(timeout_s)

    async def aflush(self, timeout_s: float | None = None) -> bool:
        """Return the same as `flush`, without blocking the event loop."""
        return await self._saver.aflush(timeout_s)

    def close(self, timeout_s: float | None = None) -> bool:
        """Flush, and leave what is saved afterwards as it was said; the memory stays open."""
        return self._saver.close(timeout_s)

    async def aclose(self, timeout_s: float | None = None) -> bool:
        """Return the same as `close`, without blocking the event loop."""
        return await asyncio.to_thread(self.close, timeout_s)

    def clear(self) -> None:
        """Delete the memories and messages of the session, or with `clear_scope="user"` all of the user's.

        With neither a session nor that scope nothing is deleted, and the log says so. A function that tells user or
        session is called with no inputs.

        Raises:
            ValueError: User or session stand in the chain's inputs, and there are none here.
        """
        session_id = None
        if self.clear_scope == "session":
            session_id = told_by_inputs(self.session_id, self.session_id_key, {})
            if session_id is None:
                logger.warning(
                    "nothing was cleared: set session_id, or clear_scope='user' to delete all of the user's memories"
                )
                return
        user_id = told_by_inputs(self.user_id, self.user_id_key, {})
        self.memory.delete_all(user_id=user_id or "", session_id=session_id)

    async def aclear(self) -> None:
        """Do the same as `clear`, without blocking the event loop."""
        await asyncio.to_thread(self.clear)

    def _scope(self, inputs: Mapping[str, Any]) -> Scope:
        user_id = told_by_inputs(self.user_id, self.user_id_key, inputs)
        return Scope(user_id or "", told_by_inputs(self.session_id, self.session_id_key, inputs))

    def _question(self, inputs: Mapping[str, Any]) -> str:
        ids = {key for key in (self.user_id_key, self.session_id_key) if key is not None}
        passed_over = {self.memory_key, "stop", *ids, *self.exclude_input_keys}
        return _text(inputs[_pick(inputs, self.input_key, _INPUT_KEYS, "input", passed_over)])

    def _said(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Said:
        answer = _text(outputs[_pick(outputs, self.output_key, _OUTPUT_KEYS, "output")])
        said = [("user", self._question(inputs)), ("assistant", answer)]
        # LangChain gives no ids here: without one, "yes" said twice would be one message.
        messages = [{"role": role, "content": words, "message_id": str(uuid4())} for role, words in said]
        return Said(self._scope(inputs), messages)

    @property
    def _prefixes(self) -> dict[str, str]:
        return {"user": self.human_prefix, "assistant": self.ai_prefix}

    def _recent(self, scope: Scope) -> list[Message]:
        if not self.buffer_turns:
            return []
        said = self.memory.recent_messages(
            user_id=scope.user_id, session_id=scope.session_id, limit=2 * self.buffer_turns
        )
        return fitting(said, self._prefixes, max_tokens=self.max_tokens, tokenizer=self.memory.reader.tokenizer)

    def _as_variable(self, hits: Sequence[Hit], recent: Sequence[Message]) -> Any:
        if self.return_docs:
            return [hit_to_document(hit) for hit in hits]
        tokenizer, turns = self.memory.reader.tokenizer, transcript(recent, self._prefixes)
        # One more than counted alone: joining the two can add a token for the line break.
        left = self.max_tokens - (tokenizer.count(turns) + 1 if turns else 0)
        block = quoted(hits, self._prefixes, max_tokens=left, tokenizer=tokenizer)
        if self.return_messages:
            return [*([SystemMessage(block)] if block else []), *to_langchain(recent)]
        return "\n".join(part for part in (block, turns) if part)


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
