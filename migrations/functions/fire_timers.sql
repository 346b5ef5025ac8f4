-- Turns up to p_max due timers into inbox rows. Candidates are chosen without a lock, their leases are locked in order, and DELETE ...
-- RETURNING says which timers are still there. A timer that a commit is clearing or setting is skipped: that commit decides about it.
CREATE OR REPLACE FUNCTION fire_timers(p_max int) RETURNS TABLE (fired bigint, next_fire timestamptz, more boolean) LANGUAGE plpgsql VOLATILE SET enable_sort = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_subjects uuid[];
  v_ids text[];
  v_locked uuid[];
  v_gone uuid[];
  v_gone_ids text[];
  v_gone_at timestamptz[];
  v_fired bigint;
BEGIN
  SELECT array_agg(c.subject_id), array_agg(c.timer_id) INTO v_subjects, v_ids
    FROM (SELECT t.subject_id, t.timer_id FROM timers t WHERE t.fire_at <= v_now ORDER BY t.fire_at LIMIT p_max) c;
  -- hold: timers_chosen
  SELECT coalesce(array_agg(l.subject_id), '{}') INTO v_locked
    FROM (SELECT DISTINCT c.id FROM unnest(v_subjects) AS c(id) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.subject_id FROM leases x WHERE x.subject_id = c.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) l;
  -- hold: timers_locked
  -- A keeping commit, which holds its lease beside ours, may be clearing or setting one: that one is its. What we have keeps its place.
  WITH gone AS (
    DELETE FROM timers t WHERE t.ctid = ANY (ARRAY(
        SELECT x.place FROM unnest(v_subjects, v_ids) AS c(subject, id)
        CROSS JOIN LATERAL (SELECT y.ctid AS place FROM timers y WHERE y.subject_id = c.subject AND y.timer_id = c.id LIMIT 1 FOR UPDATE SKIP LOCKED) x
        WHERE c.subject = ANY (v_locked)))
      AND t.fire_at <= v_now
    RETURNING t.subject_id, t.timer_id, t.fire_at)
  SELECT array_agg(g.subject_id ORDER BY g.fire_at, g.timer_id), array_agg(g.timer_id ORDER BY g.fire_at, g.timer_id),
         array_agg(g.fire_at ORDER BY g.fire_at, g.timer_id)
    INTO v_gone, v_gone_ids, v_gone_at FROM gone g;
  WITH woken AS (
    UPDATE leases l SET wake = l.wake + cardinality(array_positions(v_gone, l.subject_id))
    WHERE l.subject_id = ANY (v_gone) AND l.state <> 1
    RETURNING l.subject_id, l.session_id, l.state, l.required_version),
  told AS (
    INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    SELECT w.subject_id, gen_random_uuid(), 'timer',
           json_build_object('timer_id', v_gone_ids[n], 'fire_at', to_char(v_gone_at[n] AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text, v_now, w.session_id
    FROM woken w, unnest(array_positions(v_gone, w.subject_id)) n ORDER BY n RETURNING 1),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), v_now, s.subject_id, s.kind, w.required_version
    FROM woken w CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = w.subject_id LIMIT 1) s WHERE w.session_id IS NULL AND w.state = 0
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_fired FROM told;
  RETURN QUERY SELECT v_fired, (SELECT t.fire_at FROM timers t ORDER BY t.fire_at LIMIT 1), coalesce(cardinality(v_ids), 0) = p_max AND v_fired > 0;
END $$;
