INSERT OR REPLACE INTO meta VALUES ('unkeyed', '1');
-- By which a statement is found by others that may repeat or replace it: hashes, gone with it.
CREATE TABLE statement_keys (
    user_id TEXT NOT NULL,
    key     BLOB NOT NULL,
    item    INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, key, item)
) WITHOUT ROWID;
CREATE INDEX statement_keys_by_item ON statement_keys (item);

-- Statements behind another: "merge" says the same as it, "supersede" is no longer so since it (at: when it happened).
CREATE TABLE settled (
    item    INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    by_item INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    kind    TEXT NOT NULL,
    at      TEXT NOT NULL,
    reason  TEXT NOT NULL,
    PRIMARY KEY (item, by_item)
) WITHOUT ROWID;
CREATE INDEX settled_by ON settled (by_item);

-- What a statement that stands for others brought itself; its metadata has theirs, too.
CREATE TABLE standing (
    item     INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    sources  TEXT NOT NULL,
    entities TEXT NOT NULL
);

-- Names that are one: entity and key are keys of `entities`. origin: "stated" by an item and gone with it; the user's own
-- (without an item): "user" says that they are one, "apart" that they are not. The newest has the highest id.
CREATE TABLE aliases (
    id      INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    key     TEXT NOT NULL,
    entity  TEXT NOT NULL,
    origin  TEXT NOT NULL,
    item    INTEGER REFERENCES items (id) ON DELETE CASCADE,
    UNIQUE (user_id, key, entity, origin, item)
);
CREATE INDEX aliases_by_item ON aliases (item);
CREATE INDEX aliases_by_entity ON aliases (user_id, entity, origin);
CREATE INDEX aliases_decided ON aliases (user_id) WHERE item IS NULL;
