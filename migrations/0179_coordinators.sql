-- migrate:up
-- Which coordinators live, and where their doorbells are: a coordinator writes its row every few seconds, workers read them about once a minute. A hint, like the doorbell
-- itself: nothing is decided by it.
SET LOCAL ROLE acl_owner;

CREATE TABLE coordinators (
  coordinator_id uuid PRIMARY KEY,                      -- one incarnation of a process
  doorbell text NOT NULL CHECK (length(doorbell) <= 300),  -- HOST:PORT
  host text NOT NULL CHECK (length(host) <= 255),       -- of the machine: a loopback address is for workers of the same one
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON coordinators TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON coordinators FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
