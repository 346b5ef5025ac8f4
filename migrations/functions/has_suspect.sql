-- Whether a session holds a suspect: one look at each of two partial indexes.
CREATE OR REPLACE FUNCTION has_suspect(p_session uuid) RETURNS boolean LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN (SELECT l.subject_id FROM leases l WHERE l.session_id = p_session AND l.deaths >= 2 LIMIT 1) IS NOT NULL
      OR (SELECT t.dispatch_id FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.deaths >= 2 LIMIT 1) IS NOT NULL;
END $$;
