"""One memory as it stands in a dump, ours or MemOS's, into an item."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from memreader.archive.flaws import Flaw, flaw_of
from memreader.archive.strict_json import decode, encode
from memreader.items import TextualMemoryItem, TextualMemoryMetadata

_ITEM = ("id", "memory", "metadata")
_RECORD = ("id", "vector", "payload", "score", "memory")
"""Of MemOS's vector databases; only Milvus repeats the memory beside the payload."""
_KNOWN = frozenset(TextualMemoryMetadata.model_fields)
_MOST_PARTS = 100_000
"""Of the sources, or the history, of one memory: each takes a kilobyte of memory, and may be three bytes of a file."""
_SOURCE_TYPES = ("chat", "doc")


def item_in(raw: Any, *, confidence_scale: float) -> tuple[TextualMemoryItem, bool]:
    """Return the item that `raw` means, and whether `raw` says its id (else it has a random one).

    Ours is {"id", "memory", "metadata"}; MemOS's vector databases wrap it as {"id", "vector", "payload": {...}}, of
    which `vector` and `score` are left out: they belong to another model. What ours has no field for goes to
    `metadata.info` under its name, null counts as not given, and a memory without `created_at` was learned when it
    was last changed.

    Args:
        raw: A value from JSON.
        confidence_scale: What `metadata.confidence` counts to.

    Raises:
        Flaw: Something in it is not valid.
    """
    fields, prefix = _unwrapped(_dict(raw, "a memory", ""))
    metadata = fields.get("metadata")
    given: dict[str, Any] = {} if metadata is None else _dict(metadata, "metadata", f"{prefix}.metadata")
    values = {"memory": fields.get("memory")}
    if fields.get("id") is not None:
        values["id"] = fields["id"]
    try:
        values["metadata"] = _metadata(given, confidence_scale)
    except Flaw as flaw:
        raise flaw.inside(f"{prefix}.metadata") from None
    try:
        item = TextualMemoryItem.model_validate(values)
    except ValidationError as error:
        invalid = flaw_of(error, prefix)
    else:
        if given.get("created_at") is None and given.get("updated_at") is not None:
            item.metadata.created_at = item.metadata.updated_at
        return item, "id" in values
    raise invalid


def _dict(value: Any, what: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Flaw(f"{what} is an object, this is {_name(value)}", where=where)
    return value


def _unwrapped(raw: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return id, memory and metadata, and where in `raw` they stand."""
    wrapped = "payload" in raw or "vector" in raw
    _only(raw, _RECORD if wrapped else _ITEM, "")
    if not wrapped:
        return raw, ""
    payload = _dict(raw.get("payload"), "the payload", ".payload")
    _only(payload, _ITEM, ".payload")
    ids = [one["id"] for one in (raw, payload) if one.get("id") is not None]
    if not all(isinstance(one, str) for one in ids) or len(set(ids)) > 1:
        raise Flaw("is not text, or another id than the record's around it", where=".payload.id")
    inner = {name: value for name, value in payload.items() if value is not None}
    return {"id": raw.get("id"), "memory": raw.get("memory"), **inner}, ".payload"


def _only(fields: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in fields:
        if name not in names:
            raise Flaw(f"has the field {name[:80]!r}, which is none of {', '.join(names)}", where=where)


def _metadata(given: Mapping[str, Any], scale: float) -> dict[str, Any]:
    metadata = {name: value for name, value in given.items() if name in _KNOWN and value is not None}
    others = {name: value for name, value in given.items() if name not in _KNOWN and value is not None}
    if others:
        info = _dict(metadata.get("info", {}), "info", ".info")
        metadata["info"] = {**{_free(name, value, info): value for name, value in others.items()}, **info}
    if "confidence" in metadata:
        metadata["confidence"] = _confidence(metadata["confidence"], scale)
    for name in ("sources", "history"):
        if isinstance(metadata.get(name), list) and len(metadata[name]) > _MOST_PARTS:
            raise Flaw(f"has {len(metadata[name])} parts, more than {_MOST_PARTS}", where=f".{name}")
    if isinstance(metadata.get("sources"), list):
        metadata["sources"] = [_source(source, place) for place, source in enumerate(metadata["sources"])]
    return metadata


def _free(name: str, value: Any, info: Mapping[str, Any]) -> str:
    """Return the name in `info` for a field that we don't have; never one that holds something else there."""
    # As JSON: values that are nested to the limit can't be compared.
    while name in info and encode(info[name]) != encode(value):
        name = f"metadata.{name}"
    return name


def _confidence(value: Any, scale: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Flaw(f"confidence is a number, this is {_name(value)}", where=".confidence")
    if not 0 <= value <= scale:
        remedy = "Pass confidence_scale=100 if it counts to 100." if scale < value <= 100 else ""
        problem = f"{str(value)[:20]} is not between 0 and {scale:g}, which confidence_scale says"
        raise Flaw(problem, where=".confidence", remedy=remedy)
    return value / scale


def _source(given: Any, place: int) -> Any:
    """Return a source in our form; what only MemOS allows stays in a field of its own."""
    if isinstance(given, str):
        given = _source_text(given)
    if not isinstance(given, dict):
        return given
    source = dict(given)
    if source.get("type") not in _SOURCE_TYPES:
        if source.get("type") is not None:
            source[_unused("source_type", source, place)] = source["type"]
        source["type"] = "doc" if source.get("role") is None else "chat"
    if isinstance(source.get("chat_time"), str) and not _is_iso(source["chat_time"]):
        source[_unused("chat_time_text", source, place)] = source.pop("chat_time")
    return source


def _source_text(text: str) -> dict[str, Any]:
    """Return the source that a string is: an object written as JSON, or the cited words."""
    try:
        value = decode(text)
    except Flaw:
        value = None
    return value if isinstance(value, dict) else {"type": "doc", "content": text}


def _unused(name: str, source: Mapping[str, Any], place: int) -> str:
    if name in source:
        raise Flaw(f"has the field {name!r}, which another one goes to", where=f".sources[{place}]")
    return name


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _name(value: Any) -> str:
    """Return what JSON calls the kind of a value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return {str: "a text", int: "a number", float: "a number", list: "a list"}.get(type(value), "an object")
