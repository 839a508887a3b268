"""A new version of a statement that stands behind another, or for others: it keeps its place, or stands for itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memreader.records import ItemRecord
from memreader.stores.settling import Standing, together


def keep_place(
    db: sqlite3.Connection,
    key: int,
    before: Mapping[str, Any],
    after: dict[str, Any],
    *,
    same: bool,
) -> bool:
    """Have the next version of a statement, as its caller gives it, keep what was decided about the one before.

    He knows neither that it is archived nor what others brought to it: given again, it is as it was.

    Args:
        db: Inside a transaction.
        key: Its number.
        before: Its metadata until now.
        after: Those of the next version; changed in place.
        same: Whether it is given anew (not a change of what is there) in the same words.

    Returns:
        Whether nothing stands in front of it any more: `Standing.free` must follow. So it is where it is said to be
        activated, or to be something else, or to have happened at another time.
    """
    if not db.execute("SELECT 1 FROM settled WHERE item = ?", (key,)).fetchone():
        return False
    if same and before.get("memory_time") == after.get("memory_time"):
        _copy(("status", "valid_until"), before, after)
    if after.get("status", "activated") != "activated":
        return False
    if after.get("valid_until") == before.get("valid_until"):
        after.pop("valid_until", None)
    return True


def keep_brought(standing: Standing, key: int, record: ItemRecord, after: dict[str, Any]) -> ItemRecord:
    """Give the next version of a statement the sources and entities of those that it stands for, beside its own.

    Returns:
        The record with these entities: the graph follows it.
    """
    brought = [standing.own(other) for other in standing.behind([key])]
    for place, name in enumerate(("sources", "entities")):
        whole = together([after.get(name, []), *(each[place] for each in brought)])
        if whole:
            after[name] = whole
    metadata = record.item.metadata.model_copy(update={"entities": after.get("entities", [])})
    return replace(record, item=record.item.model_copy(update={"metadata": metadata}))


def _copy(names: tuple[str, ...], before: Mapping[str, Any], after: dict[str, Any]) -> None:
    for name in names:
        after.pop(name, None)
        if name in before:
            after[name] = before[name]
