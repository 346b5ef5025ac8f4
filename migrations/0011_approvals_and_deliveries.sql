-- migrate:up
-- Approvals as people list them, and messages to the outside.
SET LOCAL ROLE acl_owner;

-- Approvals (shared/approval/store.h). The commit of a run writes an outbox row, which show_approval turns into a row here in the same
-- statement: who lists approvals sees what the journal says. Nothing is decided by these rows.
CREATE TABLE approvals (
  position bigint GENERATED ALWAYS AS IDENTITY,           -- in the order in which they were asked
  approval_id text PRIMARY KEY,
  subject_id uuid NOT NULL,
  project_id uuid NOT NULL,
  state text NOT NULL CHECK (state IN ('PENDING', 'APPROVED', 'REJECTED', 'TIMEOUT', 'CANCELLED')),
  request text NOT NULL                                   -- JSON (shared/approval/approval.h)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX approvals_in_order ON approvals (project_id, position);
CREATE INDEX approvals_pending ON approvals (project_id, position) WHERE state = 'PENDING';
CREATE INDEX approvals_of_subject ON approvals (subject_id);   -- `airun verify` compares a run at a time
GRANT SELECT, INSERT, UPDATE ON approvals TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON approvals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Messages to the outside (shared/delivery/store.h): webhooks and CloudEvents out of the outbox, once each and in its order. A row stays as
-- the record of what was sent. take_deliveries makes it, claim_deliveries leases it, the sender writes how it went.
CREATE TABLE deliveries (
  position bigint PRIMARY KEY,                            -- its outbox_id
  message_id text NOT NULL UNIQUE CHECK (message_id <> '' AND length(message_id) <= 200),
  project_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  channel text NOT NULL CHECK (channel IN ('webhook', 'kafka')),
  endpoint text NOT NULL,                                 -- the name of a webhook's endpoint; a topic
  event text NOT NULL,
  body text NOT NULL,                                     -- JSON
  about text NOT NULL DEFAULT '',
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead', 'discarded')),
  attempts int NOT NULL DEFAULT 0,                        -- begun
  failures int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  next_attempt_at timestamptz NOT NULL,                   -- while somebody has it: when others may take it
  held_until timestamptz,                                 -- the same; null: nobody has it
  ended_at timestamptz,
  last_error text NOT NULL DEFAULT '',
  CHECK ((state = 'pending') = (ended_at IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX deliveries_due ON deliveries (channel, endpoint, next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (subject_id, channel, endpoint, position) WHERE state = 'pending';
CREATE INDEX deliveries_dead ON deliveries (project_id, position) WHERE state = 'dead';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE state IN ('delivered', 'discarded');

-- The newest attempts of each delivery (kAttemptsKept).
CREATE TABLE delivery_attempts (
  message_id text NOT NULL REFERENCES deliveries (message_id) ON DELETE CASCADE,
  attempt int NOT NULL,
  at timestamptz NOT NULL,
  took_ms bigint NOT NULL,
  status int NOT NULL,
  error text NOT NULL,
  PRIMARY KEY (message_id, attempt)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON deliveries, delivery_attempts TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON deliveries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON delivery_attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
