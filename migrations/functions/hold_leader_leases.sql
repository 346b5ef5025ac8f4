-- hold_leader_lease for all jobs of a process in one statement, so an idle process asks once.
CREATE OR REPLACE FUNCTION hold_leader_leases(p_names text[], p_session uuid, p_ttl_ms bigint) RETURNS TABLE (job_name text, held_token bigint, held_until timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_name text;
BEGIN
  FOR v_name IN SELECT DISTINCT n FROM unnest(p_names) n ORDER BY n LOOP   -- in one order, so that two processes do not wait for each other in a ring
    RETURN QUERY SELECT v_name, h.held_token, h.held_until FROM hold_leader_lease(v_name, p_session, p_ttl_ms) h;
  END LOOP;
END $$;
