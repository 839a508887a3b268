-- Vectors of an item's word pieces, for late interaction; seq is that of their last change.
CREATE TABLE tokens (
    item    INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    pieces  BLOB NOT NULL,
    vectors BLOB NOT NULL
);
CREATE INDEX tokens_by_seq ON tokens (user_id, seq);
