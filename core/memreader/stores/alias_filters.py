"""Filters that ask for names, so that they hold for names that are one with these, too."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from memreader.filters import AllOf, AnyOf, Condition, Filter
from memreader.spelling import entity_key
from memreader.stores.alias_groups import Groups
from memreader.stores.alias_rows import groups_of


def with_aliases(db: sqlite3.Connection, user_id: str, where: Filter) -> Filter:
    """Return the filter with the keys of all names that are one with an entity it asks for, as of now.

    A name that is one with no other is compared as it is written, like every text.
    """
    return _resolved(where, groups_of(db, user_id)[0]) if _asks_for_names(where) else where


def _asks_for_names(where: Filter) -> bool:
    if isinstance(where, Condition):
        return where.field == "entities"
    return any(map(_asks_for_names, where.parts))


def _resolved(where: Filter, groups: Groups) -> Filter:
    if isinstance(where, AllOf | AnyOf):
        return replace(where, parts=tuple(_resolved(part, groups) for part in where.parts))
    if where.field != "entities":
        return where
    asked = {entity_key(value) for value in where.values if isinstance(value, str)}
    keys = {key for name in asked if len(members := groups.members(name)) > 1 for key in members}
    return replace(where, keys=tuple(sorted(keys)))
