-- migrate:up
-- Schedules: workflows that start at times (docs/workflow-guide.md, "Schedules"; docs/decisions.md, "Schedules"). A fire time starts its run
-- under the request key schedule:<schedule_id>:<seconds since 1970>, so it starts one run whoever tries and however often.
SET LOCAL ROLE acl_owner;

CREATE TABLE schedules (
  schedule_id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects,
  name text NOT NULL CHECK (name <> '' AND length(name) <= 100),
  definition_text text NOT NULL,
  inputs text NOT NULL,                                   -- JSON objects, as text
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
  request_key text,                                       -- Idempotency-Key of its creation
  request_hash bytea CHECK (octet_length(request_hash) = 32),
  version bigint NOT NULL DEFAULT 1,                      -- of what people change; firing leaves it
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (project_id, name),
  UNIQUE (project_id, request_key)
) WITH (fillfactor = 70);
CREATE INDEX schedules_due ON schedules (next_fire_at) WHERE NOT paused;
CREATE INDEX schedules_waiting ON schedules (waiting_at) WHERE NOT paused AND waiting_at IS NOT NULL;

-- What became of fire times; the oldest are removed beyond a hundred a schedule, but for runs that are still open.
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
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
