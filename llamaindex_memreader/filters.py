"""LlamaIndex's metadata filters as filters of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from memreader.errors import FilterError
from memreader.filters import parse_filter

Filters: TypeAlias = MetadataFilters | dict[str, Any]
"""LlamaIndex's, or a filter as `Memory.search` takes it."""

_COMPARED = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.CONTAINS: "$contains",
    FilterOperator.TEXT_MATCH: "$contains",
}


def as_filter(filters: MetadataFilters | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return metadata filters as `Memory.search` takes them, checked; None for none. A filter of ours stays as it is.

    Keys are the fields and keys of `info` that `memreader.filters` knows. They mean what they do in LlamaIndex's own
    store: `all` and `any` look for each value in a list or text, a condition "not" holds where no part does.

    Raises:
        FilterError: An operator that is not there (`text_match_insensitive`), or a value that the field can't have.

    >>> as_filter(MetadataFilters(filters=[MetadataFilter(key="tags", value=["home", "boat"], operator="any")]))
    {'$or': [{'tags': {'$contains': 'home'}}, {'tags': {'$contains': 'boat'}}]}
    """
    told = _of_group(filters) if isinstance(filters, MetadataFilters) else filters
    parse_filter(told)
    return told or None


def _of_group(filters: MetadataFilters) -> dict[str, Any]:
    parts = [_of_group(one) if isinstance(one, MetadataFilters) else _of_one(one) for one in filters.filters]
    if not parts:
        return {}
    if filters.condition == FilterCondition.NOT:
        return {"$not": {"$or": parts}}
    if len(parts) == 1:
        return parts[0]
    return {"$or" if filters.condition == FilterCondition.OR else "$and": parts}


def _of_one(one: MetadataFilter) -> dict[str, Any]:
    if one.operator == FilterOperator.IS_EMPTY:
        return {one.key: {"$eq": None}}
    if one.operator in (FilterOperator.ANY, FilterOperator.ALL):
        if not isinstance(one.value, list):
            raise FilterError(f"{one.operator.value!r} compares with a list of values, got {one.value!r}")
        each = [{one.key: {"$contains": value}} for value in one.value]
        return {"$or" if one.operator == FilterOperator.ANY else "$and": each}
    if one.operator not in _COMPARED:
        raise FilterError(f"there is no operator {one.operator.value!r} here. Use {FilterOperator.TEXT_MATCH.value!r}.")
    return {one.key: {_COMPARED[one.operator]: one.value}}
