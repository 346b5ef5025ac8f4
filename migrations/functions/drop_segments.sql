-- Drops journals that ended longer ago than p_keep_ms, the oldest first, at most p_max: the events before the next journal's first one, if
-- the closing snapshot is there and agrees with the chain. Attempts and completions of the dropped events move to past_attempts and
-- other_completions, where the commit statement looks for them. Each lease is locked as by a commit; a subject that commits meanwhile is
-- passed by. The service may execute it, for it tests everything itself.
CREATE OR REPLACE FUNCTION drop_segments(p_keep_ms bigint, p_max int) RETURNS TABLE (segments bigint, events bigint, more boolean) LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_keep_ms * interval '1 millisecond';
  v_segment record;
  v_offloaded bytea[];
  v_count bigint;
  v_seen int := 0;
BEGIN
  IF p_keep_ms < 3600000 THEN
    RAISE EXCEPTION 'journals are to be kept for an hour at least after they ended, not % ms', p_keep_ms USING ERRCODE = 'AC006';
  END IF;
  segments := 0;
  events := 0;
  FOR v_segment IN
    SELECT g.subject_id, g.first_seq FROM journal_segments g
    WHERE g.dropped_at IS NULL AND g.began_at < v_until
      AND EXISTS (SELECT FROM snapshot_rows x JOIN journal_rows e ON e.subject_id = x.subject_id AND e.seq = x.last_event_seq AND e.chain = x.chain
                  WHERE x.subject_id = g.subject_id AND x.last_event_seq = g.first_seq - 1 AND x.closing)
      AND (SELECT l.state FROM leases l WHERE l.subject_id = g.subject_id) <> 2
    ORDER BY g.began_at, g.subject_id, g.first_seq LIMIT p_max
  LOOP
    v_seen := v_seen + 1;
    PERFORM FROM leases l WHERE l.subject_id = v_segment.subject_id AND l.state <> 2 FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    -- hold: drop_locked
    UPDATE journal_segments g SET dropped_at = clock_timestamp()
      WHERE g.subject_id = v_segment.subject_id AND g.first_seq = v_segment.first_seq AND g.dropped_at IS NULL;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO past_attempts (subject_id, step_id, attempt_id, token, started_at)
      SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.begun IS NOT NULL;
    INSERT INTO other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
      SELECT e.subject_id, e.completed, e.completed_attempt, e.token, e.seq, e.at, e.result_checksum FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.completed IS NOT NULL;
    SELECT coalesce(array_agg(coalesce(e.content_hash, e.checksum)), '{}') INTO v_offloaded FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.offloaded;
    DELETE FROM journal_rows e WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF cardinality(v_offloaded) > 0 THEN  -- as remove_contents
      DELETE FROM content_refs r WHERE r.hash = ANY (v_offloaded) AND r.subject_id = v_segment.subject_id
        AND NOT EXISTS (SELECT FROM event_rows e WHERE e.subject_id = v_segment.subject_id AND e.offloaded AND e.content_hash = r.hash);
      UPDATE contents c SET used_at = clock_timestamp() WHERE c.hash = ANY (v_offloaded) AND c.used_at IS NOT NULL;
    END IF;
    DELETE FROM snapshot_rows x WHERE x.subject_id = v_segment.subject_id AND x.last_event_seq < v_segment.first_seq - 1;
    WITH gone AS (DELETE FROM segment_refs r WHERE r.subject_id = v_segment.subject_id AND r.first_seq < v_segment.first_seq RETURNING r.hash),
    mine AS MATERIALIZED (
      SELECT c.hash FROM contents c WHERE c.hash IN (SELECT g.hash FROM gone g) AND c.used_at IS NOT NULL ORDER BY c.hash FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE contents c SET used_at = clock_timestamp() FROM mine m WHERE c.hash = m.hash;
    segments := segments + 1;
    events := events + v_count;
    EXIT WHEN events >= 20000;  -- no more in one transaction: the leases of all of them are locked meanwhile; one journal goes as a whole
  END LOOP;
  more := segments > 0 AND (v_seen = p_max OR events >= 20000);
  RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION drop_segments(bigint, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_segments(bigint, int) TO acl_service;
