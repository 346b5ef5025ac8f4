-- migrate:up
-- Schedules (shared/schedule/store.h): runs that begin by the clock.
SET LOCAL ROLE acl_owner;

-- The API writes what people change; the coordinator's job that fires schedules writes the rest.
CREATE TABLE schedules (
  schedule_id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects,
  name text NOT NULL CHECK (name <> '' AND length(name) <= 100),
  definition_text text NOT NULL,
  inputs text NOT NULL,                                   -- a JSON object, as labels
  labels text NOT NULL,
  cron text NOT NULL,
  zone text NOT NULL,
  overlap text NOT NULL CHECK (overlap IN ('skip', 'buffer_one', 'cancel_other', 'allow')),
  catchup_seconds bigint NOT NULL CHECK (catchup_seconds BETWEEN 0 AND 86400),
  created_by text NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  pause_reason text NOT NULL DEFAULT '',
  next_fire_at timestamptz,                               -- null: it never fires again
  waiting_at timestamptz,                                 -- a fire time that waits for the end of the open run
  last_fire_at timestamptz,                               -- the last one that started a run
  started_count bigint NOT NULL DEFAULT 0,
  skipped_count bigint NOT NULL DEFAULT 0,
  missed_count bigint NOT NULL DEFAULT 0,
  failed_count bigint NOT NULL DEFAULT 0,
  request_key text,                                       -- the Idempotency-Key of its creation
  request_hash bytea CHECK (octet_length(request_hash) = 32),
  version bigint NOT NULL DEFAULT 1,                      -- of what people change; firing leaves it
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  edited_by text NOT NULL DEFAULT '',                     -- who changed it last: a requester of its runs, as created_by
  UNIQUE (project_id, name),
  UNIQUE (project_id, request_key)
) WITH (fillfactor = 70);
CREATE INDEX schedules_due ON schedules (next_fire_at) WHERE NOT paused;
CREATE INDEX schedules_waiting ON schedules (waiting_at) WHERE NOT paused AND waiting_at IS NOT NULL;

-- What became of fire times: the newest hundred of each schedule, and those whose run is still open.
CREATE TABLE schedule_fires (
  schedule_id uuid NOT NULL REFERENCES schedules ON DELETE CASCADE,
  nominal_at timestamptz NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('started', 'skipped_overlap', 'missed', 'failed')),
  subject_id uuid,
  reason text NOT NULL DEFAULT '',
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (schedule_id, nominal_at),
  CHECK ((outcome = 'started') = (subject_id IS NOT NULL))
);
GRANT SELECT, INSERT, UPDATE, DELETE ON schedules, schedule_fires TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON schedules FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON schedule_fires FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
