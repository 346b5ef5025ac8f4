-- migrate:up
-- Whatever is known of a table's size, rows are come by through their keys. PostgreSQL joins from the table that it takes for the smallest, and
-- `ready`, `inbox` and `timers` are empty most of the time: a claim, once planned so, read all 10,000 ready rows for each 32 that it took, ten
-- times as slow. A lateral LIMIT (OFFSET 0 where there may be several) says which side is looked up, and no sort stands for an index's order. The
-- rules are those of 0008, 0105, 0107 and 0112.
SET LOCAL ROLE acl_owner;

CREATE OR REPLACE FUNCTION grant_ready(p_session uuid, p_ready ready[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_wanted uuid[];            -- subjects among the rows
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_tokens bigint[];
  v_without_progress int[];
  v_heads bigint[];
  v_poison uuid[] := '{}';
  v_given uuid[];             -- of the open, granted
  v_wanted_dispatches uuid[];
  v_dispatches uuid[] := '{}';     -- dispatch rows we have
  v_dispatch_tokens bigint[];
  v_taken uuid[] := '{}';     -- of them, granted
  v_now timestamptz := clock_timestamp();
BEGIN
  SELECT array_agg(DISTINCT r.subject_id) FILTER (WHERE r.kind <> 'dispatch'), array_agg(r.subject_id) FILTER (WHERE r.kind = 'dispatch')
    INTO v_wanted, v_wanted_dispatches FROM unnest(p_ready) r;
  SELECT coalesce(array_agg(l.subject_id), '{}'), coalesce(array_agg(l.subject_id) FILTER (WHERE l.session_id IS NULL AND l.state = 0), '{}')
    INTO v_locked, v_open
    FROM (SELECT w.id FROM unnest(v_wanted) AS w(id) ORDER BY w.id) w
    CROSS JOIN LATERAL (SELECT x.subject_id, x.session_id, x.state FROM leases x WHERE x.subject_id = w.id LIMIT 1 FOR UPDATE SKIP LOCKED) l;
  -- hold: claim_leases_locked

  -- Takeovers without progress: the head of now against the head at the last grant.
  SELECT array_agg(p.id ORDER BY p.id), array_agg(h.head_seq ORDER BY p.id),
         array_agg(CASE WHEN g.head_seq IS DISTINCT FROM h.head_seq OR l.last_end = 0 THEN 0 WHEN l.last_end = 1 THEN g.takeovers_without_progress + 1 ELSE g.takeovers_without_progress END ORDER BY p.id),
         mint_tokens(array_agg(l.token ORDER BY p.id))
    INTO v_open, v_heads, v_without_progress, v_tokens
    FROM unnest(v_open) AS p(id) CROSS JOIN LATERAL (SELECT x.token, x.last_end FROM leases x WHERE x.subject_id = p.id LIMIT 1) l
    CROSS JOIN LATERAL (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = p.id LIMIT 1) h
    LEFT JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = p.id ORDER BY x.token DESC LIMIT 1) g ON true;
  v_open := coalesce(v_open, '{}');

  IF 5 <= ANY (v_without_progress) THEN
    WITH bad AS (SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 5),
    closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
    told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
      SELECT id, 'takeovers_without_progress', format('%s workers in a row died holding it and the journal stayed at event %s: it may be what kills them', takeovers_without_progress, head), v_now FROM bad
      RETURNING subject_id)
    SELECT coalesce(array_agg(c.subject_id), '{}') INTO v_poison FROM closed c;
  END IF;

  SELECT coalesce(array_agg(v_open[n] ORDER BY n), '{}') INTO v_given FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  UPDATE leases l SET token = v_tokens[array_position(v_open, l.subject_id)], session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL,
                      waiting_reason = NULL, waiting_since = NULL, next_wake = NULL
    WHERE l.subject_id = ANY (v_given);
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
    SELECT v_open[n], v_tokens[n], p_session, v_heads[n], v_without_progress[n], v_now FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;

  -- Dispatches behind the leases, in the order of locks. Their ends have the lease and wait for the dispatch, so nothing here waits for one. The token
  -- grows over the attempts of a step.
  IF cardinality(v_wanted_dispatches) > 0 THEN
    SELECT coalesce(array_agg(t.dispatch_id ORDER BY t.dispatch_id), '{}'), mint_tokens(array_agg(t.before ORDER BY t.dispatch_id)) INTO v_dispatches, v_dispatch_tokens
      FROM (SELECT x.dispatch_id, (SELECT coalesce(max(o.token), 0) FROM dispatches o WHERE o.subject_id = x.subject_id AND o.step_id = x.step_id) AS before
            FROM dispatches x WHERE x.dispatch_id = ANY (v_wanted_dispatches) ORDER BY x.dispatch_id FOR UPDATE OF x SKIP LOCKED) t;
    -- hold: claim_dispatches_locked
    WITH taken AS (
      UPDATE dispatches t SET state = 'started', token = v_dispatch_tokens[n], session_id = p_session, started_at = v_now
        FROM generate_subscripts(v_dispatches, 1) n WHERE t.dispatch_id = v_dispatches[n] AND t.state = 'queued' AND NOT t.cancel_requested RETURNING t.dispatch_id)
    SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_taken FROM taken k;
  END IF;

  -- A dispatch that is no more: the scalar subquery has no hashed form, which would read the whole table. The rows are locked by us: their places stay.
  DELETE FROM ready r WHERE r.ctid = ANY (ARRAY(
    SELECT x.place FROM unnest(p_ready) d
    CROSS JOIN LATERAL (
      SELECT y.ctid AS place FROM ready y
      WHERE y.queue = d.queue AND y.priority = d.priority AND y.shard = d.shard AND y.ready_at = d.ready_at AND y.subject_id = d.subject_id LIMIT 1) x
    WHERE d.subject_id = ANY (v_locked) OR d.subject_id = ANY (v_dispatches)
          OR d.kind = 'dispatch' AND (SELECT t.dispatch_id FROM dispatches t WHERE t.dispatch_id = d.subject_id) IS NULL));
  -- hold: claim_token_raised

  RETURN QUERY
    SELECT 0, NULL::uuid, (SELECT count(*) FROM unnest(p_ready) d WHERE d.subject_id = ANY (v_locked) AND NOT d.subject_id = ANY (v_open)) + cardinality(v_dispatches) - cardinality(v_taken),
           cardinality(v_poison)::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::bytea, NULL::bytea,
           NULL::bytea, v_now
    UNION ALL
    SELECT 7, v_open[n], v_without_progress[n]::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text,
           NULL::bytea, NULL::bytea, NULL::bytea, v_now
      FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  IF cardinality(v_taken) > 0 THEN
    RETURN QUERY SELECT 8, t.subject_id, t.attempt_id::bigint, t.priority::bigint, t.token, NULL::bigint, t.dispatch_id, s.project_id, t.step_id,
                        t.queue || E'\n' || t.payload, NULL::bytea, NULL::bytea, NULL::bytea, t.deadline
      FROM dispatches t JOIN subjects s ON s.subject_id = t.subject_id WHERE t.dispatch_id = ANY (v_taken) ORDER BY t.created_at, t.dispatch_id;
  END IF;
  IF cardinality(v_open) > cardinality(v_poison) THEN
    RETURN QUERY SELECT * FROM read_subjects(v_given);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION read_subjects(p_subject uuid[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT 1, l.subject_id, l.token, l.wake, h.head_seq, s.priority::bigint, s.project_id, h.journal_id, s.kind, s.queue, h.chain, h.state_root,
                      NULL::bytea, h.last_timestamp
    FROM unnest(p_subject) WITH ORDINALITY AS p(id, n) CROSS JOIN LATERAL (SELECT * FROM leases x WHERE x.subject_id = p.id LIMIT 1) l
    CROSS JOIN LATERAL (SELECT * FROM subject_head x WHERE x.subject_id = p.id LIMIT 1) h
    CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = p.id LIMIT 1) s ORDER BY p.n;
  RETURN QUERY SELECT 2, x.subject_id, x.last_event_seq, x.schema_version::bigint, NULL::bigint, NULL::bigint, x.snapshot_id, NULL::uuid,
                      x.inline_state, NULL::text, x.state_root, x.chain, x.chunks, x.created_at
    FROM unnest(p_subject) AS p(id) CROSS JOIN LATERAL (
      SELECT * FROM snapshot_rows r WHERE r.subject_id = p.id ORDER BY r.last_event_seq DESC LIMIT 1) x;
  RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                      e.producer_version || E'\n' || CASE WHEN e.offloaded THEN '@' ELSE coalesce('+' || e.payload, '-') END, e.checksum, e.content_hash, e.chain, e.at
    FROM unnest(p_subject) AS p(id)
    CROSS JOIN LATERAL (SELECT coalesce(max(r.last_event_seq), 0) AS seq FROM snapshot_rows r WHERE r.subject_id = p.id) x
    CROSS JOIN LATERAL (SELECT * FROM event_rows r WHERE r.subject_id = p.id AND r.seq > x.seq OFFSET 0) e ORDER BY e.subject_id, e.seq;
  RETURN QUERY SELECT 4, a.subject_id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
    FROM unnest(p_subject) AS p(id)
    CROSS JOIN LATERAL (SELECT * FROM attempt_rows r WHERE r.subject_id = p.id
      AND (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = r.subject_id AND c.step_id = r.step_id) IS NULL OFFSET 0) a
    ORDER BY a.subject_id, a.started_at, a.step_id, a.attempt_id;
  RETURN QUERY SELECT 5, i.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, i.inbox_id, NULL::uuid, i.kind, i.payload,
                      NULL::bytea, NULL::bytea, NULL::bytea, i.created_at
    FROM unnest(p_subject) AS p(id) CROSS JOIN LATERAL (SELECT * FROM inbox r WHERE r.subject_id = p.id OFFSET 0) i ORDER BY i.subject_id, i.arrival;
  RETURN QUERY SELECT 6, t.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, t.timer_id, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, t.fire_at
    FROM unnest(p_subject) AS p(id) CROSS JOIN LATERAL (SELECT * FROM timers r WHERE r.subject_id = p.id OFFSET 0) t ORDER BY t.subject_id, t.fire_at, t.timer_id;
END $$;

CREATE OR REPLACE FUNCTION reap_leases(p_max int) RETURNS TABLE (freed bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_subjects uuid[];
  v_tokens bigint[];
  v_ends smallint[];
  v_waits interval[];
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
         array_agg((CASE s.end_kind WHEN 1 THEN 1 ELSE 2 END)::smallint ORDER BY l.subject_id)
    INTO v_subjects, v_tokens, v_ends
    FROM (SELECT c.id FROM unnest(v_subjects) AS c(id) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.subject_id, x.session_id, x.token FROM leases x WHERE x.subject_id = c.id LIMIT 1 FOR UPDATE SKIP LOCKED) l
    CROSS JOIN LATERAL (SELECT x.end_kind FROM worker_sessions x WHERE x.session_id = l.session_id AND x.dead_at IS NOT NULL LIMIT 1) s;
  -- hold: reap_leases_locked
  SELECT array_agg(CASE WHEN b.takeovers_without_progress >= 2 THEN least(2 ^ (b.takeovers_without_progress - 2), 60) * interval '1 second' ELSE interval '0' END ORDER BY n) INTO v_waits
    FROM generate_subscripts(v_subjects, 1) n
    CROSS JOIN LATERAL (
      SELECT coalesce(max(CASE WHEN g.head_seq = h.head_seq AND v_ends[n] = 1 THEN g.takeovers_without_progress + 1 ELSE 0 END), 0) AS takeovers_without_progress
      FROM (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = v_subjects[n] LIMIT 1) h
      CROSS JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = v_subjects[n] ORDER BY x.token DESC LIMIT 1) g) b;
  WITH freed_now AS (
    UPDATE leases l SET token = v_tokens[array_position(v_subjects, l.subject_id)], session_id = NULL, acquired_at = NULL,
                        last_end = v_ends[array_position(v_subjects, l.subject_id)],
                        not_before = v_now + v_waits[array_position(v_subjects, l.subject_id)]
      WHERE l.subject_id = ANY (v_subjects)
      RETURNING l.subject_id, l.state, l.not_before, l.required_version),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), f.not_before, s.subject_id, s.kind, f.required_version
    FROM freed_now f CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = f.subject_id LIMIT 1) s WHERE f.state = 0
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_freed FROM freed_now;
  -- No grant can be made to a dead session, so what no lease and no started dispatch names now none will name again.
  UPDATE worker_sessions s SET reaped = true WHERE s.dead_at IS NOT NULL AND NOT s.reaped
    AND (SELECT l.subject_id FROM leases l WHERE l.session_id = s.session_id LIMIT 1) IS NULL
    AND (SELECT t.dispatch_id FROM dispatches t WHERE t.session_id = s.session_id AND t.state = 'started' LIMIT 1) IS NULL;
  RETURN QUERY SELECT v_freed, v_seen = p_max AND v_freed > 0;
END $$;

CREATE OR REPLACE FUNCTION fire_timers(p_max int) RETURNS TABLE (fired bigint, next_fire timestamptz, more boolean) LANGUAGE plpgsql VOLATILE AS $$
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
  -- A timer is set and cleared under its subject's lease, which is ours: its place stays.
  WITH gone AS (
    DELETE FROM timers t WHERE t.ctid = ANY (ARRAY(
        SELECT x.place FROM unnest(v_subjects, v_ids) AS c(subject, id)
        CROSS JOIN LATERAL (SELECT y.ctid AS place FROM timers y WHERE y.subject_id = c.subject AND y.timer_id = c.id LIMIT 1) x
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

-- In plpgsql, which keeps its plans: what is written in SQL and cannot become part of the query around it is read and planned at each call.
CREATE OR REPLACE FUNCTION ready_lanes() RETURNS TABLE (queue text, priority smallint) LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE lane AS (
      (SELECT r.queue, r.priority FROM ready r ORDER BY r.queue, r.priority LIMIT 1)
      UNION ALL
      SELECT n.queue, n.priority FROM lane l
      CROSS JOIN LATERAL (SELECT r.queue, r.priority FROM ready r WHERE (r.queue, r.priority) > (l.queue, l.priority) ORDER BY r.queue, r.priority LIMIT 1) n)
    SELECT lane.queue, lane.priority FROM lane;
END $$;

CREATE OR REPLACE FUNCTION due_ready(p_shard int, m_queue text[], m_priority int[], m_at timestamptz[], m_subject uuid[], p_max int)
RETURNS TABLE (queue text, priority smallint, ready_at timestamptz, subject_id uuid, kind text, required_version int, head_seq bigint, token bigint, db_now timestamptz, traceparent text)
LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT d.queue, d.priority, d.ready_at, d.subject_id, d.kind, d.required_version,
           coalesce((SELECT h.head_seq FROM subject_head h WHERE h.subject_id = d.subject_id), 0),
           coalesce((SELECT l.token FROM leases l WHERE l.subject_id = d.subject_id), 0), now(),
           (SELECT s.traceparent FROM subjects s
            WHERE s.subject_id = coalesce((SELECT t.subject_id FROM dispatches t WHERE d.kind = 'dispatch' AND t.dispatch_id = d.subject_id), d.subject_id))
    FROM ready_lanes() lane
    LEFT JOIN unnest(m_queue, m_priority, m_at, m_subject) AS m(queue, priority, at, subject) ON m.queue = lane.queue AND m.priority = lane.priority
    CROSS JOIN LATERAL (
      SELECT r.* FROM ready r
      WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = p_shard
        AND (r.ready_at, r.subject_id) > (coalesce(m.at, '-infinity'), coalesce(m.subject, '00000000-0000-0000-0000-000000000000'::uuid))
        AND r.ready_at <= now()
      ORDER BY r.ready_at, r.subject_id LIMIT p_max) d;
END $$;

ALTER FUNCTION pick_ready(text[], int, int, text[], timestamptz, int, uuid[]) SET enable_sort = off;
ALTER FUNCTION fire_timers(int) SET enable_sort = off;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
