-- migrate:up
-- What people see of runs, written by the commits that write the journal. Nothing is decided by it; `airun verify` makes it again and
-- compares.
SET LOCAL ROLE acl_owner;

-- What the API lists. Written only when something in it changes.
CREATE TABLE listings (
  subject_id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  version text NOT NULL,
  owner text NOT NULL,
  status text NOT NULL,
  definition_text text NOT NULL DEFAULT '',
  labels text NOT NULL,                                 -- a JSON object
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  started_at timestamptz,
  completed_at timestamptz,
  error_message text
) WITH (fillfactor = 80, toast_tuple_target = 256);
ALTER TABLE listings ALTER COLUMN definition_text SET STORAGE MAIN, ALTER COLUMN definition_text SET STATISTICS 0,
  ALTER COLUMN error_message SET STATISTICS 0;
CREATE INDEX listings_by_project ON listings (project_id, subject_id DESC);
GRANT SELECT, INSERT, UPDATE ON listings TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON listings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What was undone, and how it went (invariant 7): one row for each change of a compensation.
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
GRANT SELECT, INSERT ON compensation_rows TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON compensation_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON compensation_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Texts that compress well are compressed by LZ4 where the server has it.
DO $$ BEGIN
  ALTER TABLE journal_rows ALTER COLUMN payload SET COMPRESSION lz4;
  ALTER TABLE snapshot_rows ALTER COLUMN inline_state SET COMPRESSION lz4;
  ALTER TABLE listings ALTER COLUMN definition_text SET COMPRESSION lz4;
  ALTER TABLE subjects ALTER COLUMN definition_text SET COMPRESSION lz4;
  ALTER TABLE definition_texts ALTER COLUMN text SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'this PostgreSQL was built without LZ4: texts are compressed by pglz';
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
