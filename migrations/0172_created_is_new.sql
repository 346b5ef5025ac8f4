-- migrate:up
-- The functions that make runs (runs with files, timers or large inputs, batches with a key that is taken, programs of before): what they make ready has not begun (0171).
SET LOCAL ROLE acl_owner;

DO $$
DECLARE
  v_function oid;
  v_changed int := 0;
BEGIN
  FOR v_function IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
                    AND p.prosrc ~ 'INSERT INTO ready [^;]*clock_timestamp\(\), p_subject\[n\], p_kind\[n\], p_version\[n\]' LOOP
    EXECUTE replace(replace(pg_get_functiondef(v_function),
      'INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)',
      'INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, begun)'),
      'clock_timestamp(), p_subject[n], p_kind[n], p_version[n]', 'clock_timestamp(), p_subject[n], p_kind[n], p_version[n], false');
    v_changed := v_changed + 1;
  END LOOP;
  IF v_changed = 0 THEN
    RAISE EXCEPTION 'no function makes runs: this migration does not fit the ones before it';
  END IF;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
