"""What was so at a time: what had happened by then, and was not yet superseded."""

from __future__ import annotations

from datetime import date

from memreader.filters import AllOf, AnyOf, Condition, Filter, parse_filter


def valid_at(time: date | str, where: Filter | None = None) -> Filter:
    """Return a filter for what had happened by a time and was so then, among what `where` lets through.

    A memory without a `memory_time` is taken to have happened when it was learned.

    Args:
        time: A date (its end), a datetime or an ISO 8601 text.
        where: See above.

    Raises:
        FilterError: `time` is none of these.
    """
    was = parse_filter(
        {
            "$and": [
                {"$or": [{"memory_time": {"$lte": time}}, {"memory_time": None, "created_at": {"$lte": time}}]},
                {"$or": [{"status": {"$in": ["activated", "resolving"]}}, {"valid_until": {"$gt": time}}]},
            ]
        }
    )
    parts = tuple(one for one in (where, was) if one is not None)
    return parts[0] if len(parts) == 1 else AllOf(parts)


def asks_for_pending(where: Filter | None) -> bool:
    """Return whether a filter names what is under review: `{"status": "pending"}`, alone or beside others.

    >>> asks_for_pending(parse_filter({"status": {"$in": ["pending"]}})), asks_for_pending(parse_filter({"tags": "a"}))
    (True, False)
    """
    if isinstance(where, AllOf | AnyOf):
        return any(map(asks_for_pending, where.parts))
    if not isinstance(where, Condition) or where.field != "status":
        return False
    return where.operator == "$in" and not where.negated and "pending" in where.values


def asks_for_archived(where: Filter | None) -> bool:
    """Return whether a filter says itself which memories it wants of those that are archived."""
    return asks_for(where, "status", "valid_until")


def asks_for(where: Filter | None, *fields: str) -> bool:
    """Return whether a filter says something about one of these fields."""
    if isinstance(where, AllOf | AnyOf):
        return any(asks_for(part, *fields) for part in where.parts)
    return isinstance(where, Condition) and where.field in fields
