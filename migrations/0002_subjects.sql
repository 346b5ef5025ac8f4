-- migrate:up
-- Subjects: whatever has a journal and a lease (a workflow run, a project, an agent session, an ask session). Hot tables have one key each,
-- no foreign keys and no secondary indexes.
SET LOCAL ROLE acl_owner;

-- Names of projects. A project is a subject too: its id is the subject's. The API writes it; a project whose subject does not exist yet is
-- not there, and its name is free. The default project has no journal.
CREATE TABLE projects (
  project_id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT, INSERT ON projects TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON projects FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
INSERT INTO projects (project_id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'default');

-- What never changes of a subject. Create writes it. traceparent is a column of its own for the relay, which reads rows of many subjects
-- and none of their states.
CREATE TABLE subjects (
  subject_id uuid PRIMARY KEY,                          -- UUIDv7
  project_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind <> '' AND length(kind) <= 50),
  queue text NOT NULL CHECK (queue <> '' AND length(queue) <= 100),
  priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
  created_at timestamptz NOT NULL,
  traceparent text,
  definition_text text,
  definition_hash bytea                                       -- of definition_texts
);
ALTER TABLE subjects ALTER COLUMN definition_text SET STORAGE MAIN, ALTER COLUMN definition_hash SET STORAGE MAIN;
ALTER TABLE subjects
  ALTER COLUMN subject_id SET STATISTICS 10, ALTER COLUMN project_id SET STATISTICS 10, ALTER COLUMN kind SET STATISTICS 10,
  ALTER COLUMN queue SET STATISTICS 10, ALTER COLUMN priority SET STATISTICS 10, ALTER COLUMN created_at SET STATISTICS 10,
  ALTER COLUMN traceparent SET STATISTICS 0, ALTER COLUMN definition_text SET STATISTICS 0, ALTER COLUMN definition_hash SET STATISTICS 0;
GRANT SELECT, INSERT ON subjects TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON subjects FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON subjects FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The text that a run was submitted with, stored once however many runs have it. Create writes it. subjects.definition_hash has no
-- foreign key to it, which would lock the text's row for every run: both rows are written in one transaction, and `airun verify` looks.
CREATE TABLE definition_texts (
  hash bytea PRIMARY KEY CHECK (length(hash) = 32),     -- SHA-256 of the text
  text text NOT NULL
);
GRANT SELECT, INSERT ON definition_texts TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON definition_texts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON definition_texts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The head of each journal: what every commit compares and sets (invariant 1). Create and the commit statement write it. The one CHECK has
-- few parts, because PostgreSQL reads and compiles each part at every statement.
CREATE TABLE subject_head (
  subject_id uuid PRIMARY KEY,
  head_seq bigint NOT NULL,
  chain bytea NOT NULL,
  state_root bytea NOT NULL,
  journal_id uuid NOT NULL,
  last_timestamp timestamptz NOT NULL,
  run_deadline timestamptz,
  journal_first bigint,                                 -- the sequence number that journal_id begins with; null: 1
  CONSTRAINT subject_head_whole CHECK (head_seq >= 0 AND length(chain) = 32 AND length(state_root) = 32)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE subject_head
  ALTER COLUMN subject_id SET STATISTICS 10, ALTER COLUMN head_seq SET STATISTICS 10, ALTER COLUMN last_timestamp SET STATISTICS 10,
  ALTER COLUMN run_deadline SET STATISTICS 10, ALTER COLUMN chain SET STATISTICS 0, ALTER COLUMN state_root SET STATISTICS 0,
  ALTER COLUMN journal_id SET STATISTICS 0, ALTER COLUMN journal_first SET STATISTICS 0;
GRANT SELECT, INSERT, UPDATE ON subject_head TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON subject_head FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Idempotency of requests: scope is the project (create) or the subject (inbox). Create and post_inbox write it; retain removes old rows.
CREATE TABLE request_keys (
  scope uuid NOT NULL,
  request_key text NOT NULL CHECK (length(request_key) <= 300),
  request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
  subject_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (scope, request_key)
);
CREATE INDEX request_keys_by_time ON request_keys USING brin (created_at);   -- rows come in the order of time: an insert pays nothing
GRANT SELECT, INSERT, UPDATE, DELETE ON request_keys TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON request_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What commands answered, by request key, for as long as the subject lives: a repeat gets the first answer. The commit of the command
-- writes it.
CREATE TABLE command_answers (
  subject_id uuid NOT NULL,
  request_key text NOT NULL CHECK (request_key <> '' AND length(request_key) <= 300),
  request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
  event_seq bigint NOT NULL CHECK (event_seq > 0),      -- the head after the command
  answer text NOT NULL,                                 -- JSON
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (subject_id, request_key)
);
GRANT SELECT, INSERT ON command_answers TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON command_answers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON command_answers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
