-- The suspects that a session holds and that have made no progress: leases and dispatches.
CREATE OR REPLACE FUNCTION suspects_of(p_session uuid) RETURNS TABLE (id uuid, deaths int, since timestamptz) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT l.subject_id, l.deaths, l.acquired_at FROM leases l
    WHERE l.session_id = p_session AND l.deaths >= 2
      AND NOT completed_since(l.subject_id, (SELECT g.head_seq FROM lease_history g WHERE g.subject_id = l.subject_id AND g.token = l.token));
  RETURN QUERY SELECT t.dispatch_id, t.deaths, t.started_at FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.deaths >= 2;
END $$;
