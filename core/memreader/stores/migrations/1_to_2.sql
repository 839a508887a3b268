-- What finding needs goes out of items into evidence, an item knows its last change, deletions are kept apart.
-- Entities stay empty for items of version 1: their keys are made of names in a way that SQL does not know.

-- By its old name, so that what refers to items refers to the new table.
ALTER TABLE items RENAME TO items_of_1;

CREATE TABLE counters (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    seq   INTEGER NOT NULL,
    epoch INTEGER NOT NULL
);
CREATE TABLE items (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT NOT NULL,
    item_id    TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    session_id TEXT,
    agent_id   TEXT,
    status     TEXT NOT NULL,
    visibility TEXT NOT NULL,
    source     TEXT,
    memory     TEXT NOT NULL,
    metadata   TEXT NOT NULL,
    UNIQUE (user_id, item_id)
);
CREATE TABLE evidence (
    item        INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    embedding   BLOB NOT NULL,
    term_ids    BLOB NOT NULL,
    term_counts BLOB NOT NULL
);
CREATE TABLE staged (
    item        INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    embedding   BLOB NOT NULL,
    term_ids    BLOB NOT NULL,
    term_counts BLOB NOT NULL
);
CREATE TABLE gone (
    seq     INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    item    INTEGER NOT NULL
);
CREATE TABLE erased (
    user_hash BLOB PRIMARY KEY,
    seq       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE history (
    id       INTEGER PRIMARY KEY,
    user_id  TEXT NOT NULL,
    item_id  TEXT NOT NULL,
    version  INTEGER NOT NULL,
    event    TEXT NOT NULL,
    at       TEXT NOT NULL,
    cause    TEXT NOT NULL,
    memory   TEXT,
    metadata TEXT
);
CREATE INDEX history_by_item ON history (user_id, item_id);
CREATE TABLE entities (
    id      INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    key     TEXT NOT NULL,
    name    TEXT NOT NULL,
    UNIQUE (user_id, key)
);
CREATE TABLE mentions (
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    item   INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    PRIMARY KEY (entity, item)
) WITHOUT ROWID;
CREATE INDEX mentions_by_item ON mentions (item);
CREATE TABLE relations (
    id       INTEGER PRIMARY KEY,
    head     INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    relation TEXT NOT NULL,
    tail     INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    item     INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    UNIQUE (item, head, relation, tail)
);
CREATE INDEX relations_by_head ON relations (head);
CREATE INDEX relations_by_tail ON relations (tail);

-- An item without a change of its own, which version 1 never wrote, counts as changed first.
INSERT INTO items
SELECT items_of_1.id, items_of_1.user_id, item_id, coalesce(last.seq, 1), session_id, agent_id, status, visibility,
       source, memory, metadata
FROM items_of_1
LEFT JOIN (SELECT item, max(seq) AS seq FROM changes GROUP BY item) AS last ON last.item = items_of_1.id
ORDER BY items_of_1.id;
CREATE INDEX items_by_seq ON items (user_id, seq);

INSERT INTO evidence
SELECT id, embedding, term_ids, term_counts FROM items_of_1 ORDER BY id;

INSERT INTO gone
SELECT max(seq), user_id, item FROM changes
WHERE item NOT IN (SELECT id FROM items_of_1)
GROUP BY item;
CREATE INDEX gone_by_user ON gone (user_id, seq);

INSERT INTO counters
SELECT 1, max(coalesce((SELECT max(seq) FROM items), 0), coalesce((SELECT max(seq) FROM gone), 0)), 0;

-- The number of a deleted item is not given out again, even if it was the last.
DELETE FROM sqlite_sequence WHERE name = 'items';
INSERT INTO sqlite_sequence SELECT 'items', seq FROM sqlite_sequence WHERE name = 'items_of_1';

DROP TABLE items_of_1;
DROP TABLE changes;
