-- What recall looks at in an item beside its words and its vector; Memory fills it in when it opens the store.
ALTER TABLE evidence ADD COLUMN traits BLOB NOT NULL DEFAULT x'';
INSERT OR REPLACE INTO meta VALUES ('undescribed', '1');
-- A summary of a whole window stands in every memory made of it: what is erased may be retold there.
CREATE INDEX items_with_background ON items (user_id, session_id) WHERE instr(metadata, '"background":') > 0;
