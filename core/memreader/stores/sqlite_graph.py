"""Entities and relations of the items, in the same database and gone with them."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Sequence

from memreader.records import Entity, Relation
from memreader.stores.database import Database


def entity_key(name: str) -> str:
    """Return what makes two spellings of a name one: case, width and runs of spaces don't count.

    >>> entity_key(" Zhang  SAN ") == entity_key("ｚｈａｎｇ san")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


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
            db.execute("INSERT OR IGNORE INTO entities (user_id, key, name) VALUES (?, ?, ?)", (user_id, key, name))
            query = "SELECT id FROM entities WHERE user_id = ? AND key = ?"
            numbers[key] = db.execute(query, (user_id, key)).fetchone()[0]
    db.executemany("INSERT OR IGNORE INTO mentions VALUES (?, ?)", [(number, item) for number in numbers.values()])
    rows = [
        (numbers[entity_key(head)], relation, numbers[entity_key(tail)], item)
        for head, relation, tail in relations
        if entity_key(head) and entity_key(tail)
    ]
    db.executemany("INSERT OR IGNORE INTO relations (head, relation, tail, item) VALUES (?, ?, ?, ?)", rows)


def relations_of(db: sqlite3.Connection, item: int) -> list[tuple[str, str, str]]:
    """Return head, relation and tail of what an item states, in its order."""
    query = (
        "SELECT heads.name, relation, tails.name FROM relations JOIN entities AS heads ON heads.id = head "
        "JOIN entities AS tails ON tails.id = tail WHERE item = ? ORDER BY relations.id"
    )
    return db.execute(query, (item,)).fetchall()


class SqliteGraph:
    """The `GraphStore` port over the tables that `SqliteItems` writes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entities(self, user_id: str, *, limit: int = -1, offset: int = 0) -> list[Entity]:
        """Return the user's entities, those that most items mention first, then by name."""
        query = (
            "SELECT name, key, count(*) FROM entities JOIN mentions ON entity = entities.id WHERE user_id = ? "
            "GROUP BY entities.id ORDER BY count(*) DESC, key LIMIT ? OFFSET ?"
        )
        with self._database.reading() as db:
            return [Entity(*row) for row in db.execute(query, (user_id, limit, offset))]

    def mentions(self, user_id: str, names: Sequence[str]) -> list[str]:
        """Return the ids of the items that mention any of these names, in any spelling, oldest first, each once."""
        query = (
            "SELECT DISTINCT items.id, item_id FROM entities JOIN mentions ON entity = entities.id "
            "JOIN items ON items.id = item WHERE entities.user_id = ? "
            "AND key IN (SELECT value FROM json_each(?)) ORDER BY items.id"
        )
        keys = json.dumps([entity_key(name) for name in names])
        with self._database.reading() as db:
            return [item_id for _, item_id in db.execute(query, (user_id, keys))]

    def neighbours(self, user_id: str, name: str) -> list[Entity]:
        """Return the entities that an item mentions together with this one, the most frequent first.

        `items` of each is how many items mention both.
        """
        query = (
            "SELECT others.name, others.key, count(*) FROM entities JOIN mentions AS mine ON mine.entity = entities.id "
            "JOIN mentions AS theirs ON theirs.item = mine.item AND theirs.entity <> mine.entity "
            "JOIN entities AS others ON others.id = theirs.entity WHERE entities.user_id = ? AND entities.key = ? "
            "GROUP BY others.id ORDER BY count(*) DESC, others.key"
        )
        with self._database.reading() as db:
            return [Entity(*row) for row in db.execute(query, (user_id, entity_key(name)))]

    def relations(self, user_id: str, name: str | None = None) -> list[Relation]:
        """Return the relations that have this name as head or tail, or all of them, oldest first."""
        query = (
            "SELECT heads.name, relation, tails.name, item_id FROM relations "
            "JOIN entities AS heads ON heads.id = head JOIN entities AS tails ON tails.id = tail "
            "JOIN items ON items.id = item WHERE heads.user_id = :user "
            "AND (:key IS NULL OR heads.key = :key OR tails.key = :key) ORDER BY relations.id"
        )
        values = {"user": user_id, "key": None if name is None else entity_key(name)}
        with self._database.reading() as db:
            return [Relation(*row) for row in db.execute(query, values)]
