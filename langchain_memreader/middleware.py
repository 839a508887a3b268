"""Memory for agents made by `create_agent`: recalls before the model, remembers after the agent, offers two tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from langchain_memreader.identity import AgentIdentity, Who, labels
from langchain_memreader.recalling import without
from langchain_memreader.saving import OnReport, Said, Saver, WriteMode
from langchain_memreader.tools import SaveMemoryTool, SearchMemoryTool
from langchain_memreader.turns import Notes, Turn, question_of, to_keep, with_notes
from memreader import Memory
from memreader.types import Recall

State: TypeAlias = AgentState[Any]
Request: TypeAlias = ModelRequest[Any]
Response: TypeAlias = ModelResponse[Any]
ToolName: TypeAlias = Literal["search_memory", "save_memory"]


class MemReaderMiddleware(AgentMiddleware[State, Any, Any]):
    """Gives an agent a memory: `create_agent(model, tools, middleware=[MemReaderMiddleware(memory)])`.

    Once per turn of the user it recalls what speaks to what was said and is not in sight of the model; the model reads
    it at the end of the system prompt, quoted, as notes and not as instructions, and it never becomes part of the
    agent's state. When the agent has ended, what user and assistant said is kept, each message once, by its id. A run
    that fails keeps nothing. Keeping never fails the run: `on_report` and the log say what went wrong.

    Whose memories these are is what the run was started with: `user_id`, else the `user_id` of the runtime's context,
    else that of `config["configurable"]`; never what a model says. One object may serve many users at once.

    Args:
        memory: Where the memories are.
        user_id: Whose: an id, or a function that returns it, given the runtime.
        session_id: Label of what is kept; likewise, or the thread's id.
        agent_id: Label of what is kept, and of all that is recalled; an id or a function; None for no label.
        k: How many memories at most.
        max_tokens: Upper bound of what is recalled.
        threshold: None for the calibrated floor, 0 for none, else the least score.
        filter: Only memories for which it holds; see `memreader.filters`.
        mode: "user" recalls from all sessions of the user, "session" only from the present one.
        recall: False recalls nothing by itself; the model has the tools.
        remember: False keeps nothing by itself.
        remember_tools: Whether what tools answered is kept too.
        tools: Which of `search_memory` and `save_memory` the model is offered.
        write_mode: "fast" keeps what was said; "fine" has a language model read it before the run ends;
            "fast_then_refine" afterwards, in the background. None: "fast_then_refine" if the memory has a model.
        on_report: Called with the report of each keeping, and of each refining in the background, from its thread.

    Raises:
        ModelRequiredError: `write_mode` needs a model, and the memory has none.
        ValueError: A setting makes no sense.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: Who | None = None,
        session_id: Who | None = None,
        agent_id: Who | None = None,
        k: int = 5,
        max_tokens: int = 800,
        threshold: float | None = None,
        filter: Mapping[str, Any] | None = None,
        mode: Recall = "user",
        recall: bool = True,
        remember: bool = True,
        remember_tools: bool = False,
        tools: Sequence[ToolName] = ("search_memory", "save_memory"),
        write_mode: WriteMode | None = None,
        on_report: OnReport | None = None,
    ) -> None:
        super().__init__()
        whose: dict[str, Any] = {"user_id": user_id, "session_id": session_id, "agent_id": agent_id}
        search: dict[str, Any] = {"threshold": threshold, "filter": None if filter is None else dict(filter)}
        offered: dict[str, BaseTool] = {
            # It checks the settings, too.
            "search_memory": SearchMemoryTool(memory=memory, k=k, max_tokens=max_tokens, mode=mode, **search, **whose),
            "save_memory": SaveMemoryTool(memory=memory, **whose),
        }
        if unknown := sorted(set(tools) - set(offered)):
            raise ValueError(f"there are no tools {unknown}, only {sorted(offered)}")
        self.memory = memory
        self.tools = [offered[name] for name in tools]
        self._identity = AgentIdentity(**whose)
        self._search = {"top_k": k, "max_tokens": max_tokens, "threshold": threshold, "recall": mode}
        self._filter = search["filter"]
        self._recalls, self._remembers, self._remembers_tools = recall, remember, remember_tools
        self._saver = Saver(memory, write_mode=write_mode, on_report=on_report)
        self._notes = Notes()

    def before_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """Recall for the turn that begins; anew if a run of it failed before, since memories may have gone since."""
        wanted = self._wanted(state["messages"], runtime)
        if wanted is not None:
            self._notes.put(wanted.turn, self.memory.context(**wanted.search))

    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """Do the same as `before_agent`, without blocking the event loop."""
        wanted = self._wanted(state["messages"], runtime)
        if wanted is not None:
            self._notes.put(wanted.turn, await self.memory.acontext(**wanted.search))

    def wrap_model_call(self, request: Request, handler: Callable[[Request], Response]) -> Response:
        """Call the model with what was recalled at the end of its system prompt."""
        wanted = self._wanted(request.messages, request.runtime)
        if wanted is None:
            return handler(request)
        notes = self._notes.get(wanted.turn)
        if notes is None:  # A run that goes on, after an interrupt, in another process.
            notes = self.memory.context(**wanted.search)
            self._notes.put(wanted.turn, notes)
        return handler(_noted(request, notes))

    async def awrap_model_call(self, request: Request, handler: Callable[[Request], Awaitable[Response]]) -> Response:
        """Do the same as `wrap_model_call`, without blocking the event loop."""
        wanted = self._wanted(request.messages, request.runtime)
        if wanted is None:
            return await handler(request)
        notes = self._notes.get(wanted.turn)
        if notes is None:
            notes = await self.memory.acontext(**wanted.search)
            self._notes.put(wanted.turn, notes)
        return await handler(_noted(request, notes))

    def after_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """Keep what was said and is not kept yet; whatever goes wrong is logged and reported, never raised."""
        self._forget(state, runtime)
        if self._remembers:
            self._saver.save(lambda: self._said(state, runtime))

    async def aafter_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """Do the same as `after_agent`, without blocking the event loop."""
        self._forget(state, runtime)
        if self._remembers:
            await self._saver.asave(lambda: self._said(state, runtime))

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until what was kept is refined; return whether it is. See `write_mode`.

        Args:
            timeout_s: At most so long; None until it is.
        """
        return self._saver.flush(timeout_s)

    async def aflush(self, timeout_s: float | None = None) -> bool:
        """Return the same as `flush`, without blocking the event loop."""
        return await self._saver.aflush(timeout_s)

    def close(self, timeout_s: float | None = None) -> bool:
        """Flush, and leave what is kept afterwards as it was said; the memory stays open."""
        return self._saver.close(timeout_s)

    async def aclose(self, timeout_s: float | None = None) -> bool:
        """Return the same as `close`, without blocking the event loop."""
        return await asyncio.to_thread(self.close, timeout_s)

    def _wanted(self, messages: Sequence[BaseMessage], runtime: Any) -> _Wanted | None:
        question = question_of(messages) if self._recalls else None
        if question is None:
            return None
        scope = self._identity.scope(runtime)
        search = {**self._search, **labels(scope), "filter": without(self._filter, (m.id for m in messages))}
        turn = (scope.user_id, scope.session_id, question.id or str(question.text))
        return _Wanted(turn, {**search, "query": str(question.text)})

    def _forget(self, state: State, runtime: Any) -> None:
        wanted = self._wanted(state["messages"], runtime)
        if wanted is not None:
            self._notes.drop(wanted.turn)

    def _said(self, state: State, runtime: Any) -> Said:
        messages = list(to_keep(state["messages"], tools=self._remembers_tools))
        return Said(self._identity.scope(runtime), messages)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be recalled: for which turn, and how it is looked for."""

    turn: Turn
    search: dict[str, Any]


def _noted(request: Request, notes: str) -> Request:
    return request.override(system_message=with_notes(request.system_message, notes)) if notes else request
