-- migrate:up
-- Dispatched steps: work that any worker of a queue may take, granted once an attempt and fenced by a token of its own.
SET LOCAL ROLE acl_owner;

-- The commit that dispatches a step writes its row; grant_rows starts it; finish_dispatch and reap_dispatches end it, by compare-and-set on
-- `state`, so exactly one end becomes an inbox row. retain_dispatches removes old rows.
CREATE TABLE dispatches (
  subject_id uuid NOT NULL,
  step_id text NOT NULL CHECK (length(step_id) <= 100),
  attempt_id int NOT NULL,
  queue text NOT NULL,
  priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
  payload text NOT NULL,
  deadline timestamptz,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'started', 'done', 'failed', 'cancelled', 'lost')),
  token bigint,
  session_id uuid,
  created_at timestamptz NOT NULL,
  dispatch_id uuid NOT NULL DEFAULT gen_random_uuid(),
  cancel_requested boolean NOT NULL DEFAULT false,
  started_at timestamptz,
  ended_at timestamptz,
  deaths int NOT NULL DEFAULT 0,                        -- dispatches of the same step that were lost before this one was taken
  PRIMARY KEY (subject_id, step_id, attempt_id),
  CONSTRAINT dispatches_states CHECK ((state = 'started') <= (token IS NOT NULL AND session_id IS NOT NULL)
                                 AND (state IN ('queued', 'started')) = (ended_at IS NULL))
);
CREATE UNIQUE INDEX dispatches_by_id ON dispatches (dispatch_id);
CREATE INDEX dispatches_started ON dispatches (session_id) WHERE state = 'started';                    -- heartbeats, reaps, reconciliation
CREATE INDEX dispatches_unwanted ON dispatches (subject_id) WHERE state = 'queued' AND cancel_requested;
CREATE INDEX dispatches_ended ON dispatches (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX dispatches_suspect ON dispatches (session_id) WHERE state = 'started' AND deaths >= 2;
GRANT SELECT, INSERT, UPDATE, DELETE ON dispatches TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON dispatches FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
