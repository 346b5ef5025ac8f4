-- migrate:up
-- What a create is given: a row a run (docs/decisions.md, "Speed"). Sent in binary form by position, so never altered, as the types of 0120.
SET LOCAL ROLE acl_owner;

CREATE TYPE create_item AS (
  n int, subject uuid, project uuid, kind text, queue text, priority int, version int, head bigint, chain bytea, root bytea, journal uuid, at timestamptz,
  deadline timestamptz, ready boolean, session uuid, name text, name_version text, owner text, status text, definition text, labels text, traceparent text);

-- The token of everything that is made now: the first of the epoch.
CREATE FUNCTION first_token() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT (current_epoch() << 32) + 1 $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
