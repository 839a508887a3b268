"""Rows of names that are one: what items state, and what the user decides; see `alias_groups` for what they mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memreader.spelling import entity_key
from memreader.stores.alias_groups import Alias, Groups


def add_stated(db: sqlite3.Connection, user_id: str, item: int, pairs: Sequence[tuple[str, str]]) -> None:
    """Record which names an item states to be one: (the one to show, its alias)."""
    keys = [(entity_key(entity), entity_key(alias)) for entity, alias in pairs]
    rows = [(user_id, alias, entity, item) for entity, alias in keys if entity and alias and entity != alias]
    query = "INSERT OR IGNORE INTO aliases (user_id, key, entity, origin, item) VALUES (?, ?, ?, 'stated', ?)"
    db.executemany(query, rows)


def state_anew(db: sqlite3.Connection, user_id: str, item: int, pairs: Sequence[tuple[str, str]]) -> None:
    """Put what an item states in the place of what it stated."""
    db.execute("DELETE FROM aliases WHERE item = ?", (item,))
    add_stated(db, user_id, item, pairs)


def drop_nameless(db: sqlite3.Connection, user_id: str) -> None:
    """Delete the user's decisions about names that nothing mentions any more: a deleted name must not stay in them."""
    stated = "s.user_id = mine.user_id AND s.origin = 'stated' AND s"
    known = (
        "EXISTS (SELECT 1 FROM entities WHERE user_id = mine.user_id AND key = mine.{0}) "
        f"OR EXISTS (SELECT 1 FROM aliases AS s WHERE {stated}.key = mine.{{0}}) OR EXISTS "
        f"(SELECT 1 FROM aliases AS s INDEXED BY aliases_by_entity WHERE {stated}.entity = mine.{{0}})"
    )
    lost = " OR ".join(f"NOT ({known.format(column)})" for column in ("key", "entity"))
    db.execute(
        f"DELETE FROM aliases AS mine INDEXED BY aliases_decided WHERE user_id = ? AND item IS NULL AND ({lost})",
        (user_id,),
    )


def groups_of(db: sqlite3.Connection, user_id: str) -> tuple[Groups, dict[int, int]]:
    """Return which of the user's names are one, and the number of each of these entities -> of the one shown for it."""
    query = "SELECT key, entity, origin FROM aliases WHERE user_id = ? ORDER BY id"
    rows = [Alias(*row) for row in db.execute(query, (user_id,))]
    if not rows:
        return Groups([], {}), {}
    query = (
        "SELECT entities.key, entities.id, count(*) FROM (SELECT key FROM aliases WHERE user_id = :user UNION "
        "SELECT entity FROM aliases WHERE user_id = :user) AS named "
        "JOIN entities ON entities.user_id = :user AND entities.key = named.key "
        "JOIN mentions ON mentions.entity = entities.id GROUP BY entities.id"
    )
    found = db.execute(query, {"user": user_id}).fetchall()
    numbers = {key: number for key, number, _ in found}
    groups = Groups(rows, {key: items for key, _, items in found})
    return groups, {number: numbers[groups.shown(key)] for key, number in numbers.items()}


def is_decided(db: sqlite3.Connection, user_id: str, key: str, entity: str) -> bool:
    """Return whether the user has decided about these two names."""
    pairs = "(key, entity) IN (VALUES (?, ?), (?, ?))"
    query = f"SELECT 1 FROM aliases WHERE user_id = ? AND item IS NULL AND {pairs}"
    return db.execute(query, (user_id, key, entity, entity, key)).fetchone() is not None


def decide(db: sqlite3.Connection, user_id: str, key: str, entity: str, origin: str) -> None:
    """Record the user's decision about two names in the place of earlier ones about the same two."""
    pair = {"user": user_id, "one": key, "other": entity}
    where = "user_id = :user AND item IS NULL AND (key, entity) IN (VALUES (:one, :other), (:other, :one))"
    db.execute(f"DELETE FROM aliases WHERE {where}", pair)
    values = (user_id, key, entity, origin)
    db.execute("INSERT INTO aliases (user_id, key, entity, origin) VALUES (?, ?, ?, ?)", values)


def take_apart(db: sqlite3.Connection, user_id: str, key: str) -> None:
    """Take a name out of its group: no decision joins it, and what items state of it counts no longer."""
    query = "DELETE FROM aliases WHERE user_id = ? AND origin = 'user' AND ? IN (key, entity)"
    db.execute(query, (user_id, key))
    query = "SELECT DISTINCT key, entity FROM aliases WHERE user_id = ? AND origin = 'stated' AND ? IN (key, entity)"
    for alias, entity in db.execute(query, (user_id, key)).fetchall():
        decide(db, user_id, alias, entity, "apart")
