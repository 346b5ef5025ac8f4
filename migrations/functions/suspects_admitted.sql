-- How many more suspects a session may be given, if the worst of those that wait has been in p_worst deaths. A session that is new, or
-- whose own suspects are on trial, or a fleet of which half is on trial, gets none. shared/kernel/suspicion.h is the same rule in C++.
CREATE OR REPLACE FUNCTION suspects_admitted(p_session uuid, p_worst int) RETURNS int LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_session worker_sessions;
  v_ttl interval;
  v_held int;
  v_most int;
  v_alive int;
  v_others int;
BEGIN
  SELECT * INTO v_session FROM worker_sessions s WHERE s.session_id = p_session;
  v_ttl := v_session.expires_at - v_session.heartbeat_at;
  IF v_now < v_session.started_at + 3 * v_ttl THEN
    RETURN 0;
  END IF;
  SELECT count(*), coalesce(max(x.deaths), 0) INTO v_held, v_most FROM suspects_of(p_session) x WHERE x.since + trial_time(v_ttl, x.deaths) > v_now;
  IF v_held > 0 AND p_worst > v_most THEN  -- who waits is worse: no more beside those here, so that its turn comes
    RETURN 0;
  END IF;
  IF v_held = 0 THEN
    SELECT count(*), count(*) FILTER (WHERE s.session_id <> p_session AND has_suspect(s.session_id) AND EXISTS (
        SELECT FROM suspects_of(s.session_id) x WHERE x.since + trial_time(s.expires_at - s.heartbeat_at, x.deaths) > v_now))
      INTO v_alive, v_others FROM worker_sessions s WHERE s.dead_at IS NULL;
    IF v_others >= greatest(1, v_alive / 2) THEN
      RETURN 0;
    END IF;
  END IF;
  RETURN greatest(0, trial_group(v_session.slots, greatest(p_worst, v_most)) - v_held);
END $$;
