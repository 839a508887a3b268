"""Options that say which language model reads, how patiently it is asked, and what that may cost."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

import memreader
from memreader.cli.failing import UsageError
from memreader.cli.options import was_typed
from memreader.cli.screen import counted
from memreader.errors import MissingExtraError
from memreader.ports import Usage

if TYPE_CHECKING:
    from memreader.distill import ModelSettings

ModeName: TypeAlias = Literal["fast", "fine"]

KEY, OPENAI_KEY = "MEMREADER_API_KEY", "OPENAI_API_KEY"
"""Variables that may hold the endpoint's key; the second is meant for OpenAI's endpoint and goes nowhere else."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PANEL = "Language model"


def checked_address(value: str | None) -> str | None:
    """Return the address of an endpoint; what is none is wrong usage, and not repeated: it may hold a password."""
    if value is not None and not re.match(r"https?://[^/\s]", value.strip(), re.IGNORECASE):
        raise typer.BadParameter("must begin with http:// or https:// and name a host")
    return value


def checked_name(value: str | None) -> str | None:
    """Return the name of a model; a blank one is wrong usage."""
    if value is not None and not value.strip():
        raise typer.BadParameter("is empty")
    return value


def checked_variable(value: str | None) -> str | None:
    """Return the name of a variable; anything else could be the key itself, and is not repeated."""
    if value is not None and not _VARIABLE.fullmatch(value):
        raise typer.BadParameter("must be the name of a variable that holds the key, never the key itself")
    return value


def checked_number(value: float | None) -> float | None:
    """Return a number that things can be counted by."""
    if value is not None and not isfinite(value):
        raise typer.BadParameter(f"{value} is no number")
    return value


Mode = Annotated[
    ModeName,
    typer.Option(
        "--mode",
        help="fast keeps what was said as it stands, without a language model; fine has one make memories of it, too.",
        rich_help_panel=_PANEL,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        envvar="MEMREADER_MODEL",
        callback=checked_name,
        help="The language model's name at its endpoint.",
        rich_help_panel=_PANEL,
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        envvar="MEMREADER_BASE_URL",
        callback=checked_address,
        help="An OpenAI-compatible endpoint, such as http://localhost:11434/v1; OpenAI's own without it.",
        rich_help_panel=_PANEL,
    ),
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        "--api-key-env",
        metavar="VAR",
        callback=checked_variable,
        help=f"Name of the variable that holds the endpoint's key. By default {KEY}; for OpenAI's own endpoint "
        f"{OPENAI_KEY}, too. An endpoint on this machine needs none.",
        rich_help_panel=_PANEL,
    ),
]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        "--max-calls",
        metavar="N",
        min=0,
        help="Calls of the model at most; the rest stays raw.",
        rich_help_panel=_PANEL,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        min=0,
        help="Tokens, of prompts and answers, after which no more calls are made; the rest stays raw.",
        rich_help_panel=_PANEL,
    ),
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, help="Calls at once.", rich_help_panel=_PANEL)
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.001,
        metavar="SECONDS",
        callback=checked_number,
        help="For one try of one call.",
        rich_help_panel=_PANEL,
    ),
]
PriceIn = Annotated[
    float | None,
    typer.Option(
        "--price-in",
        metavar="PRICE",
        min=0,
        callback=checked_number,
        help="Of a million tokens of prompts, to tell the cost.",
        rich_help_panel=_PANEL,
    ),
]
PriceOut = Annotated[
    float | None,
    typer.Option(
        "--price-out",
        metavar="PRICE",
        min=0,
        callback=checked_number,
        help="Of a million tokens of answers.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """A language model, how it is asked, and what its tokens cost.

    Raises:
        UsageError: One of the prices is missing.
    """

    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    concurrency: int = 8
    timeout_s: float = 120.0
    max_calls: int | None = None
    max_tokens: int | None = None
    price_in: float | None = None
    """Of a million tokens, in whatever currency."""
    price_out: float | None = None

    def __post_init__(self) -> None:
        if (self.price_in is None) != (self.price_out is None):
            raise UsageError("--price-in and --price-out go together")

    def settings(self, variables: Mapping[str, str] = os.environ) -> ModelSettings:
        """Return what `Memory.open` takes of it. Nothing connects yet.

        Raises:
            MissingExtraError: The SDK is not installed.
            UsageError: There is no key, and the endpoint needs one; or it can't be one.
        """
        key = self._key(variables)
        if find_spec("openai") is None:
            raise MissingExtraError(package="openai", extra="openai")
        options = memreader.ModelOptions(
            concurrency=self.concurrency,
            timeout_s=self.timeout_s,
            max_calls=self.max_calls,
            max_tokens=self.max_tokens,
        )
        try:
            llm = memreader.OpenAIChatModel(self.model, base_url=self.base_url, api_key=key, timeout_s=self.timeout_s)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return {"llm": llm, "model_options": options}

    def cost(self, usage: Usage) -> float | None:
        """Return what tokens cost; None where nobody said a price."""
        if self.price_in is None or self.price_out is None:
            return None
        return (usage.prompt_tokens * self.price_in + usage.completion_tokens * self.price_out) / 1e6

    def _key(self, variables: Mapping[str, str]) -> str | None:
        if self.api_key_env is not None:
            key = variables.get(self.api_key_env, "")
            if not key.strip():
                raise UsageError("the variable that --api-key-env names is not set")
            return key
        key = variables.get(KEY, "")
        if not key.strip() and self.base_url is None and not variables.get(OPENAI_KEY, "").strip():
            raise UsageError(f"no key for OpenAI's endpoint: set {OPENAI_KEY}, or name another endpoint by --base-url")
        return key or None


def asked(model: str | None, *, task: str, **how: Any) -> Asked:
    """Return the model that reads.

    Args:
        model: Its name, or None.
        task: What needs it, for the complaint that there is none.
        how: The other fields of `Asked`.

    Raises:
        UsageError: There is none.
    """
    if model is None:
        raise UsageError(
            f"{task} needs a language model: give --model NAME and, unless it is OpenAI's, --base-url URL (or set "
            "MEMREADER_MODEL and MEMREADER_BASE_URL)"
        )
    return Asked(model, **how)


def for_mode(ctx: typer.Context, mode: ModeName, model: str | None, **how: Any) -> Asked | None:
    """Return the model that reads in a mode; None in mode fast. The arguments are those of `asked`.

    Raises:
        UsageError: Mode fine has no model, or the command line has options that say nothing in mode fast.
    """
    if mode == "fine":
        return asked(model, task="--mode fine", **how)
    for name in ("model", *how):
        if was_typed(ctx, name):
            raise UsageError(f"--{name.removesuffix('_s').replace('_', '-')} is for --mode fine")
    return None


def usage_told(usage: Usage, cost: float | None) -> str:
    """Return what calls of a model took, in words.

    >>> usage_told(Usage(3, 4210, 820), None), usage_told(Usage(1, 10, 2), 0.01234)
    ('3 calls, 4,210 + 820 tokens', '1 call, 10 + 2 tokens, cost 0.0123')
    """
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    return f"{counted(usage.calls, 'call')}, {tokens}" + ("" if cost is None else f", cost {cost:,.4f}")
