-- Renews a session and answers the database's time, the session's subjects with unread inbox rows, and its dispatches that are wanted
-- back. It locks first and reads the clock in a second statement: an UPDATE that waited for a row that was only locked does not test its
-- WHERE again, and would renew a dead session.
CREATE OR REPLACE FUNCTION heartbeat_session(p_session uuid, p_ttl_ms bigint) RETURNS TABLE (db_now timestamptz, woken uuid, unwanted uuid) LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_now timestamptz;
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session FOR NO KEY UPDATE;
  -- hold: heartbeat_locked
  v_now := clock_timestamp();
  UPDATE worker_sessions s SET heartbeat_at = v_now, expires_at = v_now + p_ttl_ms * interval '1 millisecond'
    WHERE s.session_id = p_session AND s.dead_at IS NULL AND s.expires_at > v_now;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % is expired or dead', p_session USING ERRCODE = 'AC001';
  END IF;
  RETURN QUERY SELECT v_now, NULL::uuid, NULL::uuid;
  RETURN QUERY SELECT DISTINCT v_now, i.subject_id, NULL::uuid FROM inbox i WHERE i.session_id = p_session;
  RETURN QUERY SELECT v_now, NULL::uuid, t.dispatch_id FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.cancel_requested;
END $$;
