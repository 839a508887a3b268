-- What the user said of items' use. useful is 0 or 1, at in seconds since 1970. Of the question that it was about there
-- are no words: hashes of its terms (8 bytes each, as in evidence) and its vector in half precision, or nothing.
CREATE TABLE feedback (
    seq     INTEGER PRIMARY KEY,
    item    INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    useful  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    terms   BLOB,
    vector  BLOB
);
CREATE INDEX feedback_by_item ON feedback (item);
CREATE INDEX feedback_by_user ON feedback (user_id);
-- When items expire (Unix seconds, from the metadata), and how many a user has that count against a cap.
ALTER TABLE items ADD COLUMN expires INTEGER;
CREATE INDEX items_expiring ON items (user_id, expires) WHERE expires IS NOT NULL;
CREATE INDEX items_activated ON items (user_id) WHERE status = 'activated';
CREATE INDEX IF NOT EXISTS items_public ON items (user_id) WHERE visibility = 'public';
-- What an item under review (status "pending") says of entities, until it is approved; JSON lists.
CREATE TABLE withheld (
    item      INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    relations TEXT NOT NULL,
    aliases   TEXT NOT NULL
);
CREATE INDEX items_pending ON items (user_id) WHERE status = 'pending';

-- Words that a user rejected: hashes, keyed with the store where that was and the user.
CREATE TABLE rejected (
    user_id TEXT NOT NULL,
    store   TEXT NOT NULL,
    hash    BLOB NOT NULL,
    PRIMARY KEY (user_id, store, hash)
) WITHOUT ROWID;
