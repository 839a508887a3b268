"""What an endpoint takes beside the messages, found out by being refused, and remembered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memreader.models.endpoint import EndpointError

_FORMAT = re.compile(r"response_?format|json.?schema|json.?object|json.?mode|structured.?output|grammar|guided", re.I)
_LIMIT = re.compile(r"max_(completion_)?tokens", re.I)
_UNKNOWN = re.compile(r"support|unknown|unrecogni[sz]ed|unexpected|not (permitted|allowed)|deprecated|instead", re.I)
_TOO_MUCH = re.compile(r"context.?(length|window)|too (large|long|many|high)|at most|less than|maximum", re.I)
_LIMITS = ("max_tokens", "max_completion_tokens", None)
_STRICT_WORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs"}
    | {"definitions", "description", "title"}
)


@dataclass(frozen=True, slots=True)
class Habits:
    """How an endpoint wants to be asked: each field counts what it was found not to take."""

    format: int = 0
    """0: a JSON schema, 1: any JSON object, 2: plain text."""
    temperature: int = 0
    """0: as set, 1: its own."""
    limit: int = 0
    """0: as `max_tokens`, 1: as `max_completion_tokens`, 2: none."""

    def wishes(
        self, *, schema: Mapping[str, Any] | None, temperature: float | None, max_output_tokens: int | None
    ) -> dict[str, Any]:
        """Return what is asked for beside the messages, as far as the endpoint takes it."""
        wishes: dict[str, Any] = {}
        if temperature is not None and not self.temperature:
            wishes["temperature"] = temperature
        limit = _LIMITS[self.limit]
        if max_output_tokens is not None and limit is not None:
            wishes[limit] = max_output_tokens
        if schema is not None and self.format < 2:
            wishes["response_format"] = {"type": "json_object"} if self.format else _wanted(schema)
        return wishes

    def after(self, refusal: EndpointError, wishes: Mapping[str, Any]) -> Habits | None:
        """Return how to ask again; None when the refusal is about none of the wishes."""
        if refusal.status_code not in (400, 422):
            return None
        for about in filter(None, (refusal.param, refusal.detail)):
            if "response_format" in wishes and _FORMAT.search(about):
                return replace(self, format=self.format + 1)
            if "temperature" in wishes and "temperature" in about.lower():
                return replace(self, temperature=1)
        limited = _LIMITS[self.limit]
        words = refusal.detail
        if limited in wishes and _LIMIT.search(words) and _UNKNOWN.search(words) and not _TOO_MUCH.search(words):
            return replace(self, limit=self.limit + 1)
        return None

    def joined(self, other: Habits) -> Habits:
        """Return what both found out."""
        return Habits(
            max(self.format, other.format),
            max(self.temperature, other.temperature),
            max(self.limit, other.limit),
        )


def _wanted(schema: Mapping[str, Any]) -> dict[str, Any]:
    name = re.sub(r"[^a-zA-Z0-9_-]+", "_", str(schema.get("title", "")))[:64].strip("_") or "answer"
    asked = {"name": name, "schema": dict(schema), "strict": is_strict(schema)}
    return {"type": "json_schema", "json_schema": asked}


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Return whether a JSON schema may be asked for strictly, by OpenAI's rules for structured outputs.

    Every object lists all its properties as required and forbids others, and only plain keywords are used.

    >>> is_strict({"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    True
    >>> is_strict({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    False
    """
    return schema.get("type") == "object" and all(map(_is_strict_part, _parts(schema)))


def _is_strict_part(part: Mapping[str, Any]) -> bool:
    if not _STRICT_WORDS.issuperset(part):
        return False
    kind = part.get("type")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind) and "properties" not in part:
        return True
    required = part.get("required", [])
    return part.get("additionalProperties") is False and set(required) == set(part.get("properties", {}))


def _parts(schema: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Yield a schema and every schema in it."""
    left: list[Any] = [schema]
    while left:
        part = left.pop()
        if not isinstance(part, Mapping):
            continue
        yield part
        for word in ("properties", "$defs", "definitions"):
            if isinstance(part.get(word), Mapping):
                left.extend(part[word].values())
        left.append(part.get("items"))
        if isinstance(part.get("anyOf"), list):
            left.extend(part["anyOf"])
