-- migrate:up
-- Who changed a schedule last decides what its runs do, as much as who made it: both count as requesters where a step asks for somebody else.
SET LOCAL ROLE acl_owner;

ALTER TABLE schedules ADD COLUMN edited_by text NOT NULL DEFAULT '';

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/operations.md)'; END $$;
