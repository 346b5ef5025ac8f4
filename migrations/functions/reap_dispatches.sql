-- Ends dispatches that no taker will end, of one subject or (null) of all: started dispatches of dead sessions become lost, queued ones
-- that are wanted back become cancelled. Each tells its subject by an inbox row. A loss counts against the step only if the dispatch alone
-- is to blame. The reaper calls it.
CREATE OR REPLACE FUNCTION reap_dispatches(p_subject uuid, p_max int) RETURNS TABLE (lost bigint, withdrawn bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_dispatches uuid[];
  v_subjects uuid[];
  v_locked uuid[];
  v_gone uuid[];             -- of what ended: the subjects, one for each dispatch
  v_results text[];             -- and what is said of it
  v_now timestamptz := clock_timestamp();
  v_lost bigint;
  v_withdrawn bigint;
BEGIN
  SELECT array_agg(c.dispatch_id), array_agg(c.subject_id) INTO v_dispatches, v_subjects FROM (
    (SELECT t.dispatch_id, t.subject_id FROM worker_sessions s
     CROSS JOIN LATERAL (SELECT x.dispatch_id, x.subject_id FROM dispatches x WHERE x.session_id = s.session_id AND x.state = 'started' LIMIT p_max) t
     WHERE p_subject IS NULL AND s.dead_at IS NOT NULL AND NOT s.reaped LIMIT p_max)
    UNION ALL
    (SELECT t.dispatch_id, t.subject_id FROM dispatches t WHERE p_subject IS NULL AND t.state = 'queued' AND t.cancel_requested LIMIT p_max)
    UNION ALL
    (SELECT t.dispatch_id, t.subject_id FROM dispatches t WHERE t.subject_id = p_subject AND t.state = 'queued' AND t.cancel_requested LIMIT p_max)) c;
  IF v_dispatches IS NULL THEN
    RETURN QUERY SELECT 0::bigint, 0::bigint, false;
    RETURN;
  END IF;
  -- hold: reap_chosen
  SELECT coalesce(array_agg(l.subject_id), '{}') INTO v_locked
    FROM (SELECT DISTINCT c.id FROM unnest(v_subjects) AS c(id) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.subject_id FROM leases x WHERE x.subject_id = c.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) l;
  -- hold: reap_leases_locked
  SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_dispatches
    FROM (SELECT c.id FROM unnest(v_dispatches, v_subjects) AS c(id, subject) WHERE c.subject = ANY (v_locked) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.dispatch_id FROM dispatches x WHERE x.dispatch_id = c.id LIMIT 1 FOR UPDATE SKIP LOCKED) k;
  -- The rows are locked by us: their places stay.
  WITH gone AS (
    UPDATE dispatches t SET state = CASE t.state WHEN 'started' THEN 'lost' ELSE 'cancelled' END, ended_at = v_now, payload = ''
    WHERE t.ctid = ANY (ARRAY(SELECT x.place FROM unnest(v_dispatches) AS c(id)
                              CROSS JOIN LATERAL (SELECT y.ctid AS place FROM dispatches y WHERE y.dispatch_id = c.id LIMIT 1) x))
      AND (t.state = 'queued' AND t.cancel_requested
           OR t.state = 'started' AND (SELECT s.dead_at FROM worker_sessions s WHERE s.session_id = t.session_id) IS NOT NULL)
    RETURNING t.*)
  SELECT array_agg(g.dispatch_id), array_agg(g.subject_id),
         array_agg(CASE g.state WHEN 'lost' THEN json_build_object('step_id', g.step_id, 'attempt', g.attempt_id, 'outcome', 'lost', 'counted', coalesce(s.blamed = g.dispatch_id, false),
                                                                   'worker', s.worker_name, 'token', g.token)::text
                        ELSE json_build_object('step_id', g.step_id, 'attempt', g.attempt_id, 'outcome', 'cancelled')::text END),
         count(*) FILTER (WHERE g.state = 'lost'), count(*) FILTER (WHERE g.state = 'cancelled')
    INTO v_dispatches, v_gone, v_results, v_lost, v_withdrawn
    FROM gone g LEFT JOIN LATERAL (SELECT x.blamed, x.worker_name FROM worker_sessions x WHERE x.session_id = g.session_id LIMIT 1) s ON true;
  WITH woken AS (
    UPDATE leases l SET wake = l.wake + cardinality(array_positions(v_gone, l.subject_id))
    WHERE l.subject_id = ANY (v_gone) AND l.state <> 1
    RETURNING l.subject_id, l.session_id, l.state, l.required_version),
  told AS (
    INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    SELECT w.subject_id, v_dispatches[n], 'dispatch_result', v_results[n], v_now, w.session_id FROM woken w, unnest(array_positions(v_gone, w.subject_id)) n)
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), v_now, s.subject_id, s.kind, w.required_version
    FROM woken w CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = w.subject_id LIMIT 1) s WHERE w.session_id IS NULL AND w.state = 0
    ON CONFLICT DO NOTHING;
  -- What nobody will take is not offered any more. A row that somebody is just taking is left to them: they find the dispatch ended.
  IF v_withdrawn > 0 THEN
    DELETE FROM ready r WHERE r.ctid = ANY (ARRAY(
      SELECT o.place FROM unnest(v_dispatches) AS c(id)
      CROSS JOIN LATERAL (SELECT x.queue, x.priority FROM dispatches x WHERE x.dispatch_id = c.id AND x.state = 'cancelled' LIMIT 1) t
      CROSS JOIN LATERAL (SELECT y.ctid AS place FROM ready y
                          WHERE y.queue = t.queue AND y.priority = t.priority AND y.shard = ready_shard(c.id) AND y.subject_id = c.id FOR UPDATE SKIP LOCKED) o));
  END IF;
  RETURN QUERY SELECT v_lost, v_withdrawn, v_lost + v_withdrawn >= p_max;
END $$;
