-- migrate:up
-- Who may write a subject's journal, and when: tokens, leases, sessions of workers, leases of background jobs (invariants 4 and 6). Only
-- the database's clock decides about them. Errors of our own, raised by the functions: AC001 lease or session lost, AC002 conflict, AC003
-- not found, AC004 this is not the cluster the epoch was made for, AC005 invalid, AC006 a bug of ours.
SET LOCAL ROLE acl_owner;

-- One row. Token = (base + WAL timeline) x 2^32 + counter (current_epoch, mint_tokens). new_epoch alone changes it.
CREATE TABLE fleet_epoch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  base bigint NOT NULL CHECK (base >= 0 AND base < 2000000),
  system_identifier bigint NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON fleet_epoch TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON fleet_epoch FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
INSERT INTO fleet_epoch (base, system_identifier) SELECT 0, system_identifier FROM pg_control_system();

-- The lease of each subject. `token` is part of a key, so raising it waits for every commit that proved it with FOR KEY SHARE; `wake` is
-- not, so waking waits behind no commit. Create, grants, commits, reaps and posts write it. `deaths` is in part of an index only while the
-- subject is a suspect, so nothing else pays for it.
CREATE TABLE leases (
  subject_id uuid PRIMARY KEY,
  session_id uuid,                                      -- null: free
  token bigint NOT NULL,
  wake bigint NOT NULL DEFAULT 0,                       -- raised by every inbox row
  state smallint NOT NULL DEFAULT 0,                    -- 0 open, 1 closed, 2 quarantined
  last_end smallint NOT NULL DEFAULT 0,
  required_version int NOT NULL DEFAULT 1,              -- event schema version that a worker must know
  acquired_at timestamptz,
  not_before timestamptz,
  waiting_reason text,
  waiting_since timestamptz,
  next_wake timestamptz,
  deaths int NOT NULL DEFAULT 0,                        -- of this holding: takeovers in a row without a completed step
  UNIQUE (subject_id, token),
  CONSTRAINT leases_whole CHECK (token > 0 AND token < 9007199254740992 AND state IN (0, 1, 2) AND last_end IN (0, 1, 2, 3))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON COLUMN leases.last_end IS
  'the last holder''s: 0 own will, 1 its worker died, 2 not counted, 3 its worker died and it alone is to blame';
CREATE INDEX leases_by_session ON leases (session_id) WHERE session_id IS NOT NULL;   -- written once a claim, not once a step; for reaps
CREATE INDEX leases_suspect ON leases (session_id) WHERE deaths >= 2 AND session_id IS NOT NULL;
GRANT SELECT, INSERT, UPDATE ON leases TO acl_service;
CREATE TRIGGER lease_stays BEFORE DELETE ON leases FOR EACH ROW EXECUTE FUNCTION guard_lease();
CREATE TRIGGER token_grows BEFORE UPDATE ON leases FOR EACH ROW WHEN (NEW.token < OLD.token) EXECUTE FUNCTION guard_lease();
CREATE TRIGGER wake_rises BEFORE UPDATE OF wake ON leases FOR EACH ROW WHEN (NEW.wake > OLD.wake) EXECUTE FUNCTION raise_wake();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON leases FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- One row a grant, for ever: checkers compare the token of every event with it. Grants and commands write it; a command's has no session.
CREATE TABLE lease_history (
  subject_id uuid NOT NULL,
  token bigint NOT NULL,
  session_id uuid,
  head_seq bigint NOT NULL,                             -- read after the lock
  takeovers_without_progress int NOT NULL,                                  -- takeovers in a row without progress, this one included
  granted_at timestamptz NOT NULL,
  lsn pg_lsn NOT NULL DEFAULT pg_current_wal_insert_lsn(),
  alone int NOT NULL DEFAULT 0,                         -- of `takeovers_without_progress`, those for which this subject alone is to blame
  PRIMARY KEY (subject_id, token)
);
GRANT SELECT, INSERT ON lease_history TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON lease_history FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON lease_history FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- One incarnation of a worker process. A worker renews only this row, never its leases. Dead is for ever.
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
  reaped boolean NOT NULL DEFAULT false,                               -- dead, and no lease or started dispatch names it any more
  blamed uuid                                                          -- the subject or dispatch that alone is to blame for its end
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX worker_sessions_alive ON worker_sessions (session_id) WHERE dead_at IS NULL;
CREATE INDEX worker_sessions_unreaped ON worker_sessions (session_id) WHERE dead_at IS NOT NULL AND NOT reaped;
CREATE INDEX worker_sessions_dead ON worker_sessions (dead_at) WHERE dead_at IS NOT NULL;   -- no heartbeat touches it
GRANT SELECT, INSERT, UPDATE, DELETE ON worker_sessions TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON worker_sessions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Subjects that nobody may decide on: whose journal does not verify, or which kill their workers. A person releases them.
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
GRANT SELECT, INSERT, UPDATE ON quarantine TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON quarantine FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Leases of background jobs, which one coordinator at a time does (hold_leader_lease).
CREATE TABLE leader_leases (
  name text PRIMARY KEY,
  session_id uuid NOT NULL,
  token bigint NOT NULL,
  acquired_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON leader_leases TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON leader_leases FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Where the doorbells of living coordinators are. A coordinator writes its row every ten seconds, workers read them; nothing is decided
-- by it.
CREATE TABLE coordinators (
  coordinator_id uuid PRIMARY KEY,                         -- one incarnation of a process
  doorbell text NOT NULL CHECK (length(doorbell) <= 300),  -- HOST:PORT
  host text NOT NULL CHECK (length(host) <= 255),          -- of the machine: a loopback address is for workers of the same one
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON coordinators TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON coordinators FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
