-- Grants leases of runs that have begun, and of nothing else. The Kafka driver asks it, because a message stands behind all that were sent
-- before it, so runs that have begun would wait behind new ones.
CREATE OR REPLACE FUNCTION grant_begun(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_min_age_ms bigint, p_dispatches int)
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_picked record;
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT p.place, p.id, p.dispatch INTO v_picked
    FROM pick_lanes(ARRAY[true], p_queues, p_max, p_version, p_kinds, clock_timestamp() - p_min_age_ms * interval '1 millisecond', p_dispatches, '{}') p;
  IF cardinality(v_picked.id) > p_max THEN
    RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_picked.id), p_max USING ERRCODE = 'AC006';
  END IF;
  RETURN grant_rows(p_session, v_picked.place, v_picked.id, v_picked.dispatch, NULL);
END $$;
