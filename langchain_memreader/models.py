"""LangChain's chat models as chat models of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableBinding

from memreader.ports import Reply, Usage

_NAMES = ("model", "model_name", "model_id", "deployment_name", "azure_deployment", "repo_id")
_ENDS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
_CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})


def as_chat_model(model: Runnable[LanguageModelInput, BaseMessage], *, name: str | None = None) -> LangChainChatModel:
    """Return any LangChain chat model as one for `Memory.open(..., llm=...)`.

    Args:
        model: The model, or what was made of it by `bind`, `with_retry`, `with_fallbacks` and the like.
        name: Its name, for people; by default its class and the model it names.
    """
    return LangChainChatModel(model, name or _name_of(model))


@dataclass(frozen=True, slots=True)
class LangChainChatModel:
    """Answers by a LangChain model's `invoke` and `ainvoke`.

    A wanted schema is left to the prompt, which describes the answer anyway: LangChain's ways to ask for one differ
    from provider to provider and fail where a model knows none. If yours takes a response format, bind it:
    `as_chat_model(model.bind(response_format={"type": "json_object"}))`.
    """

    model: Runnable[LanguageModelInput, BaseMessage]
    name: str

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None) -> Reply:  # noqa: ARG002 - the port's
        """Return the answer to `messages`; raises whatever the model does."""
        return _reply(self.model.invoke(convert_to_messages([dict(message) for message in messages])))

    async def acomplete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002 - the port's
    ) -> Reply:
        """Return the same as `complete`, without blocking the event loop."""
        return _reply(await self.model.ainvoke(convert_to_messages([dict(message) for message in messages])))


def _reply(answer: BaseMessage) -> Reply:
    told = answer.response_metadata
    return Reply(str(answer.text), _usage(answer, told), _is_cut_short(told))


def _usage(answer: BaseMessage, told: Mapping[str, Any]) -> Usage:
    counts: Mapping[str, Any] = (answer.usage_metadata if isinstance(answer, AIMessage) else None) or {}
    names = ("input_tokens", "output_tokens")
    if not counts:
        # As integrations did before there was `usage_metadata`.
        older = told.get("token_usage")
        counts, names = older if isinstance(older, Mapping) else {}, ("prompt_tokens", "completion_tokens")
    found = (counts.get(name) for name in names)
    return Usage(1, *(count if isinstance(count, int) and count > 0 else 0 for count in found))


def _is_cut_short(told: Mapping[str, Any]) -> bool:
    incomplete = told.get("incomplete_details")
    reasons = [told.get(end) for end in _ENDS] + [incomplete.get("reason") if isinstance(incomplete, Mapping) else None]
    return any(isinstance(reason, str) and reason.lower() in _CUT_SHORT for reason in reasons)


def _name_of(model: Any) -> str:
    while isinstance(model, RunnableBinding):
        model = model.bound
    kind = type(model).__name__
    named = (getattr(model, attribute, None) for attribute in _NAMES)
    known = next((value for value in named if isinstance(value, str) and value), None)
    return kind if known is None else f"{kind}({known})"
