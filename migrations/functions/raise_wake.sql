-- A wake-up counter is a counter in a row, so an asynchronous failover could repeat a value. The first raise in a new epoch therefore
-- starts at the epoch's first number. Commits do not set the counter and never come here.
CREATE OR REPLACE FUNCTION raise_wake() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_epoch bigint := current_epoch();
BEGIN
  IF NEW.token >> 32 < v_epoch THEN
    NEW.wake := greatest(NEW.wake, v_epoch << 32);
  END IF;
  RETURN NEW;
END $$;
