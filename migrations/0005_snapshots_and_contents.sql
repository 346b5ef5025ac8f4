-- migrate:up
-- Snapshots of states (invariant 5), and contents by their SHA-256: files of runs, chunks of large states, payloads too large for a row.
SET LOCAL ROLE acl_owner;

-- The commit statement writes a snapshot; the newest two of a subject are kept, and those that end a journal.
CREATE TABLE snapshot_rows (
  subject_id uuid NOT NULL,
  last_event_seq bigint NOT NULL,
  snapshot_id uuid NOT NULL,
  schema_version smallint NOT NULL,
  token bigint NOT NULL,
  state_root bytea NOT NULL CHECK (length(state_root) = 32),
  chain bytea NOT NULL CHECK (length(chain) = 32),
  inline_state text,
  chunks bytea CHECK (length(chunks) % 32 = 0),         -- hashes one after another, in the order of the trie
  created_at timestamptz NOT NULL,
  closing boolean NOT NULL DEFAULT false,               -- it ends a journal: kept until what is before it is dropped
  PRIMARY KEY (subject_id, last_event_seq),
  CHECK ((inline_state IS NULL) <> (chunks IS NULL))
);
ALTER TABLE snapshot_rows
  ALTER COLUMN inline_state SET STATISTICS 0, ALTER COLUMN chunks SET STATISTICS 0, ALTER COLUMN state_root SET STATISTICS 0,
  ALTER COLUMN chain SET STATISTICS 0;
GRANT SELECT, INSERT, DELETE ON snapshot_rows TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON snapshot_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER chunks_released AFTER DELETE ON snapshot_rows FOR EACH ROW WHEN (OLD.chunks IS NOT NULL) EXECUTE FUNCTION release_chunks();
CREATE TRIGGER closing_stays BEFORE DELETE ON snapshot_rows FOR EACH ROW WHEN (OLD.closing) EXECUTE FUNCTION keep_closing_snapshot();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON snapshot_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Contents, written once by whoever has them, before the commit that refers to them. collect_contents removes what nobody refers to.
CREATE TABLE contents (
  hash bytea PRIMARY KEY CHECK (length(hash) = 32),
  size bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  object_key text,                                      -- in the object store; null: content_chunks hold it
  used_at timestamptz                                   -- when it was last put; null: never collected
);
CREATE INDEX contents_by_use ON contents (used_at, hash) WHERE used_at IS NOT NULL;
GRANT SELECT, INSERT ON contents TO acl_service;
GRANT UPDATE (used_at) ON contents TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON contents FOR EACH ROW EXECUTE FUNCTION refuse_content_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON contents FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The bytes of contents that are not objects, 256 KiB a row.
CREATE TABLE content_chunks (
  hash bytea NOT NULL,
  number int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (hash, number)
);
GRANT SELECT, INSERT ON content_chunks TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON content_chunks FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON content_chunks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Which subject refers to which content. The fenced commit (or create) that names a content writes it: the foreign key locks the content's
-- row, so the collector passes it by. `snapshot`: the reference of a snapshot's chunk, which release_chunks gives up.
CREATE TABLE content_refs (
  hash bytea NOT NULL REFERENCES contents (hash),
  subject_id uuid NOT NULL,
  snapshot boolean NOT NULL DEFAULT false,
  PRIMARY KEY (hash, subject_id, snapshot)
);
GRANT SELECT, INSERT ON content_refs TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON content_refs FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON content_refs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Chunks of the snapshots that end journals: referred to for as long as those are kept.
CREATE TABLE segment_refs (
  hash bytea NOT NULL REFERENCES contents (hash),
  subject_id uuid NOT NULL,
  first_seq bigint NOT NULL,
  PRIMARY KEY (hash, subject_id, first_seq)
);
CREATE INDEX segment_refs_by_segment ON segment_refs (subject_id, first_seq);
GRANT SELECT, INSERT ON segment_refs TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON segment_refs FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON segment_refs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Keys of objects that are being written, which nobody refers to yet, or, condemned, that are to be deleted. Nothing ever refers to a
-- condemned key and no key is used twice, so deleting an object late harms nobody.
CREATE TABLE object_marks (
  object_key text PRIMARY KEY,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  marked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  condemned boolean NOT NULL DEFAULT false
);
GRANT SELECT, INSERT, UPDATE, DELETE ON object_marks TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON object_marks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
