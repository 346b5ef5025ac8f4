-- migrate:up
-- A workflow as it was submitted is stored once, not with every run of it: it was a kilobyte of each run's rows. The run has its hash. A text is never changed and never
-- removed, as the rows of subjects are; those from before keep theirs.
SET LOCAL ROLE acl_owner;

CREATE TABLE definition_texts (
  hash bytea PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the text
  text text NOT NULL
);
GRANT SELECT, INSERT ON definition_texts TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON definition_texts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON definition_texts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
DO $$ BEGIN
  ALTER TABLE definition_texts ALTER COLUMN text SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  NULL;  -- said in 0112
END $$;

-- No foreign key: it would lock the text's row for every run that is made. `airun verify` looks instead, and both rows stand in one transaction.
ALTER TABLE subjects ADD COLUMN definition_hash bytea;
ALTER TABLE subjects ALTER COLUMN definition_hash SET STORAGE MAIN, ALTER COLUMN definition_hash SET STATISTICS 0;

CREATE OR REPLACE VIEW workflows AS
SELECT l.subject_id AS id, l.name, l.version, l.owner, l.status, coalesce(s.definition_text, x.text, l.definition_text) AS spec_yaml, l.created_at, l.updated_at, l.completed_at,
       l.error_message, l.started_at, l.labels, l.project_id
FROM listings l JOIN subjects s USING (subject_id) LEFT JOIN definition_texts x ON x.hash = s.definition_hash WHERE l.kind = 'workflow';

-- The functions that make runs, for programs of before and for batches with a key that is taken.
DO $$
DECLARE
  v_function oid;
BEGIN
  FOR v_function IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prosrc ~ 'INSERT INTO subjects [^;]*traceparent, definition_text' LOOP
    EXECUTE replace(replace(pg_get_functiondef(v_function),
      'THEN p_definition[n] END', 'THEN sha256(convert_to(p_definition[n], ''UTF8'')) END'),
      'INSERT INTO subjects (subject_id, project_id, kind, queue, priority, created_at, traceparent, definition_text)',
      'INSERT INTO definition_texts (hash, text) SELECT DISTINCT sha256(convert_to(t, ''UTF8'')), t FROM unnest(p_definition) AS t WHERE t IS NOT NULL ORDER BY 1 ON CONFLICT DO NOTHING;
  INSERT INTO subjects (subject_id, project_id, kind, queue, priority, created_at, traceparent, definition_hash)');
  END LOOP;
END $$;

-- As 0121's create_item, with the hash for the text.
CREATE TYPE create_row AS (
  n int, subject uuid, project uuid, kind text, queue text, priority int, version int, head bigint, chain bytea, root bytea, journal uuid, at timestamptz,
  deadline timestamptz, ready boolean, session uuid, name text, name_version text, owner text, status text, definition bytea, labels text, traceparent text);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
