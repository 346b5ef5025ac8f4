-- Locks the session that asks for a grant, FOR KEY SHARE, and refuses if it is dead (AC001). Marking dead locks FOR UPDATE: without this
-- lock the reaper could miss a lease granted beside it.
CREATE OR REPLACE FUNCTION lock_live_session(p_session uuid) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session AND s.dead_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % is dead or unknown', p_session USING ERRCODE = 'AC001';
  END IF;
  -- hold: claim_session_locked
END $$;
