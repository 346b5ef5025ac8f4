-- migrate:up
-- A function that runs with its owner's rights is executed by the roles that need it, and by nobody else. PostgreSQL lets everybody execute a new function.
SET LOCAL ROLE acl_owner;

REVOKE ALL ON FUNCTION collect_contents(bigint, timestamptz, bytea, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION collect_contents(bigint, timestamptz, bytea, int) TO acl_service;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
