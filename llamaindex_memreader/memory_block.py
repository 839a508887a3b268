"""A memory block: what speaks to the present question is recalled, what was said is kept, from the first turn on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self, TypeAlias

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, field_serializer, model_validator
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer

from llamaindex_memreader.filters import Filters, as_filter
from llamaindex_memreader.hearing import heard_of
from llamaindex_memreader.recalling import Notes, Wanted, fitting, without
from llamaindex_memreader.saving import save_boundary
from llamaindex_memreader.turns import question_of, to_keep, without_repeated_question
from memreader import AddReport, Memory
from memreader.recall import check_search
from memreader.types import Recall, Scope

Who: TypeAlias = str | Callable[[str | None], str | None]
"""An id of a user, or what returns it, given the session's."""


class MemReaderMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory for LlamaIndex's `Memory`: `Memory.from_defaults(session_id=..., memory_blocks=[block])`.

    Whenever the chat's messages are asked for, it recalls what speaks to the user's present message and is not in the
    buffer, quoted, as notes and not as instructions. What users and assistants say is kept at the same time, each
    message once, not only when it leaves the buffer: a short chat is remembered too. An answer is kept with the next
    question, by an agent at the end of its run; `remember` keeps the last one of a chat engine. Keeping never fails the
    chat: `on_report` and the log say what went wrong. One block may serve many users and sessions at once.

    A ReActAgent drops the first system message, with the notes in it, unless it has a `system_prompt` of its own; else
    give `Memory.from_defaults` `insert_method=InsertMethod.USER`.

    LlamaIndex's messages have no ids. Who said what, and how often in the session, tells them apart, or a `message_id`
    in `additional_kwargs`. Only where a buffer begins anew under an old session's name, the same words of the same
    speaker count as the same message.

    Args:
        memory: Where the memories are.
        user_id: Whose: an id, or a function that returns it, given the session's id. None: each call says it,
            `chat.get(user_id=...)`. A chat's buffer is one user's.
        agent_id: Label of what is kept, and of all that is recalled; None for no label.
        top_k: How many memories at most.
        max_tokens: Upper bound of what is recalled, in tokens of the memory's tokenizer.
        threshold: None for the calibrated floor, 0 for none, else the least score.
        filters: Only memories for which they hold: LlamaIndex's `MetadataFilters`, or a filter as `Memory.search` takes
            it.
        recall: "user" recalls from all sessions of the user, "session" only from the present one.
        immediate: False keeps only what leaves the buffer, and what is given to `remember` and `aput`.
        write_mode: "fast" keeps what was said, for `Memory.refine_in_background` to have it read by a model; "fine" has
            the model read it before the chat goes on.
        tokenizer_fn: The one given to LlamaIndex's `Memory`, if one was: over its limit, its tokens count.
        on_report: Called with the report of each keeping.
        name: Of the block among others.
        description: LlamaIndex's.
        priority: Of truncation when the whole is over LlamaIndex's limit, 1 the last to be cut; 0 for never. The least
            relevant memories go first.
        accept_short_term_memory: False doesn't keep what leaves the buffer.

    Raises:
        ModelRequiredError: `write_mode` needs a model, and the memory has none.
        ValueError: A setting makes no sense.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    user_id: Who | None = None
    agent_id: str | None = None
    top_k: int = 5
    max_tokens: int = Field(default=800, ge=1)
    threshold: float | None = None
    filters: Filters | None = None
    recall: Recall = "user"
    immediate: bool = True
    write_mode: Literal["fast", "fine"] = "fast"
    tokenizer_fn: Callable[[str], Sequence[Any]] | None = Field(default=None, exclude=True, repr=False)
    on_report: Callable[[AddReport], None] | None = Field(default=None, exclude=True, repr=False)
    name: str = "memreader"
    priority: int = 1

    @model_validator(mode="after")
    def _check(self) -> Self:
        Scope(self.user_id if isinstance(self.user_id, str) else "anybody", None, self.agent_id)
        check_search("", top_k=self.top_k, threshold=self.threshold, recall=self.recall, session_id="any")
        as_filter(self.filters)
        self.memory.reader.checked_mode(self.write_mode)
        return self

    @field_serializer("user_id")
    def _told(self, user_id: Who | None) -> str | None:
        return user_id if isinstance(user_id, str) else None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return a block on the same open memory, which can't be copied."""
        return self.model_copy()

    def remember(
        self, messages: Sequence[ChatMessage], *, session_id: str | None = None, user_id: str | None = None
    ) -> AddReport:
        """Keep what was said now, and return what that did; what is kept already is left out.

        Args:
            messages: Of one chat, from the first on, or from the first in its buffer on: `chat_engine.chat_history`.
            session_id: The chat's.
            user_id: Whose, where the block doesn't know it.
        """
        report = AddReport()
        with save_boundary(report, "a chat was not kept"):
            scope = self._scope(session_id, user_id)
            report = self._add(scope, heard_of(self.memory).identified(scope, to_keep(messages)))
        return self._reported(report)

    async def aremember(
        self, messages: Sequence[ChatMessage], *, session_id: str | None = None, user_id: str | None = None
    ) -> AddReport:
        """Do the same as `remember`, without blocking the event loop."""
        return await asyncio.to_thread(self.remember, messages, session_id=session_id, user_id=user_id)

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
        user_id: str | None = None,
    ) -> None:
        """Keep what was said; what leaves the buffer, if it is not kept already. The messages are not changed."""
        if not from_short_term_memory:
            await self.aremember(messages, session_id=session_id, user_id=user_id)
        elif self.accept_short_term_memory:
            await asyncio.to_thread(self._flush, messages, session_id, user_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aremember(messages)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        **block_kwargs: Any,  # noqa: ARG002 - other blocks may be told something
    ) -> str:
        return await asyncio.to_thread(self._get, messages or [], self._scope(session_id, user_id))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the notes without the least relevant ones, at least so many tokens shorter; None if nothing is left.

        Args:
            content: What `aget` gave; of anything else nothing is left.
            tokens_to_truncate: Counted by `tokenizer_fn`.
        """
        if not isinstance(content, Notes):
            return None
        count = self.tokenizer_fn or get_tokenizer()
        return await asyncio.to_thread(_shorter, self.memory, content, tokens_to_truncate, lambda t: len(count(t)))

    def _get(self, messages: Sequence[ChatMessage], scope: Scope) -> str:
        report, said = AddReport(), list[Mapping[str, Any]]()
        heard = heard_of(self.memory)
        with save_boundary(report, "a chat was not kept"):
            said.extend(heard.identified(scope, to_keep(messages)))
        notes = self._notes(question_of(messages), scope, said)
        settled = without_repeated_question(said)
        heard.ask(scope, settled)
        new = heard.unheard(scope, settled) if self.immediate else []
        if new:
            with save_boundary(report, "a chat was not kept"):
                report = self._add(scope, new)
        if report != AddReport():
            self._reported(report)
        return notes

    def _notes(self, question: str, scope: Scope, said: Sequence[Mapping[str, Any]]) -> str:
        search = {
            **_labels(scope),
            "top_k": self.top_k,
            "threshold": self.threshold,
            "recall": self.recall,
            "filter": without(as_filter(self.filters), [message["message_id"] for message in said]),
        }
        return fitting(self.memory, Wanted(question, search, self.name), max_tokens=self.max_tokens)

    def _flush(self, messages: Sequence[ChatMessage], session_id: str | None, user_id: str | None) -> None:
        report = AddReport()
        with save_boundary(report, "what left the buffer was not kept"):
            heard = heard_of(self.memory)
            scope = self._scope(session_id, user_id or self._only_user(session_id))
            said = heard.identified(scope, to_keep(messages))
            heard.leave(scope, said)
            new = heard.unheard(scope, said)
            report = self._add(scope, new) if new else report
        self._reported(report)

    def _add(self, scope: Scope, said: Sequence[Mapping[str, Any]]) -> AddReport:
        if not said:
            return AddReport()
        report = self.memory.add(said, **_labels(scope), mode=self.write_mode, at=datetime.now().astimezone())
        heard_of(self.memory).keep(scope, said)
        return report

    def _reported(self, report: AddReport) -> AddReport:
        if self.on_report is not None:
            with save_boundary(report, "on_report failed"):
                self.on_report(report)
        return report

    def _scope(self, session_id: str | None, user_id: str | None) -> Scope:
        if user_id is None:
            user_id = self.user_id(session_id) if callable(self.user_id) else self.user_id
        if user_id is None:
            raise ValueError("nothing says whose memories these are. Give the block user_id=, or chat.get(user_id=).")
        return Scope(user_id, session_id, self.agent_id)

    def _only_user(self, session_id: str | None) -> str | None:
        """Return whose session it is, if each call says it: what leaves the buffer comes without a user."""
        if self.user_id is not None:
            return None
        users = heard_of(self.memory).users_of(session_id)
        return users.pop() if len(users) == 1 else None


def _labels(scope: Scope) -> dict[str, Any]:
    return {"user_id": scope.user_id, "session_id": scope.session_id, "agent_id": scope.agent_id}


def _shorter(memory: Memory, notes: Notes, tokens: int, count: Callable[[str], int]) -> str | None:
    """Return the notes at least so many tokens shorter, as `count` counts; None if nothing is left."""
    if tokens <= 0 or not notes:
        return notes or None
    size, most = count(notes), count(notes) - tokens
    # The other tokenizer may count characters.
    rate = memory.reader.tokenizer.count(notes) / size
    # Taken one by one, a line needs up to two tokens more than it has in the whole.
    room = int(most * rate) + 2 * len(notes.splitlines())
    while most > 0 and room > 0:
        kept = fitting(memory, notes.wanted, max_tokens=room)
        if count(kept) <= most:
            return kept or None
        room -= max(1, int((count(kept) - most) * rate))
    return None
