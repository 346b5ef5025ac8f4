-- migrate:up
-- Approvals as people list them (shared/approval/store.h). A decision of a run writes an outbox row of topic `approval/shown` (shared/workflow/approvals.h), which becomes
-- a row here in the same statement and never stands in the outbox: who lists approvals sees what the journal says. Nothing is decided by these rows.
SET LOCAL ROLE acl_owner;

CREATE TABLE approvals (
  position bigint GENERATED ALWAYS AS IDENTITY,           -- in the order in which they were asked
  approval_id text PRIMARY KEY,
  subject_id uuid NOT NULL,
  project_id uuid NOT NULL,
  state text NOT NULL CHECK (state IN ('PENDING', 'APPROVED', 'REJECTED', 'TIMEOUT', 'CANCELLED')),
  request text NOT NULL                                   -- JSON: shared/approval/approval.h
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX approvals_in_order ON approvals (project_id, position);
CREATE INDEX approvals_pending ON approvals (project_id, position) WHERE state = 'PENDING';
GRANT SELECT, INSERT, UPDATE ON approvals TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON approvals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION show_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO approvals (approval_id, subject_id, project_id, state, request)
  SELECT NEW.key, NEW.subject_id, s.project_id, NEW.payload::json ->> 'state', NEW.payload FROM subjects s WHERE s.subject_id = NEW.subject_id
  ON CONFLICT (approval_id) DO UPDATE SET state = EXCLUDED.state, request = EXCLUDED.request;
  RETURN NULL;
END $$;
CREATE TRIGGER show_approval BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.topic = 'approval/shown') EXECUTE FUNCTION show_approval();

-- Roles of whoever uses a key: an approval may ask for one.
ALTER TABLE api_keys ADD COLUMN roles text[] NOT NULL DEFAULT '{}';

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
