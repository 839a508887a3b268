"""Whose memories a call is about: fixed, told by a function, or told by what the call brings with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.runnables import ensure_config

from memreader.types import Scope

Who: TypeAlias = str | Callable[[Any], str | None]
"""An id, or what returns it: of a chain's inputs, or of an agent's runtime."""


def told_by_inputs(value: Who | None, key: str | None, inputs: Mapping[str, Any]) -> str | None:
    """Return the id that is fixed, that the function tells, or that stands in the inputs under `key`; None for none.

    Raises:
        ValueError: The inputs have no such key.
    """
    if key is None:
        return value(inputs) if callable(value) else value
    if key not in inputs:
        raise ValueError(f"the inputs lack {key!r}, which says whose memories they are about. Give it to the chain.")
    told: str | None = inputs[key]
    return told


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """Whose memories an agent's run is about: never what the model says, always what the run was started with.

    What is not given is looked for in the runtime's context, then in `config["configurable"]`, under its own name;
    the session is then the thread.

    Args:
        user_id: An id, or a function of the runtime.
        session_id: Likewise.
        agent_id: Likewise; no label by default.
    """

    user_id: Who | None = None
    session_id: Who | None = None
    agent_id: Who | None = None

    def __post_init__(self) -> None:
        user, *labels = (None if callable(who) else who for who in (self.user_id, self.session_id, self.agent_id))
        Scope("anybody" if user is None else user, *labels)

    def scope(self, runtime: Any) -> Scope:
        """Return whose memories the run under way is about.

        Raises:
            ValueError: Nothing says whose.
        """
        configured = ensure_config().get("configurable", {})
        user_id = _told(self.user_id, "user_id", runtime, configured)
        if user_id is None:
            raise ValueError(
                "nothing says whose memories these are. Give user_id=, or run the agent with "
                "context={'user_id': ...} or config={'configurable': {'user_id': ...}}."
            )
        session_id = _told(self.session_id, "session_id", runtime, configured)
        if session_id is None and self.session_id is None:
            session_id = configured.get("thread_id")
        agent_id = None if self.agent_id is None else _told(self.agent_id, "agent_id", runtime, configured)
        return Scope(user_id, session_id, agent_id)


def labels(scope: Scope) -> dict[str, str | None]:
    """Return what every verb of a memory takes to be about this scope."""
    return {"user_id": scope.user_id, "session_id": scope.session_id, "agent_id": scope.agent_id}


def _told(value: Who | None, name: str, runtime: Any, configured: Mapping[str, Any]) -> str | None:
    if value is not None:
        return value(runtime) if callable(value) else value
    context = getattr(runtime, "context", None)
    told: str | None = context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
    return configured.get(name) if told is None else told
