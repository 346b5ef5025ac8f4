-- Ends a session by its own will. Marking dead locks the row FOR UPDATE; a grant locks it FOR KEY SHARE: so no lease is granted to a dead
-- session.
CREATE OR REPLACE FUNCTION close_session(p_session uuid) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session FOR UPDATE;
  UPDATE worker_sessions s SET dead_at = clock_timestamp(), end_kind = 2 WHERE s.session_id = p_session AND s.dead_at IS NULL;
END $$;
