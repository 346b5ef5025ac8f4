-- migrate:up
-- `airun verify` compares what people see of approvals with the runs that ask, a run at a time.
SET LOCAL ROLE acl_owner;

CREATE INDEX approvals_of_subject ON approvals (subject_id);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/operations.md)'; END $$;
