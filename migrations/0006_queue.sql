-- migrate:up
-- What makes a subject go on: ready rows, timers, outside inputs, messages to others.
SET LOCAL ROLE acl_owner;

-- Subjects and dispatched steps that somebody should take, by queue, priority and shard. Rows are inserted and deleted, never moved; only a
-- claim deletes them. The relay sends them as messages. `begun`: whoever creates a run says that it has not begun; everything else has.
CREATE TABLE ready (
  queue text NOT NULL,
  priority smallint NOT NULL,
  shard smallint NOT NULL,                              -- ready_shard
  ready_at timestamptz NOT NULL,
  subject_id uuid NOT NULL,                             -- of kind 'dispatch': the dispatch's id
  kind text NOT NULL,
  required_version int NOT NULL,
  deaths int NOT NULL DEFAULT 0,                        -- of a suspect: it is granted with care
  begun boolean NOT NULL DEFAULT true,
  PRIMARY KEY (queue, priority, shard, ready_at, subject_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX ready_suspect ON ready (deaths DESC, ready_at) WHERE deaths > 0;
-- Priority and shard as one number: no other index gives this order, so no plan goes through the rows of what has not begun.
CREATE INDEX ready_begun ON ready (queue, (priority * 4 + shard), ready_at, subject_id) WHERE begun;
GRANT SELECT, INSERT, UPDATE, DELETE ON ready TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ready FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Timers. Create and the commit statement set and clear them; fire_timers turns them into inbox rows.
CREATE TABLE timers (
  subject_id uuid NOT NULL,
  timer_id text NOT NULL,
  fire_at timestamptz NOT NULL,
  PRIMARY KEY (subject_id, timer_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX timers_by_time ON timers (fire_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON timers TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON timers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Unread outside inputs. post_inbox, fire_timers, reap_dispatches and finish_dispatch write them; the commit that consumed one deletes it,
-- by id. session_id is the holder when it was posted, so a heartbeat's answer costs by signals and not by leases.
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
GRANT SELECT, INSERT, UPDATE, DELETE ON inbox TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON inbox FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What a commit says to others: posts and creates of subjects, messages to the outside. Delivered at least once and taken out in the same
-- transaction, in the order of the rows (deliver_posts, take_deliveries).
CREATE TABLE outbox (
  outbox_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject_id uuid NOT NULL,
  topic text NOT NULL,
  key text NOT NULL,
  payload text NOT NULL,
  created_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO acl_service;
CREATE TRIGGER show_approval BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.topic = 'approval/shown') EXECUTE FUNCTION show_approval();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON outbox FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
