"""One step through the graph: from some items by what they mention to the items that mention it, too."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from memreader.records import Link
from memreader.stores.alias_rows import groups_of

_JOINED = 200
"""Rows of relations that are looked at, at most."""


def links(db: sqlite3.Connection, user_id: str, items: Sequence[int], *, entities: int, each: int) -> list[Link]:
    """Return what `GraphStore.links` does, by a few look-ups in indexes, whatever the size of the store."""
    query = (
        "SELECT seed.value, entity, entities.key FROM json_each(?) AS seed CROSS JOIN mentions ON item = seed.value "
        "JOIN entities ON entities.id = entity WHERE user_id = ? ORDER BY seed.key"
    )
    rows = db.execute(query, (json.dumps(list(items)), user_id)).fetchall()
    if not rows:
        return []
    groups, shown = groups_of(db, user_id)
    members: dict[int, list[int]] = {}
    for number, stands in shown.items():
        members.setdefault(stands, []).append(number)
    seeds: dict[int, set[int]] = {}
    keys: dict[int, tuple[str, ...]] = {}
    for item, entity, key in rows:
        stands = shown.get(entity, entity)
        seeds.setdefault(stands, set()).add(item)
        keys.setdefault(stands, groups.members(key))
    by: dict[int, set[int]] = {}
    if len(seeds) < entities:
        own = [number for stands in seeds for number in members.get(stands, [stands])]
        for entity, other, key, item in _related(db, own):
            stands, mine = shown.get(other, other), shown.get(entity, entity)
            if stands not in keys or stands in by:
                by.setdefault(stands, set()).add(item)
                seeds.setdefault(stands, set()).update(seeds[mine])
                keys.setdefault(stands, groups.members(key))
    chosen = list(seeds)[:entities]
    found = _mentioning(db, [number for stands in chosen for number in members.get(stands, [stands])], each)
    out = []
    for stands in chosen:
        holders = {item for number in members.get(stands, [stands]) for item in found.get(number, ())}
        newest = tuple(sorted(holders, reverse=True)[: each + 1])
        out.append(Link(keys[stands], frozenset(seeds[stands]), newest, frozenset(by.get(stands, ()))))
    return out


def _related(db: sqlite3.Connection, own: Sequence[int]) -> list[tuple[int, int, str, int]]:
    """Return (one of some entities, another one that an item relates it to, its key, the item)."""
    ends = (
        "SELECT own.value, relations.{there}, relations.item FROM json_each(:own) AS own "
        "CROSS JOIN relations ON relations.{here} = own.value"
    )
    both = f"{ends.format(here='head', there='tail')} UNION ALL {ends.format(here='tail', there='head')}"
    query = (
        f"SELECT one, other, key, item FROM (SELECT value AS one, tail AS other, item FROM ({both}) LIMIT {_JOINED}) "
    )
    query += "JOIN entities ON entities.id = other"
    return db.execute(query, {"own": json.dumps(list(own))}).fetchall()


def _mentioning(db: sqlite3.Connection, entities: Sequence[int], each: int) -> dict[int, list[int]]:
    """Return for each entity the newest items that mention it, one more than `each` at most."""
    one = "SELECT * FROM (SELECT entity, item FROM mentions WHERE entity = ? ORDER BY item DESC LIMIT ?)"
    found: dict[int, list[int]] = {}
    query = " UNION ALL ".join([one] * len(entities))
    for entity, item in db.execute(query, [value for number in entities for value in (number, each + 1)]):
        found.setdefault(entity, []).append(item)
    return found
