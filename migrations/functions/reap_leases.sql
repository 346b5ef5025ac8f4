-- Frees up to p_max leases that name a dead session, and is asked again while `more`. Every reap takes a new token, so nothing of the old
-- holder's can be committed. From the second takeover without progress on, the subject waits before it is ready again, and as a suspect. A
-- session is reaped when no lease and no started dispatch names it.
CREATE OR REPLACE FUNCTION reap_leases(p_max int) RETURNS TABLE (freed bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_subjects uuid[];
  v_tokens bigint[];
  v_ends smallint[];
  v_deaths int[];             -- of workers in a row since the last completed step, this one included
  v_now timestamptz := clock_timestamp();
  v_freed bigint;
  v_seen bigint;
BEGIN
  SELECT array_agg(c.subject_id) INTO v_subjects
    FROM (SELECT l.subject_id FROM worker_sessions s CROSS JOIN LATERAL (SELECT x.subject_id FROM leases x WHERE x.session_id = s.session_id LIMIT p_max) l
          WHERE s.dead_at IS NOT NULL AND NOT s.reaped LIMIT p_max) c;
  v_seen := coalesce(cardinality(v_subjects), 0);
  -- hold: reap_chosen
  SELECT array_agg(l.subject_id ORDER BY l.subject_id), mint_tokens(array_agg(l.token ORDER BY l.subject_id)),
         array_agg((CASE WHEN s.end_kind <> 1 THEN 2 WHEN s.blamed = l.subject_id THEN 3 ELSE 1 END)::smallint ORDER BY l.subject_id)
    INTO v_subjects, v_tokens, v_ends
    FROM (SELECT c.id FROM unnest(v_subjects) AS c(id) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.subject_id, x.session_id, x.token FROM leases x WHERE x.subject_id = c.id LIMIT 1 FOR UPDATE SKIP LOCKED) l
    CROSS JOIN LATERAL (SELECT x.end_kind, x.blamed FROM worker_sessions x WHERE x.session_id = l.session_id AND x.dead_at IS NOT NULL LIMIT 1) s;
  -- hold: reap_leases_locked
  SELECT array_agg(coalesce((
      SELECT CASE WHEN g.takeovers_without_progress > 0 AND g.head_seq <> h.head_seq AND completed_since(v_subjects[n], g.head_seq) THEN 0 ELSE g.takeovers_without_progress END + (v_ends[n] <> 2)::int
      FROM lease_history g CROSS JOIN LATERAL (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = g.subject_id LIMIT 1) h
      WHERE g.subject_id = v_subjects[n] ORDER BY g.token DESC LIMIT 1), 0) ORDER BY n) INTO v_deaths
    FROM generate_subscripts(v_subjects, 1) n;
  WITH freed_now AS (
    UPDATE leases l SET token = v_tokens[array_position(v_subjects, l.subject_id)], session_id = NULL, acquired_at = NULL,
                        last_end = v_ends[array_position(v_subjects, l.subject_id)],
                        not_before = v_now + CASE WHEN v_ends[array_position(v_subjects, l.subject_id)] = 2 THEN interval '0'
                                                ELSE takeover_delay(v_deaths[array_position(v_subjects, l.subject_id)]) END
      WHERE l.subject_id = ANY (v_subjects)
      RETURNING l.subject_id, l.state, l.not_before, l.required_version),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, deaths, begun)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), f.not_before, s.subject_id, s.kind, f.required_version,
           CASE WHEN v_deaths[array_position(v_subjects, f.subject_id)] >= 2 THEN v_deaths[array_position(v_subjects, f.subject_id)] ELSE 0 END,
           (SELECT x.head_seq > 1 FROM subject_head x WHERE x.subject_id = f.subject_id)
    FROM freed_now f CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = f.subject_id LIMIT 1) s WHERE f.state = 0
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_freed FROM freed_now;
  -- No grant can be made to a dead session, so what no lease and no started dispatch names now none will name again.
  UPDATE worker_sessions s SET reaped = true WHERE s.dead_at IS NOT NULL AND NOT s.reaped
    AND (SELECT l.subject_id FROM leases l WHERE l.session_id = s.session_id LIMIT 1) IS NULL
    AND (SELECT t.dispatch_id FROM dispatches t WHERE t.session_id = s.session_id AND t.state = 'started' LIMIT 1) IS NULL;
  RETURN QUERY SELECT v_freed, v_seen = p_max AND v_freed > 0;
END $$;
