-- Removes one bounded batch of old dead sessions and of old request keys. A session goes only when it was reaped: no lease names it and
-- none ever will.
CREATE OR REPLACE FUNCTION retain(p_sessions_ms bigint, p_keys_ms bigint, p_max int) RETURNS TABLE (sessions bigint, keys bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_sessions bigint;
  v_keys bigint;
  v_now timestamptz := clock_timestamp();
BEGIN
  WITH d AS MATERIALIZED (
    SELECT x.session_id FROM worker_sessions x
    WHERE x.dead_at < v_now - p_sessions_ms * interval '1 millisecond' AND x.reaped AND NOT EXISTS (SELECT FROM leases l WHERE l.session_id = x.session_id)
    ORDER BY x.dead_at LIMIT p_max FOR UPDATE OF x SKIP LOCKED)
  DELETE FROM worker_sessions s USING d WHERE s.session_id = d.session_id;
  GET DIAGNOSTICS v_sessions = ROW_COUNT;
  WITH d AS MATERIALIZED (
    SELECT x.scope, x.request_key FROM request_keys x WHERE x.created_at < v_now - p_keys_ms * interval '1 millisecond' LIMIT p_max FOR UPDATE SKIP LOCKED)
  DELETE FROM request_keys r USING d WHERE r.scope = d.scope AND r.request_key = d.request_key;
  GET DIAGNOSTICS v_keys = ROW_COUNT;
  RETURN QUERY SELECT v_sessions, v_keys;
END $$;
