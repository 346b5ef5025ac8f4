-- migrate:up
-- What a fleet leaves behind without end: sessions of processes long gone, and request keys nobody will repeat. Contents stay: a put
-- that finds a content there writes nothing, so removing one beside it cannot be told from removing one that is needed.
SET LOCAL ROLE acl_owner;

CREATE INDEX worker_sessions_dead ON worker_sessions (dead_at) WHERE dead_at IS NOT NULL;   -- no heartbeat touches it
CREATE INDEX request_keys_by_time ON request_keys USING brin (created_at);                  -- written in the order of time; costs an insert nothing

-- One bounded batch of each. A session goes only when it was reaped, so no lease names it and none ever will (grants lock a living row).
CREATE FUNCTION retain(p_sessions_ms bigint, p_keys_ms bigint, p_max int) RETURNS TABLE (sessions bigint, keys bigint) LANGUAGE plpgsql VOLATILE AS $$
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

-- All jobs of a process in one statement: an idle fleet asks once for them, not once for each.
CREATE FUNCTION hold_leader_leases(p_names text[], p_session uuid, p_ttl_ms bigint) RETURNS TABLE (job_name text, held_token bigint, held_until timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_name text;
BEGIN
  FOR v_name IN SELECT DISTINCT n FROM unnest(p_names) n ORDER BY n LOOP   -- in one order, so that two processes do not wait for each other in a ring
    RETURN QUERY SELECT v_name, h.held_token, h.held_until FROM hold_leader_lease(v_name, p_session, p_ttl_ms) h;
  END LOOP;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
