-- migrate:up
-- The wake-up counter is a counter in a row, and such a one repeats after an asynchronous failover: a holder that had read 1 before (an input
-- that is lost) met 1 again after it (another input) and released or closed over an unread row (found by tests/model, docs/bugs-found.md). So
-- while the lease's token is of an earlier epoch, the counter rises to where no earlier epoch's was.
SET LOCAL ROLE acl_owner;

CREATE FUNCTION raise_wake() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_epoch bigint := current_epoch();
BEGIN
  IF NEW.token >> 32 < v_epoch THEN
    NEW.wake := greatest(NEW.wake, v_epoch << 32);
  END IF;
  RETURN NEW;
END $$;
-- Commits do not set the counter: they never come here.
CREATE TRIGGER wake_rises BEFORE UPDATE OF wake ON leases FOR EACH ROW WHEN (NEW.wake > OLD.wake) EXECUTE FUNCTION raise_wake();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
