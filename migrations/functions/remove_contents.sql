-- Removes the contents of a subject's events up to a sequence number; the chain still verifies, because it covers their hashes. For the
-- owner alone: retention and erasure. An open subject keeps the contents of every event behind its older kept snapshot, from which it may
-- have to be restored. Of a payload that is offloaded the reference is dropped, and the collector takes the content after its grace time.
CREATE OR REPLACE FUNCTION remove_contents(p_subject uuid, p_upto_seq bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_count bigint;
  v_free bigint;
  v_offloaded bytea[];
BEGIN
  IF NOT EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject AND l.state = 1) THEN
    SELECT coalesce(min(x.last_event_seq), 0) INTO v_free
      FROM (SELECT s.last_event_seq FROM snapshot_rows s WHERE s.subject_id = p_subject ORDER BY s.last_event_seq DESC LIMIT 2) x;
    IF v_free < p_upto_seq THEN
      RAISE EXCEPTION 'the contents of subject % up to event % are refused: it is open, and needs every event after its oldest kept snapshot (of event %)',
        p_subject, p_upto_seq, v_free USING ERRCODE = 'AC002', HINT = format('remove up to %s, or wait until it is closed', v_free);
    END IF;
  END IF;
  SELECT coalesce(array_agg(e.content_hash), '{}') INTO v_offloaded FROM event_rows e WHERE e.subject_id = p_subject AND e.seq <= p_upto_seq AND e.offloaded;
  UPDATE journal_rows SET root = NULL, payload = NULL, offloaded = false WHERE subject_id = p_subject AND seq <= p_upto_seq AND (payload IS NOT NULL OR offloaded);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM content_refs r WHERE r.hash = ANY (v_offloaded) AND r.subject_id = p_subject
    AND NOT EXISTS (SELECT FROM event_rows e WHERE e.subject_id = p_subject AND e.offloaded AND e.content_hash = r.hash);
  UPDATE contents c SET used_at = clock_timestamp() WHERE c.hash = ANY (v_offloaded) AND c.used_at IS NOT NULL;  -- looked at again after the grace
  RETURN v_count;
END $$;
REVOKE ALL ON FUNCTION remove_contents(uuid, bigint) FROM PUBLIC;
