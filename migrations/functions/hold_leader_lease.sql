-- Takes or renews the lease of a background job: lock first, clock second. It is free once it expired or its holder is known to be dead.
-- No answer row: another process has it.
CREATE OR REPLACE FUNCTION hold_leader_lease(p_name text, p_session uuid, p_ttl_ms bigint) RETURNS TABLE (held_token bigint, held_until timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_row leader_leases;
  v_now timestamptz;
BEGIN
  SELECT * INTO v_row FROM leader_leases l WHERE l.name = p_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    INSERT INTO leader_leases (name, session_id, token, acquired_at, expires_at)
      SELECT p_name, p_session, (mint_tokens(ARRAY[0]::bigint[]))[1], n, n + p_ttl_ms * interval '1 millisecond' FROM clock_timestamp() n
      ON CONFLICT (name) DO NOTHING;
    IF FOUND THEN
      RETURN QUERY SELECT l.token, l.expires_at FROM leader_leases l WHERE l.name = p_name;
    END IF;
    RETURN;
  END IF;
  -- hold: leader_lease_locked
  v_now := clock_timestamp();
  IF v_row.session_id = p_session AND v_row.expires_at > v_now
    AND NOT EXISTS (SELECT FROM worker_sessions w WHERE w.session_id = p_session AND w.dead_at IS NOT NULL) THEN
    RETURN QUERY UPDATE leader_leases l SET expires_at = v_now + p_ttl_ms * interval '1 millisecond' WHERE l.name = p_name
      RETURNING l.token, l.expires_at;
  ELSIF v_row.expires_at <= v_now OR EXISTS (SELECT FROM worker_sessions w WHERE w.session_id = v_row.session_id AND w.dead_at IS NOT NULL) THEN
    RETURN QUERY UPDATE leader_leases l SET session_id = p_session, token = (mint_tokens(ARRAY[v_row.token]))[1], acquired_at = v_now,
      expires_at = v_now + p_ttl_ms * interval '1 millisecond' WHERE l.name = p_name RETURNING l.token, l.expires_at;
  END IF;
END $$;
