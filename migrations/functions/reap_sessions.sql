-- Marks sessions dead whose time is over: locks them FOR UPDATE, then tests the clock in a second statement. If several and over half of
-- the fleet died at once, the machine or the network failed and not what the workers ran: those takeovers do not count. Of a session that
-- died on its own, blame_of says who is to blame.
CREATE OR REPLACE FUNCTION reap_sessions() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_locked uuid[];
  v_now timestamptz;
  v_alive bigint;
  v_dead bigint;
BEGIN
  SELECT array_agg(l.session_id) INTO v_locked
    FROM (SELECT s.session_id FROM worker_sessions s WHERE s.dead_at IS NULL AND s.expires_at <= clock_timestamp() ORDER BY s.session_id
          FOR UPDATE SKIP LOCKED) l;
  IF v_locked IS NULL THEN
    RETURN 0;
  END IF;
  -- hold: reap_session_locked
  v_now := clock_timestamp();
  SELECT count(*) FILTER (WHERE s.session_id = ANY (v_locked) AND s.expires_at <= v_now), count(*) INTO v_dead, v_alive
    FROM worker_sessions s WHERE s.dead_at IS NULL;
  UPDATE worker_sessions s SET dead_at = v_now, end_kind = CASE WHEN v_dead > 1 AND 2 * v_dead > v_alive THEN 2 ELSE 1 END
    WHERE s.session_id = ANY (v_locked) AND s.dead_at IS NULL AND s.expires_at <= v_now;
  GET DIAGNOSTICS v_dead = ROW_COUNT;
  UPDATE worker_sessions s SET blamed = blame_of(s.session_id)
    WHERE s.session_id = ANY (v_locked) AND s.dead_at = v_now AND s.end_kind = 1 AND has_suspect(s.session_id);
  RETURN v_dead;
END $$;
