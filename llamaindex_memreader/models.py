"""LlamaIndex's LLMs as chat models of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ContentBlock, ImageBlock, TextBlock
from llama_index.core.llms import LLM, CustomLLM

from memreader.ports import Reply, Usage

_ENDS = ("finish_reason", "stop_reason", "done_reason")
_CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count", "prompt_eval_count")
_ANSWER = ("completion_tokens", "output_tokens", "candidates_token_count", "eval_count")


def as_chat_model(llm: LLM, *, name: str | None = None) -> LlamaIndexChatModel:
    """Return any LlamaIndex LLM as a chat model for `Memory.open(..., llm=...)`.

    Args:
        llm: The model.
        name: Its name, for people; by default its class and the model it names.
    """
    kind, model = llm.class_name(), llm.metadata.model_name
    return LlamaIndexChatModel(llm, name or (f"{kind}({model})" if model and model != "unknown" else kind))


@dataclass(frozen=True, slots=True)
class LlamaIndexChatModel:
    """Answers by an LLM's `chat` and `achat`; a wanted schema is left to the prompt, which describes the answer.

    Tokens are counted where the provider's own answer, kept as `raw`, tells them; else they are 0.
    """

    llm: LLM
    name: str

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None) -> Reply:  # noqa: ARG002 - the port's
        """Return the answer to `messages`; raises whatever the model does."""
        return _reply(self.llm.chat([_message(message) for message in messages]))

    async def acomplete(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """Return the same as `complete`, without blocking the event loop."""
        if isinstance(self.llm, CustomLLM):
            # Its async methods are the blocking ones.
            return await asyncio.to_thread(self.complete, messages, schema=schema)
        return _reply(await self.llm.achat([_message(message) for message in messages]))


def _message(message: Mapping[str, Any]) -> ChatMessage:
    content = message["content"]
    if isinstance(content, str):
        return ChatMessage(role=message["role"], content=content)
    return ChatMessage(role=message["role"], blocks=[_block(part) for part in content])


def _block(part: Mapping[str, Any]) -> ContentBlock:
    if part.get("type") != "image_url":
        return TextBlock(text=str(part.get("text", "")))
    image = part["image_url"]
    return ImageBlock(url=image["url"] if isinstance(image, Mapping) else image)


def _reply(response: ChatResponse) -> Reply:
    return Reply(response.message.content or "", _usage(response), _is_cut_short(response.raw))


def _usage(response: ChatResponse) -> Usage:
    places = [_get(response.raw, "usage"), _get(response.raw, "usage_metadata"), response.raw]
    places.append(response.additional_kwargs)
    return Usage(1, *(next(_counts(places, names), 0) for names in (_PROMPT, _ANSWER)))


def _counts(places: Sequence[Any], names: Sequence[str]) -> Iterator[int]:
    for place in places:
        for name in names:
            count = _get(place, name)
            if isinstance(count, int) and count > 0:
                yield count


def _is_cut_short(raw: Any) -> bool:
    choices = _get(raw, "choices")
    choice = choices[0] if isinstance(choices, Sequence) and choices else None
    reasons = (_get(place, end) for place in (choice, raw) for end in _ENDS)
    return any(isinstance(reason, str) and reason.lower() in _CUT_SHORT for reason in reasons)


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
