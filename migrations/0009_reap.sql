-- migrate:up
-- Reap (DESIGN.md section 2): first sessions, then their leases in bounded batches. Quarantine and giving back.
SET LOCAL ROLE acl_owner;

-- Transaction 1: lock the sessions FOR UPDATE, test the clock in a second statement, mark dead. If several and over half of the
-- fleet died at once, the machine or the network failed and not what the workers were running: those takeovers are not counted.
CREATE FUNCTION reap_sessions() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_locked uuid[];
  v_now timestamptz;
  v_alive bigint;
  v_dead bigint;
BEGIN
  SELECT array_agg(l.session_id) INTO v_locked
    FROM (SELECT s.session_id FROM worker_sessions s WHERE s.dead_at IS NULL AND s.expires_at <= clock_timestamp() ORDER BY s.session_id
          FOR UPDATE SKIP LOCKED) l;
  IF v_locked IS NULL THEN
    RETURN 0;
  END IF;
  -- hold: reap_session_locked
  v_now := clock_timestamp();
  SELECT count(*) FILTER (WHERE s.session_id = ANY (v_locked) AND s.expires_at <= v_now), count(*) INTO v_dead, v_alive
    FROM worker_sessions s WHERE s.dead_at IS NULL;
  UPDATE worker_sessions s SET dead_at = v_now, end_kind = CASE WHEN v_dead > 1 AND 2 * v_dead > v_alive THEN 2 ELSE 1 END
    WHERE s.session_id = ANY (v_locked) AND s.dead_at IS NULL AND s.expires_at <= v_now;
  GET DIAGNOSTICS v_dead = ROW_COUNT;
  RETURN v_dead;
END $$;

-- Transaction 2, again and again: leases that name a dead session. Every reap takes a new token, so nothing of the old holder's can be
-- committed any more. From the second takeover without progress on, the subject waits before it is ready again.
CREATE FUNCTION reap_leases(p_max int) RETURNS TABLE (freed bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_subjects uuid[];
  v_tokens bigint[];
  v_ends smallint[];
  v_now timestamptz := clock_timestamp();
  v_freed bigint;
  v_seen bigint;
BEGIN
  SELECT array_agg(c.subject_id) INTO v_subjects
    FROM (SELECT l.subject_id FROM worker_sessions s JOIN leases l ON l.session_id = s.session_id
          WHERE s.dead_at IS NOT NULL AND NOT s.reaped LIMIT p_max) c;
  v_seen := coalesce(cardinality(v_subjects), 0);
  -- hold: reap_chosen
  SELECT array_agg(l.subject_id ORDER BY l.subject_id), mint_tokens(array_agg(l.token ORDER BY l.subject_id)),
         array_agg((CASE s.end_kind WHEN 1 THEN 1 ELSE 2 END)::smallint ORDER BY l.subject_id)
    INTO v_subjects, v_tokens, v_ends
    FROM (SELECT x.subject_id, x.session_id, x.token FROM leases x WHERE x.subject_id = ANY (v_subjects) ORDER BY x.subject_id
          FOR UPDATE SKIP LOCKED) l
    JOIN worker_sessions s ON s.session_id = l.session_id AND s.dead_at IS NOT NULL;
  -- hold: reap_leases_locked
  WITH freed_now AS (
    UPDATE leases l SET token = v_tokens[n], session_id = NULL, last_end = v_ends[n], acquired_at = NULL,
                        not_before = v_now + CASE WHEN b.takeovers_without_progress >= 2 THEN least(2 ^ (b.takeovers_without_progress - 2), 60) * interval '1 second' ELSE interval '0' END
      FROM generate_subscripts(v_subjects, 1) n
      CROSS JOIN LATERAL (
        SELECT coalesce(max(CASE WHEN g.head_seq = h.head_seq AND v_ends[n] = 1 THEN g.takeovers_without_progress + 1 ELSE 0 END), 0) AS takeovers_without_progress
        FROM subject_head h JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = v_subjects[n] ORDER BY x.token DESC LIMIT 1) g ON true
        WHERE h.subject_id = v_subjects[n]) b
      WHERE l.subject_id = v_subjects[n]
      RETURNING l.subject_id, l.state, l.not_before, l.required_version),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), f.not_before, s.subject_id, s.kind, f.required_version
    FROM freed_now f JOIN subjects s ON s.subject_id = f.subject_id WHERE f.state = 0 ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_freed FROM freed_now;
  -- No grant can be made to a dead session, so what no lease names now none will name again.
  UPDATE worker_sessions s SET reaped = true WHERE s.dead_at IS NOT NULL AND NOT s.reaped
    AND NOT EXISTS (SELECT FROM leases l WHERE l.session_id = s.session_id);
  RETURN QUERY SELECT v_freed, v_seen = p_max AND v_freed > 0;
END $$;

CREATE FUNCTION release_lease(p_subject uuid, p_session uuid, p_token bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
  WITH freed AS (
    UPDATE leases l SET session_id = NULL, last_end = 0, acquired_at = NULL
    WHERE l.subject_id = p_subject AND l.session_id = p_session AND l.token = p_token RETURNING l.subject_id, l.state, l.required_version)
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
  SELECT s.queue, s.priority, ready_shard(s.subject_id), clock_timestamp(), s.subject_id, s.kind, f.required_version
  FROM freed f JOIN subjects s ON s.subject_id = f.subject_id WHERE f.state = 0 ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION quarantine_subject(p_subject uuid, p_session uuid, p_token bigint, p_reason text, p_detail text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE leases l SET session_id = NULL, state = 2, acquired_at = NULL
    WHERE l.subject_id = p_subject AND l.session_id = p_session AND l.token = p_token AND l.state = 0;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of % is not held under token %', p_subject, p_token USING ERRCODE = 'AC001';
  END IF;
  INSERT INTO quarantine (subject_id, reason, detail, at) VALUES (p_subject, p_reason, p_detail, clock_timestamp());
END $$;

CREATE FUNCTION release_quarantine(p_subject uuid, p_by text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_version int;
BEGIN
  UPDATE leases l SET state = 0, last_end = 0, not_before = NULL WHERE l.subject_id = p_subject AND l.state = 2 RETURNING l.required_version INTO v_version;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'subject % is not in quarantine', p_subject USING ERRCODE = 'AC003';
  END IF;
  UPDATE quarantine q SET released_at = clock_timestamp(), released_by = p_by WHERE q.subject_id = p_subject AND q.released_at IS NULL;
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), clock_timestamp(), s.subject_id, s.kind, v_version FROM subjects s WHERE s.subject_id = p_subject;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
