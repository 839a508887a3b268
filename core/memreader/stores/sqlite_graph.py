"""Entities and relations of the items, in the same database and gone with them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from memreader.errors import EntityNotFoundError
from memreader.records import Entity, Link, Relation
from memreader.spelling import entity_key
from memreader.stores.alias_groups import Groups
from memreader.stores.alias_rows import decide, groups_of, take_apart
from memreader.stores.database import Database
from memreader.stores.graph_links import links


def add_mentions(
    db: sqlite3.Connection,
    user_id: str,
    item: int,
    names: Sequence[str],
    relations: Sequence[tuple[str, str, str]] = (),
) -> None:
    """Record whom and what an item mentions and how it relates them; both ends of a relation are mentioned too."""
    if not names and not relations:
        return
    numbers: dict[str, int] = {}
    for name in (*names, *(end for head, _, tail in relations for end in (head, tail))):
        key = entity_key(name)
        if key and key not in numbers:
            numbers[key] = _number_of(db, user_id, key, name)
    db.executemany("INSERT OR IGNORE INTO mentions VALUES (?, ?)", [(number, item) for number in numbers.values()])
    if not relations:
        return
    rows = [
        (numbers[entity_key(head)], relation, numbers[entity_key(tail)], item)
        for head, relation, tail in relations
        if entity_key(head) and entity_key(tail)
    ]
    db.executemany("INSERT OR IGNORE INTO relations (head, relation, tail, item) VALUES (?, ?, ?, ?)", rows)


def _number_of(db: sqlite3.Connection, user_id: str, key: str, name: str) -> int:
    """Return the number of an entity, made if there is none. Inside a transaction: nobody else makes it."""
    known = db.execute("SELECT id FROM entities WHERE user_id = ? AND key = ?", (user_id, key)).fetchone()
    if known:
        return int(known[0])
    query = "INSERT INTO entities (user_id, key, name) VALUES (?, ?, ?)"
    return int(db.execute(query, (user_id, key, name)).lastrowid or 0)


def mention_anew(
    db: sqlite3.Connection,
    user_id: str,
    item: int,
    names: Sequence[str],
    relations: Sequence[tuple[str, str, str]],
) -> None:
    """Put an item's mentions and relations in the place of its old ones."""
    entities = db.execute("SELECT entity FROM mentions WHERE item = ?", (item,)).fetchall()
    db.execute("DELETE FROM mentions WHERE item = ?", (item,))
    db.execute("DELETE FROM relations WHERE item = ?", (item,))
    add_mentions(db, user_id, item, names, relations)
    drop_unmentioned(db, entities)


def drop_unmentioned(db: sqlite3.Connection, entities: Iterable[tuple[int]]) -> None:
    """Delete those of the entities that no item mentions any more."""
    query = "DELETE FROM entities WHERE id = ? AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = entities.id)"
    db.executemany(query, entities)


def relations_of(db: sqlite3.Connection, item: int) -> list[tuple[str, str, str]]:
    """Return head, relation and tail of what an item states, in its order."""
    query = (
        "SELECT heads.name, relation, tails.name FROM relations JOIN entities AS heads ON heads.id = head "
        "JOIN entities AS tails ON tails.id = tail WHERE item = ? ORDER BY relations.id"
    )
    return db.execute(query, (item,)).fetchall()


# Without a type SQLite makes no index of it, and compares every row with every other.
_SHOWN = (
    "WITH named AS MATERIALIZED (SELECT CAST(key AS INTEGER) AS own, CAST(value AS INTEGER) AS shown "
    "FROM json_each(:groups))"
)
_ONE = "LEFT JOIN named ON named.own = own.id JOIN entities AS shown ON shown.id = coalesce(named.shown, own.id)"
"""`shown` is the entity that `own` is one with."""


class SqliteGraph:
    """The `GraphStore` port over the tables that `SqliteItems` writes; names that are one are one entity."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entities(self, user_id: str, *, limit: int = -1, offset: int = 0) -> list[Entity]:
        """Return the user's entities, those that most items mention first, then by name."""
        query = (
            f"{_SHOWN} SELECT shown.name, shown.key, count(DISTINCT item) FROM entities AS own "
            f"JOIN mentions ON entity = own.id {_ONE} WHERE own.user_id = :user "
            "GROUP BY shown.id ORDER BY 3 DESC, 2 LIMIT :limit OFFSET :offset"
        )
        with self._database.snapshot() as db:
            values = {**_values(db, user_id), "limit": limit, "offset": offset}
            return [Entity(*row) for row in db.execute(query, values)]

    def mentions(self, user_id: str, names: Sequence[str]) -> list[str]:
        """Return the ids of the items that mention any of these names, in any spelling, oldest first, each once."""
        query = (
            "SELECT DISTINCT items.id, item_id FROM entities JOIN mentions ON entity = entities.id "
            "JOIN items ON items.id = item WHERE entities.user_id = :user "
            "AND key IN (SELECT value FROM json_each(:keys)) ORDER BY items.id"
        )
        with self._database.snapshot() as db:
            values = _values(db, user_id, names)
            return [item_id for _, item_id in db.execute(query, values)]

    def neighbours(self, user_id: str, *names: str) -> list[Entity]:
        """Return the entities that an item mentions together with any of these names, the most frequent first.

        `items` of each is how many items mention both. The names themselves are left out.
        """
        query = (
            f"{_SHOWN}, near AS (SELECT value AS key FROM json_each(:keys)) "
            "SELECT shown.name, shown.key, count(DISTINCT mine.item) FROM near "
            "CROSS JOIN entities ON entities.user_id = :user AND entities.key = near.key "
            "CROSS JOIN mentions AS mine ON mine.entity = entities.id "
            "CROSS JOIN mentions AS theirs ON theirs.item = mine.item "
            f"JOIN entities AS own ON own.id = theirs.entity {_ONE} "
            "WHERE own.key NOT IN (SELECT key FROM near) GROUP BY shown.id ORDER BY 3 DESC, 2"
        )
        with self._database.snapshot() as db:
            return [Entity(*row) for row in db.execute(query, _values(db, user_id, names))]

    def relations(self, user_id: str, name: str | None = None) -> list[Relation]:
        """Return the relations that have this name as head or tail, or all of them, oldest first."""
        near = "(SELECT id FROM entities WHERE user_id = :user AND key IN (SELECT value FROM json_each(:keys)))"
        query = (
            "SELECT heads.id, heads.name, relation, tails.id, tails.name, item_id FROM relations "
            "JOIN entities AS heads ON heads.id = head JOIN entities AS tails ON tails.id = tail "
            "JOIN items ON items.id = item WHERE heads.user_id = :user "
            f"AND (:all OR head IN {near} OR tail IN {near}) ORDER BY relations.id"
        )
        names = () if name is None else (name,)
        with self._database.snapshot() as db:
            shown = _shown_names(db, user_id)
            values = {**_values(db, user_id, names), "all": name is None}
            return [
                Relation(shown.get(head, head_name), relation, shown.get(tail, tail_name), item_id)
                for head, head_name, relation, tail, tail_name, item_id in db.execute(query, values)
            ]

    def together(self, user_id: str) -> list[tuple[str, str, int]]:
        """Return every two names that an item mentions together, and how many items do; each pair once."""
        query = (
            f"{_SHOWN}, seen AS MATERIALIZED (SELECT DISTINCT item, shown.id AS entity, shown.name "
            f"FROM entities AS own JOIN mentions ON mentions.entity = own.id {_ONE} "
            "WHERE own.user_id = :user) "
            "SELECT one.name, other.name, count(*) FROM seen AS one JOIN seen AS other ON other.item = one.item "
            "AND other.entity > one.entity GROUP BY one.entity, other.entity ORDER BY one.entity, other.entity"
        )
        with self._database.snapshot() as db:
            return db.execute(query, _values(db, user_id)).fetchall()

    def mentioned(self, user_id: str, *, each: int) -> list[tuple[str, str]]:
        """Return (key of an entity, id of an item that mentions it), oldest item first; of each entity the newest."""
        query = (
            f"{_SHOWN} SELECT key, item_id FROM (SELECT DISTINCT shown.key, item, dense_rank() OVER (PARTITION BY "
            f"shown.id ORDER BY item DESC) AS place FROM entities AS own JOIN mentions ON entity = own.id "
            f"{_ONE} WHERE own.user_id = :user) JOIN items ON items.id = item "
            "WHERE place <= :each ORDER BY items.id"
        )
        with self._database.snapshot() as db:
            values = {**_values(db, user_id), "each": each}
            return db.execute(query, values).fetchall()

    def links(self, user_id: str, items: Sequence[int], *, entities: int, each: int) -> list[Link]:
        """Return what items mention, or relations join to that, and who mentions it; see the port."""
        with self._database.snapshot() as db:
            return links(db, user_id, items, entities=entities, each=each)

    def decided(self, user_id: str) -> list[tuple[str, str]]:
        """Return pairs of keys that are known to be one, or told apart."""
        with self._database.reading() as db:
            return list(groups_of(db, user_id)[0].decided)

    def merge(self, user_id: str, one: str, other: str) -> None:
        """Record that two names are one, shown by the first; nothing to do if they are the same name."""
        key, alias = entity_key(one), entity_key(other)
        with self._database.transaction() as db:
            groups, _ = groups_of(db, user_id)
            for name in (one, other):
                _check_known(db, user_id, name, groups)
            if key != alias:
                decide(db, user_id, alias, key, "user")

    def split(self, user_id: str, name: str) -> None:
        """Take a name out of its group, whoever put it there; nothing to do if it stands alone."""
        with self._database.transaction() as db:
            _check_known(db, user_id, name, groups_of(db, user_id)[0])
            take_apart(db, user_id, entity_key(name))


def _values(db: sqlite3.Connection, user_id: str, names: Sequence[str] = ()) -> dict[str, object]:
    groups, shown = groups_of(db, user_id)
    keys = {key for name in names for key in groups.members(entity_key(name))}
    return {"user": user_id, "groups": json.dumps(shown), "keys": json.dumps(sorted(keys))}


def _shown_names(db: sqlite3.Connection, user_id: str) -> dict[int, str]:
    """Return the number of each entity that is one with others -> the name it is shown by."""
    _, shown = groups_of(db, user_id)
    query = "SELECT id, name FROM entities WHERE id IN (SELECT value FROM json_each(?))"
    names = dict(db.execute(query, (json.dumps(list(shown.values())),)).fetchall())
    return {number: names[other] for number, other in shown.items()}


def _check_known(db: sqlite3.Connection, user_id: str, name: str, groups: Groups) -> None:
    query = "SELECT 1 FROM entities WHERE user_id = ? AND key IN (SELECT value FROM json_each(?))"
    if not db.execute(query, (user_id, json.dumps(groups.members(entity_key(name))))).fetchone():
        raise EntityNotFoundError(name=name)
