-- migrate:up
-- What is written once: events, attempts, completions, grants. The lean physical form (text payload, binary checksums) of the
-- documents' tables; the documented names and shapes are views over them.
SET LOCAL ROLE acl_owner;

CREATE TABLE event_rows (
  subject_id uuid NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 1),
  journal_id uuid NOT NULL,
  type text NOT NULL CHECK (type <> '' AND length(type) <= 50),
  schema_version smallint NOT NULL,
  producer_version text NOT NULL CHECK (length(producer_version) <= 20),
  token bigint NOT NULL,
  at timestamptz NOT NULL,
  checksum bytea NOT NULL CHECK (length(checksum) = 32),
  content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
  chain bytea NOT NULL CHECK (length(chain) = 32),
  payload text,                                  -- null: the content was removed; the chain covers its hash
  PRIMARY KEY (subject_id, seq)
);

CREATE TABLE attempt_rows (
  subject_id uuid NOT NULL,
  step_id text NOT NULL CHECK (step_id <> '' AND length(step_id) <= 100),
  attempt_id int NOT NULL CHECK (attempt_id >= 1),
  token bigint NOT NULL,
  started_at timestamptz NOT NULL,
  PRIMARY KEY (subject_id, step_id, attempt_id)
);

CREATE TABLE completion_rows (
  subject_id uuid NOT NULL,
  step_id text NOT NULL CHECK (step_id <> '' AND length(step_id) <= 100),
  attempt_id int NOT NULL CHECK (attempt_id >= 1),
  token bigint NOT NULL,
  event_seq bigint NOT NULL,
  completed_at timestamptz NOT NULL,
  result_checksum bytea NOT NULL CHECK (length(result_checksum) = 32),
  PRIMARY KEY (subject_id, step_id)
);

-- The last two of a subject are kept.
CREATE TABLE snapshot_rows (
  subject_id uuid NOT NULL,
  last_event_seq bigint NOT NULL,
  snapshot_id uuid NOT NULL,
  schema_version smallint NOT NULL,
  token bigint NOT NULL,
  state_root bytea NOT NULL CHECK (length(state_root) = 32),
  chain bytea NOT NULL CHECK (length(chain) = 32),
  inline_state text,
  chunks bytea CHECK (length(chunks) % 32 = 0),  -- hashes one after another, in trie order
  created_at timestamptz NOT NULL,
  PRIMARY KEY (subject_id, last_event_seq),
  CHECK ((inline_state IS NULL) <> (chunks IS NULL))
);

-- What the API lists; written only when something in it changes.
CREATE TABLE listings (
  subject_id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  version text NOT NULL,
  owner text NOT NULL,
  status text NOT NULL,
  definition_text text NOT NULL,
  labels text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  started_at timestamptz,
  completed_at timestamptz,
  error_message text
) WITH (fillfactor = 80);
CREATE INDEX listings_by_project ON listings (project_id, subject_id DESC);

CREATE TABLE compensation_rows (
  compensation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject_id uuid NOT NULL,
  step_id text NOT NULL,
  capability text NOT NULL,
  inputs_json text,
  status text NOT NULL CHECK (status IN ('pending', 'executed', 'failed')),
  error text,
  at timestamptz NOT NULL
);
CREATE INDEX compensation_rows_by_subject ON compensation_rows (subject_id);

-- Contents by SHA-256: files of runs, chunks of snapshots. Write-once; 256 KiB a row.
CREATE TABLE contents (
  hash bytea PRIMARY KEY CHECK (length(hash) = 32),
  size bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE content_chunks (
  hash bytea NOT NULL,
  number int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (hash, number)
);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
