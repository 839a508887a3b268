"""From a filter to an SQL condition over `items`; names and values are bound, and the condition is never NULL.

SQLite's `NOT NULL` is NULL: a condition that is NULL for a row would drop it under `NOT` too. So each one ends in
`IS TRUE`, `COALESCE` or `EXISTS`, and `NOT` is the exact opposite.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from memreader.filters import (
    DAY,
    SOURCE_FIELDS,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Moment,
    Value,
    clock,
    instant,
    nesting,
)
from memreader.items import SourceMessage, TextualMemoryMetadata
from memreader.spelling import entity_key

_COLUMNS = {"id": "item_id"} | {
    name: name for name in ("memory", "session_id", "agent_id", "status", "visibility", "source")
}
_ORDER = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
# SQLite before 3.45 ends a text in JSON at a NUL: "tea\0s" would match "tea".
_METADATA = (
    r"CASE WHEN instr(items.metadata, '\u0000') THEN memreader_without_nul(items.metadata) ELSE items.metadata END"
)
_ESCAPE = re.compile(r"\\(?:u0000|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Sql:
    """An SQL expression with its bound values."""

    text: str
    values: tuple[Any, ...] = ()


_NEVER = _Sql("0")


def register(connection: sqlite3.Connection) -> None:
    """Give `connection` the functions that conditions call; needed once for each connection."""
    connection.create_function("memreader_clock", 1, _clock, deterministic=True)
    connection.create_function("memreader_instant", 1, _instant, deterministic=True)
    connection.create_function("memreader_entity_key", 1, entity_key, deterministic=True)
    connection.create_function("memreader_without_nul", 1, _without_nul, deterministic=True)


def condition_sql(where: Filter) -> tuple[str, list[Any]]:
    """Return a condition over the table `items`, 1 or 0 for every row, and the values to bind to its `?`, in order.

    The connection needs `register`.
    """
    sql = _filter(where)
    return sql.text, list(sql.values)


def _filter(where: Filter) -> _Sql:
    match where:
        case AllOf(parts) | AnyOf(parts):
            word = " AND " if isinstance(where, AllOf) else " OR "
            found = [_filter(part) for part in sorted(parts, key=nesting, reverse=True)]
            return _joined(word, found) if found else _Sql(str(int(isinstance(where, AllOf))))
        case Condition(negated=True):
            sql = _condition(where)
            return _Sql(f"NOT ({sql.text})", sql.values)
        case Condition():
            return _condition(where)


def _condition(condition: Condition) -> _Sql:
    match condition.kind:
        case "info":
            return _of_info(condition)
        case "list":
            return _of_list(condition)
        case "text" | "choice" | "number" | "bool" | "time":
            return _of_sources(condition) if condition.field in SOURCE_FIELDS else _of_scalar(condition)


def _of_scalar(condition: Condition) -> _Sql:
    name = condition.field
    if name in _COLUMNS:
        field = _Sql(f"items.{_COLUMNS[name]}")
    else:
        field = _extracted(_metadata(condition), name, TextualMemoryMetadata)
    found = _matches(field, condition)
    if None in condition.values:
        found.append(_Sql(f"{field.text} IS NULL", field.values))
    return _any(_Sql(f"({one.text}) IS TRUE", one.values) for one in found)


def _of_sources(condition: Condition) -> _Sql:
    rows = f"json_each({_metadata(condition)}, '$.sources') AS source"
    field = _extracted("source.value", condition.field.removeprefix("sources."), SourceMessage)
    match = _any(_matches(field, condition))
    found = [_Sql(f"EXISTS (SELECT 1 FROM {rows} WHERE {match.text})", match.values)] if match != _NEVER else []
    if None in condition.values:
        found.append(_Sql(f"NOT EXISTS (SELECT 1 FROM {rows} WHERE {field.text} IS NOT NULL)", field.values))
    return _any(found)


def _metadata(condition: Condition) -> str:
    return _METADATA if condition.kind == "text" else "items.metadata"


def _extracted(written: str, name: str, model: type[BaseModel]) -> _Sql:
    """Return a field of an object in JSON, from which it is left out where it is the model's default."""
    field = f"json_extract({written}, '$.{name}')"
    default = model.model_fields[name].default
    if default is None or default is PydanticUndefined:
        return _Sql(field)
    value = _value(default)
    return _Sql(f"COALESCE({field}, {value.text})", value.values)


def _of_list(condition: Condition) -> _Sql:
    rows = f"json_each({_METADATA}, '$.{condition.field}') AS part"
    match = _compared(_Sql("part.atom"), "$in", condition.values)
    if condition.keys:
        among = "memreader_entity_key(part.atom) IN (SELECT value FROM json_each(?))"
        match = _any([match, _Sql(among, (_json(condition.keys),))])
    found = [_Sql(f"EXISTS (SELECT 1 FROM {rows} WHERE {match.text})", match.values)]
    if None in condition.values:
        found.append(_Sql(f"NOT EXISTS (SELECT 1 FROM {rows})"))
    return _any(found)


def _matches(field: _Sql, condition: Condition) -> list[_Sql]:
    """Return how a field compares with the values but None, one of which is to be true; NULL where the field is."""
    if condition.kind == "time":
        found = _times(field.text, condition)
    else:
        found = [_compared(field, condition.operator, condition.values)]
    return [one for one in found if one != _NEVER]


def _times(written: str, condition: Condition) -> list[_Sql]:
    moments = [value for value in condition.values if isinstance(value, Moment)]
    found = []
    for zoned, function in ((False, "memreader_clock"), (True, "memreader_instant")):
        time = _Sql(f"{function}({written})")
        asked = [moment for moment in moments if moment.zoned is zoned]
        if asked and condition.operator != "$in":
            edge = asked[0].last if condition.operator in ("$gt", "$lte") else asked[0].first
            found.append(_compared(time, condition.operator, [edge]))
            continue
        days = [moment.first // DAY for moment in asked if moment.last > moment.first]
        found.append(_compared(time, "$in", [moment.first for moment in asked if moment.last == moment.first]))
        found.append(_compared(_Sql(f"{time.text} / {DAY}"), "$in", days))
    return found


def _of_info(condition: Condition) -> _Sql:
    field, part = _typed("field", condition), _typed("part", condition)
    if condition.operator == "$contains" and isinstance(condition.values[0], str):
        field = _Sql("CASE field.type WHEN 'text' THEN instr(field.atom, ?) > 0 ELSE 0 END", condition.values)
    elif condition.operator == "$contains":
        field = _NEVER
    return _Sql(
        "COALESCE((SELECT CASE field.type WHEN 'array' "
        f"THEN EXISTS (SELECT 1 FROM json_each(field.value) AS part WHERE {part.text}) ELSE {field.text} END "
        f"FROM json_each({_METADATA}, '$.info') AS field WHERE field.key = ?), {int(None in condition.values)})",
        (*part.values, *field.values, condition.field),
    )


def _typed(row: str, condition: Condition) -> _Sql:
    """Return whether a row of json_each matches one of the values, which it does only as a value of its type."""
    operator = "$in" if condition.operator == "$contains" else condition.operator
    atom, values = _Sql(f"{row}.atom"), condition.values
    texts = _compared(atom, operator, [value for value in values if isinstance(value, str)])
    numbers = _compared(atom, operator, [value for value in values if type(value) in (int, float)])
    found = [_Sql(f"{row}.type = 'text' AND {texts.text}", texts.values)] if texts != _NEVER else []
    if numbers != _NEVER:
        found.append(_Sql(f"{row}.type IN ('integer', 'real') AND {numbers.text}", numbers.values))
    names = {True: "true", False: "false", None: "null"}
    found += [_Sql(f"{row}.type = '{names[value]}'") for value in names if any(one is value for one in values)]
    return _any(found)


def _compared(field: _Sql, operator: str, values: Sequence[Value]) -> _Sql:
    """Return how a field compares with values of one type, leaving out None; NULL where the field is."""
    given = [value for value in values if value is not None]
    if not given:
        return _NEVER
    if len(given) > 1:
        return _Sql(f"{field.text} IN (SELECT value FROM json_each(?))", (*field.values, _json(given)))
    value = _value(given[0])
    if operator == "$contains":
        return _Sql(f"instr({field.text}, {value.text}) > 0", (*field.values, *value.values))
    return _Sql(f"{field.text} {_ORDER.get(operator, '=')} {value.text}", (*field.values, *value.values))


def _value(value: Any) -> _Sql:
    # A float is read from JSON like those it is compared with: SQLite's own reading may differ in the last bit.
    return _Sql("json_extract(?, '$[0]')", (_json([value]),)) if isinstance(value, float) else _Sql("?", (value,))


def _json(values: Sequence[Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _any(parts: Iterable[_Sql]) -> _Sql:
    found = list(parts)
    return _joined(" OR ", found) if found else _NEVER


def _joined(word: str, parts: Sequence[_Sql]) -> _Sql:
    return _Sql(word.join(f"({part.text})" for part in parts), tuple(value for part in parts for value in part.values))


def _clock(time: object) -> int | None:
    read = _read(time)
    return None if read is None else clock(read)


def _instant(time: object) -> int | None:
    read = _read(time)
    return None if read is None else instant(read)


def _read(time: object) -> datetime | None:
    try:
        return datetime.fromisoformat(time) if isinstance(time, str) else None
    except ValueError:
        return None


def _without_nul(metadata: str) -> str:
    """Return the JSON with each escaped NUL as the next character, which sorts alike."""
    return _ESCAPE.sub(lambda found: r"\u0001" if found[0] == r"\u0000" else found[0], metadata)
