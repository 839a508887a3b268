-- The truth (DESIGN 5). Index structures in memory are rebuilt from these tables.
-- store_id, embedder, dimension, lexicon; reindex_* while a reindexing is under way; purge_due after a deletion; the
-- token of each user's last checkpoint.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Last change sequence number given out, and how often the whole index became void (a reindexing); one row.
CREATE TABLE counters (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    seq   INTEGER NOT NULL,
    epoch INTEGER NOT NULL
);

-- The conversation itself. session_id '' is "no session". A deleted message keeps its place with empty content; of one
-- that is deleted in part, the part is blank and the digest empty.
CREATE TABLE messages (
    id            INTEGER PRIMARY KEY,
    user_id       TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    position      INTEGER NOT NULL,
    source_key    TEXT NOT NULL,
    digest        TEXT NOT NULL,
    message_id    TEXT,
    parent_id     TEXT,
    role          TEXT NOT NULL,
    name          TEXT,
    content       TEXT NOT NULL,
    chat_time     TEXT,
    time_inferred INTEGER NOT NULL,
    flags         TEXT NOT NULL,
    raw           TEXT,
    deleted       INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, session_id, position),
    UNIQUE (user_id, source_key)
);

-- Parsed documents: the text that offsets in sources count over. doc_key is the absolute path of a file.
CREATE TABLE documents (
    id          INTEGER PRIMARY KEY,
    user_id     TEXT NOT NULL,
    doc_key     TEXT NOT NULL,
    source_key  TEXT NOT NULL,
    doc_path    TEXT NOT NULL,
    sha256      TEXT NOT NULL,
    media_type  TEXT NOT NULL,
    title       TEXT,
    page_starts TEXT NOT NULL,
    context     TEXT NOT NULL,
    doc_time    TEXT,
    text        TEXT NOT NULL,
    UNIQUE (user_id, doc_key)
);
CREATE INDEX documents_by_source ON documents (user_id, source_key);

-- seq is that of the item's last change. metadata leaves out fields that have their default.
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
    expires    INTEGER,
    UNIQUE (user_id, item_id)
);
CREATE INDEX items_by_seq ON items (user_id, seq);
-- When items expire (Unix seconds, from the metadata), and how many a user has that count against a cap.
CREATE INDEX items_expiring ON items (user_id, expires) WHERE expires IS NOT NULL;
CREATE INDEX items_activated ON items (user_id) WHERE status = 'activated';
CREATE INDEX items_public ON items (user_id) WHERE visibility = 'public';
-- A summary of a whole window stands in every memory made of it: what is erased may be retold there.
CREATE INDEX items_with_background ON items (user_id, session_id) WHERE instr(metadata, '"background":') > 0;

-- What finding an item needs, beside it: listing and filtering don't wade through vectors.
CREATE TABLE evidence (
    item        INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    embedding   BLOB NOT NULL,
    term_ids    BLOB NOT NULL,
    term_counts BLOB NOT NULL,
    traits      BLOB NOT NULL DEFAULT x''
);

-- Vectors of an item's word pieces, for late interaction; seq is that of their last change.
CREATE TABLE tokens (
    item    INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    pieces  BLOB NOT NULL,
    vectors BLOB NOT NULL
);
CREATE INDEX tokens_by_seq ON tokens (user_id, seq);

-- Vectors of a reindexing that is under way.
CREATE TABLE staged (
    item        INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    embedding   BLOB NOT NULL,
    term_ids    BLOB NOT NULL,
    term_counts BLOB NOT NULL
);

CREATE TABLE item_sources (
    item       INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    source_key TEXT NOT NULL,
    PRIMARY KEY (item, source_key)
) WITHOUT ROWID;
CREATE INDEX item_sources_by_key ON item_sources (source_key);

-- Deleted items, without a word of them; indexes in memory catch up by seq.
CREATE TABLE gone (
    seq     INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    item    INTEGER NOT NULL
);
CREATE INDEX gone_by_user ON gone (user_id, seq);

-- Users of whom everything was deleted, by a hash of their id, so that other processes forget them too.
CREATE TABLE erased (
    user_hash BLOB PRIMARY KEY,
    seq       INTEGER NOT NULL
) WITHOUT ROWID;

-- Earlier versions of items that were changed; the newest is the item. A deletion empties memory and metadata.
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

-- Whom and what the items mention, and how these relate.
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

-- What was read, and how: a second add of the same source by the same reading has nothing to do.
CREATE TABLE ledger (
    user_id     TEXT NOT NULL,
    source_key  TEXT NOT NULL,
    reading_key TEXT NOT NULL,
    PRIMARY KEY (user_id, source_key, reading_key)
) WITHOUT ROWID;

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
