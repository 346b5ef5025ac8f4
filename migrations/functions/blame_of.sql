-- The run or dispatch that is to blame for the death of a session, or null. It is blamed if it was the session's only suspect, the session
-- died during its trial, and at most half of the fleet died since. shared/kernel/suspicion.h is the same rule in C++; one conformance
-- suite holds both.
CREATE OR REPLACE FUNCTION blame_of(p_session uuid) RETURNS uuid LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_session worker_sessions;
  v_ids uuid[];
  v_deaths int[];
  v_since timestamptz[];
  v_died bigint;
  v_alive bigint;
BEGIN
  SELECT array_agg(x.id), array_agg(x.deaths), array_agg(x.since) INTO v_ids, v_deaths, v_since FROM (SELECT * FROM suspects_of(p_session) LIMIT 2) x;
  SELECT * INTO v_session FROM worker_sessions s WHERE s.session_id = p_session;
  IF cardinality(v_ids) IS DISTINCT FROM 1
     OR v_session.expires_at >= v_since[1] + trial_time(v_session.expires_at - v_session.heartbeat_at, v_deaths[1]) THEN
    RETURN NULL;
  END IF;
  SELECT count(*) FILTER (WHERE s.dead_at IS NULL), count(*) FILTER (WHERE s.dead_at > v_since[1] AND s.dead_at >= s.expires_at) INTO v_alive, v_died
    FROM worker_sessions s WHERE s.session_id <> p_session;
  RETURN CASE WHEN 2 * v_died <= v_alive THEN v_ids[1] END;
END $$;
