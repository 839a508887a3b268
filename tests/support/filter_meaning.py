"""What a filter means, read plainly and slowly: what SQL finds is compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from memreader.filters import FIELDS, SOURCE_FIELDS
from memreader.items import TextualMemoryItem


def holds(where: Mapping[str, Any], item: TextualMemoryItem) -> bool:
    """Tell whether an item matches a filter, as it was written."""
    return all(entry_holds(name, value, item) for name, value in where.items())


def entry_holds(name: str, value: Any, item: TextualMemoryItem) -> bool:
    if name == "$and":
        return all(holds(part, item) for part in value)
    if name == "$or":
        return any(holds(part, item) for part in value)
    if name == "$not":
        return not holds(value, item)
    asked = value if isinstance(value, dict) else {"$eq": value}
    is_time = FIELDS.get(name) == "time"
    if name in SOURCE_FIELDS:
        values = source_values(name.removeprefix("sources."), item)
        return all(source_compares(operator, each, values, is_time) for operator, each in asked.items())
    stored = stored_value(name, item)
    return all(compares(operator, each, stored, is_time) for operator, each in asked.items())


def source_values(name: str, item: TextualMemoryItem) -> list[Any]:
    values = [getattr(source, name) for source in item.metadata.sources]
    return [value for value in values if value is not None]


def source_compares(operator: str, asked: Any, values: list[Any], is_time: bool) -> bool:
    if operator in ("$ne", "$nin"):
        return not source_compares("$eq" if operator == "$ne" else "$in", asked, values, is_time)
    return any(compares(operator, asked, one, is_time) for one in values or [None])


def stored_value(name: str, item: TextualMemoryItem) -> Any:
    if name in ("id", "memory"):
        return getattr(item, name)
    if name in FIELDS:
        value = getattr(item.metadata, name)
        return None if value == [] else value
    return item.metadata.info.get(name.removeprefix("info."))


def compares(operator: str, asked: Any, stored: Any, is_time: bool) -> bool:
    if operator in ("$ne", "$nin"):
        return not compares("$eq" if operator == "$ne" else "$in", asked, stored, is_time)
    if operator == "$in":
        return any(compares("$eq", one, stored, is_time) for one in asked)
    if operator == "$contains" and isinstance(stored, str):
        asked = plain(asked)
        return isinstance(asked, str) and asked in stored
    if operator == "$contains":
        return isinstance(stored, list) and any(same(asked, one) for one in stored)
    elements = stored if isinstance(stored, list) else [stored]
    if is_time:
        return any(time_compares(operator, asked, one) for one in elements)
    return any(same(asked, one) if operator == "$eq" else ordered(operator, asked, one) for one in elements)


def kind_of(value: Any) -> str | None:
    """Return one of four kinds; values of two kinds never match."""
    kinds = {bool: "bool", int: "number", float: "number", str: "text", type(None): "null"}
    return kinds.get(type(value))


def plain(value: Any) -> Any:
    """Return what JSON and SQLite make of a value: whole numbers beyond 64 bit are floats, dates are texts."""
    if isinstance(value, date):
        return TextualMemoryItem(memory="x", metadata={"info": {"k": value}}).metadata.info["k"]
    return float(value) if type(value) is int and not -(2**63) <= value < 2**63 else value


def same(asked: Any, stored: Any) -> bool:
    asked, stored = plain(asked), plain(stored)
    return kind_of(asked) is not None and kind_of(asked) == kind_of(stored) and bool(asked == stored)


def ordered(operator: str, asked: Any, stored: Any) -> bool:
    asked, stored = plain(asked), plain(stored)
    if kind_of(asked) != kind_of(stored) or kind_of(asked) not in ("number", "text"):
        return False
    return sign_fits(operator, (stored > asked) - (stored < asked))


def sign_fits(operator: str, sign: int) -> bool:
    return sign in {"$eq": (0,), "$gt": (1,), "$gte": (0, 1), "$lt": (-1,), "$lte": (-1, 0)}[operator]


def time_compares(operator: str, asked: Any, stored: str | None) -> bool:
    if asked is None or stored is None:
        return operator == "$eq" and asked is stored
    at = datetime.fromisoformat(stored)
    if isinstance(asked, str):
        asked = date.fromisoformat(asked) if len(asked) == 10 else datetime.fromisoformat(asked)
    if not isinstance(asked, datetime):
        return sign_fits(operator, (at.date() > asked) - (at.date() < asked))
    if asked.tzinfo is None:
        at = at.replace(tzinfo=None)
    elif at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return sign_fits(operator, (at > asked) - (at < asked))
