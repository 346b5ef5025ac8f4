-- migrate:up
-- What there is and who may write it. Hot tables have one key each, no foreign keys, no secondary indexes (notes/performance.md 6).
SET LOCAL ROLE acl_owner;

CREATE TABLE projects (
  project_id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO projects (project_id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'default');

-- A subject is whatever has a journal and a lease. This row never changes.
CREATE TABLE subjects (
  subject_id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind <> '' AND length(kind) <= 50),
  queue text NOT NULL CHECK (queue <> '' AND length(queue) <= 100),
  priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
  created_at timestamptz NOT NULL
);

-- The head of the journal: the compare-and-set of every commit.
CREATE TABLE subject_head (
  subject_id uuid PRIMARY KEY,
  head_seq bigint NOT NULL CHECK (head_seq >= 0),
  chain bytea NOT NULL CHECK (length(chain) = 32),
  state_root bytea NOT NULL CHECK (length(state_root) = 32),
  journal_id uuid NOT NULL,
  last_timestamp timestamptz NOT NULL,
  run_deadline timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- Who may write. `token` is part of a key, so raising it waits for every commit that proved it with FOR KEY SHARE; `wake` is not, so
-- waking never waits behind a commit.
CREATE TABLE leases (
  subject_id uuid PRIMARY KEY,
  session_id uuid,                                      -- null: free
  token bigint NOT NULL CHECK (token > 0 AND token < 9007199254740992),
  wake bigint NOT NULL DEFAULT 0,                       -- raised by every inbox row
  state smallint NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)),  -- 0 open, 1 closed, 2 quarantined
  last_end smallint NOT NULL DEFAULT 0 CHECK (last_end IN (0, 1, 2)),  -- the last holder's: 0 own will, 1 reaped, 2 reaped, not counted
  required_version int NOT NULL DEFAULT 1,              -- event schema version a worker must know
  acquired_at timestamptz,
  not_before timestamptz,
  waiting_reason text,
  waiting_since timestamptz,
  next_wake timestamptz,
  UNIQUE (subject_id, token)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX leases_by_session ON leases (session_id) WHERE session_id IS NOT NULL;   -- per claim, not per step; the reaper's

-- One row a grant, for ever: checkers compare every write's token with it. A direct command's grant has no session.
CREATE TABLE lease_history (
  subject_id uuid NOT NULL,
  token bigint NOT NULL,
  session_id uuid,
  head_seq bigint NOT NULL,        -- read after the lock
  takeovers_without_progress int NOT NULL,             -- takeovers in a row without progress, this one included
  granted_at timestamptz NOT NULL,
  lsn pg_lsn NOT NULL DEFAULT pg_current_wal_insert_lsn(),
  PRIMARY KEY (subject_id, token)
);

-- One row. Token = (base + WAL timeline) x 2^32 + counter.
CREATE TABLE fleet_epoch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  base bigint NOT NULL CHECK (base >= 0 AND base < 2000000),
  system_identifier bigint NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO fleet_epoch (base, system_identifier) SELECT 0, system_identifier FROM pg_control_system();

-- One incarnation of a worker process. Only this row is renewed. Dead is for ever.
CREATE TABLE worker_sessions (
  session_id uuid PRIMARY KEY,
  worker_name text NOT NULL,
  host text NOT NULL,
  pid int NOT NULL,
  slots int NOT NULL,
  queues text[] NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL,
  heartbeat_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  dead_at timestamptz,
  end_kind smallint NOT NULL DEFAULT 0 CHECK (end_kind IN (0, 1, 2)),  -- 0 alive, 1 expired, 2 clean or in a mass death (not counted)
  reaped boolean NOT NULL DEFAULT false                                -- dead and no lease names it any more
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX worker_sessions_alive ON worker_sessions (session_id) WHERE dead_at IS NULL;
CREATE INDEX worker_sessions_unreaped ON worker_sessions (session_id) WHERE dead_at IS NOT NULL AND NOT reaped;

-- Insert and delete only; only a claim deletes.
CREATE TABLE ready (
  queue text NOT NULL,
  priority smallint NOT NULL,
  shard smallint NOT NULL,
  ready_at timestamptz NOT NULL,
  subject_id uuid NOT NULL,
  kind text NOT NULL,
  required_version int NOT NULL,
  PRIMARY KEY (queue, priority, shard, ready_at, subject_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE timers (
  subject_id uuid NOT NULL,
  timer_id text NOT NULL,
  fire_at timestamptz NOT NULL,
  PRIMARY KEY (subject_id, timer_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX timers_by_time ON timers (fire_at);

-- Unread outside inputs. The holder at the time of posting makes a heartbeat's answer cost by signals, not by leases.
CREATE TABLE inbox (
  subject_id uuid NOT NULL,
  inbox_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind <> '' AND length(kind) <= 50),
  payload text NOT NULL,
  created_at timestamptz NOT NULL,
  arrival bigint GENERATED ALWAYS AS IDENTITY,
  session_id uuid,
  PRIMARY KEY (subject_id, inbox_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX inbox_by_session ON inbox (session_id) WHERE session_id IS NOT NULL;

-- A dispatched step: granted once per attempt, fenced by its own token.
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
  heartbeat_at timestamptz,
  PRIMARY KEY (subject_id, step_id, attempt_id)
);

CREATE TABLE outbox (
  outbox_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject_id uuid NOT NULL,
  topic text NOT NULL,
  key text NOT NULL,
  payload text NOT NULL,
  created_at timestamptz NOT NULL
);

-- Idempotency of requests: the scope is the project (create) or the subject (inbox, direct commands).
CREATE TABLE request_keys (
  scope uuid NOT NULL,
  request_key text NOT NULL CHECK (length(request_key) <= 300),
  request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
  subject_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (scope, request_key)
);

CREATE TABLE quarantine (
  quarantine_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject_id uuid NOT NULL,
  reason text NOT NULL,
  detail text NOT NULL,
  at timestamptz NOT NULL,
  released_at timestamptz,
  released_by text
);
CREATE UNIQUE INDEX quarantine_open ON quarantine (subject_id) WHERE released_at IS NULL;
CREATE INDEX quarantine_by_subject ON quarantine (subject_id);

-- Jobs that one process at a time should do.
CREATE TABLE leader_leases (
  name text PRIMARY KEY,
  session_id uuid NOT NULL,
  token bigint NOT NULL,
  acquired_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
