-- The truth (DESIGN 5). Index structures in memory are rebuilt from these tables.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The conversation itself. session_id '' is "no session". A deleted message keeps its place with empty content.
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

CREATE TABLE items (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id     TEXT NOT NULL,
    item_id     TEXT NOT NULL,
    session_id  TEXT,
    agent_id    TEXT,
    status      TEXT NOT NULL,
    visibility  TEXT NOT NULL,
    source      TEXT,
    memory      TEXT NOT NULL,
    metadata    TEXT NOT NULL,
    embedding   BLOB NOT NULL,
    term_ids    BLOB NOT NULL,
    term_counts BLOB NOT NULL,
    UNIQUE (user_id, item_id)
);

CREATE TABLE item_sources (
    item       INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    source_key TEXT NOT NULL,
    PRIMARY KEY (item, source_key)
) WITHOUT ROWID;
CREATE INDEX item_sources_by_key ON item_sources (source_key);

-- What was read, and how: a second add of the same source by the same reading has nothing to do.
CREATE TABLE ledger (
    user_id     TEXT NOT NULL,
    source_key  TEXT NOT NULL,
    reading_key TEXT NOT NULL,
    PRIMARY KEY (user_id, source_key, reading_key)
) WITHOUT ROWID;

-- Every change of an item, deletes too; indexes in memory catch up by seq.
CREATE TABLE changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    item    INTEGER NOT NULL
);
CREATE INDEX changes_by_user ON changes (user_id, seq);
