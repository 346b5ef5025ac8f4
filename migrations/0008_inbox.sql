-- migrate:up
-- Outside inputs (DESIGN.md section 2, "Wake-up counter"): the counter is raised where the lease is not closed, then the row is
-- inserted, and if nobody holds the lease a ready row. A post that meets a closing commit waits for it and is then refused.
SET LOCAL ROLE acl_owner;

CREATE FUNCTION post_inbox(p_subject uuid, p_inbox uuid, p_kind text, p_payload text, p_key text, p_hash bytea)
RETURNS TABLE (replayed boolean, holder uuid, queue text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_lease leases;
  v_subject subjects;
  v_hash bytea;
BEGIN
  INSERT INTO request_keys (scope, request_key, request_hash, subject_id) VALUES (p_subject, p_key, p_hash, p_subject) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT r.request_hash INTO STRICT v_hash FROM request_keys r WHERE r.scope = p_subject AND r.request_key = p_key;
    IF v_hash <> p_hash THEN
      RAISE EXCEPTION 'the request key "%" was used for another input of subject %', p_key, p_subject USING ERRCODE = 'AC002';
    END IF;
    RETURN QUERY SELECT true, l.session_id, s.queue FROM leases l JOIN subjects s USING (subject_id) WHERE l.subject_id = p_subject;
    RETURN;
  END IF;
  -- hold: post_keyed
  UPDATE leases l SET wake = l.wake + 1 WHERE l.subject_id = p_subject AND l.state <> 1 RETURNING l.* INTO v_lease;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject) THEN
      RAISE EXCEPTION 'subject % is closed', p_subject USING ERRCODE = 'AC002';
    END IF;
    RAISE EXCEPTION 'there is no subject %', p_subject USING ERRCODE = 'AC003';
  END IF;
  -- hold: post_woken
  INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    VALUES (p_subject, p_inbox, p_kind, p_payload, clock_timestamp(), v_lease.session_id);
  SELECT * INTO STRICT v_subject FROM subjects s WHERE s.subject_id = p_subject;
  IF v_lease.session_id IS NULL AND v_lease.state = 0 THEN
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
      VALUES (v_subject.queue, v_subject.priority, ready_shard(p_subject), clock_timestamp(), p_subject, v_subject.kind, v_lease.required_version);
  END IF;
  RETURN QUERY SELECT false, v_lease.session_id, v_subject.queue;
END $$;

-- Timers: candidates without a lock, then their leases in order, then DELETE ... RETURNING says which are still there.
CREATE FUNCTION fire_timers(p_max int) RETURNS TABLE (fired bigint, next_fire timestamptz, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_subjects uuid[];
  v_ids text[];
  v_locked uuid[];
  v_fired bigint;
BEGIN
  SELECT array_agg(c.subject_id), array_agg(c.timer_id) INTO v_subjects, v_ids
    FROM (SELECT t.subject_id, t.timer_id FROM timers t WHERE t.fire_at <= v_now ORDER BY t.fire_at LIMIT p_max) c;
  -- hold: timers_chosen
  SELECT coalesce(array_agg(l.subject_id), '{}') INTO v_locked
    FROM (SELECT x.subject_id FROM leases x WHERE x.subject_id = ANY (SELECT DISTINCT s FROM unnest(v_subjects) s) ORDER BY x.subject_id
          FOR NO KEY UPDATE SKIP LOCKED) l;
  -- hold: timers_locked
  WITH gone AS (
    DELETE FROM timers t USING unnest(v_subjects, v_ids) AS c(subject, id)
    WHERE t.subject_id = c.subject AND t.timer_id = c.id AND t.fire_at <= v_now AND c.subject = ANY (v_locked)
    RETURNING t.subject_id, t.timer_id, t.fire_at),
  woken AS (
    UPDATE leases l SET wake = l.wake + g.n FROM (SELECT subject_id, count(*) AS n FROM gone GROUP BY subject_id) g
    WHERE l.subject_id = g.subject_id AND l.state <> 1
    RETURNING l.subject_id, l.session_id, l.state, l.required_version),
  told AS (
    INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    SELECT w.subject_id, gen_random_uuid(), 'timer',
           json_build_object('timer_id', g.timer_id, 'fire_at', to_char(g.fire_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text, v_now, w.session_id
    FROM woken w JOIN gone g ON g.subject_id = w.subject_id ORDER BY g.fire_at, g.timer_id RETURNING 1),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), v_now, s.subject_id, s.kind, w.required_version
    FROM woken w JOIN subjects s ON s.subject_id = w.subject_id WHERE w.session_id IS NULL AND w.state = 0
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_fired FROM told;
  RETURN QUERY SELECT v_fired, (SELECT min(t.fire_at) FROM timers t), coalesce(cardinality(v_ids), 0) = p_max AND v_fired > 0;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
